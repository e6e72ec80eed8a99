"""Sentences for a real model: 360 taken by a rule, and pairs that say one thing in other words.

The 360 are Jane Austen's (1811 to 1817, in the public domain; the texts are Project Gutenberg's, as
packed in Debian's r-cran-janeaustenr), by the rule in tools/real_sentences.py, so that nobody chose
sentences on which a head looks good. The full stops of Mr., Mrs. and the like are left out.

The pairs and the triples are the book's own; they were written before the model was asked, and none
was changed or left out afterwards.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

PAIRS = (
    ("The shop opens at nine in the morning.", "You can buy things there from 9 a.m. on."),
    ("My brother broke his leg while skiing.", "A fracture on the slopes happened to my sibling."),
    ("It has not rained for three months.", "We have had a drought since spring."),
    ("The old man fell asleep in his chair.", "Grandfather dozed off in the armchair."),
    ("She plays the violin beautifully.", "Her music on that string instrument is lovely."),
    ("The bank refused to lend us money.", "Our application for a loan was turned down."),
    ("Turn left after the church.", "Behind the cathedral, change direction to the west side."),
    ("He is afraid of spiders.", "Animals with eight legs scare him."),
    ("The train was forty minutes late.", "Our railway journey was delayed a lot."),
    ("I would like a cup of tea, please.", "Could you bring me something hot to drink?"),
    ("The children are playing outside.", "Kids run about in the garden."),
    ("Water boils at one hundred degrees.", "A kettle steams when it is hot enough."),
    ("The doctor told her to rest.", "Her physician said that she should stay in bed."),
    ("Their house burned down last winter.", "Fire destroyed the home of that family."),
    ("The film was so boring that we left.", "We walked out of the cinema halfway through."),
    ("He earns more than his wife.", "Her salary is lower than the one of her husband."),
    ("The moon is very bright tonight.", "There is a lot of light in the sky this evening."),
    ("The baby would not stop crying.", "An infant screamed for hours."),
    ("Somebody stole my bicycle.", "The bike that I own was taken by a thief."),
    ("The soup needs more salt.", "This broth tastes too bland."),
    ("Prices have doubled in two years.", "Everything has become much more expensive."),
    ("She won the race by a second.", "The runner came first, but only narrowly."),
    ("The window was left open all night.", "Nobody had shut it before going to bed."),
    ("Bees make honey.", "A sweet food is produced by insects."),
    ("The teacher praised the pupil.", "A student got kind words in class."),
    ("We got lost in the forest.", "Among the trees we could not find the way."),
    ("The ship sank in a storm.", "A vessel went down in heavy weather."),
    ("He always tells the truth.", "That man never lies."),
    ("The meeting was moved to Friday.", "We will get together on another day than planned."),
    ("This knife is not sharp.", "The blade is blunt."),
)

# A sentence, the same fact in the passive, and the same words with the roles changed.
ROLES = (
    ("The dog chased the cat.", "The cat was chased by the dog.", "The cat chased the dog."),
    ("The girl saw the boy.", "The boy was seen by the girl.", "The boy saw the girl."),
    ("Anna paid Peter.", "Peter was paid by Anna.", "Peter paid Anna."),
    (
        "The king killed the thief.",
        "The thief was killed by the king.",
        "The thief killed the king.",
    ),
    (
        "The nurse called the doctor.",
        "The doctor was called by the nurse.",
        "The doctor called the nurse.",
    ),
    ("France attacked Spain.", "Spain was attacked by France.", "Spain attacked France."),
    ("The bus hit the car.", "The car was hit by the bus.", "The car hit the bus."),
    ("The wolf ate the sheep.", "The sheep was eaten by the wolf.", "The sheep ate the wolf."),
    ("My aunt fed the horse.", "The horse was fed by my aunt.", "The horse fed my aunt."),
    (
        "The teacher blamed the pupil.",
        "The pupil was blamed by the teacher.",
        "The pupil blamed the teacher.",
    ),
    (
        "The team beat the champion.",
        "The champion was beaten by the team.",
        "The champion beat the team.",
    ),
    (
        "Mary followed the stranger.",
        "The stranger was followed by Mary.",
        "The stranger followed Mary.",
    ),
)


@cache
def real_sentences() -> tuple[str, ...]:
    """Return 360 sentences of Jane Austen's six novels, 60 of each, taken by a rule.

    Returns
    -------
    sentences : tuple of str
        Of 8 to 14 words, in the order of the novels. In the public domain.

    Examples
    --------
    >>> import qkv
    >>> sentences = qkv.data.real_sentences()
    >>> len(sentences), sentences[60]
    (360, 'A single man of large fortune; four or five thousand a year.')
    """
    text = files("qkv.data").joinpath("real_sentences.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if not line.startswith("#"))


def paraphrases() -> tuple[tuple[str, str], ...]:
    """Return 30 pairs of sentences that say the same, or nearly, in other words.

    Returns
    -------
    pairs : tuple of (str, str)
        Written for chapter 21 before the model was asked.

    Examples
    --------
    >>> import qkv
    >>> pairs = qkv.data.paraphrases()
    >>> len(pairs), pairs[-1]
    (30, ('This knife is not sharp.', 'The blade is blunt.'))
    """
    return PAIRS


def changed_roles() -> tuple[tuple[str, str, str], ...]:
    """Return 12 triples: a sentence, its passive, and the sentence with the two roles changed.

    Returns
    -------
    triples : tuple of (str, str, str)
        The first two state one fact; the third has the words of the first and states another.

    Examples
    --------
    >>> import qkv
    >>> qkv.data.changed_roles()[2]
    ('Anna paid Peter.', 'Peter was paid by Anna.', 'Peter paid Anna.')
    """
    return ROLES

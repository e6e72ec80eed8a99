"""Number words and dates in three languages, with the alignment that the rule gives (chapter 16).

Every word comes from a place of the number or of the date: the hundreds of the thousands, the
month. Two words of two languages belong together when they come from the same place, so the gold
alignment needs no annotator. The words are those of the packages num2words (numbers) and Babel
(CLDR's full date patterns); the tests hold every number and date against them.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

LANGUAGES = ("de", "fr")
PAD, START, STOP = 0, 1, 2
LARGEST = 999_999
FIRST_YEAR, LAST_YEAR = 1900, 2099

# A word and the places it comes from: surely, and perhaps as well.
_Word = tuple[str, tuple[str, ...], tuple[str, ...]]


def _words(*lines: str) -> list[str]:
    return " ".join(lines).split()


_EN = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen",
    "fifteen sixteen seventeen eighteen nineteen",
)
_EN_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_DE = _words(
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn",
    "fünfzehn sechzehn siebzehn achtzehn neunzehn",
)
_DE_TENS = _words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_FR = _words(
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"
)
_FR_TENS = _words("vingt trente quarante cinquante soixante")

_DAYS = {
    "en": _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
    "de": _words("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"),
    "fr": _words("lundi mardi mercredi jeudi vendredi samedi dimanche"),
}
_MONTHS = {
    "en": _words(
        "January February March April May June July August September October November December"
    ),
    "de": _words(
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
    ),
    "fr": _words(
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
    ),
}


@dataclass(frozen=True)
class Translation:
    """A source sentence, its translation, and which words belong together.

    Attributes
    ----------
    source : tuple of str
        English, in tokens; the first one names the language that is wanted.
    target : tuple of str
        The translation, in tokens, without start and stop.
    sure : frozenset of (int, int)
        Pairs (place in target, place in source) that certainly belong together.
    possible : frozenset of (int, int)
        Those, and the pairs that may: French *onze* in 71 is as much the 70 as the 1.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


def number_translation(n: int, language: str) -> Translation:
    """Return a number in English words, its translation and the alignment.

    Parameters
    ----------
    n : int
        From 0 to 999,999.
    language : str
        "de" or "fr".

    Returns
    -------
    translation : Translation

    Raises
    ------
    ValueError
        If the number is out of range or the language unknown.

    Examples
    --------
    >>> from qkv.data import number_translation
    >>> pair = number_translation(71, "fr")
    >>> print(*pair.source, "|", *pair.target, "|", *sorted(pair.sure))
    <fr> seventy one | soixante et onze | (0, 1)
    >>> sorted(pair.possible - pair.sure)
    [(2, 1), (2, 2)]
    """
    if not 0 <= n <= LARGEST:
        raise ValueError(f"n must be from 0 to {LARGEST:,}, got {n:,}")
    return _join(_number_words(n, "en"), _number_words(n, _known(language)), language)


def date_translation(date: datetime.date, language: str) -> Translation:
    """Return a date in CLDR's full English form, its translation and the alignment.

    Parameters
    ----------
    date : datetime.date
        From 1900 to 2099.
    language : str
        "de" or "fr".

    Returns
    -------
    translation : Translation

    Raises
    ------
    ValueError
        If the year is out of range or the language unknown.

    Examples
    --------
    >>> import datetime
    >>> from qkv.data import date_translation
    >>> pair = date_translation(datetime.date(1987, 3, 4), "de")
    >>> print(*pair.source, "|", *pair.target)
    <de> Wednesday , March 4 , 19 87 | Mittwoch , 4 . März 19 87
    """
    if not FIRST_YEAR <= date.year <= LAST_YEAR:
        raise ValueError(f"the year must be from {FIRST_YEAR} to {LAST_YEAR}, got {date.year}")
    return _join(_date_words(date, "en"), _date_words(date, _known(language)), language)


@lru_cache
def translation_vocabulary() -> tuple[str, ...]:
    """Return all tokens of the three languages, one table for both sides.

    The first three are padding, start and stop; then come the tags of the languages.

    Examples
    --------
    >>> from qkv.data import translation_vocabulary
    >>> translation_vocabulary()[:7]
    ('<pad>', '<s>', '</s>', '<de>', '<fr>', ',', '.')
    """
    words = ["<pad>", "<s>", "</s>", "<de>", "<fr>", ",", "."]
    words += [*_EN, *_EN_TENS, "hundred", "thousand", "and"]
    words += [*_DE, "eins", *_DE_TENS, "hundert", "tausend", "und"]
    words += [*_FR, *_FR_TENS, "vingts", "cent", "cents", "mille", "et"]
    for language in ("en", "de", "fr"):
        words += [*_DAYS[language], *_MONTHS[language]]
    words += [str(day) for day in range(1, 32)]
    words += [f"{pair:02d}" for pair in range(100)]
    return tuple(dict.fromkeys(words))


def translation_text(tokens: tuple[str, ...] | list[str], language: str) -> str:
    """Write tokens as the language does: German numbers in one word, French ones with hyphens.

    Parameters
    ----------
    tokens : sequence of str
        A translation without start and stop, or an English source with its tag.
    language : str
        "en", "de" or "fr".

    Returns
    -------
    text : str

    Examples
    --------
    >>> from qkv.data import number_translation, translation_text
    >>> pair = number_translation(1987, "de")
    >>> print(translation_text(pair.source, "en"), "|", translation_text(pair.target, "de"))
    one thousand, nine hundred and eighty-seven | eintausendneunhundertsiebenundachtzig
    """
    words = [word for word in tokens if not word.startswith("<")]
    text = ""
    for i, word in enumerate(words):
        text += _gap(words, i, language) + word
    return text


def alignment_error_rate(
    links: Sequence[Set[tuple[int, int]]], translations: Sequence[Translation]
) -> float:
    r"""Return the alignment error rate of guessed links, over all translations together.

    .. math:: 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

    A is what was guessed, S what is sure and P what is possible; 0 is best. A link from a word
    that has no partner counts against the guess.

    Parameters
    ----------
    links : sequence of sets of (int, int)
        For each translation, pairs (place in target, place in source).
    translations : sequence of Translation
        With the gold alignments.

    Returns
    -------
    rate : float

    Raises
    ------
    ValueError
        If there are not as many sets as translations.

    References
    ----------
    Och and Ney, "A systematic comparison of various statistical alignment models" (2003),
    section 4.1.

    Examples
    --------
    >>> from qkv.data import alignment_error_rate, number_translation
    >>> pair = number_translation(21, "de")          # ein und zwanzig, <de> twenty one
    >>> round(alignment_error_rate([{(0, 2), (1, 1), (2, 1)}], [pair]), 2)
    0.2
    """
    if len(links) != len(translations):
        raise ValueError(f"{len(links)} sets of links for {len(translations)} translations")
    pairs = list(zip(links, translations, strict=True))
    hits = sum(len(a & x.sure) + len(a & x.possible) for a, x in pairs)
    return 1 - hits / sum(len(a) + len(x.sure) for a, x in pairs)


def _gap(words: list[str], i: int, language: str) -> str:
    """Return what stands before word i: a space, a hyphen or nothing."""
    if i == 0 or words[i] in ",.":
        return ""
    before, word = words[i - 1], words[i]
    if before.isdigit() and word.isdigit() and i == len(words) - 1:
        return ""  # the two halves of a year
    if language == "de":
        is_number = {*_DE, "eins", *_DE_TENS, "hundert", "tausend", "und"}
        return "" if before in is_number and word in is_number else " "
    if language == "en":
        return "-" if before in _EN_TENS and word in _EN[1:10] else " "
    below = _FR[1:17]
    tens_first = before in _FR_TENS and word in (*below, "vingt", "vingts")
    four_twenty = before == "quatre" and word in ("vingt", "vingts")
    ten_first = before == "dix" and word in ("sept", "huit", "neuf")
    return "-" if tens_first or four_twenty or ten_first else " "


def _known(language: str) -> str:
    if language not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, got {language!r}")
    return language


def _join(source: list[_Word], target: list[_Word], language: str) -> Translation:
    """Put two sentences side by side; words of one place belong together."""
    source = [(f"<{language}>", (), ()), *source]
    sure, possible = set(), set()
    for t, (_, surely, perhaps) in enumerate(target):
        for s, (_, of_source, _) in enumerate(source):
            if set(surely) & set(of_source):
                sure.add((t, s))
            if {*surely, *perhaps} & set(of_source):
                possible.add((t, s))
    return Translation(
        source=tuple(word for word, _, _ in source),
        target=tuple(word for word, _, _ in target),
        sure=frozenset(sure),
        possible=frozenset(possible),
    )


def _number_words(n: int, language: str) -> list[_Word]:
    group = {"en": _english_group, "de": _german_group, "fr": _french_group}[language]
    thousands, rest = divmod(n, 1000)
    words: list[_Word] = []
    if thousands:
        words += group(thousands, "thousands ", True)
        words += _thousand_word(thousands, language)
        if language == "en" and rest:
            words.append(("and" if rest < 100 else ",", (), ()))
    if language == "fr" and thousands == 1:
        words = words[1:]  # mille, not un mille
    if rest or not thousands:
        words += group(rest, "", False)
    return words


def _thousand_word(thousands: int, language: str) -> list[_Word]:
    word = {"en": "thousand", "de": "tausend", "fr": "mille"}[language]
    one = ("thousands unit",) if language == "fr" and thousands == 1 else ()
    return [(word, ("thousand",), one)]


def _english_group(n: int, place: str, before_thousand: bool) -> list[_Word]:
    hundreds, rest = divmod(n, 100)
    words: list[_Word] = []
    if hundreds:
        words += [(_EN[hundreds], (place + "hundreds",), ()), ("hundred", (place + "hundred",), ())]
        words += [("and", (), ())] if rest else []
    if rest >= 20:
        words.append((_EN_TENS[rest // 10 - 2], (place + "tens",), ()))
        rest %= 10
    if rest or n == 0:
        words.append((_EN[rest], (place + "unit",), ()))
    return words


def _german_group(n: int, place: str, before_thousand: bool) -> list[_Word]:
    hundreds, rest = divmod(n, 100)
    words: list[_Word] = []
    if hundreds:
        words += [(_DE[hundreds], (place + "hundreds",), ()), ("hundert", (place + "hundred",), ())]
    tens, unit = divmod(rest, 10)
    if rest >= 20:
        if unit:
            words += [(_DE[unit], (place + "unit",), ()), ("und", (), ())]
        words.append((_DE_TENS[tens - 2], (place + "tens",), ()))
    elif rest or n == 0:
        words.append(("eins" if rest == 1 else _DE[rest], (place + "unit",), ()))
    if before_thousand and n == 1:
        words = [("ein", (place + "unit",), ())]
    return words


def _french_group(n: int, place: str, before_thousand: bool) -> list[_Word]:
    hundreds, rest = divmod(n, 100)
    words: list[_Word] = []
    if hundreds > 1:
        words.append((_FR[hundreds], (place + "hundreds",), ()))
    if hundreds:
        many = hundreds > 1 and not rest and not before_thousand
        one = (place + "hundreds",) if hundreds == 1 else ()
        words.append(("cents" if many else "cent", (place + "hundred",), one))
    if rest or n == 0:
        words += _french_below_hundred(rest, place, before_thousand)
    return words


def _french_below_hundred(n: int, place: str, before_thousand: bool) -> list[_Word]:
    tens, unit = (place + "tens",), (place + "unit",)
    if n < 20:
        return _french_below_twenty(n, unit)
    if n >= 80:
        last = "vingts" if n == 80 and not before_thousand else "vingt"
        words: list[_Word] = [("quatre", tens, ()), (last, tens, ())]
        base = 80
    else:
        base = min(n // 10 * 10, 60)
        words = [(_FR_TENS[base // 10 - 2], tens, ())]
        words += [("et", (), ())] if n % 10 == 1 else []
    rest = n - base
    if rest == 10:
        return [*words, ("dix", tens, ())]
    if rest > 16:
        return [*words, ("dix", tens, ()), (_FR[rest - 10], unit, ())]
    if rest > 10:  # onze to seize say the ten and the unit in one word
        return [*words, (_FR[rest], (), tens + unit)]
    return words if rest == 0 else [*words, (_FR[rest], unit, ())]


def _french_below_twenty(n: int, place: tuple[str, ...]) -> list[_Word]:
    if n < 17:
        return [(_FR[n], place, ())]
    return [("dix", place, ()), (_FR[n - 10], place, ())]


def _date_words(date: datetime.date, language: str) -> list[_Word]:
    """Follow CLDR's full pattern: en EEEE, MMMM d, y; de EEEE, d. MMMM y; fr EEEE d MMMM y."""
    weekday: _Word = (_DAYS[language][date.weekday()], ("weekday",), ())
    month: _Word = (_MONTHS[language][date.month - 1], ("month",), ())
    day: _Word = (str(date.day), ("day",), ())
    year: list[_Word] = [
        (f"{date.year // 100:02d}", ("century",), ()),
        (f"{date.year % 100:02d}", ("year",), ()),
    ]
    comma, stop = (",", (), ()), (".", (), ())
    if language == "en":
        return [weekday, comma, month, day, comma, *year]
    if language == "de":
        return [weekday, comma, day, stop, month, *year]
    return [weekday, day, month, *year]

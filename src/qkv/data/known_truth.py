"""A task whose truth is known by rule, and a small trained model that has learned it.

A text is a start token, eight tokens and a question. ``A3`` says that A has the value 3, ``A→C``
that A has the value of C, ``*`` is a star, ``·`` is blank. ``A?`` asks for a value, ``*?`` for the
number of stars, ``!`` for nothing. The rule is a few lines of code, so the tokens that matter are
known: those which change the rule's answer when they are erased.

``python -m qkv.experiments weights explanation`` trains the models again and writes the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from qkv.core import (
    MultiHeadParameters,
    MultiHeadSteps,
    attention_rollout,
    multi_head_attention_backward,
    multi_head_steps,
    same_output_directions,
    softmax,
    weighted_value_norms,
)
from qkv.data.safetensors import read_safetensors

Array = np.ndarray

PATHS = {
    name: Path(str(files("qkv.data").joinpath(f"known_truth_{name}.safetensors")))
    for name in ("one", "two", "hidden")
}
LETTERS, DIGITS = "ABCD", "01234"
PAIRS = tuple((a, b) for a in range(4) for b in range(4) if a != b)
STAR, BLANK, START = "*", "·", "<s>"
TOKENS = (
    *(letter + digit for letter in LETTERS for digit in DIGITS),
    *(f"{LETTERS[a]}→{LETTERS[b]}" for a, b in PAIRS),
    *(STAR, BLANK, START),
    *(f"{letter}?" for letter in LETTERS),
    *("*?", "!"),
)
ANSWERS = (*DIGITS, "–")  # noqa: RUF001
QUESTIONS = TOKENS[-6:]
NOTHING = len(DIGITS)  # the last answer: nothing is asked, or nothing is found
N_BODY, N_SCORED = 8, 9  # tokens between start and question; all tokens before the question
MOST_STARS = len(DIGITS) - 1

_ID = {token: i for i, token in enumerate(TOKENS)}
# What each token says: which letter it is about, which digit it gives, which letter it points to.
_ABOUT = np.array([LETTERS.find(t[0]) if len(t) > 1 and t[-1] != "?" else -1 for t in TOKENS])
_DIGIT = np.array([DIGITS.find(t[1]) if len(t) == 2 else -1 for t in TOKENS])
_POINTS_TO = np.array([LETTERS.find(t[2]) if "→" in t else -1 for t in TOKENS])
_ASKS = np.array([LETTERS.find(t[0]) if t[-1] == "?" else -1 for t in TOKENS])


def text_ids(words: Sequence[str] | str) -> Array:
    """Return the numbers of a text: 8 tokens and a question; the start token is put before them.

    Parameters
    ----------
    words : sequence of str, or one str with spaces
        Nine tokens. Each letter is told about at most once, and there are at most 4 stars.

    Returns
    -------
    ids : int array, shape (10,)
        Start, 8 tokens, question.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.data.text_ids("A→C * B1 · C3 * · · A?"))
    [34 21 32  6 33 13 32 33 33 35]
    """
    words = words.split() if isinstance(words, str) else list(words)
    unknown = [w for w in words if w not in _ID]
    if unknown or len(words) != N_BODY + 1:
        raise ValueError(
            f"a text is {N_BODY} tokens and a question, got {len(words)}"
            + (f" with {unknown[0]!r}, which is no token" if unknown else "")
        )
    ids = np.array([_ID[w] for w in (START, *words)])
    check_text(ids)
    return ids


def check_text(ids: Array) -> None:
    """Refuse a text that the rule does not cover; the error says what is wrong."""
    words = [TOKENS[i] for i in ids[1:]]
    body, question = words[:-1], words[-1]
    if question not in QUESTIONS or any(w in QUESTIONS or w == START for w in body):
        raise ValueError(f"a question must stand at the end and there alone, got {' '.join(words)}")
    told = [LETTERS[a] for a in _ABOUT[ids[1:-1]] if a >= 0]
    twice = sorted({letter for letter in told if told.count(letter) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is told about twice")
    if body.count(STAR) > MOST_STARS:
        raise ValueError(f"there may be {MOST_STARS} stars, got {body.count(STAR)}")


def rule(ids: Array) -> Array:
    """Return the right answer of each text by the rule, shape (...): 0 to 4, or 5 for none.

    Examples
    --------
    >>> import qkv
    >>> texts = ["A→C * B1 · C3 * · · A?", "A→C * B1 · C3 * · · *?", "A→C * B1 · C3 * · · !"]
    >>> print(qkv.data.rule([qkv.data.text_ids(text) for text in texts]))
    [3 2 5]
    """
    ids = np.asarray(ids)
    body, question = ids[..., 1:-1], ids[..., -1]
    letter = _ASKS[question]
    digit, pointer = _told(body, letter)
    digit = np.where(pointer >= 0, _told(body, pointer)[0], digit)
    stars = (body == _ID[STAR]).sum(axis=-1)
    found = np.where(question == _ID["*?"], stars, digit)
    return np.where((question == _ID["!"]) | (found < 0), NOTHING, found)


def _told(body: Array, letter: Array) -> tuple[Array, Array]:
    """Return the digit, and the letter pointed to, that a text tells of a letter; -1 for none."""
    about = (_ABOUT[body] == letter[..., None]) & (letter[..., None] >= 0)
    return tuple(np.where(about, says[body], -1).max(axis=-1) for says in (_DIGIT, _POINTS_TO))  # type: ignore[return-value]


def erase(ids: Array, place: int) -> Array:
    """Return texts with a blank at one place."""
    erased = np.array(ids)
    erased[..., place] = _ID[BLANK]
    return erased


def relevant(ids: Array) -> Array:
    """Return which tokens before the question matter, shape (..., 9): erased, the answer changes.

    The start token cannot be erased, so it never matters.

    Examples
    --------
    >>> import qkv
    >>> truth = qkv.data.relevant(qkv.data.text_ids("A→C * B1 · C3 * · · A?"))
    >>> print(truth.astype(int))
    [0 1 0 0 0 1 0 0 0]
    """
    ids = np.asarray(ids)
    answer = rule(ids)
    changed = [rule(erase(ids, place)) != answer for place in range(1, N_SCORED)]
    return np.stack([np.zeros(answer.shape, bool), *changed], axis=-1)


@dataclass(frozen=True, eq=False)
class TruthSteps:
    """What the model computes on the way from a text to an answer.

    Attributes
    ----------
    X : tuple of arrays, shape (..., 10, d_model)
        The stream before layer 1, and after each layer.
    layers : tuple of MultiHeadSteps
        Everything inside each layer; ``layers[0].attention.weights`` has an axis for the heads.
    scores : array, shape (..., 6)
        One score an answer, read from the question's row.
    """

    X: tuple[Array, ...]
    layers: tuple[MultiHeadSteps, ...]
    scores: Array

    @property
    def said(self) -> Array:
        """The answer with the largest score, as a number."""
        return self.scores.argmax(axis=-1)

    @property
    def weights(self) -> tuple[Array, ...]:
        """The attention weights of each layer, shape (..., n_heads, 10, 10)."""
        return tuple(layer.attention.weights for layer in self.layers)


@dataclass(frozen=True, eq=False, repr=False)
class TruthModel:
    """The learned arrays of a model that answers: attention layers alone, no position code.

    Attributes
    ----------
    E : array, shape (41, d_model)
        The embedding, one row a token.
    layers : tuple of MultiHeadParameters
        The layers.
    R : array, shape (d_model, 6)
        The read-out.
    """

    E: Array
    layers: tuple[MultiHeadParameters, ...]
    R: Array

    def __repr__(self) -> str:
        """Say what this is, without its numbers."""
        return f"<TruthModel: {len(self.layers)} layers, {self.layers[0].n_heads} heads>"

    def steps(self, ids: Array | None = None, X: Array | None = None, cut: int = -1) -> TruthSteps:
        """Run the model on texts, or on rows of your own; no row sees the place `cut`.

        Parameters
        ----------
        ids : int array, shape (..., 10)
            Texts.
        X : array, shape (..., 10, d_model), optional
            Rows that enter layer 1 instead of the embedding's.
        cut : int
            A place that no row may look at, in any layer; -1 for none.

        Returns
        -------
        TruthSteps
            Every intermediate.
        """
        stream = [self.E[np.asarray(ids)] if X is None else np.asarray(X)]
        n = stream[0].shape[-2]
        mask = None if cut < 0 else np.broadcast_to(np.arange(n) != cut, (n, n))
        layers = []
        for parameters in self.layers:
            layers.append(multi_head_steps(stream[-1], stream[-1], parameters, mask))
            stream.append(stream[-1] + layers[-1].output)
        return TruthSteps(tuple(stream), tuple(layers), stream[-1][..., -1, :] @ self.R)

    def chance(self, said: Array, **given: object) -> Array:
        """Return the probability of the answers `said`, of texts or rows as `steps` takes them."""
        chances = softmax(self.steps(**given).scores)  # type: ignore[arg-type]
        return np.take_along_axis(chances, np.asarray(said)[..., None], axis=-1)[..., 0]

    def gradient(self, X: Array, said: Array) -> Array:
        """Return the gradient of an answer's lead over the mean score, for each row of X.

        Parameters
        ----------
        X : array, shape (..., 10, d_model)
            The rows that enter layer 1.
        said : int array, shape (...)
            The answer whose score is meant.

        Returns
        -------
        array, shape (..., 10, d_model)
        """
        stream = self.steps(X=X).X
        lead = np.eye(len(self.R.T))[said] - 1 / len(self.R.T)
        upper = np.zeros_like(stream[-1])
        upper[..., -1, :] = lead @ self.R.T
        for below, parameters in zip(stream[-2::-1], self.layers[::-1], strict=True):
            by_q, by_kv, _ = multi_head_attention_backward(below, below, parameters, upper)
            upper = upper + by_q + by_kv
        return upper


# --- how much does each token count: the methods --------------------------------------------------


def scores_by_method(model: TruthModel, ids: Array) -> dict[str, Array]:
    """Return what each method says of the tokens before the question, shape (..., 9) each.

    Weights and their relatives are those of the question's row, the mean over the heads. What is
    taken away is scored by how much probability the given answer loses.
    """
    steps = model.steps(ids)
    said, last = steps.said, len(model.layers) - 1
    at = (..., -1, slice(0, N_SCORED))
    found = {f"weights, layer {i + 1}": w.mean(axis=-3)[at] for i, w in enumerate(steps.weights)}
    found["weights x norms"] = value_norms(model, steps, last)[at]
    found["rollout"] = attention_rollout(steps.weights)[at]
    found["gradient x input"] = gradient_x_input(model, steps.X[0], said)
    found["integrated"] = integrated_gradients(model, steps.X[0], said)
    before = np.take_along_axis(softmax(steps.scores), said[..., None], axis=-1)
    cuts = [model.chance(said, ids=ids, cut=j) for j in range(N_SCORED)]
    blanks = [model.chance(said, ids=erase(ids, j)) for j in range(N_SCORED)]
    found["cut"] = before - np.stack(cuts, axis=-1)
    found["erase"] = before - np.stack(blanks, axis=-1)
    return found


def value_norms(model: TruthModel, steps: TruthSteps, layer: int) -> Array:
    """Return the lengths of what each token writes into each row, shape (..., 10, 10)."""
    inside = steps.layers[layer].attention
    return weighted_value_norms(inside.weights, inside.v, model.layers[layer].W_O)


def gradient_x_input(model: TruthModel, X: Array, said: Array) -> Array:
    """Return the size of gradient times input, for the tokens before the question."""
    return np.abs((model.gradient(X, said) * X).sum(axis=-1))[..., :N_SCORED]


def integrated_gradients(model: TruthModel, X: Array, said: Array, n_steps: int = 16) -> Array:
    """Return integrated gradients from a text of blanks, in size, for the same tokens."""
    blank = np.array(X)
    blank[..., 1:-1, :] = model.E[_ID[BLANK]]
    points = (np.arange(n_steps) + 0.5) / n_steps
    mean = sum(model.gradient(blank + a * (X - blank), said) for a in points) / n_steps
    return np.abs((mean * (X - blank)).sum(axis=-1))[..., :N_SCORED]


def separation(scores: Array, truth: Array) -> Array:
    """Return the share of (relevant, other) pairs that scores put in the right order, shape (...).

    This is the area under the ROC curve: 1 if every relevant token has a larger score than every
    other, about 0.5 for scores without a meaning. Ties count one half. NaN where nothing is
    relevant.

    Examples
    --------
    >>> from qkv.data.known_truth import separation
    >>> print(separation([0.5, 0.1, 0.3, 0.1], [True, False, False, True]))
    0.625
    """
    scores, truth = np.asarray(scores), np.asarray(truth)
    ahead = scores[..., :, None] - scores[..., None, :]
    won = (ahead > 0) + 0.5 * (ahead == 0)
    pairs = truth[..., :, None] & ~truth[..., None, :]
    count = pairs.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, (won * pairs).sum(axis=(-2, -1)), np.nan) / count


def precision(scores: Array, truth: Array) -> Array:
    """Return the share of relevant tokens among the k largest scores, k being their number.

    NaN where nothing is relevant; ties go to the earlier place.

    Examples
    --------
    >>> from qkv.data.known_truth import precision
    >>> print(precision([0.5, 0.1, 0.3, 0.1], [True, False, False, True]))
    0.5
    """
    scores, truth = np.asarray(scores), np.asarray(truth)
    rank = (-scores).argsort(axis=-1, kind="stable").argsort(axis=-1)
    k = truth.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.where(k > 0, ((rank < k[..., None]) & truth).sum(axis=-1), np.nan) / k


def other_weights(weights: Array, v: Array, share: float = 1.0) -> Array:
    """Return other weights of one query that have the same output.

    From the given weights a straight line leads away from the largest one, along which the output
    stays, until a weight is 0. That key is left out, and the next line begins. At the end at most
    d_v + 1 keys have a weight (Carathéodory). Everything between is a mean of two such rows, so it
    has the same output too.

    Parameters
    ----------
    weights : array, shape (n_k,)
        A row of weights.
    v : array, shape (n_k, d_v)
        The values.
    share : float
        0 gives the weights, 1 the end of the walk.

    Returns
    -------
    array, shape (n_k,)
        Not negative, with the same sum, and the same mean of the values.

    Examples
    --------
    >>> import numpy as np
    >>> from qkv.data.known_truth import other_weights
    >>> v = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> weights = np.array([0.2, 0.5, 0.2, 0.1])
    >>> other = other_weights(weights, v)
    >>> print(other.round(3), (weights @ v).round(3), (other @ v).round(3))
    [0.35 0.   0.65 0.  ] [1.3] [1.3]
    """
    far = np.array(weights, dtype=float)
    while (line := _free_line(far, v)) is not None:
        falling = line < -1e-12
        far += (far[falling] / -line[falling]).min() * line
        far[far < 1e-12] = 0.0
    return (1 - share) * np.asarray(weights) + share * far


def _free_line(weights: Array, v: Array) -> Array | None:
    """Return the direction away from the largest weight that can fall; None if none can."""
    seen = np.flatnonzero(weights > 0)
    directions = same_output_directions(v[seen])
    for j in np.argsort(-weights[seen].round(9), kind="stable"):
        fall = -directions[:, j] @ directions
        if fall[j] < -1e-9:
            line = np.zeros(len(weights))
            line[seen] = fall
            return line
    return None


def truth_model_of(arrays: dict[str, Array]) -> TruthModel:
    """Return a model from its arrays by name: E, R and W_Q_0 … W_O_1."""
    n_layers = sum(name.startswith("W_Q") for name in arrays)
    layers = tuple(
        MultiHeadParameters(*(arrays[f"{name}_{i}"] for name in ("W_Q", "W_K", "W_V", "W_O")))
        for i in range(n_layers)
    )
    return TruthModel(arrays["E"], layers, arrays["R"])


@cache
def truth_model(name: str = "two") -> TruthModel:
    """Return a trained model that answers the questions, with two heads a layer.

    Parameters
    ----------
    name : {"two", "one", "hidden"}
        Two layers; one layer, which cannot follow an arrow; two layers that were also punished for
        every weight which the question's row gives to a token that matters.

    Examples
    --------
    >>> import qkv
    >>> model = qkv.data.truth_model()
    >>> print(model.steps(qkv.data.text_ids("A→C * B1 · C3 * · · A?")).said)
    3
    """
    if name not in PATHS:
        raise ValueError(f"there are the models {', '.join(PATHS)}, not {name!r}")
    return truth_model_of(read_safetensors(PATHS[name].read_bytes()))

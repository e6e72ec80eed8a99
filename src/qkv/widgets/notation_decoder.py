"""NotationDecoder: one multi-head layer in four notations (chapter 11)."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import MultiHeadParameters, causal_mask, multi_head_steps
from qkv.data import running_example
from qkv.widgets.base import BookWidget, html_table, static_text

__all__ = ["NotationDecoder"]

CAPTION = (
    "One layer in four notations. A symbol chosen in the diagram, the formula or the code lights up"
    " wherever the same array stands."
)
NOTATIONS = ("paper", "plain", "code", "columns")
HEADINGS = ("the paper", "this book", "code", "tokens as columns")
USES = ("cross", "encoder", "decoder")
# `_{…}` is low, `^{…}` is high; one name for each of NOTATIONS.
NAMES = {
    "x_q": ("Q", "X_{q}", "X_q", "X"),
    "x_kv": ("K, V", "X_{kv}", "X_kv", "Z"),
    "w_q": ("W_{i}^{Q}", "W_{Q}^{(i)}", "W_Q[i]", "W_{q}^{h}"),
    "w_k": ("W_{i}^{K}", "W_{K}^{(i)}", "W_K[i]", "W_{k}^{h}"),
    "w_v": ("W_{i}^{V}", "W_{V}^{(i)}", "W_V[i]", "W_{v}^{h}"),
    "q": ("QW_{i}^{Q}", "Q_{i}", "q", "Q"),
    "k": ("KW_{i}^{K}", "K_{i}", "k", "K"),
    "v": ("VW_{i}^{V}", "V_{i}", "v", "V"),
    "scores": ("QK^{T}/√d_{k}", "S_{i}", "scores", "S/√d_{attn}"),
    "weights": ("softmax(…)", "A_{i}", "weights", "softmax(…)"),
    "head": ("head_{i}", "head_{i}", "head", "Y^{h}"),
    "concat": ("Concat(…)", "[head_{1}…head_{h}]", "joined", "[Y^{1};…;Y^{H}]"),
    "w_o": ("W^{O}", "W_{O}", "W_O", "W_{o}"),
    "output": ("MultiHead(Q,K,V)", "output", "output", "Ṽ"),
}
LEARNED = ("w_q", "w_k", "w_v", "w_o")


def example_inputs() -> dict[str, Any]:
    """Return both sentences of the running example, and the encoder's memory."""
    ex = running_example()
    return {
        "tokens_source": list(ex.tokens_source),
        "tokens_target": list(ex.tokens_target),
        "X_source": _whole(ex.X_source),
        "X_target": _whole(ex.X_target),
        "memory": _whole(ex.memory),
    }


def example_weights() -> dict[str, dict[str, Any]]:
    """Return the matrices of a self-attention layer and of a cross-attention layer."""
    ex = running_example()
    layers = {
        "self": (ex.W_Q, ex.W_K, ex.W_V, ex.W_O),
        "cross": (ex.W_Q_cross, ex.W_K_memory, ex.W_V_memory, ex.W_O),
    }
    names = ("W_Q", "W_K", "W_V", "W_O")
    return {
        use: dict(zip(names, map(_whole, arrays), strict=True)) for use, arrays in layers.items()
    }


class NotationDecoder(BookWidget):
    """One multi-head layer; switch the notation, and choose a symbol to see its twins.

    Parameters
    ----------
    notation : {"paper", "plain", "code", "columns"}
        The names in the diagram and the formula; "columns" is that of Phuong and Hutter.
    use : {"cross", "encoder", "decoder"}
        Which of the paper's three uses of attention.
    head : int
        Which head, from 0.
    focus : str
        The chosen symbol, one of "x_q", "x_kv", "w_q", "w_k", "w_v", "q", "k", "v", "scores",
        "weights", "head", "concat", "w_o", "output".
    inputs : dict
        tokens_source, tokens_target, X_source, X_target and memory; the running example if left
        out.
    weights : dict
        For "self" and for "cross": W_Q, W_K, W_V (one matrix a head) and W_O.

    Examples
    --------
    >>> from qkv.widgets import NotationDecoder
    >>> arrays = NotationDecoder().arrays()
    >>> arrays["x_q"].shape, arrays["w_q"].shape, arrays["q"].shape
    ((7, 8), (8, 4), (7, 4))
    """

    name = "notation-decoder"
    _esm = static_text("notation-decoder.mjs")

    notation = traitlets.Enum(list(NOTATIONS), "paper").tag(sync=True)
    use = traitlets.Enum(list(USES), "cross").tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    focus = traitlets.Enum(list(NAMES), "q").tag(sync=True)
    inputs = traitlets.Dict().tag(sync=True)
    weights = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        traits.setdefault("inputs", example_inputs())
        traits.setdefault("weights", example_weights())
        super().__init__(**traits)
        n_heads = len(self.weights["self"]["W_Q"])
        if self.head >= n_heads:
            raise traitlets.TraitError(f"head must be below {n_heads}, got {self.head}")

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array of the layer as the chosen head sees it, by `qkv.core`."""
        given = {name: np.array(self.inputs[name], float) for name in ("X_source", "X_target")}
        X_kv = X_q = given["X_source" if self.use == "encoder" else "X_target"]
        if self.use == "cross":
            X_kv = np.array(self.inputs["memory"], float)
        layer = self.weights["cross" if self.use == "cross" else "self"]
        W = MultiHeadParameters(
            *(np.array(layer[name], float) for name in ("W_Q", "W_K", "W_V", "W_O"))
        )
        mask = causal_mask(len(X_q)) if self.use == "decoder" else None
        steps = multi_head_steps(X_q, X_kv, W, mask)
        i, made = self.head, steps.attention
        return {
            "x_q": X_q,
            "x_kv": X_kv,
            "w_q": W.W_Q[i],
            "w_k": W.W_K[i],
            "w_v": W.W_V[i],
            "q": made.q[i],
            "k": made.k[i],
            "v": made.v[i],
            "scores": made.scores[i],
            "weights": made.weights[i],
            "head": made.output[i],
            "concat": steps.concatenated,
            "w_o": W.W_O,
            "output": steps.output,
        }

    def written(self) -> dict[str, np.ndarray]:
        """Return the arrays as the notation writes them: with tokens as columns, turned."""
        turn = self.notation == "columns"
        return {name: array.T if turn else array for name, array in self.arrays().items()}

    def poster(self) -> str:
        """Return the table of symbols, and the numbers of the chosen array."""
        arrays = self.written()
        head = "".join(f'<th scope="col">{title}</th>' for title in (*HEADINGS, "shape", "is"))
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{_marked(name)}</td>" for name in names)
            + f"<td>{' × '.join(map(str, arrays[key].shape))}</td>"  # noqa: RUF001
            + f"<td>{'learned' if key in LEARNED else 'computed'}</td></tr>"
            for key, names in NAMES.items()
        )
        chosen = arrays[self.focus]
        numbers = html_table(
            [str(n + 1) for n in range(chosen.shape[1])],
            [(str(n + 1), row) for n, row in enumerate(chosen)],
            f"The numbers of {_plain(NAMES[self.focus][NOTATIONS.index(self.notation)])}",
        )
        return (
            '<div class="qkv-decoder-poster"><table><caption>One layer, four notations</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<details><summary>The numbers</summary>{numbers}</details></div>"
        )


def _plain(name: str) -> str:
    for mark in ("_{", "^{", "}"):
        name = name.replace(mark, " " if mark != "}" else "")
    return name


def _marked(name: str) -> str:
    """Return `W_{i}^{Q}` as HTML."""
    html = escape(name)
    for mark, tag in (("_{", "sub"), ("^{", "sup")):
        while mark in html:
            before, _, rest = html.partition(mark)
            inside, _, after = rest.partition("}")
            html = f"{before}<{tag}>{inside}</{tag}>{after}"
    return html


def _whole(array: np.ndarray) -> list:
    """Return nested lists; whole numbers as such, which halves the page's state."""
    if (array == array.round()).all():
        return array.astype(int).tolist()
    return array.tolist()

"""Multi-head attention: several small attentions side by side, then one matrix that writes.

The same layer three times. `multi_head_attention` is the paper's: one head after another.
`multi_head_attention_stacked` lays the heads' matrices side by side and multiplies once, as
programs do. `multi_head_attention_einsum` names the axes. The three agree; the tests say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qkv.core.inputs import (
    Array,
    as_floats,
    as_head_mask,
    as_head_stack,
    as_heads,
    as_sequence,
    as_stacked,
    as_writing_heads,
    check_heads_fit,
    check_kind,
    check_leading_axes,
)
from qkv.core.projections import project
from qkv.core.scaled_dot_product import (
    AttentionSteps,
    attention_steps,
    scaled_dot_product_attention,
)

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True, eq=False)
class MultiHeadParameters:
    """What multi-head attention learns: three small matrices a head, and one that writes.

    Parameters
    ----------
    W_Q : array, shape (n_heads, d_q, d_k)
        Makes each head's queries.
    W_K : array, shape (n_kv_heads, d_kv, d_k)
        Makes each head's keys. n_kv_heads is n_heads, or divides it (grouped heads).
    W_V : array, shape (n_kv_heads, d_kv, d_v)
        Makes each head's values.
    W_O : array, shape (n_heads * d_v, d_model)
        Writes what the heads found back into a row of the model's width.
    b_Q, b_K, b_V : array, shape (n_heads, d_k), (n_kv_heads, d_k), (n_kv_heads, d_v), optional
        A bias for each head.
    b_O : array, shape (d_model,), optional
        One bias for the layer.

    Raises
    ------
    ShapeError
        If the shapes do not fit each other.
    ValueError
        If an entry is NaN or infinite.
    """

    W_Q: Float[Array, "n_heads d_q d_k"]
    W_K: Float[Array, "n_kv_heads d_kv d_k"]
    W_V: Float[Array, "n_kv_heads d_kv d_v"]
    W_O: Float[Array, "n_heads*d_v d_model"]
    b_Q: Float[Array, "n_heads d_k"] | None = None
    b_K: Float[Array, "n_kv_heads d_k"] | None = None
    b_V: Float[Array, "n_kv_heads d_v"] | None = None
    b_O: Float[Array, " d_model"] | None = None

    def __post_init__(self) -> None:  # noqa: D105
        for name in ("W_Q", "W_K", "W_V"):
            object.__setattr__(self, name, as_head_stack(name, getattr(self, name)))
        object.__setattr__(self, "W_O", as_floats("W_O", self.W_O, "n_heads*d_v d_model", True))
        for name in ("b_Q", "b_K", "b_V", "b_O"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_floats(name, getattr(self, name)))
        check_heads_fit(self)

    @property
    def n_heads(self) -> int:
        """Number of heads that ask."""
        return self.W_Q.shape[0]

    @property
    def n_kv_heads(self) -> int:
        """Number of heads that are looked at; fewer than n_heads in grouped attention."""
        return self.W_K.shape[0]

    @property
    def d_q(self) -> int:
        """Width of the sequence that asks."""
        return self.W_Q.shape[1]

    @property
    def d_kv(self) -> int:
        """Width of the sequence that is looked at."""
        return self.W_K.shape[1]

    @property
    def d_k(self) -> int:
        """Width of a head's queries and keys."""
        return self.W_K.shape[2]

    @property
    def d_v(self) -> int:
        """Width of a head's values."""
        return self.W_V.shape[2]

    @property
    def d_model(self) -> int:
        """Width of the output."""
        return self.W_O.shape[1]

    def head(self, i: int) -> tuple[Any, ...]:
        """Return W_Q, b_Q, W_K, b_K, W_V and b_V of head `i`; an absent bias is None."""
        stacks = (self.W_Q, self.b_Q, self.W_K, self.b_K, self.W_V, self.b_V)
        return tuple(None if stack is None else stack[i] for stack in stacks)


def split_heads(
    x: Float[Array, "*batch n width"], n_heads: int
) -> Float[Array, "*batch {n_heads} n d"]:
    r"""Cut each row into equal pieces, one a head, and bring the heads to the front.

    .. math:: y_{h t c} = x_{t,\; h d + c}

    The order matters: the row is cut first and the axes are swapped after. Reshaping straight to
    (n_heads, n, d) has the same shape and mixes tokens.

    Parameters
    ----------
    x : array, shape (..., n, n_heads * d)
        All heads side by side in each row.
    n_heads : int
        How many pieces.

    Returns
    -------
    heads : array, shape (..., n_heads, n, d)

    Raises
    ------
    ShapeError
        If the width is not a multiple of `n_heads`.
    ValueError
        If `n_heads` is not an integer of at least 1, or an entry is NaN or infinite.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, read backwards from Concat.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.split_heads([[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]], n_heads=3))
    [[[ 1.  2.]
      [ 7.  8.]]
    <BLANKLINE>
     [[ 3.  4.]
      [ 9. 10.]]
    <BLANKLINE>
     [[ 5.  6.]
      [11. 12.]]]
    """
    x, n_heads = as_stacked("x", x, n_heads)
    *batch, n, width = x.shape
    pieces = x.reshape(*batch, n, n_heads, width // n_heads)
    return np.swapaxes(pieces, -3, -2)


def merge_heads(heads: Float[Array, "*batch n_heads n d"]) -> Float[Array, "*batch n n_heads*d"]:
    r"""Lay the heads side by side in each row: the paper's Concat.

    .. math:: x_{t,\; h d + c} = y_{h t c}

    Parameters
    ----------
    heads : array, shape (..., n_heads, n, d)
        One block of rows a head.

    Returns
    -------
    x : array, shape (..., n, n_heads * d)

    Raises
    ------
    ShapeError
        If `heads` has fewer than three axes, or an axis of size 0.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, Concat.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.merge_heads([[[1, 2], [7, 8]], [[3, 4], [9, 10]], [[5, 6], [11, 12]]]))
    [[ 1.  2.  3.  4.  5.  6.]
     [ 7.  8.  9. 10. 11. 12.]]
    """
    heads = as_floats("heads", heads, "n_heads n d")
    *batch, n_heads, n, d = heads.shape
    return np.swapaxes(heads, -3, -2).reshape(*batch, n, n_heads * d)


def stack_heads(
    W: Float[Array, "n_heads d_in d"], b: Float[Array, "n_heads d"] | None = None
) -> tuple[Float[Array, "d_in n_heads*d"], Float[Array, " n_heads*d"] | None]:
    r"""Lay the heads' matrices side by side, so that one product serves all heads.

    .. math:: W = [\,W^{(1)} \; W^{(2)} \cdots W^{(h)}\,]

    Parameters
    ----------
    W : array, shape (n_heads, d_in, d)
        One matrix a head.
    b : array, shape (n_heads, d), optional
        One bias a head.

    Returns
    -------
    W : array, shape (d_in, n_heads * d)
        torch's ``nn.Linear`` stores the transpose of this.
    b : array, shape (n_heads * d,), or None

    Raises
    ------
    ShapeError
        If W is not a stack of matrices, or b does not fit.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import qkv
    >>> W, b = qkv.stack_heads([[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]])
    >>> print(W, b)
    [[ 1.  2.  7.  8.]
     [ 3.  4.  9. 10.]
     [ 5.  6. 11. 12.]] None
    """
    W, b = as_heads("W", W, "b", b)
    n_heads, d_in, d = W.shape
    side_by_side = np.swapaxes(W, 0, 1).reshape(d_in, n_heads * d)
    return side_by_side, None if b is None else b.reshape(n_heads * d)


def unstack_heads(W: Float[Array, "d_in width"], n_heads: int) -> Float[Array, "{n_heads} d_in d"]:
    r"""Cut one wide matrix into the heads' matrices: columns 0 to d-1 are head 0.

    .. math:: W^{(i)} = W_{:,\; i d \,:\, (i+1) d}

    Parameters
    ----------
    W : array, shape (d_in, n_heads * d)
        All heads side by side.
    n_heads : int
        How many heads.

    Returns
    -------
    W : array, shape (n_heads, d_in, d)
        One matrix a head.

    Raises
    ------
    ShapeError
        If W is not one matrix, or its width is not a multiple of `n_heads`.
    ValueError
        If `n_heads` is not an integer of at least 1, or an entry is NaN or infinite.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.unstack_heads([[1, 2, 7, 8], [3, 4, 9, 10], [5, 6, 11, 12]], n_heads=2).shape)
    (2, 3, 2)
    """
    W, n_heads = as_stacked("W", W, n_heads, exactly=True)
    d_in, width = W.shape
    return np.swapaxes(W.reshape(d_in, n_heads, width // n_heads), 0, 1)


def project_heads(
    X: Float[Array, "*batch n d_in"],
    W: Float[Array, "n_heads d_in d"],
    b: Float[Array, "n_heads d"] | None = None,
) -> Float[Array, "*batch n_heads n d"]:
    r"""Map every row of X by each head's own matrix.

    .. math:: y_{h t c} = \sum_r x_{t r}\, W_{h r c} + b_{h c}

    Parameters
    ----------
    X : array, shape (..., n, d_in)
        One token a row; all heads see the same rows.
    W : array, shape (n_heads, d_in, d)
        One matrix a head.
    b : array, shape (n_heads, d), optional
        One bias a head.

    Returns
    -------
    heads : array, shape (..., n_heads, n, d)

    Raises
    ------
    ShapeError
        If the widths do not fit, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, the arguments of head_i.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> print(qkv.project_heads(ex.X_source, ex.W_V).shape)
    (3, 5, 2)
    """
    W, b = as_heads("W", W, "b", b)
    X = as_sequence("X", X, "W", W)
    heads = np.einsum("...tr,hrc->...htc", X, W, optimize=True)
    return heads if b is None else heads + b[:, None, :]


def head_writes(
    heads: Float[Array, "*batch n_heads n d_v"], W_O: Float[Array, "n_heads*d_v d_model"]
) -> Float[Array, "*batch n_heads n d_model"]:
    r"""Return what each head adds to the output: its own d_v rows of W_O are all it uses.

    .. math:: \operatorname{Concat}(o_1, \ldots, o_h)\, W_O = \sum_i o_i W_O^{(i)}

    Parameters
    ----------
    heads : array, shape (..., n_heads, n, d_v)
        Each head's weighted means of values.
    W_O : array, shape (n_heads * d_v, d_model)
        The matrix that writes.

    Returns
    -------
    writes : array, shape (..., n_heads, n, d_model)
        Their sum over the heads is the output of the layer without its bias.

    Raises
    ------
    ShapeError
        If W_O has not d_v rows for each head, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Elhage et al., "A mathematical framework for transformer circuits" (2021), "Attention heads
    are independent and additive".

    Examples
    --------
    >>> import qkv
    >>> W_O = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    >>> writes = qkv.head_writes([[[1, 2]], [[3, 4]]], W_O)
    >>> print(writes[0], writes[1], writes.sum(axis=0))
    [[1. 2. 0.]] [[4. 4. 7.]] [[5. 6. 7.]]
    """
    heads, W_O = as_writing_heads(heads, W_O)
    n_heads, _, d_v = heads.shape[-3:]
    rows_of_each_head = W_O.reshape(n_heads, d_v, -1)
    return heads @ rows_of_each_head


def multi_head_attention(
    X_q: Float[Array, "*batch n_q d_q"],
    X_kv: Float[Array, "*batch n_k d_kv"],
    parameters: MultiHeadParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_model"], Float[Array, "*batch n_heads n_q n_k"]]:
    r"""Attend with every head, lay the results side by side, and write them with W_O.

    .. math:: \operatorname{head}_i = \operatorname{Attention}(X_q W_Q^{(i)}, X_{kv} W_K^{(i)},
        X_{kv} W_V^{(i)}), \qquad [\operatorname{head}_1 \cdots \operatorname{head}_h]\, W_O

    Parameters
    ----------
    X_q : array, shape (..., n_q, d_q)
        The sequence that asks: the paper's Q in MultiHead(Q, K, V).
    X_kv : array, shape (..., n_k, d_kv)
        The sequence that is looked at: the paper's K and V there.
    parameters : MultiHeadParameters
        The learned matrices.
    mask : bool array, optional
        True where the query may look: broadcastable to (..., n_q, n_k) and shared by all heads,
        or with the heads' axis to (..., n_heads, n_q, n_k).

    Returns
    -------
    output : array, shape (..., n_q, d_model)
        One row for each query.
    weights : array, shape (..., n_heads, n_q, n_k)
        Each head's own.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> parameters = qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)
    >>> output, weights = qkv.multi_head_attention(ex.X_target, ex.X_source, parameters)
    >>> print(output.shape, weights.shape)
    (7, 8) (3, 7, 5)
    """
    X_q, X_kv, mask = as_multi_head_inputs(X_q, X_kv, parameters, mask)
    outputs, weights = [], []
    for i in range(parameters.n_heads):
        W_Q, b_Q, W_K, b_K, W_V, b_V = parameters.head(i)
        q, k, v = project(X_q, W_Q, b_Q), project(X_kv, W_K, b_K), project(X_kv, W_V, b_V)
        mask_of_head = None if mask is None else mask[..., i, :, :]
        output_of_head, weights_of_head = scaled_dot_product_attention(q, k, v, mask_of_head)
        outputs.append(output_of_head)
        weights.append(weights_of_head)
    concatenated = np.concatenate(outputs, axis=-1)
    return project(concatenated, parameters.W_O, parameters.b_O), np.stack(weights, axis=-3)


def multi_head_attention_stacked(
    X_q: Float[Array, "*batch n_q d_q"],
    X_kv: Float[Array, "*batch n_k d_kv"],
    parameters: MultiHeadParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_model"], Float[Array, "*batch n_heads n_q n_k"]]:
    r"""Compute multi-head attention with one wide matrix each for Q, K and V.

    .. math:: Q = \operatorname{split}(X_q\,[\,W_Q^{(1)} \cdots W_Q^{(h)}\,]), \ldots, \qquad
        \operatorname{merge}(\operatorname{Attention}(Q, K, V))\, W_O

    Parameters
    ----------
    X_q : array, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : array, shape (..., n_k, d_kv)
        The sequence that is looked at.
    parameters : MultiHeadParameters
        The learned matrices.
    mask : bool array, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : array, shape (..., n_q, d_model)
        One row for each query.
    weights : array, shape (..., n_heads, n_q, n_k)
        Each head's own.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, last paragraph: the cost is
    that of one head of full width.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> parameters = qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)
    >>> output, _ = qkv.multi_head_attention_stacked(ex.X_target, ex.X_source, parameters)
    >>> one_by_one, _ = qkv.multi_head_attention(ex.X_target, ex.X_source, parameters)
    >>> print(abs(output - one_by_one).max() < 1e-12)
    True
    """
    X_q, X_kv, mask = as_multi_head_inputs(X_q, X_kv, parameters, mask)
    q = project(X_q, *stack_heads(parameters.W_Q, parameters.b_Q))
    k = project(X_kv, *stack_heads(parameters.W_K, parameters.b_K))
    v = project(X_kv, *stack_heads(parameters.W_V, parameters.b_V))
    q, k, v = (split_heads(x, parameters.n_heads) for x in (q, k, v))
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    return project(merge_heads(output), parameters.W_O, parameters.b_O), weights


def multi_head_attention_einsum(
    X_q: Float[Array, "*batch n_q d_q"],
    X_kv: Float[Array, "*batch n_k d_kv"],
    parameters: MultiHeadParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_model"], Float[Array, "*batch n_heads n_q n_k"]]:
    r"""Compute multi-head attention with every axis named, and no concatenation.

    .. math:: q_{htc} = \sum_r x_{tr} W^Q_{hrc}, \ldots, \qquad
        o_{tm} = \sum_{h c} \Big(\sum_j w_{htj}\, v_{hjc}\Big) W^O_{hcm}

    Parameters
    ----------
    X_q : array, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : array, shape (..., n_k, d_kv)
        The sequence that is looked at.
    parameters : MultiHeadParameters
        The learned matrices.
    mask : bool array, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : array, shape (..., n_q, d_model)
        One row for each query.
    weights : array, shape (..., n_heads, n_q, n_k)
        Each head's own.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), section 2.2.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> parameters = qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)
    >>> output, _ = qkv.multi_head_attention_einsum(ex.X_target, ex.X_source, parameters)
    >>> one_by_one, _ = qkv.multi_head_attention(ex.X_target, ex.X_source, parameters)
    >>> print(abs(output - one_by_one).max() < 1e-12)
    True
    """
    X_q, X_kv, mask = as_multi_head_inputs(X_q, X_kv, parameters, mask)
    q = project_heads(X_q, parameters.W_Q, parameters.b_Q)
    k = project_heads(X_kv, parameters.W_K, parameters.b_K)
    v = project_heads(X_kv, parameters.W_V, parameters.b_V)
    heads, weights = scaled_dot_product_attention(q, k, v, mask)
    W_O = parameters.W_O.reshape(parameters.n_heads, parameters.d_v, parameters.d_model)
    output = np.einsum("...htc,hcm->...tm", heads, W_O, optimize=True)
    return output if parameters.b_O is None else output + parameters.b_O, weights


@dataclass(frozen=True, eq=False)
class MultiHeadSteps:
    """Every array between the inputs and the output of multi-head attention.

    Attributes
    ----------
    attention : AttentionSteps
        All heads' steps; each array has the heads' axis in front of its last two.
    concatenated : array, shape (..., n_q, n_heads * d_v)
        The heads' outputs side by side.
    writes : array, shape (..., n_heads, n_q, d_model)
        What each head adds to the output.
    output : array, shape (..., n_q, d_model)
        The sum of the writes, and the bias if there is one.
    """

    attention: AttentionSteps
    concatenated: Float[Array, "*batch n_q width"]
    writes: Float[Array, "*batch n_heads n_q d_model"]
    output: Float[Array, "*batch n_q d_model"]


def multi_head_steps(
    X_q: Float[Array, "*batch n_q d_q"],
    X_kv: Float[Array, "*batch n_k d_kv"],
    parameters: MultiHeadParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> MultiHeadSteps:
    r"""Compute multi-head attention and keep every intermediate.

    .. math:: X \;\to\; Q, K, V \;\to\; \text{weights} \;\to\; \text{heads} \;\to\;
        \text{writes} \;\to\; \text{output}

    Parameters
    ----------
    X_q : array, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : array, shape (..., n_k, d_kv)
        The sequence that is looked at.
    parameters : MultiHeadParameters
        The learned matrices.
    mask : bool array, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    steps : MultiHeadSteps
        What pages and widgets show, by name.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2 and figure 2 (right).

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> parameters = qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)
    >>> steps = qkv.multi_head_steps(ex.X_target, ex.X_source, parameters)
    >>> print(steps.attention.q.shape, steps.writes.shape, steps.output.shape)
    (3, 7, 4) (3, 7, 8) (7, 8)
    """
    X_q, X_kv, mask = as_multi_head_inputs(X_q, X_kv, parameters, mask)
    q = project_heads(X_q, parameters.W_Q, parameters.b_Q)
    k = project_heads(X_kv, parameters.W_K, parameters.b_K)
    v = project_heads(X_kv, parameters.W_V, parameters.b_V)
    attention = attention_steps(q, k, v, mask)
    writes = head_writes(attention.output, parameters.W_O)
    output = writes.sum(axis=-3)
    if parameters.b_O is not None:
        output = output + parameters.b_O
    return MultiHeadSteps(attention, merge_heads(attention.output), writes, output)


def as_multi_head_inputs(
    X_q: object, X_kv: object, parameters: MultiHeadParameters, mask: object, grouped: bool = False
) -> tuple[Array, Array, Array | None]:
    """Return both sequences as floats that fit, and the mask with the heads' axis or None."""
    check_kind("parameters", parameters, MultiHeadParameters)
    X_q = as_sequence("X_q", X_q, "W_Q", parameters.W_Q)
    X_kv = as_sequence("X_kv", X_kv, "W_K", parameters.W_K)
    check_leading_axes("X_q", X_q, "X_kv", X_kv)
    check_heads_fit(parameters, grouped)
    return X_q, X_kv, as_head_mask(mask, X_q, X_kv, parameters.n_heads)

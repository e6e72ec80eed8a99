"""Multi-head attention: several small attentions side by side, then one matrix that writes."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from qkv import core
from qkv.twins.inputs import as_head_mask, check_sequence, check_stacked
from qkv.twins.module import Twin, as_parameter
from qkv.twins.projections import project
from qkv.twins.scaled_dot_product import (
    AttentionSteps,
    attention_steps,
    scaled_dot_product_attention,
)


class MultiHeadAttention(Twin):
    """Multi-head attention that learns: the paper's matrices, one of each kind a head.

    Parameters
    ----------
    parameters : qkv.MultiHeadParameters
        Where the matrices start. ``parameters.W_Q`` of shape (n_heads, d_q, d_k) becomes
        ``module.W_Q`` of the same shape, and so on; an absent bias stays absent.

    See Also
    --------
    GroupedMultiHeadAttention : the same with fewer heads of keys and values.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> layer = twins.MultiHeadAttention(qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O))
    >>> X_target, X_source = torch.tensor(ex.X_target), torch.tensor(ex.X_source)
    >>> output, weights = layer(X_target, X_source)
    >>> output.sum().backward()
    >>> print(*output.shape, *weights.shape, *layer.W_Q.grad.shape)
    7 8 3 7 5 3 8 4
    """

    core_class = core.MultiHeadParameters

    def __init__(self, parameters: core.MultiHeadParameters) -> None:
        super().__init__()
        self.W_Q = as_parameter(parameters.W_Q)
        self.W_K = as_parameter(parameters.W_K)
        self.W_V = as_parameter(parameters.W_V)
        self.W_O = as_parameter(parameters.W_O)
        self.b_Q = as_parameter(parameters.b_Q)
        self.b_K = as_parameter(parameters.b_K)
        self.b_V = as_parameter(parameters.b_V)
        self.b_O = as_parameter(parameters.b_O)

    def forward(
        self, X_q: Tensor, X_kv: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return `multi_head_attention_stacked` with these parameters."""
        return multi_head_attention_stacked(X_q, X_kv, self, mask)

    @property
    def n_heads(self) -> int:
        """Number of heads that ask."""
        return self.W_Q.shape[0]

    @property
    def n_kv_heads(self) -> int:
        """Number of heads that are looked at."""
        return self.W_K.shape[0]

    def head(self, i: int) -> tuple[Any, ...]:
        """Return W_Q, b_Q, W_K, b_K, W_V and b_V of head `i`; an absent bias is None."""
        stacks = (self.W_Q, self.b_Q, self.W_K, self.b_K, self.W_V, self.b_V)
        return tuple(None if stack is None else stack[i] for stack in stacks)


def split_heads(
    x: Float[Tensor, "*batch n width"], n_heads: int
) -> Float[Tensor, "*batch {n_heads} n d"]:
    r"""Cut each row into equal pieces, one a head, and bring the heads to the front.

    .. math:: y_{h t c} = x_{t,\; h d + c}

    The order matters: the row is cut first and the axes are swapped after. Reshaping straight to
    (n_heads, n, d) has the same shape and mixes tokens.

    Parameters
    ----------
    x : tensor, shape (..., n, n_heads * d)
        All heads side by side in each row.
    n_heads : int
        How many pieces.

    Returns
    -------
    heads : tensor, shape (..., n_heads, n, d)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.split_heads : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, read backwards from Concat.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> x = torch.tensor([[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]])
    >>> print(*twins.split_heads(x, n_heads=3).tolist(), sep=chr(10))
    [[1, 2], [7, 8]]
    [[3, 4], [9, 10]]
    [[5, 6], [11, 12]]
    """
    check_stacked("x", x, n_heads)
    *batch, n, width = x.shape
    pieces = x.reshape(*batch, n, n_heads, width // n_heads)
    return pieces.transpose(-3, -2)


def merge_heads(heads: Float[Tensor, "*batch n_heads n d"]) -> Float[Tensor, "*batch n n_heads*d"]:
    r"""Lay the heads side by side in each row: the paper's Concat.

    .. math:: x_{t,\; h d + c} = y_{h t c}

    Parameters
    ----------
    heads : tensor, shape (..., n_heads, n, d)
        One block of rows a head.

    Returns
    -------
    x : tensor, shape (..., n, n_heads * d)

    See Also
    --------
    qkv.merge_heads : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, Concat.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> heads = torch.tensor([[[1, 2], [7, 8]], [[3, 4], [9, 10]], [[5, 6], [11, 12]]])
    >>> print(twins.merge_heads(heads).numpy())
    [[ 1  2  3  4  5  6]
     [ 7  8  9 10 11 12]]
    """
    *batch, n_heads, n, d = heads.shape
    return heads.transpose(-3, -2).reshape(*batch, n, n_heads * d)


def stack_heads(
    W: Float[Tensor, "n_heads d_in d"], b: Float[Tensor, "n_heads d"] | None = None
) -> tuple[Float[Tensor, "d_in n_heads*d"], Float[Tensor, " n_heads*d"] | None]:
    r"""Lay the heads' matrices side by side, so that one product serves all heads.

    .. math:: W = [\,W^{(1)} \; W^{(2)} \cdots W^{(h)}\,]

    Parameters
    ----------
    W : tensor, shape (n_heads, d_in, d)
        One matrix a head.
    b : tensor, shape (n_heads, d), optional
        One bias a head.

    Returns
    -------
    W : tensor, shape (d_in, n_heads * d)
        torch's ``nn.Linear`` stores the transpose of this.
    b : tensor, shape (n_heads * d,), or None

    See Also
    --------
    qkv.stack_heads : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> W = torch.tensor([[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]])
    >>> print(twins.stack_heads(W)[0].numpy())
    [[ 1  2  7  8]
     [ 3  4  9 10]
     [ 5  6 11 12]]
    """
    n_heads, d_in, d = W.shape
    side_by_side = W.transpose(0, 1).reshape(d_in, n_heads * d)
    return side_by_side, None if b is None else b.reshape(n_heads * d)


def unstack_heads(
    W: Float[Tensor, "d_in width"], n_heads: int
) -> Float[Tensor, "{n_heads} d_in d"]:
    r"""Cut one wide matrix into the heads' matrices: columns 0 to d-1 are head 0.

    .. math:: W^{(i)} = W_{:,\; i d \,:\, (i+1) d}

    Parameters
    ----------
    W : tensor, shape (d_in, n_heads * d)
        All heads side by side.
    n_heads : int
        How many heads.

    Returns
    -------
    W : tensor, shape (n_heads, d_in, d)
        One matrix a head.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.unstack_heads : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> print(*twins.unstack_heads(torch.ones(3, 4), n_heads=2).shape)
    2 3 2
    """
    check_stacked("W", W, n_heads)
    d_in, width = W.shape
    return W.reshape(d_in, n_heads, width // n_heads).transpose(0, 1)


def project_heads(
    X: Float[Tensor, "*batch n d_in"],
    W: Float[Tensor, "n_heads d_in d"],
    b: Float[Tensor, "n_heads d"] | None = None,
) -> Float[Tensor, "*batch n_heads n d"]:
    r"""Map every row of X by each head's own matrix.

    .. math:: y_{h t c} = \sum_r x_{t r}\, W_{h r c} + b_{h c}

    Parameters
    ----------
    X : tensor, shape (..., n, d_in)
        One token a row; all heads see the same rows.
    W : tensor, shape (n_heads, d_in, d)
        One matrix a head.
    b : tensor, shape (n_heads, d), optional
        One bias a head.

    Returns
    -------
    heads : tensor, shape (..., n_heads, n, d)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.project_heads : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, the arguments of head_i.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> print(*twins.project_heads(torch.ones(5, 8), torch.ones(3, 8, 2)).shape)
    3 5 2
    """
    check_sequence("X", X, "W", W)
    heads = torch.einsum("...tr,hrc->...htc", X, W)
    return heads if b is None else heads + b[:, None, :]


def head_writes(
    heads: Float[Tensor, "*batch n_heads n d_v"], W_O: Float[Tensor, "n_heads*d_v d_model"]
) -> Float[Tensor, "*batch n_heads n d_model"]:
    r"""Return what each head adds to the output: its own d_v rows of W_O are all it uses.

    .. math:: \operatorname{Concat}(o_1, \ldots, o_h)\, W_O = \sum_i o_i W_O^{(i)}

    Parameters
    ----------
    heads : tensor, shape (..., n_heads, n, d_v)
        Each head's weighted means of values.
    W_O : tensor, shape (n_heads * d_v, d_model)
        The matrix that writes.

    Returns
    -------
    writes : tensor, shape (..., n_heads, n, d_model)
        Their sum over the heads is the output of the layer without its bias.

    See Also
    --------
    qkv.head_writes : the same in numpy.

    References
    ----------
    Elhage et al., "A mathematical framework for transformer circuits" (2021), "Attention heads
    are independent and additive".

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> W_O = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    >>> writes = twins.head_writes(torch.tensor([[[1, 2]], [[3, 4]]]), W_O)
    >>> print(writes[0].numpy(), writes[1].numpy(), writes.sum(dim=0).numpy())
    [[1 2 0]] [[4 4 7]] [[5 6 7]]
    """
    n_heads, _, d_v = heads.shape[-3:]
    rows_of_each_head = W_O.reshape(n_heads, d_v, -1)
    return heads @ rows_of_each_head


def multi_head_attention(
    X_q: Float[Tensor, "*batch n_q d_q"],
    X_kv: Float[Tensor, "*batch n_k d_kv"],
    parameters: MultiHeadAttention,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_model"], Float[Tensor, "*batch n_heads n_q n_k"]]:
    r"""Attend with every head, lay the results side by side, and write them with W_O.

    .. math:: \operatorname{head}_i = \operatorname{Attention}(X_q W_Q^{(i)}, X_{kv} W_K^{(i)},
        X_{kv} W_V^{(i)}), \qquad [\operatorname{head}_1 \cdots \operatorname{head}_h]\, W_O

    Parameters
    ----------
    X_q : tensor, shape (..., n_q, d_q)
        The sequence that asks: the paper's Q in MultiHead(Q, K, V).
    X_kv : tensor, shape (..., n_k, d_kv)
        The sequence that is looked at: the paper's K and V there.
    parameters : MultiHeadAttention
        The learned matrices.
    mask : bool tensor, optional
        True where the query may look: broadcastable to (..., n_q, n_k) and shared by all heads,
        or with the heads' axis to (..., n_heads, n_q, n_k).

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
        One row for each query.
    weights : tensor, shape (..., n_heads, n_q, n_k)
        Each head's own.

    See Also
    --------
    qkv.multi_head_attention : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> layer = twins.MultiHeadAttention(qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O))
    >>> X_target, X_source = torch.tensor(ex.X_target), torch.tensor(ex.X_source)
    >>> output, weights = twins.multi_head_attention(X_target, X_source, layer)
    >>> print(*output.shape, *weights.shape)
    7 8 3 7 5
    """
    mask = as_multi_head_mask(X_q, X_kv, parameters, mask)
    outputs, weights = [], []
    for i in range(parameters.n_heads):
        W_Q, b_Q, W_K, b_K, W_V, b_V = parameters.head(i)
        q, k, v = project(X_q, W_Q, b_Q), project(X_kv, W_K, b_K), project(X_kv, W_V, b_V)
        mask_of_head = None if mask is None else mask[..., i, :, :]
        output_of_head, weights_of_head = scaled_dot_product_attention(q, k, v, mask_of_head)
        outputs.append(output_of_head)
        weights.append(weights_of_head)
    concatenated = torch.cat(outputs, dim=-1)
    return project(concatenated, parameters.W_O, parameters.b_O), torch.stack(weights, dim=-3)


def multi_head_attention_stacked(
    X_q: Float[Tensor, "*batch n_q d_q"],
    X_kv: Float[Tensor, "*batch n_k d_kv"],
    parameters: MultiHeadAttention,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_model"], Float[Tensor, "*batch n_heads n_q n_k"]]:
    r"""Compute multi-head attention with one wide matrix each for Q, K and V.

    .. math:: Q = \operatorname{split}(X_q\,[\,W_Q^{(1)} \cdots W_Q^{(h)}\,]), \ldots, \qquad
        \operatorname{merge}(\operatorname{Attention}(Q, K, V))\, W_O

    Parameters
    ----------
    X_q : tensor, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : tensor, shape (..., n_k, d_kv)
        The sequence that is looked at.
    parameters : MultiHeadAttention
        The learned matrices.
    mask : bool tensor, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
        One row for each query.
    weights : tensor, shape (..., n_heads, n_q, n_k)
        Each head's own.

    See Also
    --------
    qkv.multi_head_attention_stacked : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, last paragraph: the cost is
    that of one head of full width.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> layer = twins.MultiHeadAttention(qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O))
    >>> X_target, X_source = torch.tensor(ex.X_target), torch.tensor(ex.X_source)
    >>> output, _ = twins.multi_head_attention_stacked(X_target, X_source, layer)
    >>> one_by_one, _ = twins.multi_head_attention(X_target, X_source, layer)
    >>> print((output - one_by_one).abs().max().item() < 1e-12)
    True
    """
    mask = as_multi_head_mask(X_q, X_kv, parameters, mask)
    q = project(X_q, *stack_heads(parameters.W_Q, parameters.b_Q))
    k = project(X_kv, *stack_heads(parameters.W_K, parameters.b_K))
    v = project(X_kv, *stack_heads(parameters.W_V, parameters.b_V))
    q, k, v = (split_heads(x, parameters.n_heads) for x in (q, k, v))
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    return project(merge_heads(output), parameters.W_O, parameters.b_O), weights


def multi_head_attention_einsum(
    X_q: Float[Tensor, "*batch n_q d_q"],
    X_kv: Float[Tensor, "*batch n_k d_kv"],
    parameters: MultiHeadAttention,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_model"], Float[Tensor, "*batch n_heads n_q n_k"]]:
    r"""Compute multi-head attention with every axis named, and no concatenation.

    .. math:: q_{htc} = \sum_r x_{tr} W^Q_{hrc}, \ldots, \qquad
        o_{tm} = \sum_{h c} \Big(\sum_j w_{htj}\, v_{hjc}\Big) W^O_{hcm}

    Parameters
    ----------
    X_q : tensor, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : tensor, shape (..., n_k, d_kv)
        The sequence that is looked at.
    parameters : MultiHeadAttention
        The learned matrices.
    mask : bool tensor, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
        One row for each query.
    weights : tensor, shape (..., n_heads, n_q, n_k)
        Each head's own.

    See Also
    --------
    qkv.multi_head_attention_einsum : the same in numpy.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), section 2.2.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> layer = twins.MultiHeadAttention(qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O))
    >>> X_target, X_source = torch.tensor(ex.X_target), torch.tensor(ex.X_source)
    >>> output, _ = twins.multi_head_attention_einsum(X_target, X_source, layer)
    >>> one_by_one, _ = twins.multi_head_attention(X_target, X_source, layer)
    >>> print((output - one_by_one).abs().max().item() < 1e-12)
    True
    """
    mask = as_multi_head_mask(X_q, X_kv, parameters, mask)
    q = project_heads(X_q, parameters.W_Q, parameters.b_Q)
    k = project_heads(X_kv, parameters.W_K, parameters.b_K)
    v = project_heads(X_kv, parameters.W_V, parameters.b_V)
    heads, weights = scaled_dot_product_attention(q, k, v, mask)
    W_O = parameters.W_O.reshape(parameters.n_heads, v.shape[-1], -1)
    output = torch.einsum("...htc,hcm->...tm", heads, W_O)
    return output if parameters.b_O is None else output + parameters.b_O, weights


@dataclass(frozen=True, eq=False)
class MultiHeadSteps:
    """Every tensor between the inputs and the output of multi-head attention.

    Attributes
    ----------
    attention : AttentionSteps
        All heads' steps; each tensor has the heads' axis in front of its last two.
    concatenated : tensor, shape (..., n_q, n_heads * d_v)
        The heads' outputs side by side.
    writes : tensor, shape (..., n_heads, n_q, d_model)
        What each head adds to the output.
    output : tensor, shape (..., n_q, d_model)
        The sum of the writes, and the bias if there is one.
    """

    attention: AttentionSteps
    concatenated: Float[Tensor, "*batch n_q width"]
    writes: Float[Tensor, "*batch n_heads n_q d_model"]
    output: Float[Tensor, "*batch n_q d_model"]


def multi_head_steps(
    X_q: Float[Tensor, "*batch n_q d_q"],
    X_kv: Float[Tensor, "*batch n_k d_kv"],
    parameters: MultiHeadAttention,
    mask: Bool[Tensor, " ..."] | None = None,
) -> MultiHeadSteps:
    r"""Compute multi-head attention and keep every intermediate.

    .. math:: X \;\to\; Q, K, V \;\to\; \text{weights} \;\to\; \text{heads} \;\to\;
        \text{writes} \;\to\; \text{output}

    Parameters
    ----------
    X_q : tensor, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : tensor, shape (..., n_k, d_kv)
        The sequence that is looked at.
    parameters : MultiHeadAttention
        The learned matrices.
    mask : bool tensor, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    steps : MultiHeadSteps
        What pages and widgets show, by name.

    See Also
    --------
    qkv.multi_head_steps : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2 and figure 2 (right).

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> layer = twins.MultiHeadAttention(qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O))
    >>> steps = twins.multi_head_steps(torch.tensor(ex.X_target), torch.tensor(ex.X_source), layer)
    >>> print(*steps.attention.q.shape, *steps.writes.shape, *steps.output.shape)
    3 7 4 3 7 8 7 8
    """
    mask = as_multi_head_mask(X_q, X_kv, parameters, mask)
    q = project_heads(X_q, parameters.W_Q, parameters.b_Q)
    k = project_heads(X_kv, parameters.W_K, parameters.b_K)
    v = project_heads(X_kv, parameters.W_V, parameters.b_V)
    attention = attention_steps(q, k, v, mask)
    writes = head_writes(attention.output, parameters.W_O)
    output = writes.sum(dim=-3)
    if parameters.b_O is not None:
        output = output + parameters.b_O
    return MultiHeadSteps(attention, merge_heads(attention.output), writes, output)


def as_multi_head_mask(
    X_q: Tensor, X_kv: Tensor, parameters: MultiHeadAttention, mask: Tensor | None
) -> Tensor | None:
    """Check both sequences, and return the mask with the heads' axis or None."""
    check_sequence("X_q", X_q, "W_Q", parameters.W_Q)
    check_sequence("X_kv", X_kv, "W_K", parameters.W_K)
    return as_head_mask(mask, X_q, X_kv, parameters.n_heads)

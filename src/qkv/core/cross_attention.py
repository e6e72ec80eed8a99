"""One sequence or two: what makes self-attention and cross-attention is what goes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qkv.core.inputs import Array
from qkv.core.multi_head import MultiHeadParameters, multi_head_attention_stacked

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def self_attention(
    X: Float[Array, "*batch n d_model"],
    parameters: MultiHeadParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n d_out"], Float[Array, "*batch n_heads n n"]]:
    r"""Let a sequence look at itself: queries, keys and values come from the same rows.

    .. math:: \operatorname{MultiHead}(X, X)

    Parameters
    ----------
    X : array, shape (..., n, d_model)
        One token a row.
    parameters : MultiHeadParameters
        The learned matrices; d_q and d_kv are both d_model.
    mask : bool array, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : array, shape (..., n, d_out)
        One row for each token.
    weights : array, shape (..., n_heads, n, n)
        Each head's own; row t is what token t looks at.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3, second and third point.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> parameters = qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)
    >>> output, weights = qkv.self_attention(ex.X_source, parameters)
    >>> print(output.shape, weights.shape)
    (5, 8) (3, 5, 5)
    """
    return multi_head_attention_stacked(X, X, parameters, mask)


def cross_attention(
    X: Float[Array, "*batch n_q d_q"],
    memory: Float[Array, "*batch n_k d_kv"],
    parameters: MultiHeadParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_model"], Float[Array, "*batch n_heads n_q n_k"]]:
    r"""Let one sequence look at another: queries from X, keys and values from the memory.

    .. math:: \operatorname{MultiHead}(X, \text{memory})

    The memory is one array, the output of the last encoder block. It carries no keys and no
    values: each decoder layer makes its own from it, with its own W_K and W_V.

    Parameters
    ----------
    X : array, shape (..., n_q, d_q)
        The decoder's rows.
    memory : array, shape (..., n_k, d_kv)
        The encoder's output; neither its length nor its width need be those of X.
    parameters : MultiHeadParameters
        The learned matrices of this layer.
    mask : bool array, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : array, shape (..., n_q, d_model)
        One row for each row of X.
    weights : array, shape (..., n_heads, n_q, n_k)
        Each head's own; row t is what row t of X looks at in the memory.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3, first point, and figure 1.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> parameters = qkv.MultiHeadParameters(ex.W_Q, ex.W_K_memory, ex.W_V_memory, ex.W_O)
    >>> output, weights = qkv.cross_attention(ex.X_target, ex.memory, parameters)
    >>> print(ex.X_target.shape, ex.memory.shape, output.shape, weights.shape)
    (7, 8) (5, 9) (7, 8) (3, 7, 5)
    """
    return multi_head_attention_stacked(X, memory, parameters, mask)

"""One sequence or two: what makes self-attention and cross-attention is what goes in."""

from jaxtyping import Bool, Float
from torch import Tensor

from qkv.twins.multi_head import MultiHeadAttention


def self_attention(
    X: Float[Tensor, "*batch n d_model"],
    parameters: MultiHeadAttention,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n d_out"], Float[Tensor, "*batch n_heads n n"]]:
    r"""Let a sequence look at itself: queries, keys and values come from the same rows.

    .. math:: \operatorname{MultiHead}(X, X)

    Parameters
    ----------
    X : tensor, shape (..., n, d_model)
        One token a row.
    parameters : MultiHeadAttention
        The learned matrices; d_q and d_kv are both d_model.
    mask : bool tensor, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : tensor, shape (..., n, d_out)
        One row for each token.
    weights : tensor, shape (..., n_heads, n, n)
        Each head's own; row t is what token t looks at.

    See Also
    --------
    qkv.self_attention : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3, second and third point.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> layer = twins.MultiHeadAttention(qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O))
    >>> output, weights = twins.self_attention(torch.tensor(ex.X_source), layer)
    >>> print(*output.shape, *weights.shape)
    5 8 3 5 5
    """
    return parameters(X, X, mask)


def cross_attention(
    X: Float[Tensor, "*batch n_q d_q"],
    memory: Float[Tensor, "*batch n_k d_kv"],
    parameters: MultiHeadAttention,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_model"], Float[Tensor, "*batch n_heads n_q n_k"]]:
    r"""Let one sequence look at another: queries from X, keys and values from the memory.

    .. math:: \operatorname{MultiHead}(X, \text{memory})

    The memory is one tensor, the output of the last encoder block. It carries no keys and no
    values: each decoder layer makes its own from it, with its own W_K and W_V.

    Parameters
    ----------
    X : tensor, shape (..., n_q, d_q)
        The decoder's rows.
    memory : tensor, shape (..., n_k, d_kv)
        The encoder's output; neither its length nor its width need be those of X.
    parameters : MultiHeadAttention
        The learned matrices of this layer.
    mask : bool tensor, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
        One row for each row of X.
    weights : tensor, shape (..., n_heads, n_q, n_k)
        Each head's own; row t is what row t of X looks at in the memory.

    See Also
    --------
    qkv.cross_attention : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3, first point, and figure 1.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> layer = twins.MultiHeadAttention(
    ...     qkv.MultiHeadParameters(ex.W_Q, ex.W_K_memory, ex.W_V_memory, ex.W_O)
    ... )
    >>> output, weights = twins.cross_attention(
    ...     torch.tensor(ex.X_target), torch.tensor(ex.memory), layer
    ... )
    >>> print(*output.shape, *weights.shape)
    7 8 3 7 5
    """
    return parameters(X, memory, mask)

"""Attention with a bias: numbers added to the scores, which is not what a mask is."""

import math

from jaxtyping import Bool, Float
from torch import Tensor

from qkv.twins.inputs import check_attention, check_score_axes
from qkv.twins.scores import attention_from_scores


def attention_with_bias(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_k d_k"],
    v: Float[Tensor, "*batch n_k d_v"],
    bias: Float[Tensor, " ..."],
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_k"]]:
    r"""Compute attention with a number added to each scaled score.

    .. math:: \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + B\right) V

    A bias of 0 leaves a score as it is, so a mask of 0 and 1 forbids nothing here. Only -inf
    forbids, as torch's and ONNX's float masks do it.

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        Queries, one a row.
    k : tensor, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : tensor, shape (..., n_k, d_v)
        Values, one for each key.
    bias : tensor, broadcastable to (..., n_q, n_k)
        Added to the scores; finite, or -inf where the query may not look.
    mask : bool tensor, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : tensor, shape (..., n_q, d_v)
        One row for each query; zeros for a query that may look at nothing.
    weights : tensor, shape (..., n_q, n_k)
        Each row sums to 1, or is zero for a query that may look at nothing.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If the mask is not bool.

    See Also
    --------
    qkv.attention_with_bias : the same in numpy.

    References
    ----------
    Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
    transformer" (2020), section 2.1, relative position biases.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k, v = torch.zeros(1, 2), torch.eye(2), torch.tensor([[10.0], [20]])
    >>> output, weights = twins.attention_with_bias(q, k, v, bias=torch.tensor([[0.0, -100]]))
    >>> print(weights.numpy().round(3), output.numpy().round(3))
    [[1. 0.]] [[10.]]
    """
    check_attention(q, k, v, mask)
    check_score_axes("bias", bias, *q.shape[:-2], n_q=q.shape[-2], n_k=k.shape[-2])
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + bias
    return attention_from_scores(scores, v, mask)

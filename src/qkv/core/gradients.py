"""Backward passes derived by hand: from the gradient of an output to those of its inputs.

Each takes the inputs of the forward function and the gradient of some scalar with respect to its
output, an array of the output's shape, and returns the gradients of that scalar with respect to
the inputs, each of its input's shape.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import (
    Array,
    as_gradient,
    as_heads,
    as_projection,
    as_rows_as_wide,
    as_scores_and_targets,
    as_sequence,
    as_weights,
    check_kind,
)
from qkv.core.layer_norm import LayerNormParameters
from qkv.core.multi_head import MultiHeadParameters, multi_head_steps, split_heads
from qkv.core.scaled_dot_product import attention_steps
from qkv.core.softmax import softmax

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


def softmax_backward(
    weights: Float[Array, "*rows n_k"], grad_weights: Float[Array, "*rows n_k"]
) -> Float[Array, "*rows n_k"]:
    r"""Take a gradient back through softmax, row by row.

    .. math:: g^s_j = w_j \Big(g^w_j - \sum_{j'} w_{j'} g^w_{j'}\Big)

    Only what differs from the row's weighted mean passes, and only in proportion to the weight:
    where one weight is nearly 1, almost nothing does.

    Parameters
    ----------
    weights : array, shape (..., n_k)
        What softmax returned.
    grad_weights : array, shape (..., n_k)
        The gradient with respect to the weights.

    Returns
    -------
    grad_scores : array, shape (..., n_k)
        Each row sums to 0; 0 where the query may not look.

    Raises
    ------
    ShapeError
        If the shapes differ.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Bridle, "Training stochastic model recognition algorithms as networks can lead to maximum
    mutual information estimation of parameters" (1990), section 2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.softmax_backward([0.25, 0.75], [1.0, 0.0]))
    [ 0.1875 -0.1875]
    """
    weights = as_weights(weights)
    grad_weights = as_gradient("grad_weights", grad_weights, weights.shape)
    mean = np.sum(weights * grad_weights, axis=-1, keepdims=True)
    return weights * (grad_weights - mean)


def cross_entropy_backward(
    scores: Float[Array, "*rows n_classes"], targets: Int[Array, "*rows"]
) -> Float[Array, "*rows n_classes"]:
    r"""Return the gradient of the summed cross-entropy: the shares, minus 1 at the right class.

    .. math:: g^s_c = \operatorname{softmax}(s)_c - [c = t]

    Parameters
    ----------
    scores : array, shape (..., n_classes)
        One finite score a class.
    targets : int array, shape (...)
        The right class of each row.

    Returns
    -------
    grad_scores : array, shape (..., n_classes)
        Of the sum over all rows; divide by their number for the mean.

    Raises
    ------
    ShapeError
        If there is not one target for each row of scores.
    ValueError
        If a score is NaN or infinite, or a target names no class.

    References
    ----------
    Goodfellow, Bengio and Courville, "Deep learning" (2016), section 6.2.2.3.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.cross_entropy_backward([[0.0, 0.0]], [1]))
    [[ 0.5 -0.5]]
    """
    scores, targets = as_scores_and_targets(scores, targets)
    right = np.arange(scores.shape[-1]) == targets[..., None]
    return softmax(scores) - right


def project_backward(
    X: Float[Array, "*rows d_in"],
    W: Float[Array, "d_in d_out"],
    grad_output: Float[Array, "*rows d_out"],
) -> tuple[Float[Array, "*rows d_in"], Float[Array, "d_in d_out"], Float[Array, " d_out"]]:
    r"""Take a gradient back through X W + b.

    .. math:: G^X = G\, W^\top, \qquad G^W = X^\top G, \qquad g^b = \sum_t G_t

    All rows used one W, so its gradient is a sum over all rows.

    Parameters
    ----------
    X : array, shape (..., d_in)
        One token a row.
    W : array, shape (d_in, d_out)
        The matrix.
    grad_output : array, shape (..., d_out)
        The gradient with respect to the projected rows.

    Returns
    -------
    grad_X : array, shape (..., d_in)
    grad_W : array, shape (d_in, d_out)
    grad_b : array, shape (d_out,)

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Rumelhart, Hinton and Williams, "Learning representations by back-propagating errors" (1986),
    equations 4 to 7.

    Examples
    --------
    >>> import qkv
    >>> grad_X, grad_W, grad_b = qkv.project_backward([[1, 2]], [[1, 0, 1], [0, 1, 1]], [[1, 1, 5]])
    >>> print(grad_X, grad_W, grad_b)
    [[6. 6.]] [[ 1.  1.  5.]
     [ 2.  2. 10.]] [1. 1. 5.]
    """
    X, W, _ = as_projection(X, W)
    grad_output = as_gradient("grad_output", grad_output, (*X.shape[:-1], W.shape[1]))
    rows, grad_rows = X.reshape(-1, W.shape[0]), grad_output.reshape(-1, W.shape[1])
    return grad_output @ W.T, rows.T @ grad_rows, grad_rows.sum(axis=0)


def attention_backward(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    grad_output: Float[Array, "*batch n_q d_v"],
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[
    Float[Array, "*batch n_q d_k"], Float[Array, "*batch n_k d_k"], Float[Array, "*batch n_k d_v"]
]:
    r"""Take a gradient back through scaled dot-product attention.

    .. math:: G^V = W^\top G, \quad G^W = G V^\top, \quad
        G^S = \text{softmax backward}(W, G^W), \quad
        G^Q = \frac{G^S K}{\sqrt{d_k}}, \quad G^K = \frac{(G^S)^\top Q}{\sqrt{d_k}}

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries, one a row.
    k : array, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : array, shape (..., n_k, d_v)
        Values, one for each key.
    grad_output : array, shape (..., n_q, d_v)
        The gradient with respect to the output.
    mask : bool array, broadcastable to (..., n_q, n_k), optional
        The mask of the forward pass.

    Returns
    -------
    grad_q : array, shape (..., n_q, d_k)
    grad_k : array, shape (..., n_k, d_k)
    grad_v : array, shape (..., n_k, d_v)

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Dao et al., "FlashAttention: fast and memory-efficient exact attention with IO-awareness"
    (2022), appendix B.2.

    Examples
    --------
    >>> import qkv
    >>> grad_q, grad_k, grad_v = qkv.attention_backward(
    ...     q=[[0.0]], k=[[1.0], [-1.0]], v=[[1.0], [3.0]], grad_output=[[1.0]]
    ... )
    >>> print(grad_q, grad_v.ravel())
    [[-1.]] [0.5 0.5]
    """
    steps = attention_steps(q, k, v, mask)
    q, k, v, weights = steps.q, steps.k, steps.v, steps.weights
    grad_output = as_gradient("grad_output", grad_output, steps.output.shape)
    grad_v = np.swapaxes(weights, -1, -2) @ grad_output
    grad_weights = grad_output @ np.swapaxes(v, -1, -2)
    grad_scores = softmax_backward(weights, grad_weights)
    grad_dot_products = grad_scores / math.sqrt(q.shape[-1])
    grad_q = grad_dot_products @ k
    grad_k = np.swapaxes(grad_dot_products, -1, -2) @ q
    return grad_q, grad_k, grad_v


def layer_norm_backward(
    X: Float[Array, "*rows d_model"],
    parameters: LayerNormParameters,
    grad_output: Float[Array, "*rows d_model"],
) -> tuple[Float[Array, "*rows d_model"], Float[Array, " d_model"], Float[Array, " d_model"]]:
    r"""Take a gradient back through LayerNorm.

    .. math:: g^n = g \odot \text{gain}, \qquad g^x = \frac{1}{\sqrt{\sigma^2 + \epsilon}}
        \Big(g^n - \overline{g^n} - n\, \overline{n \odot g^n}\Big)

    with n the normalised row and bars for means over its columns. What would move the mean of the
    row, or stretch it, is taken out: LayerNorm undoes both.

    Parameters
    ----------
    X : array, shape (..., d_model)
        What LayerNorm was given.
    parameters : LayerNormParameters
        Gain, shift and epsilon.
    grad_output : array, shape (..., d_model)
        The gradient with respect to the output.

    Returns
    -------
    grad_X : array, shape (..., d_model)
    grad_gain : array, shape (d_model,)
    grad_shift : array, shape (d_model,)

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Ba, Kiros and Hinton, "Layer normalization" (2016), section 3, equation 3, differentiated.

    Examples
    --------
    >>> import qkv
    >>> parameters = qkv.LayerNormParameters(gain=[1, 1, 1], shift=[0, 0, 0])
    >>> grad_X, grad_gain, grad_shift = qkv.layer_norm_backward(
    ...     [[1, 2, 4]], parameters, grad_output=[[1, 1, 1]]
    ... )
    >>> print(abs(grad_X).max() < 1e-12, grad_gain.round(3), grad_shift)
    True [-1.069 -0.267  1.336] [1. 1. 1.]
    """
    check_kind("parameters", parameters, LayerNormParameters)
    X = as_rows_as_wide("X", X, "gain", parameters.gain)
    grad_output = as_gradient("grad_output", grad_output, X.shape)
    deviation = np.sqrt(X.var(axis=-1, keepdims=True) + parameters.epsilon)
    normalised = (X - X.mean(axis=-1, keepdims=True)) / deviation
    grad_normalised = grad_output * parameters.gain
    mean = grad_normalised.mean(axis=-1, keepdims=True)
    stretch = (grad_normalised * normalised).mean(axis=-1, keepdims=True)
    grad_X = (grad_normalised - mean - normalised * stretch) / deviation
    rows = tuple(range(X.ndim - 1))
    return grad_X, (grad_output * normalised).sum(axis=rows), grad_output.sum(axis=rows)


def project_heads_backward(
    X: Float[Array, "*batch n d_in"],
    W: Float[Array, "n_heads d_in d"],
    grad_heads: Float[Array, "*batch n_heads n d"],
) -> tuple[
    Float[Array, "*batch n d_in"], Float[Array, "n_heads d_in d"], Float[Array, "n_heads d"]
]:
    r"""Take a gradient back through `project_heads`: X served every head, so it hears from all.

    .. math:: G^X = \sum_h G_h W_h^\top, \qquad G^W_h = X^\top G_h, \qquad
        g^b_h = \sum_t G_{ht}

    Parameters
    ----------
    X : array, shape (..., n, d_in)
        One token a row.
    W : array, shape (n_heads, d_in, d)
        One matrix a head.
    grad_heads : array, shape (..., n_heads, n, d)
        The gradient with respect to the heads.

    Returns
    -------
    grad_X : array, shape (..., n, d_in)
    grad_W : array, shape (n_heads, d_in, d)
    grad_b : array, shape (n_heads, d)

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Rumelhart, Hinton and Williams, "Learning representations by back-propagating errors" (1986),
    equations 4 to 7.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> grad_X, grad_W, grad_b = qkv.project_heads_backward(ex.X_source, ex.W_V, np.ones((3, 5, 2)))
    >>> print(grad_X.shape, grad_W.shape, grad_b.shape)
    (5, 8) (3, 8, 2) (3, 2)
    """
    W, _ = as_heads("W", W, "b", None)
    X = as_sequence("X", X, "W", W)
    (*batch, n, d_in), (n_heads, _, d) = X.shape, W.shape
    grad_heads = as_gradient("grad_heads", grad_heads, (*batch, n_heads, n, d))
    grad_X = np.einsum("...htc,hrc->...tr", grad_heads, W, optimize=True)
    X, grad_heads = X.reshape(-1, n, d_in), grad_heads.reshape(-1, n_heads, n, d)
    grad_W = np.einsum("btr,bhtc->hrc", X, grad_heads, optimize=True)
    return grad_X, grad_W, grad_heads.sum(axis=(0, 2))


def multi_head_attention_backward(
    X_q: Float[Array, "*batch n_q d_q"],
    X_kv: Float[Array, "*batch n_k d_kv"],
    parameters: MultiHeadParameters,
    grad_output: Float[Array, "*batch n_q d_model"],
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_q"], Float[Array, "*batch n_k d_kv"], MultiHeadParameters]:
    r"""Take a gradient back through multi-head attention, to both sequences and every matrix.

    .. math:: G \;\to\; W_O \;\to\; \text{heads} \;\to\; Q, K, V \;\to\; W_Q, W_K, W_V
        \;\to\; X_q, X_{kv}

    X_kv made keys and values, so its gradient is the sum of two. In self-attention X_q and X_kv
    are one array and the two returned gradients are added.

    Parameters
    ----------
    X_q : array, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : array, shape (..., n_k, d_kv)
        The sequence that is looked at.
    parameters : MultiHeadParameters
        The matrices of the forward pass.
    grad_output : array, shape (..., n_q, d_model)
        The gradient with respect to the output.
    mask : bool array, optional
        The mask of the forward pass.

    Returns
    -------
    grad_X_q : array, shape (..., n_q, d_q)
    grad_X_kv : array, shape (..., n_k, d_kv)
    grad_parameters : MultiHeadParameters
        The gradient of each matrix and of each bias that is there.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Rumelhart, Hinton and Williams, "Learning representations by back-propagating errors" (1986),
    applied to Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> parameters = qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)
    >>> grad_X_q, grad_X_kv, grad_parameters = qkv.multi_head_attention_backward(
    ...     ex.X_target, ex.X_source, parameters, np.ones((7, 8))
    ... )
    >>> print(grad_X_q.shape, grad_X_kv.shape, grad_parameters.W_Q.shape, grad_parameters.b_Q)
    (7, 8) (5, 8) (3, 8, 4) None
    """
    p, steps = parameters, multi_head_steps(X_q, X_kv, parameters, mask)
    q, k, v, seen = (getattr(steps.attention, name) for name in ("q", "k", "v", "mask"))
    grad_output = as_gradient("grad_output", grad_output, steps.output.shape)
    grad_side_by_side, grad_W_O, grad_b_O = project_backward(steps.concatenated, p.W_O, grad_output)
    grad_heads = split_heads(grad_side_by_side, p.n_heads)
    grad_q, grad_k, grad_v = attention_backward(q, k, v, grad_heads, seen)
    grad_X_q, grad_W_Q, grad_b_Q = project_heads_backward(X_q, p.W_Q, grad_q)
    grad_X_k, grad_W_K, grad_b_K = project_heads_backward(X_kv, p.W_K, grad_k)
    grad_X_v, grad_W_V, grad_b_V = project_heads_backward(X_kv, p.W_V, grad_v)
    grad_biases = {"b_Q": grad_b_Q, "b_K": grad_b_K, "b_V": grad_b_V, "b_O": grad_b_O}
    there = {name: g for name, g in grad_biases.items() if getattr(p, name) is not None}
    grad_parameters = MultiHeadParameters(grad_W_Q, grad_W_K, grad_W_V, grad_W_O, **there)
    return grad_X_q, grad_X_k + grad_X_v, grad_parameters

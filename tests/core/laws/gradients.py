"""Laws of backward passes: along any direction, the slope of the forward function.

A central difference in float64 is good to about 1e-9 here. `test_autograd.py` holds the same
functions against torch at 1e-12.
"""

import dataclasses

import numpy as np

import qkv
from tests.core import oracles, samples
from tests.core.lawbook import close, draw, law
from tests.core.samples import D_KV, D_MODEL, D_Q, N_K, N_Q

ATOL = 1e-7


def _agrees(gradient, function, x, seed=99):
    """Compare a gradient with the slope of `function`, a number, along two random directions."""
    assert np.shape(gradient) == np.shape(x)
    for direction in draw(np.shape(x), np.shape(x), seed=seed):
        close(np.sum(gradient * direction), oracles.slope(function, x, direction), ATOL)


@law("softmax_backward")
def softmax_slope(backward):
    scores, g = draw((3, 5), (3, 5))
    _agrees(backward(qkv.softmax(scores), g), lambda s: np.sum(g * qkv.softmax(s)), scores)


@law("softmax_backward")
def softmax_gradient_rows_sum_to_zero(backward):
    scores, g = draw((2, 3, 5), (2, 3, 5), seed=1)
    close(backward(qkv.softmax(scores), g).sum(axis=-1), np.zeros((2, 3)))


@law("cross_entropy_backward")
def cross_entropy_slope(backward):
    (scores,) = draw((3, 5))
    targets = np.array([4, 0, 2])
    loss = lambda s: np.sum(qkv.cross_entropy(s, targets))  # noqa: E731
    _agrees(backward(scores, targets), loss, scores)


@law("cross_entropy_backward")
def each_batch_of_losses_goes_back_alone(backward):
    (scores,) = draw((2, 3, 5), seed=1)
    targets = np.array([[4, 0, 2], [1, 1, 3]])
    for b in range(2):
        close(backward(scores, targets)[b], backward(scores[b], targets[b]), atol=0)


@law("project_backward")
def projection_slopes(backward):
    X, W, b, g = draw((2, 3, 5), (5, 7), (7,), (2, 3, 7))
    grad_X, grad_W, grad_b = backward(X, W, g)
    _agrees(grad_X, lambda x: np.sum(g * qkv.project(x, W, b)), X)
    _agrees(grad_W, lambda w: np.sum(g * qkv.project(X, w, b)), W)
    _agrees(grad_b, lambda c: np.sum(g * qkv.project(X, W, c)), b)


@law("attention_backward")
def attention_slopes(backward):
    q, k, v, g = draw((2, 3, 7), (2, 5, 7), (2, 5, 11), (2, 3, 11))
    for mask in (None, oracles.causal(3, 5, -1)):
        attend = lambda q, k, v, m=mask: np.sum(g * qkv.scaled_dot_product_attention(q, k, v, m)[0])  # noqa: E731
        grad_q, grad_k, grad_v = backward(q, k, v, g, mask)
        _agrees(grad_q, lambda x, f=attend: f(x, k, v), q)
        _agrees(grad_k, lambda x, f=attend: f(q, x, v), k)
        _agrees(grad_v, lambda x, f=attend: f(q, k, x), v)


@law("attention_backward")
def an_empty_row_gets_no_gradient(backward):
    q, k, v, g = draw((3, 7), (5, 7), (5, 2), (3, 2), seed=1)
    grad_q, grad_k, grad_v = backward(q, k, v, g, oracles.causal(3, 5, -1))
    close(grad_q[0], np.zeros(7), atol=0)
    assert np.isfinite(grad_k).all()
    assert np.isfinite(grad_v).all()


@law("attention_backward")
def one_key_leaves_queries_and_keys_no_gradient(backward):
    q, k, v, g = draw((3, 7), (1, 7), (1, 2), (3, 2), seed=2)
    grad_q, grad_k, grad_v = backward(q, k, v, g)
    close(grad_q, np.zeros((3, 7)), atol=0)
    close(grad_k, np.zeros((1, 7)), atol=0)
    close(grad_v, g.sum(axis=0, keepdims=True))


@law("layer_norm_backward")
def norm_slopes(backward):
    X, g = draw((2, 3, 5), (2, 3, 5))
    p = samples.norm(d_model=5, epsilon=0.3)
    grad_X, grad_gain, grad_shift = backward(X, p, g)
    _agrees(grad_X, lambda x: np.sum(g * qkv.layer_norm(x, p)), X)
    replace = dataclasses.replace
    _agrees(grad_gain, lambda r: np.sum(g * qkv.layer_norm(X, replace(p, gain=r))), p.gain)
    _agrees(grad_shift, lambda r: np.sum(g * qkv.layer_norm(X, replace(p, shift=r))), p.shift)


@law("project_heads_backward")
def head_projection_slopes(backward):
    X, W, b, g = draw((2, 5, 11), (3, 11, 7), (3, 7), (2, 3, 5, 7))
    grad_X, grad_W, grad_b = backward(X, W, g)
    _agrees(grad_X, lambda x: np.sum(g * qkv.project_heads(x, W, b)), X)
    _agrees(grad_W, lambda w: np.sum(g * qkv.project_heads(X, w, b)), W)
    _agrees(grad_b, lambda c: np.sum(g * qkv.project_heads(X, W, c)), b)


@law("multi_head_attention_backward")
def multi_head_slopes(backward):
    X_q, X_kv, g = draw((2, N_Q, D_Q), (2, N_K, D_KV), (2, N_Q, D_MODEL))
    p, mask = samples.multi_head(), oracles.causal(N_Q, N_K, 1)
    attend = lambda x, y, p: np.sum(g * qkv.multi_head_attention(x, y, p, mask)[0])  # noqa: E731
    grad_X_q, grad_X_kv, grads = backward(X_q, X_kv, p, g, mask)
    _agrees(grad_X_q, lambda x: attend(x, X_kv, p), X_q)
    _agrees(grad_X_kv, lambda y: attend(X_q, y, p), X_kv)
    for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O"):
        function = lambda w, n=name: attend(X_q, X_kv, dataclasses.replace(p, **{n: w}))  # noqa: E731
        _agrees(getattr(grads, name), function, getattr(p, name))


@law("multi_head_attention_backward")
def an_absent_bias_has_no_gradient(backward):
    X_q, X_kv, g = draw((N_Q, D_Q), (N_K, D_KV), (N_Q, D_MODEL), seed=1)
    _, _, grads = backward(X_q, X_kv, samples.multi_head(1, bias=False), g)
    assert grads.b_Q is grads.b_K is grads.b_V is grads.b_O is None


@law("multi_head_attention_backward")
def a_key_bias_gets_no_gradient(backward):
    """It adds one number to a whole row of scores, which softmax does not see."""
    X_q, X_kv, g = draw((N_Q, D_Q), (N_K, D_KV), (N_Q, D_MODEL), seed=2)
    _, _, grads = backward(X_q, X_kv, samples.multi_head(2), g)
    close(grads.b_K, np.zeros_like(grads.b_K))
    assert np.abs(grads.b_Q).max() > 1e-3

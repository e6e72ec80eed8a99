"""The slow, certain versions: nested loops over single numbers, nothing else.

They share no line with qkv: Python floats, `math`, and one index for each sum.
"""

from __future__ import annotations

import math

import numpy as np


def softmax(scores):
    """Softmax of one row, with the exponentials taken as they stand."""
    exponentials = [math.exp(s) for s in scores]
    return [e / math.fsum(exponentials) for e in exponentials]


def dot(x, y):
    total = 0.0
    for c in range(len(x)):
        total += float(x[c]) * float(y[c])
    return total


def scores(q, k):
    return np.array([[dot(q[i], k[j]) for j in range(len(k))] for i in range(len(q))])


def project(X, W, b=None):
    n, d_in, d_out = len(X), len(W), len(W[0])
    out = np.zeros((n, d_out))
    for t in range(n):
        for c in range(d_out):
            for r in range(d_in):
                out[t, c] += float(X[t][r]) * float(W[r][c])
            if b is not None:
                out[t, c] += float(b[c])
    return out


def attention(q, k, v, mask=None, scale=None, bias=None):
    """Scaled dot-product attention of one sequence, one output number at a time."""
    n_q, n_k, d_v = len(q), len(k), len(v[0])
    scale = 1 / math.sqrt(len(q[0])) if scale is None else scale
    output, weights = np.zeros((n_q, d_v)), np.zeros((n_q, n_k))
    for i in range(n_q):
        allowed = [j for j in range(n_k) if mask is None or mask[i][j]]
        row = [
            dot(q[i], k[j]) * scale + (0.0 if bias is None else float(bias[i][j])) for j in allowed
        ]
        for j, share in zip(allowed, softmax(row) if row else [], strict=True):
            weights[i, j] = share
            for c in range(d_v):
                output[i, c] += share * float(v[j][c])
    return output, weights


def causal(n_q, n_k, offset=0):
    mask = np.zeros((n_q, n_k), bool)
    for t in range(n_q):
        for j in range(n_k):
            mask[t, j] = j <= t + offset
    return mask


def attention_from_scores(scores, v, mask=None):
    """Softmax of finished scores, then weighted means; -inf and False both forbid."""
    n_q, n_k, d_v = len(scores), len(scores[0]), len(v[0])
    output, weights = np.zeros((n_q, d_v)), np.zeros((n_q, n_k))
    for i in range(n_q):
        allowed = [
            j for j in range(n_k) if scores[i][j] != -np.inf and (mask is None or mask[i][j])
        ]
        row = [float(scores[i][j]) for j in allowed]
        for j, share in zip(allowed, softmax(row) if row else [], strict=True):
            weights[i, j] = share
            for c in range(d_v):
                output[i, c] += share * float(v[j][c])
    return output, weights


def multi_head(X_q, X_kv, p, mask=None):
    """One sequence, one head after another; a head's columns are a slice of the concatenation."""
    n_heads, n_kv_heads, d_v = len(p.W_Q), len(p.W_K), len(p.W_V[0][0])
    concatenated = np.zeros((len(X_q), n_heads * d_v))
    weights = np.zeros((n_heads, len(X_q), len(X_kv)))
    for h in range(n_heads):
        g = h // (n_heads // n_kv_heads)
        q = project(X_q, p.W_Q[h], None if p.b_Q is None else p.b_Q[h])
        k = project(X_kv, p.W_K[g], None if p.b_K is None else p.b_K[g])
        v = project(X_kv, p.W_V[g], None if p.b_V is None else p.b_V[g])
        mask_of_head = mask[h] if mask is not None and np.ndim(mask) == 3 else mask
        output, weights[h] = attention(q, k, v, mask_of_head)
        for t in range(len(X_q)):
            for c in range(d_v):
                concatenated[t, h * d_v + c] = output[t, c]
    return project(concatenated, p.W_O, p.b_O), weights


def layer_norm(X, gain, shift, epsilon):
    out = np.zeros(np.shape(X))
    for t in range(len(X)):
        row = [float(x) for x in X[t]]
        mean = math.fsum(row) / len(row)
        variance = math.fsum((x - mean) ** 2 for x in row) / len(row)
        for c, x in enumerate(row):
            out[t, c] = (x - mean) / math.sqrt(variance + epsilon) * float(gain[c]) + float(
                shift[c]
            )
    return out


def gelu(x):
    return x * 0.5 * (1 + math.erf(x / math.sqrt(2)))


def feed_forward(X, p, f=lambda x: max(0.0, x)):
    hidden = project(X, p.W_1, p.b_1)
    for t in range(len(hidden)):
        for c in range(len(hidden[0])):
            hidden[t, c] = f(hidden[t, c])
    return project(hidden, p.W_2, p.b_2)


def _norm(X, p):
    return layer_norm(X, p.gain, p.shift, p.epsilon)


def encoder_layer(X, p, mask=None):
    read, weights = multi_head(X, X, p.attention, mask)
    X = _norm(X + read, p.norm_1)
    return _norm(X + feed_forward(X, p.feed_forward), p.norm_2), weights


def encoder_layer_pre_norm(X, p, mask=None):
    normal = _norm(X, p.norm_1)
    read, weights = multi_head(normal, normal, p.attention, mask)
    X = X + read
    return X + feed_forward(_norm(X, p.norm_2), p.feed_forward), weights


def decoder_layer(X, memory, p, mask=None, memory_mask=None):
    read, self_weights = multi_head(X, X, p.self_attention, mask)
    X = _norm(X + read, p.norm_1)
    read, cross_weights = multi_head(X, memory, p.cross_attention, memory_mask)
    X = _norm(X + read, p.norm_2)
    return _norm(X + feed_forward(X, p.feed_forward), p.norm_3), self_weights, cross_weights


def decoder_layer_pre_norm(X, memory, p, mask=None, memory_mask=None):
    normal = _norm(X, p.norm_1)
    read, self_weights = multi_head(normal, normal, p.self_attention, mask)
    X = X + read
    read, cross_weights = multi_head(_norm(X, p.norm_2), memory, p.cross_attention, memory_mask)
    X = X + read
    return X + feed_forward(_norm(X, p.norm_3), p.feed_forward), self_weights, cross_weights


def sinusoid(n, d_model, offset=0):
    P = np.zeros((n, d_model))
    for t in range(n):
        for c in range(d_model):
            angle = (t + offset) / 10000 ** ((c - c % 2) / d_model)
            P[t, c] = math.sin(angle) if c % 2 == 0 else math.cos(angle)
    return P


def rotary(x, offset=0, base=10000.0, halves=False):
    """Turn each pair of columns of one sequence."""
    n, d_k = np.shape(x)
    out = np.zeros((n, d_k))
    for t in range(n):
        for i in range(d_k // 2):
            a, b = (i, i + d_k // 2) if halves else (2 * i, 2 * i + 1)
            angle = (t + offset) * base ** (-2 * i / d_k)
            out[t, a] = x[t][a] * math.cos(angle) - x[t][b] * math.sin(angle)
            out[t, b] = x[t][a] * math.sin(angle) + x[t][b] * math.cos(angle)
    return out


def embed_tokens(ids, E):
    d_model = len(E[0])
    X = sinusoid(len(ids), d_model)
    for t, word in enumerate(ids):
        for c in range(d_model):
            X[t, c] += math.sqrt(d_model) * float(E[word][c])
    return X


def transformer(source_ids, target_ids, p, source_mask=None):
    memory = embed_tokens(source_ids, p.E_source)
    for layer in p.encoder:
        memory, _ = encoder_layer(memory, layer, source_mask)
    X = embed_tokens(target_ids, p.E_target)
    for layer in p.decoder:
        X, _, _ = decoder_layer(X, memory, layer, causal(len(X), len(X)), source_mask)
    return scores(X, p.E_target)


def slope(function, x, direction, step=1e-5):
    """How fast a number changes as `x` moves along `direction`: a central difference."""
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)

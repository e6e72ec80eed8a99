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

"""Laws of patches and of the Vision Transformer."""

from dataclasses import replace

import numpy as np

import qkv
from tests.core import oracles, samples
from tests.core.lawbook import close, draw, law


def _cut(image, size):
    """Cut one image by loops over patches and pixels."""
    height, width = image.shape
    rows = []
    for r in range(0, height, size):
        for c in range(0, width, size):
            rows.append([image[r + u, c + v] for u in range(size) for v in range(size)])
    return np.array(rows)


def _tokens(image, p):
    patches = _cut(image, p.size)
    X = np.zeros((1 + len(patches), p.d_model))
    X[0] = p.x_class + p.P[0]
    for i, patch in enumerate(patches):
        for c in range(p.d_model):
            X[1 + i, c] = sum(x * p.W_E[k, c] for k, x in enumerate(patch))
        X[1 + i] += p.b_E + p.P[1 + i]
    return X


def _vision(image, p, mask=None):
    X, seen = _tokens(image, p), []
    for layer in p.layers:
        X, weights = oracles.encoder_layer_pre_norm(X, layer, mask)
        seen.append(weights)
    (row,) = oracles.layer_norm(X[:1], p.norm.gain, p.norm.shift, p.norm.epsilon)
    return row @ p.W_R + p.b_R, seen


@law("cut_patches")
def patches_equal_the_loop(cut_patches):
    (images,) = draw((2, 6, 15))
    for size in (1, 3):
        close(cut_patches(images[0], size), _cut(images[0], size))
        close(cut_patches(images, size)[1], _cut(images[1], size))


@law("image_tokens")
def tokens_equal_the_loop(image_tokens):
    (images,) = draw((2, 4, 6))
    p = samples.vision()
    close(image_tokens(images[0], p), _tokens(images[0], p))
    close(image_tokens(images, p)[1], _tokens(images[1], p))


@law("vision_transformer")
def vision_equals_the_loop(vision_transformer):
    (images,) = draw((2, 4, 6))
    p, mask = samples.vision(), np.tri(7, k=2, dtype=bool)
    for given in (None, mask):
        scores, weights = vision_transformer(images, p, given)
        expected, seen = _vision(images[1], p, given)
        close(scores[1], expected, 1e-10)
        assert len(weights) == len(seen)
        for w, e in zip(weights, seen, strict=True):
            close(w[1], e, 1e-10)


@law("vision_transformer")
def patches_and_their_codes_may_change_places_together(vision_transformer):
    (image,) = draw((4, 6), seed=3)
    p, order = samples.vision(1), np.array([4, 0, 5, 1, 3, 2])
    patches = qkv.cut_patches(image, 2)[order]
    moved = patches.reshape(2, 3, 2, 2).swapaxes(1, 2).reshape(4, 6)
    along = replace(p, P=p.P[np.concatenate([[0], 1 + order])])
    close(vision_transformer(moved, along)[0], vision_transformer(image, p)[0], 1e-10)
    assert np.abs(vision_transformer(moved, p)[0] - vision_transformer(image, p)[0]).max() > 1e-3


@law("vision_transformer")
def the_class_tokens_code_is_a_part_of_it(vision_transformer):
    (image,) = draw((4, 6), seed=4)
    p = samples.vision(2)
    P = p.P.copy()
    P[0] = 0
    folded = replace(p, x_class=p.x_class + p.P[0], P=P)
    close(vision_transformer(image, folded)[0], vision_transformer(image, p)[0], 1e-10)

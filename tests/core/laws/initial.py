"""Laws of first parameters."""

import dataclasses

import numpy as np

import qkv
from tests.core.lawbook import close, law

SIZES = qkv.LayerSizes(d_model=11, d_ff=13, n_heads=3, d_k=2, d_v=7, d_memory=19)
ALONE = dataclasses.replace(SIZES, d_memory=11)


def _rng(seed=0):
    return np.random.default_rng(seed)


@law("xavier_uniform")
def entries_fill_the_interval(xavier):
    W = xavier(_rng(), 300, 200)
    bound = (6 / 500) ** 0.5
    assert W.shape == (300, 200)
    assert 0.99 * bound < np.abs(W).max() <= bound
    close(W.var(), bound**2 / 3, atol=1e-4)


@law("xavier_uniform")
def only_the_generator_decides(xavier):
    close(xavier(_rng(1), 3, 5), xavier(_rng(1), 3, 5), atol=0)
    assert np.abs(xavier(_rng(1), 3, 5) - xavier(_rng(2), 3, 5)).max() > 0.1


@law("initial_multi_head")
def heads_are_drawn_each_on_its_own(initial):
    p = initial(_rng(), SIZES)
    assert (p.n_heads, p.d_q, p.d_kv, p.d_k, p.d_v, p.d_model) == (3, 11, 19, 2, 7, 11)
    assert np.abs(p.W_Q[0] - p.W_Q[1]).max() > 0.1
    assert np.abs(p.W_Q).max() <= (6 / 13) ** 0.5
    assert np.abs(p.W_V).max() <= (6 / 26) ** 0.5
    assert p.b_Q is p.b_O is None


@law("initial_encoder_layer")
def an_encoder_layer_starts_neutral(initial):
    p = initial(_rng(), ALONE)
    close(p.norm_1.gain, np.ones(11), atol=0)
    close(p.norm_2.shift, np.zeros(11), atol=0)
    close(p.feed_forward.b_1, np.zeros(13), atol=0)
    assert (p.feed_forward.d_model, p.feed_forward.d_ff) == (11, 13)


@law("initial_decoder_layer")
def a_decoder_layer_reads_two_widths(initial):
    p = initial(_rng(), SIZES)
    assert (p.self_attention.d_kv, p.cross_attention.d_kv) == (11, 19)
    assert np.abs(p.self_attention.W_Q - p.cross_attention.W_Q).max() > 0.1
    close(p.norm_3.gain, np.ones(11), atol=0)


@law("initial_transformer")
def a_transformer_runs_from_the_start(initial):
    p = initial(_rng(), SIZES, 2, 23, 29)
    assert (len(p.encoder), len(p.decoder)) == (2, 2)
    assert (p.E_source.shape, p.E_target.shape) == ((23, 19), (29, 11))
    close(np.mean(np.sum(p.E_target**2, axis=1)), 1.0, atol=0.3)
    close(np.mean(np.sum(p.E_source**2, axis=1)), 1.0, atol=0.3)
    assert qkv.transformer([1, 2, 3], [0, 4], p).shape == (2, 29)

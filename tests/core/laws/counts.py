"""Laws of counts: the formulas against real parameters, and against loops that count."""

import numpy as np

import qkv
from tests.core import samples
from tests.core.lawbook import law

SIZES = qkv.LayerSizes(d_model=11, d_ff=13, n_heads=3, d_k=2, d_v=7, d_memory=19)
ALONE = qkv.LayerSizes(d_model=11, d_ff=13, n_heads=3, d_k=2, d_v=7)
BASE = qkv.LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)


def _multiply_adds(n, d_in, d_out):
    """Count the multiplications and additions of one matrix product by doing it."""
    operations = 0
    for _ in range(n):
        for _ in range(d_out):
            for _ in range(d_in):
                operations += 2
    return operations


@law("count_parameters")
def counted_by_hand(count):
    assert count(samples.multi_head(bias=False)) == 3 * (11 * 2 + 13 * 2 + 13 * 17) + 51 * 19
    assert count(samples.multi_head()) - count(samples.multi_head(bias=False)) == 3 * 21 + 19
    assert count((np.ones((2, 3)), [np.ones(5)])) == 11


@law("count_parameters")
def tied_tables_count_once(count):
    E = np.ones((7, 11))
    layers = samples.encoder_layer()
    p = qkv.TransformerParameters(E, E, (layers,), ())
    assert count(p) == 77 + count(layers)


@law("multi_head_parameter_count")
def self_attention_count_is_of_real_arrays(count):
    assert count(ALONE) == sum(a.size for a in _arrays(qkv.initial_multi_head(_rng(), ALONE)))
    assert count(BASE) == 4 * 512 * 512


@law("cross_attention_parameter_count")
def cross_attention_count_is_of_real_arrays(count):
    assert count(SIZES) == sum(a.size for a in _arrays(qkv.initial_multi_head(_rng(), SIZES)))


@law("multi_head_bias_count")
def bias_count_is_of_real_arrays(count):
    p = samples.self_multi_head()
    assert count(ALONE) == p.b_Q.size + p.b_K.size + p.b_V.size + p.b_O.size


@law("feed_forward_parameter_count")
def feed_forward_count_is_of_real_arrays(count):
    p = samples.feed_forward()
    assert count(SIZES) == p.W_1.size + p.b_1.size + p.W_2.size + p.b_2.size


@law("layer_norm_parameter_count")
def norm_count_is_of_real_arrays(count):
    p = samples.norm()
    assert count(SIZES) == p.gain.size + p.shift.size


@law("encoder_layer_parameter_count")
def the_papers_encoder_layer(count):
    assert count(BASE) == 3_150_336
    assert count(ALONE) == qkv.count_parameters(qkv.initial_encoder_layer(_rng(), ALONE))


@law("decoder_layer_parameter_count")
def the_papers_decoder_layer(count):
    assert count(BASE) == 4_199_936
    assert count(SIZES) == qkv.count_parameters(qkv.initial_decoder_layer(_rng(), SIZES))


@law("transformer_parameter_count")
def the_papers_base_model(count):
    assert count(BASE, 6, 37_000) == 63_045_632
    p = qkv.initial_transformer(_rng(), ALONE, 2, 5, 5)
    assert count(ALONE, 2, 5) == qkv.count_parameters(p) - 5 * 11  # the paper shares one table


@law("project_flops")
def a_projection_is_counted_by_doing_it(flops):
    assert flops(5, 3, 7) == _multiply_adds(5, 3, 7)


@law("attention_flops")
def attention_is_counted_by_doing_it(flops):
    assert flops(5, 7, 2, 3) == _multiply_adds(5, 2, 7) + _multiply_adds(5, 7, 3)


@law("self_attention_flops")
def self_attention_is_counted_by_doing_it(flops):
    assert flops(5, ALONE) == _attention(5, 5, 11)


@law("cross_attention_flops")
def cross_attention_is_counted_by_doing_it(flops):
    assert flops(5, 17, SIZES) == _attention(5, 17, 19)


@law("feed_forward_flops")
def feed_forward_is_counted_by_doing_it(flops):
    assert flops(5, SIZES) == _multiply_adds(5, 11, 13) + _multiply_adds(5, 13, 11)


@law("encoder_layer_flops")
def an_encoder_layer_is_counted_by_doing_it(flops):
    expected = _attention(5, 5, 11) + _multiply_adds(5, 11, 13) + _multiply_adds(5, 13, 11)
    assert flops(5, ALONE) == expected


@law("decoder_layer_flops")
def a_decoder_layer_is_counted_by_doing_it(flops):
    expected = _attention(5, 5, 11) + _attention(5, 17, 19)
    expected += _multiply_adds(5, 11, 13) + _multiply_adds(5, 13, 11)
    assert flops(5, 17, SIZES) == expected


@law("cache_bytes")
def a_cache_is_counted_by_its_arrays(count):
    k, v = np.zeros((3, 5, 7), np.float16), np.zeros((3, 5, 2), np.float16)
    assert count(5, 3, 7, 2) == k.nbytes + v.nbytes
    assert count(5, 3, 7, 2, 4) == 2 * (k.nbytes + v.nbytes)


def _attention(n_q, n_k, d_kv):
    """Self- or cross-attention of 3 heads, d_k 2, d_v 7, queries 11 wide."""
    one_head = (
        _multiply_adds(n_q, 11, 2)
        + _multiply_adds(n_k, d_kv, 2)
        + _multiply_adds(n_k, d_kv, 7)
        + _multiply_adds(n_q, 2, n_k)
        + _multiply_adds(n_q, n_k, 7)
    )
    return 3 * one_head + _multiply_adds(n_q, 21, 11)


def _arrays(p):
    return [a for a in vars(p).values() if a is not None]


def _rng():
    return np.random.default_rng(0)

"""Laws of LayerNorm, feed-forward, whole layers and the Transformer."""

import math

import numpy as np

import qkv
from tests.core import oracles, samples
from tests.core.lawbook import close, draw, law
from tests.core.samples import D_MEMORY, N_MEMORY, D, N


def _all(actual, expected, atol=1e-10):
    for a, b in zip(actual, expected, strict=True):
        close(a, b, atol)


@law("layer_norm")
def norm_equals_the_loop(layer_norm):
    (X,) = draw((3, 5))
    p = samples.norm(d_model=5, epsilon=0.3)
    expected = oracles.layer_norm(X, p.gain, p.shift, 0.3)
    close(layer_norm(X, p), expected)
    close(layer_norm(np.stack([X, X]), p)[1], expected)
    close(layer_norm(X[2], p), expected[2])


@law("layer_norm")
def norm_forgets_mean_and_size(layer_norm):
    (X,) = draw((3, 5), seed=1)
    p = samples.norm(d_model=5, epsilon=1e-12)
    close(layer_norm(7.0 * X - 3.0, p), layer_norm(X, p), atol=1e-9)


@law("layer_norm")
def norm_treats_each_row_alone(layer_norm):
    (X,) = draw((3, 5), seed=2)
    other = X.copy()
    other[1] *= -2.0
    p = samples.norm(d_model=5)
    changed = np.any(layer_norm(other, p) != layer_norm(X, p), axis=-1)
    assert changed.tolist() == [False, True, False]


@law("layer_norm")
def a_constant_row_becomes_the_shift(layer_norm):
    p = samples.norm(d_model=5)
    close(layer_norm(np.full((3, 5), 4.0), p), np.repeat(p.shift[None], 3, axis=0))


@law("layer_norm")
def an_epsilon_of_numpy_keeps_precision(layer_norm):
    """A float64 scalar of numpy would turn float32 rows into float64."""
    X = draw((3, 5))[0].astype(np.float32)
    p = samples.norm(d_model=5, dtype=np.float32, epsilon=np.float64(1e-5))
    assert layer_norm(X, p).dtype == np.float32


@law("rms_norm")
def rms_equals_the_loop(rms_norm):
    X, gain = draw((2, 3, 5), (5,))
    for epsilon, given in ((0.3, (0.3,)), (1e-5, ())):
        expected = [
            [
                [
                    x * g / math.sqrt(math.fsum(y * y for y in row) / 5 + epsilon)
                    for x, g in zip(row, gain, strict=True)
                ]
                for row in rows
            ]
            for rows in X
        ]
        close(rms_norm(X, gain, *given), expected)


@law("relu")
def relu_by_hand(relu):
    close(relu(np.array([[-2.0, 0.0, 3.0]])), [[0.0, 0.0, 3.0]], atol=0)


@law("gelu")
def gelu_equals_the_loop(gelu):
    (x,) = draw((3, 5))
    close(gelu(3 * x), [[oracles.gelu(3 * y) for y in row] for row in x])
    close(gelu(np.array([-40.0, 40.0])), [0.0, 40.0])
    close(gelu(np.array([-1e308, 1e308])), [0.0, 1e308], atol=0)


@law("feed_forward")
def feed_forward_equals_the_loop(feed_forward):
    (X,) = draw((3, D))
    for activation, f in ((qkv.relu, lambda x: max(0.0, x)), (qkv.gelu, oracles.gelu)):
        p = samples.feed_forward(activation=activation)
        close(feed_forward(X, p), oracles.feed_forward(X, p, f))
    bare = qkv.FeedForwardParameters(p.W_1, None, p.W_2, None)
    close(feed_forward(X, bare), oracles.feed_forward(X, bare))


@law("feed_forward")
def feed_forward_treats_each_row_alone(feed_forward):
    (X,) = draw((2, 3, D), seed=1)
    p = samples.feed_forward()
    close(feed_forward(X, p)[1, 2], feed_forward(X[1, 2], p))


@law("encoder_layer")
def encoder_layer_equals_the_loop(layer):
    (X,) = draw((N, D))
    p, mask = samples.encoder_layer(), oracles.causal(N, N)
    _all(layer(X, p), oracles.encoder_layer(X, p))
    _all(layer(X, p, mask), oracles.encoder_layer(X, p, mask))


@law("encoder_layer_pre_norm")
def pre_norm_encoder_layer_equals_the_loop(layer):
    (X,) = draw((N, D))
    p, mask = samples.encoder_layer(), oracles.causal(N, N)
    _all(layer(X, p), oracles.encoder_layer_pre_norm(X, p))
    _all(layer(X, p, mask), oracles.encoder_layer_pre_norm(X, p, mask))


@law("encoder_layer", "encoder_layer_pre_norm")
def a_layer_does_not_know_the_order_of_tokens(layer):
    (X,) = draw((N, D), seed=1)
    p, order = samples.encoder_layer(1), np.array([3, 1, 4, 0, 2])
    close(layer(X[order], p)[0], layer(X, p)[0][order], 1e-10)


@law("encoder_layer", "encoder_layer_pre_norm")
def layers_work_in_batches(layer):
    (X,) = draw((3, N, D), seed=2)
    p = samples.encoder_layer(2)
    mask = np.arange(N) < np.array([2, 5, 4])[:, None, None]
    output, weights = layer(X, p, mask)
    for b in range(3):
        one, one_weights = layer(X[b], p, np.repeat(mask[b], N, axis=0))
        close(output[b], one, 1e-10)
        close(weights[b], one_weights, 1e-10)


@law("decoder_layer")
def decoder_layer_equals_the_loop(layer):
    X, memory = draw((N, D), (N_MEMORY, D_MEMORY))
    p, mask = samples.decoder_layer(), oracles.causal(N, N)
    real = np.broadcast_to(np.arange(N_MEMORY) < 11, (N, N_MEMORY))
    _all(layer(X, memory, p, mask), oracles.decoder_layer(X, memory, p, mask))
    _all(layer(X, memory, p, mask, real), oracles.decoder_layer(X, memory, p, mask, real))


@law("decoder_layer_pre_norm")
def pre_norm_decoder_layer_equals_the_loop(layer):
    X, memory = draw((N, D), (N_MEMORY, D_MEMORY))
    p, mask = samples.decoder_layer(), oracles.causal(N, N)
    real = np.broadcast_to(np.arange(N_MEMORY) < 11, (N, N_MEMORY))
    _all(layer(X, memory, p, mask, real), oracles.decoder_layer_pre_norm(X, memory, p, mask, real))


@law("decoder_layer", "decoder_layer_pre_norm")
def a_decoder_layer_does_not_look_ahead(layer):
    X, memory = draw((N, D), (N_MEMORY, D_MEMORY), seed=1)
    p, mask = samples.decoder_layer(1), oracles.causal(N, N)
    before = layer(X, memory, p, mask)[0]
    X[-1] += 5.0
    after = layer(X, memory, p, mask)[0]
    close(after[:-1], before[:-1], atol=1e-12)
    assert np.abs(after[-1] - before[-1]).max() > 0.1


@law("encoder")
def encoder_equals_the_loop(encoder):
    (X,) = draw((N, D))
    layers = [samples.encoder_layer(s) for s in (0, 20)]
    mask = np.broadcast_to(np.arange(N) < 3, (N, N))
    output, weights = encoder(X, layers, mask)
    middle, first = oracles.encoder_layer(X, layers[0], mask)
    last, second = oracles.encoder_layer(middle, layers[1], mask)
    _all((output, *weights), (last, first, second), 1e-9)


@law("decoder")
def decoder_equals_the_loop(decoder):
    X, memory = draw((N, D), (N_MEMORY, D_MEMORY))
    layers, mask = [samples.decoder_layer(s) for s in (0, 20)], oracles.causal(N, N)
    real = np.broadcast_to(np.arange(N_MEMORY) < 11, (N, N_MEMORY))
    output, self_weights, cross_weights = decoder(X, memory, layers, mask, real)
    middle, *first = oracles.decoder_layer(X, memory, layers[0], mask, real)
    last, *second = oracles.decoder_layer(middle, memory, layers[1], mask, real)
    close(output, last, 1e-9)
    _all(self_weights, (first[0], second[0]), 1e-9)
    _all(cross_weights, (first[1], second[1]), 1e-9)


SOURCE, TARGET = [3, 1, 28, 1, 5, 9, 2], [0, 30, 6, 5, 3]


@law("transformer")
def transformer_equals_the_loop(transformer):
    p = samples.transformer()
    close(transformer(SOURCE, TARGET, p), oracles.transformer(SOURCE, TARGET, p), 1e-8)


@law("transformer")
def the_decoder_does_not_look_ahead(transformer):
    p = samples.transformer(1)
    before = transformer(SOURCE, TARGET, p)
    after = transformer(SOURCE, [*TARGET[:-1], 17], p)
    close(after[:-1], before[:-1], 1e-12)
    assert np.abs(after[-1] - before[-1]).max() > 1e-3


@law("transformer")
def the_source_is_read_in_its_order(transformer):
    p = samples.transformer(2)
    assert (
        np.abs(transformer(SOURCE[::-1], TARGET, p) - transformer(SOURCE, TARGET, p)).max() > 1e-3
    )


@law("transformer")
def padding_the_source_changes_nothing(transformer):
    p = samples.transformer(3)
    padded, mask = [*SOURCE, 0, 0, 0, 0], np.arange(11)[None, :] < len(SOURCE)
    close(transformer(padded, TARGET, p, mask), transformer(SOURCE, TARGET, p), 1e-10)


@law("transformer_steps")
def transformer_steps_are_the_steps(transformer_steps):
    p = samples.transformer(4)
    steps = transformer_steps(SOURCE, TARGET, p)
    close(steps.scores, oracles.transformer(SOURCE, TARGET, p), 1e-8)
    close(steps.X_source, oracles.embed_tokens(SOURCE, p.E_source))
    close(steps.X_target, oracles.embed_tokens(TARGET, p.E_target))
    close(steps.output @ p.E_target.T, steps.scores, 1e-10)
    assert [w.shape for w in steps.encoder_weights] == [(3, 7, 7)] * 2
    assert [w.shape for w in steps.self_weights] == [(3, 5, 5)] * 2
    assert [w.shape for w in steps.cross_weights] == [(3, 5, 7)] * 2
    memory = steps.X_source
    for layer in p.encoder:
        memory, _ = oracles.encoder_layer(memory, layer)
    close(steps.memory, memory, 1e-9)


@law("transformer_sites")
def sites_are_what_the_layers_were_handed(transformer_sites):
    p = samples.transformer(5)
    steps = qkv.transformer_steps(SOURCE, TARGET, p)
    sites = transformer_sites(SOURCE, TARGET, p)
    names = [(site.name, site.layer) for site in sites]
    assert names == [("encoder", 0), ("encoder", 1)] + [
        (name, layer) for layer in (0, 1) for name in ("decoder", "cross")
    ]
    seen = {"encoder": steps.encoder_weights, "decoder": steps.self_weights}
    seen["cross"] = steps.cross_weights
    for site in sites:
        _, weights = oracles.multi_head(site.X_q, site.X_kv, site.parameters, site.mask)
        close(weights, seen[site.name][site.layer], 1e-9)
    close(sites[0].X_q, steps.X_source)
    close(sites[2].X_q, steps.X_target)
    assert all(site.X_kv is site.X_q for site in sites if site.name != "cross")
    for site in (sites[3], sites[5]):
        close(site.X_kv, steps.memory, 1e-12)

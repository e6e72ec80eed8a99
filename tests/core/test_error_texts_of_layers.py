"""What a reader sees after a slip in the later chapters, word for word."""

import dataclasses

import numpy as np
import pytest

import qkv
from tests.core import samples


def ones(*shape):
    return np.ones(shape)


HEADS = samples.multi_head()
CACHE = qkv.KVCache(ones(4, 3), ones(4, 2))

SHAPE_ERRORS = {
    "a stack of tables": (
        lambda: qkv.embed([0], ones(2, 7, 3)),
        "E must be (n_vocabulary, d_model), got (2, 7, 3)",
    ),
    "the table turned over": (
        lambda: qkv.vocabulary_scores(ones(4, 3), ones(3, 7)),
        "E must have d_model=3 columns as X has, got 7: X is (4, 3), E is (3, 7); it "
        "looks transposed",
    ),
    "a target for each row": (
        lambda: qkv.cross_entropy(ones(4, 7), [0, 1, 2]),
        "targets must be (4,), one class for each row of scores, got (3,): scores is (4, 7)",
    ),
    "M turned over": (
        lambda: qkv.bilinear_scores(ones(4, 3), ones(5, 2), ones(2, 3)),
        "M must be (d_q, d_kv)=(3, 2), got (2, 3): X_q is (4, 3), X_kv is (5, 2); it "
        "looks transposed",
    ),
    "three hidden widths": (
        lambda: qkv.additive_scores(ones(4, 3), ones(5, 2), ones(3, 7), ones(2, 7), ones(11)),
        "W_Q, W_K and w must share the hidden width d_a, got 7, 7 and 11: W_Q is (3, "
        "7), W_K is (2, 7), w is (11,)",
    ),
    "values for other scores": (
        lambda: qkv.attention_from_scores(ones(4, 5), ones(7, 2)),
        "v must have n_k=5 rows, one for each column of scores, got 7: scores is (4, "
        "5), v is (7, 2)",
    ),
    "a bias turned over": (
        lambda: qkv.attention_with_bias(ones(4, 3), ones(5, 3), ones(5, 2), ones(5, 4)),
        "bias must end in (n_q, n_k)=(4, 5), got (5, 4); it looks transposed",
    ),
    "the asking sequence has another width": (
        lambda: qkv.multi_head_attention(ones(5, 13), ones(7, 13), HEADS),
        "X_q must have 11 columns, one for each row of W_Q[i], got 13: X_q is (5, 13), "
        "W_Q is (3, 11, 2)",
    ),
    "a memory of another width": (
        lambda: qkv.cross_attention(ones(5, 11), ones(7, 11), HEADS),
        "X_kv must have 13 columns, one for each row of W_K[i], got 11: X_kv is (7, "
        "11), W_K is (3, 13, 2)",
    ),
    "a batch asks one memory": (
        lambda: qkv.multi_head_attention(ones(2, 5, 11), ones(7, 13), HEADS),
        "X_q and X_kv must have the same leading axes, got (2,) and (): X_q is (2, 5, "
        "11), X_kv is (7, 13)",
    ),
    "a row of another width for all heads": (
        lambda: qkv.project_heads(ones(5, 7), ones(3, 11, 2)),
        "X must have 11 columns, one for each row of W[i], got 7: X is (5, 7), W is (3, 11, 2)",
    ),
    "a bias turned over for all heads": (
        lambda: qkv.project_heads(ones(5, 11), ones(3, 11, 2), ones(2, 3)),
        "b must be (n_heads, d)=(3, 2), one row a head, got (2, 3): W is (3, 11, 2); it looks "
        "transposed",
    ),
    "a bias turned over when stacking": (
        lambda: qkv.stack_heads(ones(3, 11, 2), ones(2, 3)),
        "b must be (n_heads, d)=(3, 2), one row a head, got (2, 3): W is (3, 11, 2); it looks "
        "transposed",
    ),
    "one head to merge": (
        lambda: qkv.merge_heads(ones(5, 7)),
        "heads must end in (n_heads, n, d), got (5, 7)",
    ),
    "heads that are cut already": (
        lambda: qkv.unstack_heads(ones(3, 11, 2), 2),
        "W must be (n, n_heads*d), got (3, 11, 2)",
    ),
    "a W_O for each head": (
        lambda: qkv.MultiHeadParameters(ones(3, 8, 4), ones(3, 9, 4), ones(3, 9, 2), ones(3, 2, 8)),
        "W_O must be (n_heads*d_v, d_model), got (3, 2, 8)",
    ),
    "a batch of tables of positions": (
        lambda: qkv.learned_positions(ones(2, 5, 3), 4),
        "P must be (n_positions, d_model), got (2, 5, 3)",
    ),
    "a gain of another width": (
        lambda: qkv.rms_norm(ones(5, 3), ones(7)),
        "X must have d_model=7 columns as gain has, got 3: X is (5, 3)",
    ),
    "a mask of heads turned over": (
        lambda: qkv.multi_head_attention(ones(5, 11), ones(7, 13), HEADS, np.ones((7, 5), bool)),
        "mask must end in (n_q, n_k)=(5, 7), got (7, 5); it looks transposed",
    ),
    "a mask for two of three heads": (
        lambda: qkv.multi_head_attention(ones(5, 11), ones(7, 13), HEADS, np.ones((2, 5, 7), bool)),
        "mask must be (5, 7) or broadcast to (3, 5, 7) axis by axis, got (2, 5, 7); "
        "give a shared axis the size 1, as in mask[:, None]",
    ),
    "grouped heads in the plain function": (
        lambda: qkv.multi_head_attention(
            ones(5, 11), ones(7, 13), samples.multi_head(n_heads=6, n_kv_heads=2)
        ),
        "the heads of W_K must be n_heads=6, got 2: W_Q is (6, 11, 2), W_K is (2, 13, "
        "2), W_V is (2, 13, 17), W_O is (102, 19); see grouped_multi_head_attention",
    ),
    "five heads of keys for six of queries": (
        lambda: samples.multi_head(n_heads=6, n_kv_heads=5),
        "the heads of W_K must divide n_heads=6, got 5: W_Q is (6, 11, 2), W_K is (5, "
        "13, 2), W_V is (5, 13, 17), W_O is (102, 19)",
    ),
    "keys of another width than queries": (
        lambda: qkv.MultiHeadParameters(ones(3, 8, 4), ones(3, 9, 5), ones(3, 9, 2), ones(6, 8)),
        "W_K must have d_k=4 columns a head as W_Q has, got 5: W_Q is (3, 8, 4), W_K is"
        " (3, 9, 5), W_V is (3, 9, 2), W_O is (6, 8)",
    ),
    "values of fewer heads than keys": (
        lambda: qkv.MultiHeadParameters(ones(3, 8, 4), ones(3, 9, 4), ones(2, 9, 2), ones(6, 8)),
        "W_V must begin with (n_heads, d_kv)=(3, 9) as W_K does, got (2, 9): W_Q is (3,"
        " 8, 4), W_K is (3, 9, 4), W_V is (2, 9, 2), W_O is (6, 8)",
    ),
    "W_O as torch stores it": (
        lambda: qkv.MultiHeadParameters(ones(3, 8, 4), ones(3, 9, 4), ones(3, 9, 2), ones(8, 6)),
        "W_O must have n_heads*d_v=6 rows, got 8: W_Q is (3, 8, 4), W_K is (3, 9, 4), "
        "W_V is (3, 9, 2), W_O is (8, 6); it looks transposed",
    ),
    "all heads in one matrix": (
        lambda: qkv.MultiHeadParameters(ones(8, 12), ones(3, 9, 4), ones(3, 9, 2), ones(6, 8)),
        "W_Q must be (n_heads, d_in, d), got (8, 12); cut it into heads with "
        "unstack_heads(W_Q, n_heads)",
    ),
    "one long bias": (
        lambda: qkv.MultiHeadParameters(
            ones(3, 8, 4), ones(3, 9, 4), ones(3, 9, 2), ones(6, 8), b_Q=ones(12)
        ),
        "b_Q must be (n_heads, d)=(3, 4), one row a head, got (12,): W_Q is (3, 8, 4)",
    ),
    "a bias as wide as the heads": (
        lambda: qkv.MultiHeadParameters(
            ones(3, 8, 4), ones(3, 9, 4), ones(3, 9, 2), ones(6, 8), b_O=ones(6)
        ),
        "b_O must have d_model=8 entries, got (6,): W_Q is (3, 8, 4), W_K is (3, 9, 4),"
        " W_V is (3, 9, 2), W_O is (6, 8)",
    ),
    "columns that do not divide": (
        lambda: qkv.split_heads(ones(5, 7), 3),
        "x must have a multiple of n_heads=3 columns, got 7: x is (5, 7)",
    ),
    "W_O turned over for writes": (
        lambda: qkv.head_writes(ones(3, 5, 2), ones(8, 6)),
        "W_O must have n_heads*d_v=6 rows, got 8: heads is (3, 5, 2), W_O is (8, 6); it"
        " looks transposed",
    ),
    "widths that torch cannot hold": (
        lambda: qkv.pack_in_proj(HEADS),
        "nn.MultiheadAttention needs n_heads*d_k=6 to be d_model=19",
    ),
    "kdim and vdim differ": (
        lambda: qkv.unpack_in_proj(
            {
                "q_proj_weight": ones(6, 6),
                "k_proj_weight": ones(6, 5),
                "v_proj_weight": ones(6, 7),
                "out_proj.weight": ones(6, 6),
            },
            3,
        ),
        "k_proj_weight and v_proj_weight must be as wide, got kdim=5 and vdim=7: keys "
        "and values are made from one X_kv",
    ),
    "four heads of keys for six": (
        lambda: qkv.grouped_attention(ones(6, 3, 4), ones(4, 5, 4), ones(4, 5, 2)),
        "the heads of k must divide n_heads=6, got 4: q is (6, 3, 4), k is (4, 5, 4)",
    ),
    "a key that is too wide for the cache": (
        lambda: qkv.extend_cache(CACHE, ones(1, 5), ones(1, 2)),
        "k must be like the cache's in all but its number of rows: cache.k is (4, 3), k is (1, 5)",
    ),
    "a cache with more values than keys": (
        lambda: qkv.KVCache(ones(4, 3), ones(5, 2)),
        "v must have n_k=4 rows as k has, got 5: k is (4, 3), v is (5, 2)",
    ),
    "an odd width to turn": (
        lambda: qkv.rotary_positions(ones(5, 3)),
        "x must have an even number of columns to turn in pairs, got d_k=3",
    ),
    "rows of another width than the norm": (
        lambda: qkv.layer_norm(ones(5, 3), samples.norm()),
        "X must have d_model=11 columns as gain has, got 3: X is (5, 3)",
    ),
    "gain and shift differ": (
        lambda: qkv.LayerNormParameters(ones(3), ones(5)),
        "shift must have d_model=3 entries as gain has, got 5",
    ),
    "W_2 turned over": (
        lambda: qkv.FeedForwardParameters(ones(3, 5), None, ones(3, 5), None),
        "W_2 must be (d_ff, d_model)=(5, 3), got (3, 5): W_1 is (3, 5); it looks transposed",
    ),
    "a hidden bias of the wrong width": (
        lambda: qkv.FeedForwardParameters(ones(3, 5), ones(3), ones(5, 3), None),
        "b_1 must have 5 entries, got (3,)",
    ),
    "a stack of W_1": (
        lambda: qkv.FeedForwardParameters(ones(2, 3, 5), None, ones(5, 3), None),
        "W_1 must be (d_model, d_ff), got (2, 3, 5)",
    ),
    "a stack of W_2": (
        lambda: qkv.FeedForwardParameters(ones(3, 5), None, ones(2, 5, 3), None),
        "W_2 must be (d_ff, d_model), got (2, 5, 3)",
    ),
    "rows of another width than W_1": (
        lambda: qkv.feed_forward(ones(5, 3), samples.feed_forward()),
        "W_1 must have d_in=3 rows, one for each column of X, got 11: X is (5, 3), W_1 is (11, 13)",
    ),
    "rows of another width going back through the norm": (
        lambda: qkv.layer_norm_backward(ones(5, 3), samples.norm(), ones(5, 3)),
        "X must have d_model=11 columns as gain has, got 3: X is (5, 3)",
    ),
    "rows of another width going back through heads": (
        lambda: qkv.project_heads_backward(ones(5, 7), ones(3, 11, 2), ones(3, 5, 2)),
        "X must have 11 columns, one for each row of W[i], got 7: X is (5, 7), W is (3, 11, 2)",
    ),
    "one row into an encoder": (
        lambda: qkv.encoder(ones(11), [samples.encoder_layer()]),
        "X must end in (n, d_model), got (11,); for one row write X[None, :]",
    ),
    "one row into a decoder": (
        lambda: qkv.decoder(ones(11), ones(17, 19), [samples.decoder_layer()]),
        "X must end in (n_q, d_model), got (11,); for one row write X[None, :]",
    ),
    "a stack of tables for a Transformer": (
        lambda: qkv.TransformerParameters(ones(2, 7, 11), ones(7, 11), (), ()),
        "E_source must be (n_vocabulary, d_model), got (2, 7, 11)",
    ),
    "an encoder wider than its table": (
        lambda: qkv.TransformerParameters(ones(7, 5), ones(7, 11), (samples.encoder_layer(),), ()),
        "layer 0 of encoder is given rows 5 wide, and is made for 11",
    ),
    "a decoder that reads another memory": (
        lambda: qkv.TransformerParameters(
            ones(7, 11), ones(7, 11), (samples.encoder_layer(),), (samples.decoder_layer(),)
        ),
        "layer 0 of the decoder's cross-attention is given rows 11 wide, and is made for 19",
    ),
    "heads of keys without their axis": (
        lambda: qkv.repeat_kv_heads(ones(5, 7), 2),
        "x must end in (n_kv_heads, n, d), got (5, 7)",
    ),
    "a layer that changes the width": (
        lambda: qkv.EncoderLayerParameters(
            HEADS, samples.norm(), samples.feed_forward(), samples.norm()
        ),
        "a residual sum needs one width: norm_1 has d_model=11, d_kv has 13",
    ),
    "rows of another width than the layer": (
        lambda: qkv.encoder_layer(ones(5, 13), samples.encoder_layer()),
        "X must have d_model=11 columns as norm_1 has, got 13: X is (5, 13)",
    ),
    "layers wider than the table": (
        lambda: qkv.TransformerParameters(
            ones(7, 11), ones(7, 5), (samples.encoder_layer(),), (samples.decoder_layer(),)
        ),
        "layer 0 of decoder is given rows 5 wide, and is made for 11",
    ),
    "a total missing in a merge": (
        lambda: qkv.merge_attention(ones(4, 3), ones(3), ones(4, 3), ones(4)),
        "log_totals_a must be (4,), one number a row, got (3,): output_a is (4, 3)",
    ),
    "a merge of different queries": (
        lambda: qkv.merge_attention(ones(4, 3), ones(4), ones(5, 3), ones(5)),
        "output_a and output_b must have the same shape, got (4, 3) and (5, 3)",
    ),
    "a rollout of cross-attention": (
        lambda: qkv.attention_rollout([ones(3, 5, 7)]),
        "layer 0 must end in (n, n)=(7, 7), got (3, 5, 7); a rollout is of self-attention",
    ),
    "a rollout of no layers": (
        lambda: qkv.attention_rollout([]),
        "weights_by_layer must be a sequence with an array for each layer",
    ),
    "values of another text": (
        lambda: qkv.weighted_value_norms(ones(3, 5, 7), ones(3, 11, 2), ones(6, 13)),
        "v must have n_k=7 rows, one for each column of weights, got 11: weights is (3, 5, 7),"
        " v is (3, 11, 2)",
    ),
    "directions of all heads at once": (
        lambda: qkv.same_output_directions(ones(3, 7, 2)),
        "v must be (n_k, d_v), got (3, 7, 2)",
    ),
    "a gradient turned over": (
        lambda: qkv.softmax_backward(ones(3, 5), ones(5, 3)),
        "grad_weights must have the output's shape (3, 5), got (5, 3); it looks transposed",
    ),
    "a gradient of the wrong width": (
        lambda: qkv.attention_backward(ones(4, 3), ones(5, 3), ones(5, 2), ones(4, 3)),
        "grad_output must have the output's shape (4, 2), got (4, 3)",
    ),
}

VALUE_ERRORS = {
    "an id that names no row": (
        lambda: qkv.embed([0, 7], ones(7, 3)),
        "ids must lie between 0 and 6, got 7",
    ),
    "ids of real numbers": (
        lambda: qkv.embed([0.0, 1.0], ones(7, 3)),
        "ids must be integers, got dtype float64",
    ),
    "a target that is no class": (
        lambda: qkv.cross_entropy(ones(4, 7), [0, 1, 2, 7]),
        "targets must lie between 0 and 6, got 7",
    ),
    "a temperature of zero": (
        lambda: qkv.softmax_with_temperature([1.0], 0),
        "temperature must be a finite number above 0, got 0",
    ),
    "a temperature far too small": (
        lambda: qkv.softmax_with_temperature([1e10], 1e-300),
        "scores divided by temperature=1e-300 can reach inf, and float64 ends at 1.8e+308",
    ),
    "a bandwidth far too small": (
        lambda: qkv.kernel_regression([[0.0]], [[2.0]], [[1.0]], 1e-160),
        "a distance divided by bandwidth=1e-160 can reach inf, and float64 ends at 1.8e+308",
    ),
    "a cap far too small": (
        lambda: qkv.soft_cap([1e10], 1e-300),
        "scores divided by cap=1e-300 can reach inf, and float64 ends at 1.8e+308",
    ),
    "a bias at the end of float64": (
        lambda: qkv.attention_with_bias([[1e154]], [[-1e154]], [[1.0]], [[-1e308]]),
        "a score with its bias can reach inf, and float64 ends at 1.8e+308",
    ),
    "a loss at the end of float64": (
        lambda: qkv.cross_entropy([[1.5e308, -1.5e308]], [1]),
        "a loss can reach inf, and float64 ends at 1.8e+308",
    ),
    "a negative bandwidth": (
        lambda: qkv.kernel_regression(ones(4, 3), ones(5, 3), ones(5, 2), -1.0),
        "bandwidth must be a finite number above 0, got -1.0",
    ),
    "an infinite cap": (
        lambda: qkv.soft_cap([1.0], float("inf")),
        "cap must be a finite number above 0, got inf",
    ),
    "a cap after the mask": (
        lambda: qkv.soft_cap([1.0, -np.inf], 2.0),
        "scores holds -inf at 1; every entry must be finite",
    ),
    "a query of length zero": (
        lambda: qkv.cosine_scores(np.eye(5, 3), ones(4, 3)),
        "q has a row of length 0, at 3; without a direction it has no cosine",
    ),
    "a key of length zero": (
        lambda: qkv.cosine_scores(ones(4, 3), np.eye(5, 3)),
        "k has a row of length 0, at 3; without a direction it has no cosine",
    ),
    "NaN in a bias": (
        lambda: qkv.attention_with_bias(
            ones(4, 3), ones(5, 3), ones(5, 2), np.full((4, 5), np.nan)
        ),
        "bias cannot hold nan, found at (0, 0): an entry is a finite number, or -inf "
        "where the query may not look",
    ),
    "a float mask for heads": (
        lambda: qkv.multi_head_attention(ones(5, 11), ones(7, 13), HEADS, ones(5, 7)),
        "mask must be bool, True where the query may look, got dtype float64; for "
        "numbers added to the scores use attention_with_bias",
    ),
    "an array for parameters": (
        lambda: qkv.multi_head_attention(ones(5, 11), ones(7, 13), ones(3, 11, 2)),
        "parameters must be MultiHeadParameters, got ndarray",
    ),
    "no heads": (
        lambda: qkv.split_heads(ones(5, 6), 0),
        "n_heads must be at least 1, got 0",
    ),
    "the state of another module": (
        lambda: qkv.unpack_in_proj({"weight": ones(3, 3)}, 3),
        "state must have in_proj_weight, or q_proj_weight, k_proj_weight and "
        "v_proj_weight, got ['weight']",
    ),
    "a module with bias_k": (
        lambda: qkv.unpack_in_proj({"bias_k": ones(1, 1, 6)}, 3),
        "state has bias_k and bias_v (add_bias_kv), which have no place here",
    ),
    "a tuple for a cache": (
        lambda: qkv.extend_cache((1, 2), ones(1, 5), ones(1, 2)),
        "cache must be KVCache, got tuple",
    ),
    "past the end of the table": (
        lambda: qkv.learned_positions(ones(5, 3), 4, 2),
        "P has 5 positions, and position 5 is asked for",
    ),
    "a negative position": (
        lambda: qkv.rotary_positions(ones(5, 4), -1),
        "offset must be at least 0, got -1",
    ),
    "an epsilon of zero": (
        lambda: qkv.LayerNormParameters(ones(3), ones(3), 0.0),
        "epsilon must be a finite number above 0, got 0.0",
    ),
    "an activation by its name": (
        lambda: qkv.FeedForwardParameters(ones(3, 5), None, ones(5, 3), None, "relu"),
        "activation must be a function, got 'relu'",
    ),
    "a decoder layer in the encoder": (
        lambda: qkv.encoder_layer(ones(5, 11), samples.decoder_layer()),
        "parameters must be EncoderLayerParameters, got DecoderLayerParameters",
    ),
    "a seed for a Generator": (
        lambda: qkv.xavier_uniform(0, 3, 5),
        "rng must be a numpy Generator, got 0; write np.random.default_rng(seed)",
    ),
    "a width of zero": (
        lambda: qkv.LayerSizes(d_model=0, d_ff=13, n_heads=3, d_k=2, d_v=7),
        "d_model must be at least 1, got 0",
    ),
    "tiles of zero rows": (
        lambda: qkv.tiled_attention(ones(4, 3), ones(5, 3), ones(5, 2), None, 0),
        "tile must be at least 1, got 0",
    ),
    "steps of zero keys": (
        lambda: qkv.online_attention_steps(ones(4, 5), ones(5, 2), 0),
        "tile must be at least 1, got 0",
    ),
    "nothing to count": (
        lambda: qkv.count_parameters(3),
        "parameters must hold arrays, got int",
    ),
    "a negative reach": (
        lambda: qkv.window_mask(4, reach=-1),
        "reach must be at least 0, got -1",
    ),
    "no keys left": (
        lambda: qkv.causal_mask(3, offset=-3),
        "n_k must be at least 1, got 0",
    ),
    "an offset before the beginning": (
        lambda: qkv.causal_mask(3, 5, offset=-4),
        "offset must be at least -3, got -4",
    ),
    "a distance that overflows": (
        lambda: qkv.squared_distances(np.full((2, 3), 1e200), np.full((2, 3), -1e200)),
        "a dot product of q and k can reach inf, and float64 ends at 1.8e+308",
    ),
    "a norm that overflows": (
        lambda: qkv.layer_norm(np.full((2, 11), 1e200), samples.norm()),
        "a dot product of X and X can reach inf, and float64 ends at 1.8e+308",
    ),
}

WIDER = {  # each part of a layer made for rows of 7, or giving them
    "d_q": ("attention", samples.multi_head(d_q=7, d_kv=11, d_model=11)),
    "d_kv": ("attention", samples.multi_head(d_q=11, d_kv=7, d_model=11)),
    "W_O": ("attention", samples.multi_head(d_q=11, d_kv=11, d_model=7)),
    "feed_forward": ("feed_forward", samples.feed_forward(d_model=7)),
    "norm_2": ("norm_2", samples.norm(d_model=7)),
}
WIDER_OF_DECODER = {
    **{name: ("self_attention", part) for name, (_, part) in [*WIDER.items()][:3]},
    "feed_forward": WIDER["feed_forward"],
    "norm_2": WIDER["norm_2"],
    "cross_d_q": ("cross_attention", samples.multi_head(d_q=7, d_kv=19, d_model=11)),
    "cross_W_O": ("cross_attention", samples.multi_head(d_q=11, d_kv=19, d_model=7)),
    "norm_3": ("norm_3", samples.norm(d_model=7)),
}


@pytest.mark.parametrize(
    ("layer", "name", "part"),
    [
        *((samples.encoder_layer(), name, part) for name, part in WIDER.items()),
        *((samples.decoder_layer(), name, part) for name, part in WIDER_OF_DECODER.items()),
    ],
)
def test_a_part_of_another_width_is_named(layer, name, part):
    with pytest.raises(qkv.ShapeError) as caught:
        dataclasses.replace(layer, **dict([part]))
    text = f"a residual sum needs one width: norm_1 has d_model=11, {name} has 7"
    assert str(caught.value) == text


@pytest.mark.parametrize("slip", SHAPE_ERRORS)
def test_shape_errors_name_axis_sizes_and_slip(slip):
    call, text = SHAPE_ERRORS[slip]
    with pytest.raises(qkv.ShapeError) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize("slip", VALUE_ERRORS)
def test_value_errors_say_what_is_wrong(slip):
    call, text = VALUE_ERRORS[slip]
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the text is compared in full)
        call()
    assert type(caught.value) is ValueError
    assert str(caught.value) == text

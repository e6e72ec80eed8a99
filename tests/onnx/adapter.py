"""ONNX's Attention and FlexAttention nodes, composed of qkv's public functions.

ONNX puts into attributes of one node what qkv keeps in functions of their own. Each `..._node`
function below answers a case of ONNX with its list of outputs. No arithmetic of attention is done
here but what a core function has no argument for: a scale of one's own, and FlexAttention's factor
on the weights.

Two differences of convention are bridged. ONNX's three-axis arrays hold the heads side by side,
and a mask that is shorter than the keys forbids the rest. numpy has no bfloat16 of its own (the
type comes from ml_dtypes), and qkv refuses it: such a case is computed in float32 and rounded once,
at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.node import _NodeTestCases, attention, flexattention

import qkv

assert attention, flexattention  # importing them is what fills the list of cases


@dataclass(frozen=True)
class Case:
    """One reference case: a node's attributes, its inputs by name and the outputs it must give."""

    name: str
    operator: str
    attributes: dict[str, Any]
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]


@cache
def cases() -> tuple[Case, ...]:
    """Return ONNX's cases; an "expanded" one repeats another as a graph of elementary nodes."""
    return tuple(
        read_case(case)
        for case in _NodeTestCases
        if case.name.startswith(("test_attention", "test_flexattention"))
        and "expanded" not in case.name
    )


def read_case(case: Any) -> Case:
    (node,), ((inputs, outputs),) = case.model.graph.node, case.data_sets
    return Case(
        case.name,
        node.op_type,
        {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute},
        dict(zip(filter(None, node.input), inputs, strict=True)),
        dict(zip(filter(None, node.output), outputs, strict=True)),
    )


def run(case: Case) -> dict[str, np.ndarray]:
    """Return what qkv answers, by the names of the case's outputs, in the precision of its Q."""
    precision = case.inputs["Q"].dtype
    inputs = {
        name: x.astype(np.float32) if x.dtype.name == "bfloat16" else x
        for name, x in case.inputs.items()
    }
    node = {"Attention": attention_node, "FlexAttention": flex_attention_node}[case.operator]
    answers = node(inputs, case.attributes)
    return {name: answers[name].astype(precision) for name in case.outputs}


def attention_node(inputs: dict[str, np.ndarray], attributes: dict[str, Any]) -> dict[str, Any]:
    """Answer an Attention node by the road on which every intermediate can be seen."""
    q, k, v = queries_keys_values(inputs, attributes)
    answers = {"present_key": k, "present_value": v}
    allowed, bias = mask_and_bias(inputs, attributes, q, k)
    k, v = (qkv.repeat_kv_heads(x, q.shape[1] // x.shape[1]) for x in (k, v))

    stages = [qkv.dot_product_scores(scaled_queries(q, attributes), k) / q.dtype.type(root(q))]
    cap = attributes.get("softcap", 0.0)
    stages.append(qkv.soft_cap(stages[-1], cap) if cap else stages[-1])
    stages.append(np.where(allowed, stages[-1] + bias, -np.inf).astype(q.dtype))
    precision = attributes.get("softmax_precision")
    if precision is not None:
        stages[-1] = stages[-1].astype(onnx.helper.tensor_dtype_to_np_dtype(precision))
    output, weights = qkv.attention_from_scores(stages[-1], v)
    stages.append(weights)
    answers["qk_matmul_output"] = stages[attributes.get("qk_matmul_output_mode", 0)]
    answers["Y"] = like_input(output, inputs)
    return answers


def attention_in_one_call(case: Case) -> np.ndarray | None:
    """Return Y from the one core function that is this case, or None if it takes several."""
    inputs, attributes = case.inputs, case.attributes
    if inputs["Q"].dtype.name == "bfloat16" or "softmax_precision" in attributes:
        return None
    q, k, v = queries_keys_values(inputs, attributes)
    allowed, bias = mask_and_bias(inputs, attributes, q, k)
    q, cap = scaled_queries(q, attributes), attributes.get("softcap", 0.0)
    times = q.shape[1] // k.shape[1]
    if cap and np.any(bias):
        return None
    if not cap and not np.any(bias):
        output, _ = qkv.grouped_attention(q, k, v, allowed)
    elif cap:
        k, v = qkv.repeat_kv_heads(k, times), qkv.repeat_kv_heads(v, times)
        output, _ = qkv.soft_capped_attention(q, k, v, cap, allowed)
    else:
        k, v = qkv.repeat_kv_heads(k, times), qkv.repeat_kv_heads(v, times)
        output, _ = qkv.attention_with_bias(q, k, v, bias, allowed)
    return like_input(output, inputs)


def attention_in_tiles(case: Case) -> np.ndarray | None:
    """Return Y from tiles that divide nothing evenly, or None if there is a cap or a bias."""
    inputs, attributes = case.inputs, case.attributes
    if inputs["Q"].dtype != np.float32 or attributes.get("softcap", 0.0):
        return None
    q, k, v = queries_keys_values(inputs, attributes)
    allowed, bias = mask_and_bias(inputs, attributes, q, k)
    if np.any(bias):
        return None
    k, v = (qkv.repeat_kv_heads(x, q.shape[1] // x.shape[1]) for x in (k, v))
    output, _ = qkv.tiled_attention(scaled_queries(q, attributes), k, v, allowed, tile=3)
    return like_input(output, inputs)


def queries_keys_values(
    inputs: dict[str, np.ndarray], attributes: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, k, v as (batch, heads, n, d), with the past in front of keys and values."""
    q, k, v = inputs["Q"], inputs["K"], inputs["V"]
    if q.ndim == 3:
        q = qkv.split_heads(q, attributes["q_num_heads"])
        k, v = (qkv.split_heads(x, attributes["kv_num_heads"]) for x in (k, v))
    if "past_key" in inputs:
        past = qkv.KVCache(inputs["past_key"], inputs["past_value"])
        longer = qkv.extend_cache(past, k, v)
        k, v = longer.k, longer.v
    return q, k, v


def mask_and_bias(
    inputs: dict[str, np.ndarray], attributes: dict[str, Any], q: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which query may look where (bool), and what is added to its scores (floats)."""
    n_q, n_k = q.shape[-2], k.shape[-2]
    allowed, bias = np.ones((1, 1, n_q, n_k), dtype=bool), np.zeros((1, 1, n_q, n_k), q.dtype)
    if "attn_mask" in inputs:
        given = inputs["attn_mask"]
        rest = [(0, 0)] * (given.ndim - 1) + [(0, n_k - given.shape[-1])]
        nothing = False if given.dtype == bool else -np.inf
        given = np.pad(given, rest, constant_values=nothing)
        given = given.reshape((1,) * (4 - given.ndim) + given.shape)
        allowed, bias = (allowed & given, bias) if given.dtype == bool else (allowed, bias + given)
    # The first query stands behind the past, or so that the last one stands on the last valid key.
    offsets = [k.shape[-2] - inputs["K"].shape[-2] if "past_key" in inputs else 0]
    if "nonpad_kv_seqlen" in inputs:
        lengths = inputs["nonpad_kv_seqlen"]
        offsets = [int(length) - n_q for length in lengths]
        allowed = allowed & qkv.padding_mask(lengths, n_k)[:, None]
    left, right = (attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    of_each = []
    for offset in offsets:
        causal = qkv.causal_mask(n_q, n_k, offset)
        frontier = causal if attributes.get("is_causal") else np.ones_like(causal)
        if left >= 0:
            frontier = frontier & (qkv.window_mask(n_q, n_k, left, offset) | ~causal)
        if right >= 0:
            frontier = frontier & (qkv.window_mask(n_q, n_k, right, offset) | causal)
        of_each.append(frontier[None])
    return allowed & np.stack(of_each), bias


def scaled_queries(q: np.ndarray, attributes: dict[str, Any]) -> np.ndarray:
    """Return q such that qkv's division by the root of d_k leaves the scale of the node."""
    if "scale" not in attributes:
        return q
    return q * q.dtype.type(attributes["scale"] * root(q))


def root(q: np.ndarray) -> float:
    return math.sqrt(q.shape[-1])


def like_input(output: np.ndarray, inputs: dict[str, np.ndarray]) -> np.ndarray:
    return qkv.merge_heads(output) if inputs["Q"].ndim == 3 else output


def flex_attention_node(
    inputs: dict[str, np.ndarray], attributes: dict[str, Any]
) -> dict[str, Any]:
    """Answer a FlexAttention node; its two little graphs are known by their names."""
    q, k, v = scaled_queries(inputs["Q"], attributes), inputs["K"], inputs["V"]
    precision = q.dtype
    if precision == np.float16:  # ONNX: the softmax of FlexAttention is float32 at least
        q, k, v = (x.astype(np.float32) for x in (q, k, v))
    n_q, n_k = q.shape[-2], k.shape[-2]
    graphs = {a: attributes.get(a) for a in ("score_mod", "prob_mod")}
    kind = {a: graph.name for a, graph in graphs.items() if graph is not None}
    constant = {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for graph in graphs.values()
        if graph is not None
        for tensor in graph.initializer
    }
    match kind:
        case {} if not kind:
            output, _ = qkv.grouped_attention(q, k, v)
        case {"score_mod": "score_mod_bias"}:
            bias = np.broadcast_to(constant["bias"], (n_q, n_k))
            output, _ = qkv.attention_with_bias(q, k, v, bias)
        case {"score_mod": "score_mod_relative_positional"}:
            distance = np.arange(n_q)[:, None] - np.arange(n_k)
            output, _ = qkv.attention_with_bias(q, k, v, distance.astype(q.dtype))
        case {"score_mod": "score_mod_causal_mask"}:
            output, _ = qkv.grouped_attention(q, k, v, qkv.causal_mask(n_q, n_k))
        case {"score_mod": "score_mod_soft_cap"}:
            output, _ = qkv.soft_capped_attention(q, k, v, float(constant["cap"]))
        case {"prob_mod": "prob_mod_scale"}:
            _, weights = qkv.grouped_attention(q, k, v)
            output = (weights * constant["scale"]) @ v
        case _:
            raise NotImplementedError(f"no core function for {kind}")
    return {"Y": output.astype(precision)}

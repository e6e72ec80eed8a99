"""Counts: how many numbers a piece learns, and how many multiplications it costs.

A floating-point operation is one multiplication or one addition, so a multiply-add counts 2.
Only matrix products are counted; softmax, LayerNorm and activations are a small rest. Attention
matrices have no biases here, as in the paper.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from qkv.core.inputs import as_size, check_kind


@dataclasses.dataclass(frozen=True)
class LayerSizes:
    """The sizes of one layer.

    Parameters
    ----------
    d_model : int
        Width of a row of X.
    d_ff : int
        Width of the hidden row of the feed-forward part.
    n_heads : int
        Number of heads.
    d_k : int
        Width of a head's queries and keys.
    d_v : int
        Width of a head's values.
    d_memory : int, optional
        Width of the memory that cross-attention looks at; d_model if it is left out.

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1.
    """

    d_model: int
    d_ff: int
    n_heads: int
    d_k: int
    d_v: int
    d_memory: int = None  # type: ignore[assignment]  # becomes d_model below

    def __post_init__(self) -> None:  # noqa: D105
        if self.d_memory is None:
            object.__setattr__(self, "d_memory", self.d_model)
        for field in dataclasses.fields(self):
            as_size(field.name, getattr(self, field.name))


def count_parameters(parameters: Any) -> int:
    r"""Count the numbers in a set of parameters: every entry of every array.

    .. math:: \sum_{\text{arrays}} \text{rows} \times \text{columns}

    Parameters
    ----------
    parameters : dataclass, array, or sequence of them
        For example `MultiHeadParameters` or `TransformerParameters`. An array that stands in two
        places (tied weights) is counted once.

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If there is no array in it.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), table 3, last column.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> print(qkv.count_parameters(qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)))
    288
    """
    arrays: dict[int, int] = {}
    waiting = [parameters]
    while waiting:
        part = waiting.pop()
        if isinstance(part, np.ndarray):
            arrays[id(part)] = part.size
        elif isinstance(part, (tuple, list)):
            waiting.extend(part)
        elif dataclasses.is_dataclass(part):
            waiting.extend(getattr(part, field.name) for field in dataclasses.fields(part))
    if not arrays:
        raise ValueError(f"parameters must hold arrays, got {type(parameters).__name__}")
    return sum(arrays.values())


def multi_head_parameter_count(sizes: LayerSizes) -> int:
    r"""Count W_Q, W_K, W_V and W_O of self-attention.

    .. math:: h\, d_{\text{model}} (2 d_k + 2 d_v)

    No n in it: the matrices do not grow with the sentence.

    Parameters
    ----------
    sizes : LayerSizes

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1 (when `sizes` is made).

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import qkv
    >>> base = qkv.LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)
    >>> print(qkv.multi_head_parameter_count(base))
    1048576
    """
    check_kind("sizes", sizes, LayerSizes)
    h, d_model, d_k, d_v = sizes.n_heads, sizes.d_model, sizes.d_k, sizes.d_v
    return h * (d_model * d_k + d_model * d_k + d_model * d_v + d_v * d_model)


def cross_attention_parameter_count(sizes: LayerSizes) -> int:
    r"""Count the matrices of cross-attention, whose W_K and W_V read the memory.

    .. math:: h \left(d_{\text{model}} (d_k + d_v) + d_{\text{memory}} (d_k + d_v)\right)

    Parameters
    ----------
    sizes : LayerSizes

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1 (when `sizes` is made).

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3, first point.

    Examples
    --------
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> print(qkv.cross_attention_parameter_count(sizes))
    306
    """
    check_kind("sizes", sizes, LayerSizes)
    h, d_k, d_v = sizes.n_heads, sizes.d_k, sizes.d_v
    queries_and_output = sizes.d_model * d_k + d_v * sizes.d_model
    keys_and_values = sizes.d_memory * d_k + sizes.d_memory * d_v
    return h * (queries_and_output + keys_and_values)


def multi_head_bias_count(sizes: LayerSizes) -> int:
    r"""Count the biases that attention would have, as torch's module does by default.

    .. math:: h (2 d_k + d_v) + d_{\text{model}}

    Parameters
    ----------
    sizes : LayerSizes

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1 (when `sizes` is made).

    References
    ----------
    PyTorch documentation, ``torch.nn.MultiheadAttention`` (2.13), argument ``bias``.

    Examples
    --------
    >>> import qkv
    >>> base = qkv.LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)
    >>> print(qkv.multi_head_bias_count(base))
    2048
    """
    check_kind("sizes", sizes, LayerSizes)
    return sizes.n_heads * (2 * sizes.d_k + sizes.d_v) + sizes.d_model


def feed_forward_parameter_count(sizes: LayerSizes) -> int:
    r"""Count the two matrices and the two biases of the feed-forward part.

    .. math:: 2\, d_{\text{model}} d_{\text{ff}} + d_{\text{ff}} + d_{\text{model}}

    Parameters
    ----------
    sizes : LayerSizes

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1 (when `sizes` is made).

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.3, equation 2.

    Examples
    --------
    >>> import qkv
    >>> base = qkv.LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)
    >>> print(qkv.feed_forward_parameter_count(base))
    2099712
    """
    check_kind("sizes", sizes, LayerSizes)
    return 2 * sizes.d_model * sizes.d_ff + sizes.d_ff + sizes.d_model


def layer_norm_parameter_count(sizes: LayerSizes) -> int:
    r"""Count the gain and the shift of one LayerNorm.

    .. math:: 2\, d_{\text{model}}

    Parameters
    ----------
    sizes : LayerSizes

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1 (when `sizes` is made).

    References
    ----------
    Ba, Kiros and Hinton, "Layer normalization" (2016), section 3.

    Examples
    --------
    >>> import qkv
    >>> base = qkv.LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)
    >>> print(qkv.layer_norm_parameter_count(base))
    1024
    """
    check_kind("sizes", sizes, LayerSizes)
    return 2 * sizes.d_model


def encoder_layer_parameter_count(sizes: LayerSizes) -> int:
    r"""Count what one encoder layer learns.

    .. math:: \text{attention} + \text{feed-forward} + 2\, \text{LayerNorms}

    Parameters
    ----------
    sizes : LayerSizes

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1 (when `sizes` is made).

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1.

    Examples
    --------
    >>> import qkv
    >>> base = qkv.LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)
    >>> print(qkv.encoder_layer_parameter_count(base))
    3150336
    """
    return (
        multi_head_parameter_count(sizes)
        + feed_forward_parameter_count(sizes)
        + 2 * layer_norm_parameter_count(sizes)
    )


def decoder_layer_parameter_count(sizes: LayerSizes) -> int:
    r"""Count what one decoder layer learns.

    .. math:: \text{self-attention} + \text{cross-attention} + \text{feed-forward}
        + 3\, \text{LayerNorms}

    Parameters
    ----------
    sizes : LayerSizes

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1 (when `sizes` is made).

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1.

    Examples
    --------
    >>> import qkv
    >>> base = qkv.LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)
    >>> print(qkv.decoder_layer_parameter_count(base))
    4199936
    """
    return (
        multi_head_parameter_count(sizes)
        + cross_attention_parameter_count(sizes)
        + feed_forward_parameter_count(sizes)
        + 3 * layer_norm_parameter_count(sizes)
    )


def transformer_parameter_count(sizes: LayerSizes, n_layers: int, n_vocabulary: int) -> int:
    r"""Count what the paper's Transformer learns, with one table for both languages and the head.

    .. math:: N (\text{encoder layer} + \text{decoder layer}) + V d_{\text{model}}

    Parameters
    ----------
    sizes : LayerSizes
    n_layers : int
        Layers of the encoder, and as many of the decoder.
    n_vocabulary : int
        Rows of the shared embedding table.

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If a number is not an integer of at least 1.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), table 3.

    Examples
    --------
    >>> import qkv
    >>> base = qkv.LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)
    >>> print(qkv.transformer_parameter_count(base, n_layers=6, n_vocabulary=37_000))
    63045632
    """
    n_layers, n_vocabulary = as_size("n_layers", n_layers), as_size("n_vocabulary", n_vocabulary)
    one_of_each = encoder_layer_parameter_count(sizes) + decoder_layer_parameter_count(sizes)
    return n_layers * one_of_each + n_vocabulary * sizes.d_model


def project_flops(n: int, d_in: int, d_out: int) -> int:
    r"""Count the operations of X W: n rows, d_out dot products each, d_in multiply-adds each.

    .. math:: 2\, n\, d_{\text{in}}\, d_{\text{out}}

    Parameters
    ----------
    n : int
        Rows of X.
    d_in : int
        Columns of X.
    d_out : int
        Columns of W.

    Returns
    -------
    flops : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1.

    References
    ----------
    Kaplan et al., "Scaling laws for neural language models" (2020), section 2.1, table 1.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.project_flops(n=5, d_in=8, d_out=4))
    320
    """
    return 2 * as_size("n", n) * as_size("d_in", d_in) * as_size("d_out", d_out)


def attention_flops(n_q: int, n_k: int, d_k: int, d_v: int) -> int:
    r"""Count the operations of one head between Q, K, V and its output: the part that is n squared.

    .. math:: 2\, n_q n_k (d_k + d_v)

    Parameters
    ----------
    n_q, n_k : int
        Number of queries and of keys.
    d_k, d_v : int
        Widths of keys and of values.

    Returns
    -------
    flops : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 4, table 1.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.attention_flops(n_q=7, n_k=5, d_k=4, d_v=2))
    420
    """
    scores = project_flops(as_size("n_q", n_q), as_size("d_k", d_k), as_size("n_k", n_k))
    means = project_flops(n_q, n_k, as_size("d_v", d_v))
    return scores + means


def self_attention_flops(n: int, sizes: LayerSizes) -> int:
    r"""Count the operations of self-attention: four projections and h heads.

    .. math:: 4\, n\, d_{\text{model}} h (d_k + d_v) + 2\, n^2 h (d_k + d_v)

    Parameters
    ----------
    n : int
        Number of tokens.
    sizes : LayerSizes

    Returns
    -------
    flops : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1.

    References
    ----------
    Kaplan et al., "Scaling laws for neural language models" (2020), section 2.1, table 1.

    Examples
    --------
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> print(qkv.self_attention_flops(5, sizes))
    3780
    """
    check_kind("sizes", sizes, LayerSizes)
    h, d_model, d_k, d_v = sizes.n_heads, sizes.d_model, sizes.d_k, sizes.d_v
    queries_and_keys = 2 * project_flops(n, d_model, h * d_k)
    values_and_output = project_flops(n, d_model, h * d_v) + project_flops(n, h * d_v, d_model)
    return queries_and_keys + values_and_output + h * attention_flops(n, n, d_k, d_v)


def cross_attention_flops(n_q: int, n_k: int, sizes: LayerSizes) -> int:
    r"""Count the operations of cross-attention, keys and values from the memory included.

    .. math:: 2 h (d_k + d_v) (n_q d_{\text{model}} + n_k d_{\text{memory}} + n_q n_k)

    Parameters
    ----------
    n_q : int
        Rows of the decoder.
    n_k : int
        Rows of the memory.
    sizes : LayerSizes

    Returns
    -------
    flops : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1.

    References
    ----------
    Kaplan et al., "Scaling laws for neural language models" (2020), section 2.1, table 1, with
    two sequences.

    Examples
    --------
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> print(qkv.cross_attention_flops(7, 5, sizes))
    4896
    """
    n_q, n_k = as_size("n_q", n_q), as_size("n_k", n_k)
    check_kind("sizes", sizes, LayerSizes)
    h, d_model, d_k, d_v = sizes.n_heads, sizes.d_model, sizes.d_k, sizes.d_v
    queries_and_output = project_flops(n_q, d_model, h * d_k) + project_flops(n_q, h * d_v, d_model)
    keys_and_values = project_flops(n_k, sizes.d_memory, h * (d_k + d_v))
    return queries_and_output + keys_and_values + h * attention_flops(n_q, n_k, d_k, d_v)


def feed_forward_flops(n: int, sizes: LayerSizes) -> int:
    r"""Count the operations of the feed-forward part.

    .. math:: 4\, n\, d_{\text{model}} d_{\text{ff}}

    Parameters
    ----------
    n : int
        Number of tokens.
    sizes : LayerSizes

    Returns
    -------
    flops : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1.

    References
    ----------
    Kaplan et al., "Scaling laws for neural language models" (2020), section 2.1, table 1.

    Examples
    --------
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> print(qkv.feed_forward_flops(5, sizes))
    2560
    """
    check_kind("sizes", sizes, LayerSizes)
    wider = project_flops(n, sizes.d_model, sizes.d_ff)
    back = project_flops(n, sizes.d_ff, sizes.d_model)
    return wider + back


def encoder_layer_flops(n: int, sizes: LayerSizes) -> int:
    r"""Count the operations of one encoder layer.

    .. math:: \text{self-attention} + \text{feed-forward}

    Parameters
    ----------
    n : int
        Number of tokens.
    sizes : LayerSizes

    Returns
    -------
    flops : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1.

    References
    ----------
    Kaplan et al., "Scaling laws for neural language models" (2020), section 2.1, table 1.

    Examples
    --------
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> print(qkv.encoder_layer_flops(5, sizes))
    6340
    """
    return self_attention_flops(n, sizes) + feed_forward_flops(n, sizes)


def decoder_layer_flops(n_q: int, n_k: int, sizes: LayerSizes) -> int:
    r"""Count the operations of one decoder layer.

    .. math:: \text{self-attention} + \text{cross-attention} + \text{feed-forward}

    Parameters
    ----------
    n_q : int
        Rows of the decoder.
    n_k : int
        Rows of the memory.
    sizes : LayerSizes

    Returns
    -------
    flops : int

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1.

    References
    ----------
    Kaplan et al., "Scaling laws for neural language models" (2020), section 2.1, table 1.

    Examples
    --------
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> print(qkv.decoder_layer_flops(7, 5, sizes))
    14276
    """
    across = cross_attention_flops(n_q, n_k, sizes)  # first, for it names n_q and n_k
    return self_attention_flops(n_q, sizes) + across + feed_forward_flops(n_q, sizes)


def cache_bytes(n: int, n_kv_heads: int, d_k: int, d_v: int, bytes_per_number: int = 2) -> int:
    r"""Count the bytes that one layer's cache takes for n tokens.

    .. math:: n\, h_{kv} (d_k + d_v) \times \text{bytes}

    Parameters
    ----------
    n : int
        Number of tokens.
    n_kv_heads : int
        Heads of keys and values; fewer than heads of queries in grouped attention.
    d_k, d_v : int
        Widths of a key and of a value.
    bytes_per_number : int, default 2
        2 for float16 and bfloat16, 4 for float32.

    Returns
    -------
    count : int

    Raises
    ------
    ValueError
        If a number is not an integer of at least 1.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), section 2.4.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.cache_bytes(n=1000, n_kv_heads=8, d_k=64, d_v=64))
    2048000
    """
    numbers = as_size("n", n) * as_size("n_kv_heads", n_kv_heads)
    numbers *= as_size("d_k", d_k) + as_size("d_v", d_v)
    return numbers * as_size("bytes_per_number", bytes_per_number)

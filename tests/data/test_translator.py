"""The translator's file: what safetensors reads, and 198,912 finite numbers."""

import numpy as np
import pytest

import qkv
from qkv.data.safetensors import read_safetensors, write_safetensors
from qkv.data.translator import PATH, parameters_of


def test_the_file_is_read_as_safetensors_reads_it():
    theirs = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    ours, wanted = read_safetensors(PATH.read_bytes()), theirs.load_file(PATH)
    assert set(ours) == set(wanted)
    for name, array in wanted.items():
        assert array.dtype == np.float16
        np.testing.assert_array_equal(ours[name], array)


def test_what_is_written_is_read_again():
    rng = np.random.default_rng(0)
    arrays = {"b": rng.normal(size=(3, 5)), "a.c": rng.normal(size=7)}
    read = read_safetensors(write_safetensors(arrays))
    assert list(read) == ["a.c", "b"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array.astype(np.float16))
        assert not read[name].flags.writeable
    theirs = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    assert set(theirs.load(write_safetensors(arrays))) == {"a.c", "b"}


def test_the_sizes():
    model = qkv.data.translator()
    assert PATH.stat().st_size <= 600_000
    assert qkv.count_parameters(model) == 198_912
    assert model.E_source is model.E_target
    assert model.E_source.shape[0] == len(qkv.data.translation_vocabulary())
    assert (len(model.encoder), len(model.decoder)) == (2, 2)
    heads = model.decoder[0].cross_attention
    assert (heads.n_heads, heads.d_k, heads.d_v, heads.d_model) == (4, 12, 20, 64)


def test_a_stack_may_have_another_depth():
    state = read_safetensors(PATH.read_bytes())
    fewer = {n: a for n, a in state.items() if not n.startswith("encoder.1.")}
    model = parameters_of(fewer)
    assert (len(model.encoder), len(model.decoder)) == (1, 2)


def test_it_translates_what_the_book_opens_with():
    words = qkv.data.translation_vocabulary()
    for language in ("de", "fr"):
        pair = qkv.data.number_translation(85_026, language)
        source = [words.index(word) for word in pair.source]
        written = qkv.greedy_decode(source, qkv.data.translator(), (1, 2))
        assert tuple(words[i] for i in written[1:-1]) == pair.target

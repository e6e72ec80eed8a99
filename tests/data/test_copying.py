"""The model of chapter 18: its switches close what they name, and nothing else."""

import numpy as np
import pytest

import qkv
from qkv.data import Switches, copy_model, letter_ids, letters
from qkv.data.copying import PATH
from qkv.data.safetensors import read_safetensors, write_safetensors

IDS = letter_ids("QUERYKEYVALU")


def plain(model, ids):
    """The forward pass by loops over layers, heads, rows and keys: the slow, certain version."""
    X = [model.E[a] + model.P[t] for t, a in enumerate(ids)]
    for layer in model.layers:
        writes = np.zeros((len(ids), X[0].size))
        for i in range(2):
            q, k, v = ([x @ W[i] for x in X] for W in (layer.W_Q, layer.W_K, layer.W_V))
            for t in range(len(ids)):
                e = [np.exp(q[t] @ k[j] / np.sqrt(10)) for j in range(t + 1)]
                head = sum(e[j] * v[j] for j in range(t + 1)) / sum(e)
                writes[t] += head @ layer.W_O[14 * i : 14 * i + 14]
        X = [x + w for x, w in zip(X, writes, strict=True)]
    return np.stack(X) @ model.R


def test_the_steps_equal_the_loops():
    steps = copy_model().steps(IDS)
    np.testing.assert_allclose(steps.scores, plain(copy_model(), IDS), rtol=0, atol=1e-9)
    for i in (0, 1):
        np.testing.assert_allclose(
            steps.X[i] + steps.writes[i].sum(0), steps.X[i + 1], rtol=0, atol=1e-12
        )


def test_no_row_sees_a_later_letter():
    a, b = (copy_model().steps(letter_ids(t)).scores for t in ("QUERYKEYVALU", "QUERYKEXXXXX"))
    np.testing.assert_array_equal(a[:7], b[:7])
    assert np.abs(a[7:] - b[7:]).max() > 1


def test_a_batch_equals_its_texts():
    batch = np.stack([IDS, IDS[::-1], (IDS + 3) % 26])
    cut = Switches.without_head(0, 1)
    together = copy_model().steps(batch, cut)
    for i, ids in enumerate(batch):
        alone = copy_model().steps(ids, cut)
        np.testing.assert_allclose(together.scores[i], alone.scores, rtol=0, atol=1e-11)


def test_closing_a_head_equals_closing_all_its_reads_and_its_path_to_the_end():
    whole = copy_model().steps(IDS)
    reads = np.ones((3, 2, 2))
    reads[:, :, 1] = 0
    by_reads = copy_model().steps(IDS, Switches(reads=reads))
    by_head = copy_model().steps(IDS, Switches.without_head(0, 1))
    np.testing.assert_allclose(by_reads.writes[1], by_head.writes[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_reads.X[2] - by_head.X[2], whole.writes[0][1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("read", "changed"), [("Q", "q"), ("K", "k"), ("V", "v")])
def test_a_closed_read_changes_one_array_of_one_head(read, changed):
    whole = copy_model().steps(IDS).attention[1]
    cut = copy_model().steps(IDS, Switches.without_read(read, 1, 0)).attention[1]
    for name in "qkv":
        a, b = getattr(whole, name), getattr(cut, name)
        np.testing.assert_array_equal(a[0], b[0])
        assert (np.abs(a[1] - b[1]).max() > 0.01) == (name == changed)


def test_what_stands_instead_is_what_is_given():
    whole = copy_model().steps(IDS)
    itself = Switches.without_head(0, 1, instead=whole.writes)
    np.testing.assert_allclose(
        copy_model().steps(IDS, itself).scores, whole.scores, rtol=0, atol=1e-11
    )


def test_a_model_that_may_not_see_itself_gives_its_first_row_nothing():
    model = copy_model()
    blind = type(model)(model.E, model.P, model.layers, model.R, sees_itself=False)
    steps = blind.steps(IDS)
    for attention in steps.attention:
        assert not attention.weights.diagonal(0, -2, -1).any()
        assert not attention.output[:, 0].any()


def test_weights_are_small_half_precision_and_cannot_be_written():
    assert PATH.stat().st_size < 25_000
    arrays = read_safetensors(PATH.read_bytes())
    assert sum(array.size for array in arrays.values()) == 9648
    assert write_safetensors(arrays) == PATH.read_bytes()
    assert "2 layers, 2 heads, d_model 36" in repr(copy_model())
    with pytest.raises(ValueError, match="read-only"):
        qkv.data.copy_model().E[0, 0] = 1


def test_other_programs_read_the_file():
    numpy_of = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    theirs = numpy_of.load_file(PATH)
    for name, array in read_safetensors(PATH.read_bytes()).items():
        np.testing.assert_array_equal(theirs[name], array.astype(np.float16))


def test_letters_and_numbers():
    assert letters(letter_ids("AZQ")) == "AZQ"
    for text in ("", "abc", "A B"):
        with pytest.raises(ValueError, match="letters from A to Z"):
            letter_ids(text)

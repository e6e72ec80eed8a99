import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import CacheStepper
from qkv.widgets.base import number
from qkv.widgets.cache_stepper import WAYS, WORDS


def plain(word, sets, head):
    """One head, one step, by nested loops over all rows anew: the slow, certain version."""
    ex = qkv.data.running_example()
    W_K, W_V = ex.W_K[head], ex.W_V[head]
    if sets == 1:
        W_K, W_V = sum(ex.W_K) / 3, sum(ex.W_V) / 3
    q = ex.X_target[word] @ ex.W_Q[head]
    k = [x @ W_K for x in ex.X_target[: word + 1]]
    v = [x @ W_V for x in ex.X_target[: word + 1]]
    powers = [np.exp(sum(a * b for a, b in zip(q, row, strict=True)) / 2) for row in k]
    weights = [p / sum(powers) for p in powers]
    output = sum(w * row for w, row in zip(weights, v, strict=True))
    return {"q": q, "k": k, "v": v, "weights": weights, "output": output}


@pytest.mark.parametrize("sets", [3, 1])
@pytest.mark.parametrize("head", range(3))
def test_the_numbers_equal_the_loops(head, sets):
    for word in range(7):
        for kept in WAYS:
            made = CacheStepper(word=word, kept=kept, sets=sets, head=head).numbers()
            for name, want in plain(word, sets, head).items():
                np.testing.assert_allclose(made[name], want, rtol=0, atol=1e-12)


def counted(n, way, sets):
    """Count one multiplication after the other."""
    total = 0
    for t in range(n):
        if way == "nothing" or t == n - 1:  # this row asks
            total += sum(8 * 4 for head in range(3))  # its queries
            total += sum(4 + 2 for head in range(3) for key in range(n))  # scores and means
            total += 8 * 3 * 2  # W_O
        if way != "K and V" or t == n - 1:  # this row's keys and values
            total += sum(8 * 4 + 8 * 2 for one in range(sets))
    return total


@pytest.mark.parametrize("sets", [3, 1])
def test_the_bill_is_counted_one_by_one(sets):
    for word in range(7):
        table = CacheStepper(word=word, sets=sets).numbers()["table"]
        for way, (step, total, _) in zip(WAYS, table, strict=True):
            steps = [counted(n, way, sets) for n in range(1, word + 2)]
            assert (step, total) == (steps[-1], sum(steps))


def test_the_bill_of_everything_at_once_is_cores():
    sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    for word in range(7):
        step = CacheStepper(word=word).numbers()["table"][0][0]
        assert 2 * step == qkv.self_attention_flops(word + 1, sizes)


def test_numbers_kept():
    ex = qkv.data.running_example()
    assert [row[2] for row in CacheStepper().numbers()["table"]] == [0, 48, 108]
    assert [row[2] for row in CacheStepper(sets=1).numbers()["table"]] == [0, 48, 36]
    _, _, cache = qkv.cached_self_attention(ex.X_target[:6], CacheStepper(sets=1).parameters)
    assert cache.k.size + cache.v.size == 36
    assert qkv.cache_bytes(6, 1, 4, 2) == 2 * 36


def test_the_first_state_teaches():
    made = CacheStepper().numbers()
    assert WORDS[made["weights"].argmax()] == "Apfel"
    assert made["weights"].max() > 0.9
    assert sum(made["made"]) == 1


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(CacheStepper().state()) == ["head", "kept", "sets", "word"]


@pytest.mark.parametrize("sets", [3, 1])
def test_the_posters_numbers_equal_cores(sets):
    widget = CacheStepper(word=3, head=2, sets=sets)
    made = widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    want = np.column_stack([made["k"], made["v"], made["weights"]])
    bill = [number(x, 0) for row in made["table"] for x in row]
    assert cells == [number(x) for x in want.ravel()] + bill


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"word": 7}, "word"),
        ({"kept": "all"}, "kept"),
        ({"sets": 2}, "sets"),
        ({"head": -1}, "head"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        CacheStepper(**traits)

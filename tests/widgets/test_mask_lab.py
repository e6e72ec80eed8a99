import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import MaskLab
from qkv.widgets.base import number
from qkv.widgets.mask_lab import RULES, example_scores


def plain_weights(scores, mask, rule):
    """Weights by nested loops: the slow, certain version."""
    n = len(scores)
    weights = np.zeros((n, n))
    for i in range(n):
        total = 0.0
        for j in range(n):
            if mask[i, j] or rule in ("after", "again"):
                weights[i, j] = np.exp(scores[i, j])
            elif rule == "0":
                weights[i, j] = 1.0
            total += weights[i, j]
        if total == 0:  # nothing is visible: by "-1e9" all scores are one number
            weights[i] = 1 / n if rule == "-1e9" else 0.0
            continue
        weights[i] /= total
        if rule in ("after", "again"):
            weights[i, ~mask[i]] = 0.0
        if rule == "again":
            weights[i] = weights[i] / weights[i].sum() if mask[i].any() else np.nan
    return weights


@pytest.mark.parametrize("rule", RULES)
def test_the_numbers_equal_the_loops(rule):
    rng = np.random.default_rng(9)
    scores, mask = rng.normal(size=(5, 5)), rng.random((5, 5)) < 0.5
    mask[2] = False
    tokens = ["a", "b", "c", "d", "pad"]
    made = MaskLab(tokens=tokens, scores=scores, mask=mask, rule=rule).numbers()
    want = plain_weights(scores, mask, rule)
    np.testing.assert_allclose(made["weights"], want, rtol=0, atol=1e-15)
    for i in range(5):
        later = sum(want[i, j] for j in range(i + 1, 5))
        np.testing.assert_allclose(made["later"][i], later, rtol=0, atol=1e-15)
    np.testing.assert_allclose(made["on pads"], want[:, 4], rtol=0, atol=1e-15)
    assert made["empty"].tolist() == [2]


def test_the_rule_of_attention_is_cores():
    ex = qkv.data.running_example()
    rows = [ex.X_target[ex.tokens_target.index(t)] for t in ("sie", "hat", "einen", "Apfel", ".")]
    X = np.vstack([*rows, np.zeros((2, 8))])
    q, k, v = qkv.project_qkv(X, X, ex.W_Q[0], ex.W_K[0], ex.W_V[0])
    mask = qkv.causal_mask(7) & qkv.padding_mask([5], 7)[0]
    _, weights = qkv.scaled_dot_product_attention(q, k, v, mask)
    np.testing.assert_array_equal(MaskLab(mask=mask).weights(), weights)


def test_the_first_state_teaches():
    widget = MaskLab()
    wrong = np.argwhere((widget.mask > 0.5) != qkv.causal_mask(7))
    assert wrong.tolist() == [[2, 3]]
    made = widget.numbers()
    assert made["later"][2] > 0.9
    assert (np.delete(made["later"], 2) == 0).all()


def test_after_the_softmax_the_future_takes_its_share():
    made = MaskLab(mask=qkv.causal_mask(7), rule="after").numbers()
    assert (made["later"] == 0).all()
    np.testing.assert_allclose(made["sum"] + made["lost"], 1, rtol=0, atol=1e-15)


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(MaskLab().state()) == ["join", "mask", "rule", "scores", "tokens"]


@pytest.mark.parametrize("rule", RULES)
def test_the_posters_numbers_equal_cores(rule):
    mask = qkv.causal_mask(7)
    mask[3] = False
    widget = MaskLab(mask=mask, rule=rule)
    made = widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    want = np.column_stack([made["weights"], made["sum"], made["later"]])
    assert cells == [number(x) for x in want.ravel()]
    assert widget.poster().count("<path") == (~mask).sum()


def test_hostile_tokens_stay_text():
    hostile = '</script><svg onload="x()">'
    html = MaskLab(tokens=[hostile, "a", "b"], scores=np.zeros((3, 3))).figure_html()
    assert html.count("</script>") == 1
    assert 'onload="' not in html
    assert html.count("<svg") == 1


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"scores": np.ones((4, 7))}, "scores and mask must be (7, 7)"),
        ({"mask": np.ones((5, 5))}, "scores and mask must be (7, 7)"),
        ({"mask": np.full((7, 7), 0.5)}, "mask must hold 0 (hidden) and 1 (may look)"),
        ({"rule": "1e9"}, "rule"),
        ({"join": "yes"}, "join"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        MaskLab(**traits)


def test_a_pad_is_a_row_of_zero_scores():
    assert (example_scores()[-2:] == 0).all()

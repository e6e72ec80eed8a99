import json
import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import QKVTracer

ex = qkv.data.running_example()
NAMES = ("q", "k", "v", "scores", "weights", "output")


def small(**traits):
    """Two sequences of unequal length and width, no two sizes equal."""
    rng = np.random.default_rng(3)
    inputs = {
        "tokens_q": ["a", "b"],
        "X_q": rng.normal(size=(2, 4)),
        "tokens_kv": ["c", "d", "e"],
        "X_kv": rng.normal(size=(3, 7)),
        "columns": list("wxyz"),
        "columns_kv": list("hijklmn"),
    }
    sizes = {"w_q": (4, 5), "w_k": (7, 5), "w_v": (7, 6)}
    W = {name: rng.normal(size=size) for name, size in sizes.items()}
    return QKVTracer(**{"inputs": inputs, "mode": "cross", **W, **traits})


def test_it_opens_on_the_first_head_of_the_running_example():
    widget = QKVTracer()
    q, k, v = qkv.project_qkv(ex.X_source, ex.X_source, ex.W_Q[0], ex.W_K[0], ex.W_V[0])
    steps = qkv.attention_steps(q, k, v)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(widget, name), getattr(steps, name))
    np.testing.assert_array_equal(widget.w_q, ex.W_Q[0])
    assert round(float(widget.weights[2, 3]), 2) == 0.93


def test_six_traits_and_no_derived_one():
    assert set(QKVTracer().state()) == {"inputs", "mask", "mode", "w_k", "w_q", "w_v"}


def test_cross_attention_has_two_sequences_and_no_causal_mask():
    widget = QKVTracer.head(1, mode="cross", mask="causal")
    q, k, v = qkv.project_qkv(ex.X_target, ex.X_source, ex.W_Q[1], ex.W_K[1], ex.W_V[1])
    output, weights = qkv.scaled_dot_product_attention(q, k, v)
    assert widget.weights.shape == (7, 5)
    np.testing.assert_array_equal(widget.weights, weights)
    np.testing.assert_array_equal(widget.output, output)


def test_the_causal_mask_hides_what_comes_later():
    widget = QKVTracer(mask="causal")
    assert (widget.scores[~qkv.causal_mask(5)] == -np.inf).all()
    assert (widget.weights[~qkv.causal_mask(5)] == 0).all()
    assert widget.weights[0].tolist() == [1, 0, 0, 0, 0]


def test_an_edit_from_the_page_reaches_python_as_float_arrays():
    widget = QKVTracer()
    w_q = ex.W_Q[0].astype(int).tolist()
    w_q[3][0] = 0
    inputs = json.loads(json.dumps(widget.get_state()["inputs"]))
    inputs["X_kv"][4] = [0, 0, 0, 1, 0, 0, 0, 0]
    widget.set_state({"w_q": w_q, "inputs": inputs})
    assert isinstance(widget.w_q, np.ndarray)
    assert widget.w_q.dtype == widget.X_kv.dtype == np.float64
    assert widget.w_q[3].tolist() == [0, 0, 0, 0]
    assert widget.X_kv[4, 3] == 1
    assert isinstance(widget.inputs["X_kv"][4][3], float)
    np.testing.assert_allclose(widget.weights[2], 0.2, rtol=0, atol=1e-15)


def test_what_python_reads_cannot_be_written_by_accident():
    widget = QKVTracer()
    with pytest.raises(ValueError, match="read-only"):
        widget.w_q[0, 0] = 5
    with pytest.raises(AttributeError):
        widget.q = np.zeros((5, 4))


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"w_q": np.zeros((8, 3))}, r"w_q must keep its shape (8, 4), got (8, 3)"),
        ({"mode": "both"}, "'both'"),
        ({"inputs": {"X_kv": [[1]]}}, "inputs lacks tokens_kv, columns"),
        (
            {"inputs": {"tokens_kv": ["a"], "X_kv": [[1, 2]], "columns": ["x", "y"]}},
            "X_q must keep its 8 columns, got 2",
        ),
        (
            {"inputs": {"tokens_kv": ["a"], "X_kv": [[1], [2]], "columns": ["x"]}},
            "X_q must be (1, 1), one row for each of tokens_q",
        ),
        (
            {"inputs": {"tokens_kv": ["a"], "X_kv": [[np.nan]], "columns": ["x"]}},
            "X_q must hold finite numbers",
        ),
        (
            {"inputs": {"tokens_kv": ["a"], "X_kv": [["?"]], "columns": ["x"]}},
            "X_q must be a table of numbers",
        ),
        (
            {"inputs": {"tokens_kv": ["a"], "X_kv": [[1]], "columns": ["x"], "tokens": []}},
            "inputs has no tokens; it has",
        ),
    ],
)
def test_a_wrong_value_is_refused_in_a_sentence(traits, sentence):
    widget = QKVTracer()
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        widget.set_trait(*next(iter(traits.items())))
    np.testing.assert_array_equal(widget.w_q, ex.W_Q[0])


def test_shapes_that_do_not_fit_are_refused_by_core_at_once():
    with pytest.raises(qkv.ShapeError, match="W_K must have d_k=4 columns as W_Q has, got 3"):
        QKVTracer(w_k=np.zeros((8, 3)))


def test_sizes_that_nobody_can_follow_are_refused():
    n = 20
    words = [f"w{i}" for i in range(n)]
    inputs = {"tokens_kv": words, "X_kv": np.zeros((n, 8)), "columns": ex.columns}
    with pytest.raises(ValueError, match="make 1280 numbers to show"):
        QKVTracer(inputs=inputs)


def test_two_widths_work_in_cross_attention_only():
    widget = small()
    assert widget.output.shape == (2, 6)
    with pytest.raises(traitlets.TraitError, match="self-attention has one sequence"):
        widget.mode = "self"
    with pytest.raises(traitlets.TraitError, match="self-attention has one sequence"):
        small(mode="self")


@pytest.mark.parametrize(
    "widget", [QKVTracer(), QKVTracer(mode="cross"), QKVTracer(mask="causal"), small()]
)
def test_the_poster_holds_every_number_in_picture_and_tables(widget):
    html = widget.poster()
    picture, tables = html.split("</svg>")
    drawn = re.findall(r"<tspan x=[^>]*>([^<]*)</tspan>", picture)
    for digits in re.findall(
        r'<text y="[^"]*" text-anchor="middle" x="[^"]*">([^<]*)</text>', picture
    ):
        drawn += list(digits)
    listed = re.findall(r"<td>([^<]+)</td>", tables)
    count = sum(array.size for array in widget._arrays().values())
    assert len(drawn) == len(listed) == count
    assert sorted(drawn) == sorted(listed)
    assert "nan" not in html
    weights = re.search(r"<caption>weights.*?</table>", tables)[0]
    shown = [float(text) for text in re.findall(r"<td>([^<]+)</td>", weights)]
    np.testing.assert_allclose(shown, widget.weights.ravel(), rtol=0, atol=0.005 + 1e-12)
    assert 'role="img"' in picture
    assert "looks at key" in picture


def test_hostile_tokens_stay_text():
    token = '</script><img src=x onerror="alert(1)">'
    inputs = {"tokens_kv": [token, "b"], "X_kv": [[1.0], [2.0]], "columns": ["<b>"]}
    W = np.ones((1, 3))
    html = QKVTracer(inputs=inputs, w_q=W, w_k=W, w_v=np.ones((1, 4))).figure_html()
    assert "<img" not in html
    assert "<b>" not in html

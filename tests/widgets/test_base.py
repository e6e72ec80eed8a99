import json
import re
import subprocess
import sys

import numpy as np
import pytest
import traitlets

from qkv.widgets.base import BookWidget, Matrix, Vector, html_table, number

HOSTILE = '</script><img src=x onerror="alert(1)"><!-- & \u2028'


class Probe(BookWidget):
    name = "probe"
    _esm = "export default {}"
    table = Matrix([[1, 2, 3], [4, 5, 6]], shape=(None, 3))
    row = Vector([1, 2])
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def poster(self):
        return html_table(["a"], [(token, [1.0]) for token in self.tokens], "Numbers")


def state_of(html):
    text = re.search(r'<script type="application/json" class="qkv-state">(.*?)</script>', html)
    return json.loads(text[1])


def test_a_matrix_is_float64_read_only_and_a_copy():
    given = np.array([[1, 2, 3]], dtype=np.int8)
    probe = Probe(table=given)
    given[0, 0] = 9
    assert probe.table.dtype == np.float64
    assert probe.table.tolist() == [[1, 2, 3]]
    with pytest.raises(ValueError, match="read-only"):
        probe.table[0, 0] = 7


def test_numbers_from_the_browser_become_float_again():
    probe = Probe()
    probe.set_state({"table": [[1, 2, 3]], "row": [1]})
    assert probe.table.dtype == probe.row.dtype == np.float64
    assert probe.get_state(["table", "row"]) == {"table": [[1.0, 2.0, 3.0]], "row": [1.0]}


def test_a_change_is_told_once_and_an_equal_array_is_no_change():
    probe = Probe()
    heard = []
    probe.observe(lambda change: heard.append(change.new.tolist()), "table")
    probe.table = [[1, 2, 3], [4, 5, 6]]
    probe.table = [[1, 2, 3], [4, 5, 7]]
    probe.table = [[1, 2, 3]]
    assert heard == [[[1, 2, 3], [4, 5, 7]], [[1, 2, 3]]]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([[1, 2]], "table must be a table of numbers (rows of equal length) of shape (any, 3),"
                   " got shape (1, 2)"),
        ([[1], [2, 3]], "table must be a table of numbers (rows of equal length)"),
        ("abc", "table must be a table of numbers (rows of equal length)"),
        ([[1, 2, np.nan]], "table must hold finite numbers, got NaN or infinity"),
    ],
)  # fmt: skip
def test_a_wrong_matrix_is_answered_by_a_sentence(value, sentence):
    probe = Probe()
    with pytest.raises(traitlets.TraitError, match=f"^{re.escape(sentence)}$"):
        probe.table = value
    assert probe.table.shape == (2, 3)


def test_two_widgets_do_not_share_an_array():
    first, second = Probe(), Probe()
    first.table = [[0, 0, 0]]
    assert second.table.shape == (2, 3)


def test_the_bundle_keeps_the_widget_view_and_adds_the_static_figure():
    data, metadata = Probe(caption="A < B")._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert isinstance(metadata, dict)
    html = data["text/html"]
    assert html.startswith('<figure class="qkv-widget" data-qkv-widget="probe">')
    assert "<figcaption>A &lt; B</figcaption>" in html
    assert state_of(html) == {"row": [1, 2], "table": [[1, 2, 3], [4, 5, 6]], "tokens": []}


def test_hostile_names_stay_text():
    html = Probe(tokens=[HOSTILE]).figure_html()
    assert state_of(html)["tokens"] == [HOSTILE]
    assert html.count("</script>") == 1
    assert "<img" not in html
    assert "<!--" not in html
    assert "\u2028" not in re.search(r"<script.*?</script>", html, re.S)[0]


def test_the_figure_is_the_same_in_every_build():
    assert Probe().figure_html() == Probe().figure_html()
    assert repr(Probe()) == "<Probe widget>"


@pytest.mark.parametrize(
    ("x", "text"),
    [(1.444, "1.44"), (0.125, "0.13"), (-0.125, "\u22120.13"), (-0.001, "0.00"),
     (1e21, "1" + "0" * 21 + ".00"),
     (float("nan"), "undefined"), (float("-inf"), "\u2212∞")],
)  # fmt: skip
def test_numbers_are_printed_as_the_scripts_print_them(x, text):
    assert number(x) == text


def test_import_of_the_package_needs_no_anywidget():
    code = (
        "import sys, qkv, qkv.widgets;"
        "print([name for name in ('anywidget', 'ipywidgets') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_an_unknown_widget_is_an_attribute_error():
    import qkv.widgets

    with pytest.raises(AttributeError, match="no attribute 'Dotproduct'"):
        _ = qkv.widgets.Dotproduct

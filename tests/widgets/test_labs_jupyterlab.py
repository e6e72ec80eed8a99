"""Seven widgets in one JupyterLab, by keyboard: Python hears it, and core gives what is shown."""

import contextlib
import json
import os

import nbformat
import numpy as np
import pytest

import qkv
from qkv import widgets
from qkv.experiments import load_result
from qkv.widgets.base import number
from tests.jupyterlab import jupyterlab, run_notebook, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MAKE = {"WhyThree": "WhyThree.from_result(load_result('why_three'))"}
CELLS = """\
from qkv.experiments import load_result
from qkv.widgets import {name}
widget = {make}
widget

import json, pathlib
def save(change):
    heard = {{name: getattr(widget, name) for name in {names}}}
    text = json.dumps(heard, default=lambda array: array.tolist())
    pathlib.Path('heard.json').write_text(text)
widget.observe(save, {names})
print('ready')"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Serve one folder for all; give it and the address."""
    folder = tmp_path_factory.mktemp("lab")
    with jupyterlab(folder) as address:
        yield folder, address


@pytest.fixture
def run(lab, chromium):
    """Show a widget in a notebook of its own; give its page and what Python hears of its traits."""
    folder, address = lab
    with contextlib.ExitStack() as stack:

        def run_(name, names):
            (folder / name).mkdir()
            cells = CELLS.format(name=name, names=names, make=MAKE.get(name, f"{name}()"))
            notebook = nbformat.v4.new_notebook()
            notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells.split("\n\n")]
            notebook.metadata["kernelspec"] = {
                "name": "python3",
                "display_name": "Python 3 (ipykernel)",
                "language": "python",
            }
            nbformat.write(notebook, folder / name / "try.ipynb")
            page = chromium.new_page(viewport={"width": 1280, "height": 1000})
            stack.callback(page.close)
            if picture := os.environ.get("QKV_PICTURES"):
                stack.callback(page.screenshot, path=f"{picture}/{name}.png")
            run_notebook(page, f"{address}/lab/workspaces/{name}/tree/{name}/try.ipynb", "ready")
            return page, folder / name / "heard.json"

        yield run_


def soft_lookup(page, press):
    press(page.locator(".qkv-lookup-handle"), "ArrowRight", "Shift+ArrowRight")
    press(page.get_by_role("radio", name="soft"), "ArrowRight", "Control+z")
    return {"query": pytest.approx(8.4), "hard": False}


def shown_by_soft_lookup(page, widget):
    last = page.locator(".qkv-lookup-sum tbody tr").last.locator("th, td").last
    return [last.inner_text()], [number(widget.numbers()["output"], 1)]


def scale_lab(page, press):
    press(page.locator(".qkv-scale .qkv-strip input:checked"), "ArrowRight")
    press(page.get_by_label("Key width d_k"), "End")
    press(page.get_by_label("Keys n_k"), "ArrowLeft")
    press(page.get_by_role("button", name="New numbers"), "Enter", "Control+z")
    return {"factor": "sqrt", "d_k": 1024, "n_k": 8, "seed": 0}


def shown_by_scale_lab(page, widget):
    shown = page.locator(".qkv-scale-numbers b").all_inner_texts()
    names = ("predicted", "spread", "largest", "uniform", "slope")
    made = [widget.numbers()[name] for name in names]
    digits = [len(text.partition(".")[2]) for text in shown]
    return shown, [f"{x:.{n}f}" for x, n in zip(made, digits, strict=True)]


def softmax_bench(page, press):
    press(page.locator(".qkv-bench .qkv-strip input:checked").first, "ArrowRight")
    press(page.get_by_label("Temperature"), "ArrowLeft")
    press(page.locator(".qkv-bench-line input").first, "ArrowRight")
    press(page.get_by_label("Query of “.” times"), "ArrowLeft", "Control+z")
    scores = widgets.SoftmaxBench().scores.tolist()
    scores[0][0] = pytest.approx(scores[0][0] + 0.1)
    temperature = pytest.approx(2**-0.5)
    return {"axis": "queries", "temperature": temperature, "scores": scores, "times": 3.0}


def shown_by_softmax_bench(page, widget):
    made = widget.numbers()
    shown = page.locator("[data-matrix=weights] tbody td").all_inner_texts()
    n_k = made["weights"].shape[1]
    rows = np.reshape(shown[: made["weights"].shape[0] * (n_k + 2)], (-1, n_k + 2))[:, :n_k]
    leak = page.inner_text(".qkv-bench-leak")
    want = [number(x) for x in made["weights"].ravel()]
    return [*rows.ravel(), leak], [*want, number(made["leak"])]


def why_three(page, press):
    first = widgets.WhyThree.from_result(load_result("why_three"))
    press(page.get_by_label("Scores from"), "ArrowDown")
    scores = page.get_by_label("Scores from").input_value()
    press(page.get_by_label("Task"), "ArrowDown", "ArrowDown", "Control+z")
    task = page.get_by_label("Task").input_value()
    assert first.scores != scores
    assert first.task != task
    return {"task": task, "scores": scores}


def shown_by_why_three(page, widget):
    numbers, text = widget.numbers(), page.inner_text(".qkv-why")
    wanted = [
        f"Mean {number(numbers['right answers, mean, %'], 1)} %",
        f"Without attention {number(numbers['without attention, %'], 1)} %",
        f"scores: {number(numbers['antisymmetric share, %'], 1)} %",
    ]
    return [words for words in wanted if words in text], wanted


def learn_one_head(page, press):
    for name in ("Step", "10 steps"):
        press(page.get_by_role("button", name=name, exact=True), "Enter")
    press(page.get_by_label("Learning rate"), "ArrowUp", "ArrowUp", "Control+z")
    return {"steps": 12, "rate": 0.25}


def shown_by_learn_one_head(page, widget):
    made, shown, wanted = widget.numbers(), [], []
    for name in ("scores", "weights", "answers", "where", "what"):
        shown += page.locator(f"[data-matrix={name}] tbody td").all_inner_texts()
        wanted += [number(x) for x in np.ravel(made[name])]
    return shown, wanted


def mask_lab(page, press):
    cell = page.locator("[data-matrix=weights] td[tabindex='0']")
    press(cell, *["ArrowDown"] * 2, *["ArrowRight"] * 3, "Space")
    press(page.get_by_label("A hidden key gets"), "ArrowDown", "ArrowDown", "Control+z")
    return {"mask": qkv.causal_mask(7).astype(float).tolist(), "rule": "-1e9"}


def shown_by_mask_lab(page, widget):
    weights = widget.numbers()["weights"]
    shown = page.locator("[data-matrix=weights] tbody td[aria-selected]").all_inner_texts()
    return shown, ["" if x == 0 else number(x) for x in weights.ravel()]


def translator_explorer(page, press):
    press(page.locator("[data-matrix=weights] td[tabindex='0']"), "ArrowDown")
    press(page.locator("input[value=de]"), "ArrowRight")
    page.locator(".qkv-translate:not([aria-busy])").wait_for()  # the kernel has sent the weights
    press(page.locator("input[value=cross]"), "ArrowLeft", "Control+z")
    return {"at": [1, 2], "language": "fr", "site": "cross"}


def shown_by_translator_explorer(page, widget):
    made = widget.numbers()
    shown = page.locator("[data-matrix=weights] tbody td").all_inner_texts()
    written = page.locator(".qkv-translate-line").last.inner_text()
    wanted = [number(x) for x in made["weights"].ravel()]
    return [*shown, written], [*wanted, " ".join(made["written"][1:])]


@pytest.mark.parametrize(
    ("name", "drive", "look"),
    [
        ("SoftLookup", soft_lookup, shown_by_soft_lookup),
        ("ScaleLab", scale_lab, shown_by_scale_lab),
        ("SoftmaxBench", softmax_bench, shown_by_softmax_bench),
        ("WhyThree", why_three, shown_by_why_three),
        ("LearnOneHead", learn_one_head, shown_by_learn_one_head),
        ("MaskLab", mask_lab, shown_by_mask_lab),
        ("TranslatorExplorer", translator_explorer, shown_by_translator_explorer),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_by_keyboard_python_hears_it_and_core_agrees(run, name, drive, look):
    made = getattr(widgets, name)
    first = made.from_result(load_result("why_three")) if name in MAKE else made()
    names = [n for n in first.trait_names(sync=True) if not n.startswith("_")]
    names = sorted(n for n in names if n in made.class_own_traits() and n != "settings")
    page, path = run(name, names)
    cells = page.locator(".jp-CodeCell").count()

    def press(where, *keys):
        where.focus()
        for key in keys:
            where.page.keyboard.press(key)
            where.page.wait_for_timeout(30)

    want = drive(page, press)

    def heard():
        with contextlib.suppress(OSError, json.JSONDecodeError):
            return json.loads(path.read_text())
        return {}

    wait_until(lambda: all(heard().get(n) == x for n, x in want.items()), 15, f"{heard()}")
    for n, value in heard().items():
        first.set_trait(n, np.array(value) if isinstance(getattr(first, n), np.ndarray) else value)
    shown, wanted = look(page, first)
    assert shown == wanted
    # The arrows and Control+z stayed with the widget.
    assert page.locator(".jp-CodeCell").count() == cells

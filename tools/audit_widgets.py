"""What "works" means for each widget: after a key press its numbers are core's for the new input.

A test presses keys as a reader would, reads the input from the page, computes everything again in
Python, and compares with what is shown. It returns a sentence if they differ, "" if all is well.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import numpy as np
from playwright.async_api import Locator, Page

from qkv.widgets import (
    DotProduct,
    LearnOneHead,
    MaskLab,
    NotationDecoder,
    QKVTracer,
    ScaleLab,
    SoftLookup,
    SoftmaxBench,
    TokensToRows,
    WhyThree,
)

Test = Callable[[Page, Locator], Awaitable[str]]
_FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


async def _traits(figure: Locator, names: list[str]) -> dict:
    """Read traits from the page; the round trip through JSON is what a kernel would get."""
    read = "(f, names) => JSON.stringify(names.map(name => f.qkvModel.get(name)))"
    return dict(zip(names, json.loads(await figure.evaluate(read, names)), strict=True))


async def _live(figure: Locator) -> str:
    state = await figure.get_attribute("data-qkv-state")
    return "" if state == "live" else f"the figure is {state or 'not mounted'}"


def _differ(shown: list[str], want: np.ndarray, digits: int) -> bool:
    """Whether printed numbers are not the wanted ones, at the digits printed."""
    numbers = np.array([float(text.replace("\u2212", "-").replace("∞", "inf")) for text in shown])
    want = np.ravel(want)
    return numbers.shape != want.shape or not np.allclose(
        numbers, want, rtol=0, atol=0.5 * 10.0**-digits + 1e-9
    )


async def dot_product(page: Page, figure: Locator) -> str:
    """Move the tip of y by three keys."""
    if problem := await _live(figure):
        return problem
    start = await _traits(figure, ["x", "y"])
    for key in ("ArrowRight", "ArrowUp", "Shift+ArrowLeft"):
        await figure.locator(".qkv-handle.qkv-arrow-y").focus()
        await page.keyboard.press(key)
        await page.evaluate(_FRAME)
        now = await _traits(figure, ["x", "y"])
        if now == start:
            return f"{key} changes nothing"
        start = now
        widget = DotProduct(**now)
        numbers = list(widget.numbers().values())
        shown = await figure.locator(".qkv-dot-lines dd b").all_inner_texts()
        shown.insert(0, await figure.locator(".qkv-dot-title b").inner_text())
        want = [numbers[0], *_dot_lines(widget)]
        if _differ(shown, np.array(want), 2):
            return f"after {key} it shows {shown}, core computes {want}"
    return ""


def _dot_lines(widget: DotProduct) -> list[float]:
    import qkv

    x, y = widget.x, widget.y
    lengths = [float(qkv.vector_length(x)), float(qkv.vector_length(y))]
    shadow = qkv.dot_product(x, y) / lengths[0]
    return [*lengths, float(qkv.cosine_similarity(x, y)), float(shadow)]


async def qkv_tracer(page: Page, figure: Locator) -> str:
    """Type a number into X and into each W."""
    if problem := await _live(figure):
        return problem
    for name in ("x_kv", "w_q", "w_k", "w_v"):
        cell = figure.locator(f"[data-matrix={name}] tbody tr:nth-child(2) td").nth(1)
        before = await cell.get_attribute("data-value")
        await cell.focus()
        await page.keyboard.type("1.5" if before != "1.5" else "2.5")
        await page.keyboard.press("Enter")
        await page.evaluate(_FRAME)
        if await cell.get_attribute("data-value") == before:
            return f"typing a number into {name} changes nothing"
        names = ["inputs", "w_q", "w_k", "w_v", "mode", "mask"]
        widget = QKVTracer(**await _traits(figure, names))
        for matrix in ("q", "k", "v", "scores", "weights", "output"):
            cells = figure.locator(f"[data-matrix={matrix}] tbody td")
            exact = await cells.evaluate_all("all => all.map(td => td.dataset.value)")
            want = np.ravel(getattr(widget, matrix))
            if not np.allclose(
                [float(text.replace("Infinity", "inf")) for text in exact], want, rtol=0, atol=1e-9
            ):
                return f"after a key in {name}, {matrix} is not what core computes"
            if _differ(await cells.all_inner_texts(), want, 2):
                return f"after a key in {name}, {matrix} is printed wrong"
    return ""


async def softmax_bench(page: Page, figure: Locator) -> str:
    """Move a score, the temperature and the last query, then turn the axis."""
    if problem := await _live(figure):
        return problem
    names = ["tokens", "scores", "temperature", "axis", "times", "row"]
    start = await _traits(figure, names)
    sliders = figure.locator("input[type=range]:enabled")
    score, temperature, times = (sliders.nth(n) for n in (0, -2, -1))
    axis = figure.locator(".qkv-bar input:checked")
    steps = [(score, "ArrowRight"), (temperature, "ArrowLeft"), (times, "ArrowLeft")]
    for control, key in [*steps, (axis, "ArrowRight")]:
        await control.focus()
        await page.keyboard.press(key)
        await page.evaluate(_FRAME)
        now = await _traits(figure, names)
        if now == start:
            return f"{key} changes nothing"
        start = now
        made = SoftmaxBench(**now).numbers()
        rows = zip(made["weights"], made["row sums"], made["moved"], strict=True)
        want = np.array([[*weights, total, moved] for weights, total, moved in rows])
        cells = figure.locator("[data-matrix=weights] tbody tr:not(:last-child) td")
        if _differ(await cells.all_inner_texts(), want, 2):
            return f"after {key} the weights are not what core computes"
        if _differ([await figure.locator(".qkv-bench-leak").inner_text()], made["leak"], 2):
            return f"after {key} the leak is not {made['leak']:.3f}"
    return ""


async def mask_lab(page: Page, figure: Locator) -> str:
    """Open a cell, take a preset, then change what a hidden key gets."""
    if problem := await _live(figure):
        return problem
    names = ["tokens", "scores", "mask", "rule", "join"]
    start = await _traits(figure, names)
    cell, rule = figure.locator("[aria-selected=false]").first, figure.locator("select")
    causal = figure.locator("[aria-pressed]").nth(1)
    for control, key in [(cell, "Space"), (causal, "Enter"), (rule, "ArrowDown")]:
        await control.focus()
        await page.keyboard.press(key)
        await page.evaluate(_FRAME)
        now = await _traits(figure, names)
        if now == start:
            return f"{key} changes nothing"
        start = now
        made = MaskLab(**now).numbers()
        rows = zip(made["weights"], made["sum"], made["later"], strict=True)
        want = np.array([[*weights, total, later] for weights, total, later in rows])
        shown = await figure.locator("[data-matrix=weights] tbody td").all_inner_texts()
        if _differ([text or "0" for text in shown], want, 2):
            return f"after {key} the weights are not what core computes"
    return ""


async def learn_one_head(page: Page, figure: Locator) -> str:
    """Take one step, then ten, then another learning rate."""
    if problem := await _live(figure):
        return problem
    names = ["W_Q", "W_K", "W_V", "W_O", "rate", "steps"]
    start = await _traits(figure, names)
    buttons, rate = figure.locator(".qkv-learn-go button"), figure.locator("select")
    for control, key in [
        (buttons.nth(0), "Enter"), (buttons.nth(1), "Space"), (rate, "ArrowUp"),
    ]:  # fmt: skip
        await control.focus()
        await page.keyboard.press(key)
        await page.evaluate(_FRAME)
        now = await _traits(figure, names)
        if now == start:
            return f"{key} changes nothing"
        start = now
        made = LearnOneHead(**now).numbers()
        for name in ("scores", "weights", "where", "what"):
            shown = await figure.locator(f"[data-matrix={name}] tbody td").all_inner_texts()
            if _differ(shown, made[name], 2):
                return f"after {key} the {name} are not what core computes"
    return ""


async def scale_lab(page: Page, figure: Locator) -> str:
    """Change the factor, the width and the number of keys."""
    if problem := await _live(figure):
        return problem
    names = ["d_k", "n_k", "factor", "seed"]
    start = await _traits(figure, names)
    sliders = figure.locator("input[type=range]")
    factor = figure.locator(".qkv-bar input:checked")
    for control, key in [(factor, "ArrowRight"), (sliders.nth(0), "End"), (sliders.nth(1), "Home")]:
        await control.focus()
        await page.keyboard.press(key)
        await page.evaluate(_FRAME)
        now = await _traits(figure, names)
        if now == start:
            return f"{key} changes nothing"
        start = now
        made = ScaleLab(**now).numbers()
        shown = await figure.locator(".qkv-scale-numbers b").all_inner_texts()
        for name, text in zip(("predicted", "spread", "largest"), shown, strict=False):
            if _differ([text], made[name], len(text.partition(".")[2])):
                return f"after {key} it shows {text} as {name}, core computes {made[name]}"
    return ""


async def why_three(page: Page, figure: Locator) -> str:
    """Choose other scores, then another task, then walk to another pair."""
    if problem := await _live(figure):
        return problem
    names = ["task", "scores", "settings"]
    start = await _traits(figure, names)
    for select in (figure.locator("select").nth(1), figure.locator("select").nth(0)):
        await select.focus()
        await page.keyboard.press("ArrowDown")
        await page.evaluate(_FRAME)
        now = await _traits(figure, names)
        if now == start:
            return "ArrowDown changes nothing"
        start = now
        widget = WhyThree(**now)
        cells = await figure.locator(".qkv-why tbody td").all_inner_texts()
        if _differ(cells, 100 * widget.learned_weights(), 0):
            return f"{widget.task}, {widget.scores}: the weights are not what core computes"
    await figure.locator(".qkv-why td[tabindex='0']").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowRight")
    S = np.array(widget.setting()["table"])
    lines = await figure.locator(".qkv-why-pair p").all_inner_texts()
    i, j = 1, 2
    want = [S[i, j] - S[i, i], S[j, i] - S[j, j]]
    if _differ([line.split("= ")[-1] for line in lines[1:3]], np.array(want), 2):
        return f"the margins are {lines[1:3]}, they should be {want}"
    return ""


async def tokens_to_rows(page: Page, figure: Locator) -> str:
    """Type a word, walk along the tokens, then cut at spaces."""
    if problem := await _live(figure):
        return problem
    names = ["text", "mode", "special", "at"]
    start = await _traits(figure, names)
    field, token = figure.locator("input[type=text]"), figure.locator("button[tabindex='0']")
    mode = figure.locator("input[value=wordpiece]")
    for control, key in [(field, "é"), (token, "ArrowRight"), (mode, "ArrowLeft")]:
        await control.focus()
        await page.keyboard.insert_text(key) if key == "é" else await page.keyboard.press(key)
        await figure.locator(".qkv-rows:not([aria-busy])").wait_for()
        await page.evaluate(_FRAME)
        now = await _traits(figure, names)
        if now == start:
            return f"{key} changes nothing"
        start = now
        found = TokensToRows(**now).numbers()
        shown = await figure.locator(".qkv-rows-X tbody td").all_inner_texts()
        if _differ(shown, found["X"], 3 if now["mode"] == "wordpiece" else 0):
            return f"after {key} X is not what core looks up"
        shown = await figure.locator(".qkv-rows-tokens small").all_inner_texts()
        if _differ(shown, found["ids"], 0):
            return f"after {key} the ids are {shown}"
    return ""


async def soft_lookup(page: Page, figure: Locator) -> str:
    """Move the query, widen the bandwidth, then score by dot products."""
    if problem := await _live(figure):
        return problem
    names = ["pairs", "query", "bandwidth", "score", "hard", "labels"]
    start = await _traits(figure, names)
    query, wide = figure.locator(".qkv-lookup-handle"), figure.locator("input[type=range]")
    for control, key in [
        (query, "Shift+ArrowRight"),
        (wide, "ArrowRight"),
        (figure.locator("input[value=distance]"), "ArrowRight"),
    ]:
        await control.focus()
        await page.keyboard.press(key)
        await page.evaluate(_FRAME)
        now = await _traits(figure, names)
        if now == start:
            return f"{key} changes nothing"
        start = now
        made = SoftLookup(**now).numbers()
        want = np.sort(made["weights"])[::-1][:4]
        shown = await figure.locator(".qkv-lookup-sum tbody td:nth-child(2)").all_inner_texts()
        if _differ(shown[:4], want, 2):
            return f"after {key} the weights are not what core computes"
    return ""


async def notation_decoder(page: Page, figure: Locator) -> str:
    """Switch the notation, then the head, then walk to another symbol of the formula."""
    if problem := await _live(figure):
        return problem
    names = ["notation", "use", "head", "focus", "inputs", "weights"]
    start = await _traits(figure, names)
    for control, key in [
        (figure.locator("input[value=paper]"), "ArrowLeft"),
        (figure.locator("select").nth(1), "ArrowDown"),
        (figure.locator(".qkv-decoder-formula [tabindex='0']"), "End"),
    ]:
        await control.focus()
        await page.keyboard.press(key)
        await page.evaluate(_FRAME)
        now = await _traits(figure, names)
        if now == start:
            return f"{key} changes nothing"
        start = now
        want = NotationDecoder(**now).written()[now["focus"]]
        shown = await figure.locator(".qkv-decoder-numbers td").all_inner_texts()
        digits = 2 if any("." in text for text in shown) else 0
        if _differ(shown, want, digits):
            return f"after {key} the numbers of {now['focus']} are not what core computes"
    return ""


WIDGETS: dict[str, Test] = {
    "dot-product": dot_product,
    "learn-one-head": learn_one_head,
    "mask-lab": mask_lab,
    "notation-decoder": notation_decoder,
    "qkv-tracer": qkv_tracer,
    "scale-lab": scale_lab,
    "soft-lookup": soft_lookup,
    "softmax-bench": softmax_bench,
    "tokens-to-rows": tokens_to_rows,
    "why-three": why_three,
}

"""What "works" means for each widget: after a key press its numbers are core's for the new input.

A test presses keys as a reader would, reads the input from the page, computes everything again in
Python, and compares with what is shown. It raises `WrongError` with a sentence if they differ.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import numpy as np
from playwright.async_api import Locator, Page

from qkv.widgets import (
    CacheStepper,
    CrossAttention,
    DotProduct,
    HeadSplitter,
    InductionTrace,
    LayerStepper,
    LearnOneHead,
    MaskLab,
    NotationDecoder,
    ParameterMap,
    PatchAttention,
    PositionLab,
    QKVTracer,
    RealHeads,
    ScaleLab,
    SoftLookup,
    SoftmaxBench,
    TokensToRows,
    TranslatorExplorer,
    WhyThree,
)

Test = Callable[[Page, Locator], Awaitable[None]]
_FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


async def _traits(figure: Locator, names: list[str]) -> dict:
    """Read traits from the page; the round trip through JSON is what a kernel would get."""
    read = "(f, names) => JSON.stringify(names.map(name => f.qkvModel.get(name)))"
    return dict(zip(names, json.loads(await figure.evaluate(read, names)), strict=True))


class WrongError(Exception):
    """What a test found, in a sentence."""


Press = tuple[Locator, str]


async def _after_each(
    page: Page, figure: Locator, names: list[str], presses: list[Press]
) -> AsyncIterator[tuple[str, dict]]:
    """Focus and press, one after the other; give each key with the traits that it has changed."""
    start = await _traits(figure, names)
    for control, key in presses:
        await control.focus()
        # A letter is typed as an input method would, whatever keyboard there is.
        await page.keyboard.insert_text(key) if len(key) == 1 else await page.keyboard.press(key)
        await page.evaluate(_FRAME)
        now = await _traits(figure, names)
        if now == start:
            raise WrongError(f"{key} changes nothing")
        start = now
        yield key, now


def _differ(shown: list[str], want: np.ndarray, digits: int) -> bool:
    """Whether printed numbers are not the wanted ones, at the digits printed."""
    numbers = np.array([float(text.replace("\u2212", "-").replace("∞", "inf")) for text in shown])
    want = np.ravel(want)
    return numbers.shape != want.shape or not np.allclose(
        numbers, want, rtol=0, atol=0.5 * 10.0**-digits + 1e-9
    )


async def dot_product(page: Page, figure: Locator) -> None:
    """Move the tip of y by three keys."""
    tip = figure.locator(".qkv-handle.qkv-arrow-y")
    presses = [(tip, key) for key in ("ArrowRight", "ArrowUp", "Shift+ArrowLeft")]
    async for key, now in _after_each(page, figure, ["x", "y"], presses):
        widget = DotProduct(**now)
        numbers = list(widget.numbers().values())
        shown = await figure.locator(".qkv-dot-lines dd b").all_inner_texts()
        shown.insert(0, await figure.locator(".qkv-dot-title b").inner_text())
        want = [numbers[0], *_dot_lines(widget)]
        if _differ(shown, np.array(want), 2):
            raise WrongError(f"after {key} it shows {shown}, core computes {want}")


def _dot_lines(widget: DotProduct) -> list[float]:
    import qkv

    x, y = widget.x, widget.y
    lengths = [float(qkv.vector_length(x)), float(qkv.vector_length(y))]
    shadow = qkv.dot_product(x, y) / lengths[0]
    return [*lengths, float(qkv.cosine_similarity(x, y)), float(shadow)]


async def qkv_tracer(page: Page, figure: Locator) -> None:
    """Type a number into X and into each W."""
    for name in ("x_kv", "w_q", "w_k", "w_v"):
        cell = figure.locator(f"[data-matrix={name}] tbody tr:nth-child(2) td").nth(1)
        before = await cell.get_attribute("data-value")
        await cell.focus()
        await page.keyboard.type("1.5" if before != "1.5" else "2.5")
        await page.keyboard.press("Enter")
        await page.evaluate(_FRAME)
        if await cell.get_attribute("data-value") == before:
            raise WrongError(f"typing a number into {name} changes nothing")
        names = ["inputs", "w_q", "w_k", "w_v", "mode", "mask"]
        widget = QKVTracer(**await _traits(figure, names))
        for matrix in ("q", "k", "v", "scores", "weights", "output"):
            cells = figure.locator(f"[data-matrix={matrix}] tbody td")
            exact = await cells.evaluate_all("all => all.map(td => td.dataset.value)")
            want = np.ravel(getattr(widget, matrix))
            if not np.allclose(
                [float(text.replace("Infinity", "inf")) for text in exact], want, rtol=0, atol=1e-9
            ):
                raise WrongError(f"after a key in {name}, {matrix} is not what core computes")
            if _differ(await cells.all_inner_texts(), want, 2):
                raise WrongError(f"after a key in {name}, {matrix} is printed wrong")


async def parameter_map(page: Page, figure: Locator) -> None:
    """Walk to another field, raise the rows, take away a head, then another number of tables."""
    names = ["sizes", "layers", "rows", "tables", "biases", "at"]
    field, tables = figure.locator("[role=option][tabindex='0']"), figure.locator("select")
    rows, heads = (figure.locator("input[type=number]").nth(n) for n in (7, 2))
    presses = [(field, "ArrowLeft"), (rows, "ArrowUp"), (heads, "ArrowDown"), (tables, "ArrowDown")]
    async for key, now in _after_each(page, figure, names, presses):
        made = ParameterMap(**now).numbers()
        shown = await figure.locator(".qkv-map-shares td:nth-child(2)").all_inner_texts()
        if [int(text.replace(",", "")) for text in shown] != made["groups"]:
            raise WrongError(f"after {key} it shows {shown}, core counts {made['groups']}")
        total = await figure.locator(".qkv-map-total").inner_text()
        if not total.startswith(f"{made['total']:,} numbers"):
            raise WrongError(f"after {key} it says {total}, core counts {made['total']:,}")


async def softmax_bench(page: Page, figure: Locator) -> None:
    """Move a score, the temperature and the last query, then turn the axis."""
    names = ["tokens", "scores", "temperature", "axis", "times", "row"]
    sliders = figure.locator("input[type=range]:enabled")
    score, temperature, times = (sliders.nth(n) for n in (0, -2, -1))
    axis = figure.locator(".qkv-bar input:checked")
    presses = [(score, "ArrowRight"), (temperature, "ArrowLeft"), (times, "ArrowLeft")]
    presses += [(axis, "ArrowRight")]
    async for key, now in _after_each(page, figure, names, presses):
        made = SoftmaxBench(**now).numbers()
        rows = zip(made["weights"], made["row sums"], made["moved"], strict=True)
        want = np.array([[*weights, total, moved] for weights, total, moved in rows])
        cells = figure.locator("[data-matrix=weights] tbody tr:not(:last-child) td")
        if _differ(await cells.all_inner_texts(), want, 2):
            raise WrongError(f"after {key} the weights are not what core computes")
        if _differ([await figure.locator(".qkv-bench-leak").inner_text()], made["leak"], 2):
            raise WrongError(f"after {key} the leak is not {made['leak']:.3f}")


async def head_splitter(page: Page, figure: Locator) -> None:
    """Take more heads, the next token, then each wrong way."""
    names = ["tokens", "x", "w", "n_heads", "way", "token"]
    token, way = (figure.locator("select").nth(n) for n in (0, 1))
    more = (figure.locator("input[type=range]"), "ArrowRight")
    presses = [more, (token, "ArrowDown"), *[(way, "ArrowDown")] * 4]
    async for key, now in _after_each(page, figure, names, presses):
        made = HeadSplitter(**now).numbers()
        shown = await figure.locator("[data-matrix=weights] tbody td").all_inner_texts()
        if _differ(shown, made["weights"], 2):
            raise WrongError(f"after {key} the weights are not what core computes")
        written = await figure.locator("[data-matrix=writes] tbody td").all_inner_texts()
        if _differ(written, np.vstack([made["writes"], made["output"]]), 1):
            raise WrongError(f"after {key} the writes are not what core computes")


async def cross_attention(page: Page, figure: Locator) -> None:
    """Walk the output and its parts, hide a word, move one, take another head."""
    names = ["inputs", "parameters", "order", "hidden", "chosen"]
    here = figure.locator("[data-matrix=output] td[tabindex='0']")
    part = figure.locator("[data-matrix=parts] td[tabindex='0']")
    presses = [(here, "ArrowUp"), (part, "ArrowRight")]
    presses += [(figure.locator(".qkv-cross-key .qkv-cross-word").nth(1), "Enter")]
    presses += [(figure.locator(".qkv-cross-move").nth(1), "Enter")]
    presses += [(figure.locator(".qkv-strip input:checked"), "ArrowRight")]
    async for key, now in _after_each(page, figure, names, presses):
        made = CrossAttention(**now).numbers()
        shown = await figure.locator("[data-matrix=output] td[tabindex]").all_inner_texts()
        if _differ(shown, made["output"], 2):
            raise WrongError(f"after {key} the output is not what core computes")
        parts = np.column_stack([made["parts"], made["parts"].sum(axis=1)])
        want = np.vstack([parts, parts.sum(axis=0)])
        shown = await figure.locator("[data-matrix=parts] td[tabindex]").all_inner_texts()
        if _differ(shown, want, 2):
            raise WrongError(f"after {key} the parts are not what core computes")
        t, _, head, _ = now["chosen"]
        weights = await figure.locator(".qkv-cross-weight").all_inner_texts()
        want = made["weights"][head, t]
        if _differ([w.replace("hidden", "0") for w in weights], want, 2):
            raise WrongError(f"after {key} the weights are not what core computes")


async def mask_lab(page: Page, figure: Locator) -> None:
    """Open a cell, take a preset, then change what a hidden key gets."""
    names = ["tokens", "scores", "mask", "rule", "join"]
    cell, rule = figure.locator("[aria-selected=false]").first, figure.locator("select")
    causal = figure.locator("[aria-pressed]").nth(1)
    presses = [(cell, "Space"), (causal, "Enter"), (rule, "ArrowDown")]
    async for key, now in _after_each(page, figure, names, presses):
        made = MaskLab(**now).numbers()
        rows = zip(made["weights"], made["sum"], made["later"], strict=True)
        want = np.array([[*weights, total, later] for weights, total, later in rows])
        shown = await figure.locator("[data-matrix=weights] tbody td").all_inner_texts()
        if _differ([text or "0" for text in shown], want, 2):
            raise WrongError(f"after {key} the weights are not what core computes")


async def position_lab(page: Page, figure: Locator) -> None:
    """Move a word, choose a code, push the start."""
    names = ["order", "code", "start", "causal"]
    word, start = figure.locator(".qkv-order-word").nth(1), figure.locator("input[type=range]")
    code = figure.locator("input[value=none]")
    presses = [(word, "ArrowRight"), (code, "ArrowRight"), (start, "ArrowRight")]
    async for key, now in _after_each(page, figure, names, presses):
        made = PositionLab(**now).numbers()
        shown = await figure.locator("[data-matrix=weights] tbody td").all_inner_texts()
        if _differ(shown, np.column_stack([made["weights"], made["moved"]]), 2):
            raise WrongError(f"after {key} the weights are not what core computes")


async def induction_trace(page: Page, figure: Locator) -> None:
    """Close the K read, push the row, type a letter."""
    names = ["text", "row", "head", "step", "closed"]
    read = figure.get_by_label("K", exact=True)
    row, field = figure.locator("input[type=range]"), figure.locator("input[type=text]")
    presses = [(read, "Space"), (row, "ArrowLeft"), (field, "Q")]
    async for key, now in _after_each(page, figure, names, presses):
        await figure.locator(".qkv-trace:not([aria-busy])").wait_for()
        await page.evaluate(_FRAME)
        made = InductionTrace(**now).numbers()
        shown = await figure.locator(".qkv-trace-table tbody td:last-child").all_inner_texts()
        if _differ([text for text in shown if text], made["weights"], 2):
            raise WrongError(f"after {key} the weights are not what core computes")
        shown = await figure.locator(".qkv-trace-value").all_inner_texts()
        if _differ(shown, made["chances"], 2):
            raise WrongError(f"after {key} the probabilities are not what core computes")


async def cache_stepper(page: Page, figure: Locator) -> None:
    """Go back a word, keep something else, share the keys, look through another head."""
    names = ["word", "kept", "sets", "head"]
    kept, sets, head = (
        figure.locator(".qkv-strip").nth(n).locator("input:checked") for n in (1, 2, 3)
    )
    presses = [
        (figure.get_by_role("button", name="Back"), "Enter"),
        (kept, "ArrowLeft"),
        (sets, "ArrowRight"),
        (head, "ArrowRight"),
    ]
    async for key, now in _after_each(page, figure, names, presses):
        made = CacheStepper(**now).numbers()
        cells = figure.locator(f".qkv-cache-table tr:nth-child(-n+{now['word'] + 2}) .qkv-cache-w")
        if _differ(await cells.all_inner_texts(), made["weights"], 2):
            raise WrongError(f"after {key} the weights are not what core computes")
        bill = await figure.locator(".qkv-cache-bill td").all_inner_texts()
        if [int(text.replace(",", "")) for text in bill] != np.ravel(made["table"]).tolist():
            raise WrongError(f"after {key} it shows {bill}, core counts {made['table']}")


async def real_heads(page: Page, figure: Locator) -> None:
    """Look at another word, then open another head."""
    names = ["sentence", "head", "at", "measure"]
    cell = figure.locator("[data-matrix=weights] [tabindex='0']")
    head = figure.locator("[data-matrix=heads] [tabindex='0']")
    async for key, now in _after_each(
        page, figure, names, [(cell, "ArrowUp"), (head, "ArrowLeft"), (head, "ArrowUp")]
    ):
        await figure.locator(".qkv-real:not([aria-busy])").wait_for()
        made = RealHeads(**now).numbers()
        shown = await figure.locator("[data-matrix=weights] tbody td").all_inner_texts()
        if _differ(shown, 100 * made["weights"], 0):
            raise WrongError(f"after {key} the weights are not what core computes")


async def layer_stepper(page: Page, figure: Locator) -> None:
    """Step once, choose another order, then another token."""
    names = ["layer", "token", "place", "order", "residual"]
    go, strips = figure.locator(".qkv-step-pair button"), figure.locator(".qkv-strip")
    order, token = (strips.nth(n).locator("input:checked") for n in (1, 0))
    presses = [(go.nth(1), "Enter"), (order, "ArrowRight"), (token, "ArrowRight")]
    async for key, now in _after_each(page, figure, names, presses):
        made = LayerStepper(**now).numbers()
        lines = figure.locator(".qkv-step-panel tr:not([hidden]) td:last-child")
        if _differ(await lines.all_inner_texts(), made["row"], 2):
            raise WrongError(f"after {key} the row is not what core computes")
        ladder = figure.locator(".qkv-step-ladder label:not([hidden]) i:last-child")
        lengths = [text for text in await ladder.all_inner_texts() if text]
        rows = [p for p in LayerStepper(**now).path() if p.kind not in ("hidden", "words")]
        if _differ(lengths, np.array([np.linalg.norm(p.row) for p in rows]), 1):
            raise WrongError(f"after {key} the lengths are not what core computes")


async def learn_one_head(page: Page, figure: Locator) -> None:
    """Take one step, then ten, then another learning rate."""
    names = ["W_Q", "W_K", "W_V", "W_O", "rate", "steps"]
    buttons, rate = figure.locator(".qkv-learn-go button"), figure.locator("select")
    presses = [(buttons.nth(0), "Enter"), (buttons.nth(1), "Space"), (rate, "ArrowUp")]
    async for key, now in _after_each(page, figure, names, presses):
        made = LearnOneHead(**now).numbers()
        for name in ("scores", "weights", "where", "what"):
            shown = await figure.locator(f"[data-matrix={name}] tbody td").all_inner_texts()
            if _differ(shown, made[name], 2):
                raise WrongError(f"after {key} the {name} are not what core computes")


async def scale_lab(page: Page, figure: Locator) -> None:
    """Change the factor, the width and the number of keys."""
    names = ["d_k", "n_k", "factor", "seed"]
    sliders = figure.locator("input[type=range]")
    factor = figure.locator(".qkv-bar input:checked")
    presses = [(factor, "ArrowRight"), (sliders.nth(0), "End"), (sliders.nth(1), "Home")]
    async for key, now in _after_each(page, figure, names, presses):
        made = ScaleLab(**now).numbers()
        shown = await figure.locator(".qkv-scale-numbers b").all_inner_texts()
        for name, text in zip(("predicted", "spread", "largest"), shown[:3], strict=True):
            if _differ([text], made[name], len(text.partition(".")[2])):
                raise WrongError(
                    f"after {key} it shows {text} as {name}, core computes {made[name]}"
                )


async def why_three(page: Page, figure: Locator) -> None:
    """Choose other scores, then another task, then walk to another pair."""
    names = ["task", "scores", "settings"]
    presses = [(figure.locator("select").nth(n), "ArrowDown") for n in (1, 0)]
    async for _, now in _after_each(page, figure, names, presses):
        widget = WhyThree(**now)
        cells = await figure.locator(".qkv-why tbody td").all_inner_texts()
        if _differ(cells, 100 * widget.learned_weights(), 0):
            raise WrongError(
                f"{widget.task}, {widget.scores}: the weights are not what core computes"
            )
    await figure.locator(".qkv-why td[tabindex='0']").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowRight")
    S = np.array(widget.setting()["table"])
    lines = await figure.locator(".qkv-why-pair p").all_inner_texts()
    i, j = 1, 2
    want = [S[i, j] - S[i, i], S[j, i] - S[j, j]]
    if _differ([line.split("= ")[-1] for line in lines[1:3]], np.array(want), 2):
        raise WrongError(f"the margins are {lines[1:3]}, they should be {want}")


async def tokens_to_rows(page: Page, figure: Locator) -> None:
    """Type a word, walk along the tokens, then cut at spaces."""
    names = ["text", "mode", "special", "at"]
    field, token = figure.locator("input[type=text]"), figure.locator("button[tabindex='0']")
    mode = figure.locator("input[value=wordpiece]")
    presses = [(field, "é"), (token, "ArrowRight"), (mode, "ArrowLeft")]
    async for key, now in _after_each(page, figure, names, presses):
        await figure.locator(".qkv-rows:not([aria-busy])").wait_for()
        await page.evaluate(_FRAME)
        found = TokensToRows(**now).numbers()
        shown = await figure.locator(".qkv-rows-X tbody td").all_inner_texts()
        if _differ(shown, found["X"], 3 if now["mode"] == "wordpiece" else 0):
            raise WrongError(f"after {key} X is not what core looks up")
        shown = await figure.locator(".qkv-rows-tokens small").all_inner_texts()
        if _differ(shown, found["ids"], 0):
            raise WrongError(f"after {key} the ids are {shown}")


async def soft_lookup(page: Page, figure: Locator) -> None:
    """Move the query, widen the bandwidth, then score by dot products."""
    names = ["pairs", "query", "bandwidth", "score", "hard", "labels"]
    query, wide = figure.locator(".qkv-lookup-handle"), figure.locator("input[type=range]")
    score = figure.locator("input[value=distance]")
    presses = [(query, "Shift+ArrowRight"), (wide, "ArrowRight"), (score, "ArrowRight")]
    async for key, now in _after_each(page, figure, names, presses):
        made = SoftLookup(**now).numbers()
        want = np.sort(made["weights"])[::-1][:4]
        shown = await figure.locator(".qkv-lookup-sum tbody td:nth-child(2)").all_inner_texts()
        if _differ(shown[:4], want, 2):
            raise WrongError(f"after {key} the weights are not what core computes")


async def notation_decoder(page: Page, figure: Locator) -> None:
    """Switch the notation, then the head, then walk to another symbol of the formula."""
    names = ["notation", "use", "head", "focus", "inputs", "weights"]
    presses = [
        (figure.locator("input[value=paper]"), "ArrowLeft"),
        (figure.locator("select").nth(1), "ArrowDown"),
        (figure.locator(".qkv-decoder-formula [tabindex='0']"), "End"),
    ]
    async for key, now in _after_each(page, figure, names, presses):
        want = NotationDecoder(**now).written()[now["focus"]]
        shown = await figure.locator(".qkv-decoder-numbers td").all_inner_texts()
        digits = 2 if any("." in text for text in shown) else 0
        if _differ(shown, want, digits):
            raise WrongError(f"after {key} the numbers of {now['focus']} are not what core gives")


async def translator_explorer(page: Page, figure: Locator) -> None:
    """Walk to another weight, open another head, then translate into French."""
    names = ["text", "language", "site", "head", "at"]
    cell = figure.locator("[data-matrix=weights] [tabindex='0']")
    head = figure.locator("fieldset").nth(3).locator("input:checked")
    language = figure.locator("input[value=de]")
    presses = [(cell, "ArrowDown"), (head, "ArrowRight"), (language, "ArrowRight")]
    async for key, now in _after_each(page, figure, names, presses):
        await figure.locator(".qkv-translate:not([aria-busy])").wait_for()
        made = TranslatorExplorer(**now).numbers()
        shown = await figure.locator("[data-matrix=weights] tbody td").all_inner_texts()
        if _differ(shown, made["weights"], 2):
            raise WrongError(f"after {key} the weights are not what core computes")


async def patch_attention(page: Page, figure: Locator) -> None:
    """Ask with another patch, open another layer and rollout, then paint a pixel."""
    names = ["ink", "layer", "view", "query"]
    cell = figure.locator(".qkv-patch-table [tabindex='0']")
    layer = figure.locator("fieldset").nth(0).locator("input:checked")
    view = figure.locator("fieldset").nth(1).locator("input:checked")
    pixel = figure.locator(".qkv-patch-picture [tabindex='0']")
    presses = [(cell, "ArrowDown"), (layer, "ArrowRight"), (view, "ArrowLeft"), (pixel, "Enter")]
    async for key, now in _after_each(page, figure, names, presses):
        await figure.locator(".qkv-patch:not([aria-busy])").wait_for()
        widget = PatchAttention(**now)
        made = widget.numbers()
        shown = await figure.locator(".qkv-patch-text").all_inner_texts()
        if _differ(shown, 100 * made["weights"][widget.query], 1):
            raise WrongError(f"after {key} the weights are not what core computes")
        classes = await figure.locator("[data-matrix=classes] tbody td").all_inner_texts()
        if _differ(classes[:10], made["scores"], 1):
            raise WrongError(f"after {key} the scores are not what core computes")


WIDGETS: dict[str, Test] = {
    "cache-stepper": cache_stepper,
    "cross-attention": cross_attention,
    "dot-product": dot_product,
    "head-splitter": head_splitter,
    "induction-trace": induction_trace,
    "layer-stepper": layer_stepper,
    "learn-one-head": learn_one_head,
    "mask-lab": mask_lab,
    "position-lab": position_lab,
    "parameter-map": parameter_map,
    "patch-attention": patch_attention,
    "notation-decoder": notation_decoder,
    "qkv-tracer": qkv_tracer,
    "real-heads": real_heads,
    "scale-lab": scale_lab,
    "soft-lookup": soft_lookup,
    "softmax-bench": softmax_bench,
    "tokens-to-rows": tokens_to_rows,
    "translator-explorer": translator_explorer,
    "why-three": why_three,
}


async def problem_of(kind: str, page: Page, figure: Locator) -> str:
    """Test one widget; return what is wrong in a sentence, "" if all is well."""
    if kind not in WIDGETS:
        return f"tools/audit_widgets.py has no test for the widget {kind}"
    state = await figure.get_attribute("data-qkv-state")
    if state != "live":
        return f"the figure is {state or 'not mounted'}"
    try:
        await WIDGETS[kind](page, figure)
    except WrongError as wrong:
        return str(wrong)
    return ""

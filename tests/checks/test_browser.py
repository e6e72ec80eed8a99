"""Every exercise of the page in a real Chromium: by keyboard, from disk, under a strict policy."""

import json

import pytest
from docutils.nodes import make_id

from qkv.checks import get, ids
from tests.checks.conftest import FEW

pytestmark = pytest.mark.browser
IN_PAGE = [name for name in ids() if get(name).kind != "code"]


def keys_of(exercise, right):
    """Return what to type into the fields for a right or a known wrong answer."""
    value = exercise.answer if right else exercise.wrong[0].value
    numbers = value if exercise.kind == "row" else [value]
    return [repr(float(number)) for number in numbers]


def answer_by_keyboard(page, exercise, right):
    root = page.locator(f"#{make_id(f'exercise-{exercise.id}')}")
    inputs = root.locator("input")
    if exercise.kind == "order":
        put_in_order(page, root, exercise, right)
    elif exercise.kind in ("match", "fill"):
        match_by_keyboard(page, root, exercise, right)
    elif exercise.kind == "cell":
        walk_to_cell(page, root, exercise, right)
    elif exercise.kind == "choice":
        wrong = next(option.key for option in exercise.options if not option.correct)
        want = exercise.answer if right else wrong
        inputs.first.focus()
        page.keyboard.press("Space")
        for _ in range("abcdefgh".index(want)):
            page.keyboard.press("ArrowDown")
    else:
        inputs.first.focus()
        for number in keys_of(exercise, right):
            page.keyboard.press("Control+A")
            page.keyboard.type(number)
            page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
    if exercise.kind in ("order", "match", "fill"):  # Enter belongs to the button or the menu
        root.locator(".qkv-exercise-check").focus()
    page.keyboard.press("Enter")
    return root.locator(".qkv-exercise-feedback")


def put_in_order(page, root, exercise, right):
    """Move one step after the other up to its place, by its button; wrong is the order turned."""
    wanted = exercise.answer.split()[:: 1 if right else -1]
    for place, letter in enumerate(wanted):
        shown = root.locator("li").evaluate_all("steps => steps.map(step => step.dataset.key)")
        root.locator(f'li[data-key="{letter}"] [data-move="up"]').focus()
        for _ in range(shown.index(letter) - place):
            page.keyboard.press("Enter")
    shown = root.locator("li").evaluate_all("steps => steps.map(step => step.dataset.key)")
    assert shown == wanted


def match_by_keyboard(page, root, exercise, right):
    """Choose in each menu with the arrow keys; wrong is the first known confusion."""
    given = dict(exercise.pairs) | ({} if right else exercise.wrong[0].value)
    for number, item in enumerate(exercise.items):
        menu = root.locator("select").nth(number)
        menu.focus()
        page.keyboard.press("Home")
        for _ in range(exercise.choices.index(given[item]) + 1):
            page.keyboard.press("ArrowDown")
        assert menu.evaluate("menu => menu.selectedOptions[0].text") == given[item].replace("`", "")


def walk_to_cell(page, root, exercise, right):
    """Go to the cell with the arrow keys, from the first one."""
    row, column = exercise.answer if right else exercise.wrong[0].value
    root.locator("td input").first.focus()
    page.keyboard.press("Space")
    for key in ["ArrowDown"] * row + ["ArrowRight"] * column:
        page.keyboard.press(key)
    assert root.locator("input:checked").get_attribute("value") == f"{row} {column}"


def test_every_exercise_wrong_then_right_by_keyboard(dressed, open_page):
    page = open_page(dressed)
    for name in IN_PAGE:
        exercise = get(name)
        root = page.locator(f"#{make_id(f'exercise-{name}')}")
        solution, done = root.locator(".qkv-fold-solution"), root.locator(".qkv-exercise-done")
        feedback = answer_by_keyboard(page, exercise, right=False)
        assert feedback.get_attribute("data-state") == "wrong", name
        assert feedback.get_attribute("role") == "status"
        assert "Not yet" in feedback.inner_text()
        assert "?" in feedback.inner_text(), name
        assert solution.get_attribute("open") is None
        assert not done.is_visible()
        answer_by_keyboard(page, exercise, right=True)
        assert feedback.get_attribute("data-state") == "right", name
        assert "Right" in feedback.inner_text()
        assert solution.get_attribute("open") is not None
        assert done.is_visible()


def test_hints_come_one_at_a_time_by_keyboard(few, open_page):
    page = open_page(few)
    hints = page.locator("#exercise-projections-twice .qkv-fold-hint > summary")
    for shown in range(3):
        assert [hints.nth(n).is_visible() for n in range(3)] == [n <= shown for n in range(3)]
        hints.nth(shown).focus()
        page.keyboard.press("Enter")


def test_the_solution_is_offered_after_two_different_tries(few, open_page):
    page = open_page(few)
    root = page.locator("#exercise-projections-count")
    offer = root.get_by_role("button", name="Show the solution")
    for text, offered in (("80", 0), ("80", 0), ("", 0), ("many", 0), ("81", 1)):
        root.locator("input").fill(text)
        root.locator("input").press("Enter")
        assert offer.count() == offered, text
    offer.press("Enter")
    assert root.locator(".qkv-fold-solution").get_attribute("open") is not None


def test_what_is_typed_is_shown_as_text(few, open_page):
    page = open_page(few)
    field = page.locator("#exercise-projections-count input")
    field.fill('<img src=x onerror="alert(1)">')
    field.press("Enter")
    feedback = page.locator("#exercise-projections-count .qkv-exercise-feedback")
    assert '<img src=x onerror="alert(1)">' in feedback.inner_text()
    assert feedback.locator("img").count() == 0
    assert feedback.get_attribute("data-state") == "unread"


def test_a_success_is_remembered(few, open_page):
    page = open_page(few)
    answer_by_keyboard(page, get("dot_product.sign"), right=True)
    page.reload()
    done = page.locator(".qkv-exercise-done:visible")
    assert done.count() == 1
    assert page.locator("#exercise-dot-product-sign .qkv-exercise-done").is_visible()
    assert json.loads(page.evaluate("localStorage.getItem('qkv-solved')")) == ["dot_product.sign"]


@pytest.mark.parametrize("broken", ["null", "{}", "[", '"x"'])
def test_a_broken_memory_is_forgotten(few, open_page, broken):
    page = open_page(few)
    page.evaluate("text => localStorage.setItem('qkv-solved', text)", broken)
    page.reload()
    feedback = answer_by_keyboard(page, get("dot_product.sign"), right=True)
    assert feedback.get_attribute("data-state") == "right"


def test_without_storage_it_works_and_forgets(few, chromium):
    context = chromium.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('refused') }})"
    )
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(few.as_uri())
    feedback = answer_by_keyboard(page, get("dot_product.sign"), right=True)
    assert feedback.get_attribute("data-state") == "right"
    assert errors == []
    context.close()


def test_nothing_moves_when_the_script_wakes_up(few, open_page):
    place = "() => [...document.querySelectorAll('.qkv-exercise')].map(e => e.offsetHeight)"
    with_script = open_page(few).evaluate(place)
    asleep = open_page(few, java_script_enabled=False)
    boxes = asleep.locator(".qkv-exercise")
    heights = [round(boxes.nth(n).bounding_box()["height"]) for n in range(boxes.count())]
    notes = asleep.locator(".qkv-exercise-asleep")
    assert notes.count() == sum(get(name).kind != "code" for name in FEW)
    assert notes.first.is_visible()
    # Apart from the line that says so, the page without the script is the page with it.
    code = [n for n, name in enumerate(FEW) if get(name).kind == "code"]
    assert [heights[n] for n in code] == [with_script[n] for n in code]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_nothing_overflows(few, open_page, axe_violations, width, theme):
    page = open_page(few, width=width, theme=theme)
    answer_by_keyboard(page, get("dot_product.sign"), right=False)
    answer_by_keyboard(page, get("dot_product.row"), right=False)
    answer_by_keyboard(page, get("projections.entry"), right=True)
    for kind in ("order", "match", "fill", "cell"):
        name = next(name for name in FEW if get(name).kind == kind)
        answer_by_keyboard(page, get(name), right=kind == "order")
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_step_keeps_the_focus_and_says_where_it_is(few, open_page):
    page = open_page(few)
    name = next(name for name in FEW if get(name).kind == "order")
    root = page.locator(f"#{make_id(f'exercise-{name}')}")
    count = root.locator("li").count()
    down = root.locator("li").first.locator('[data-move="down"]')
    text = root.locator("li").first.locator(".qkv-exercise-step").inner_text()
    assert down.get_attribute("aria-label").startswith("Move down: ")
    down.focus()
    for place in range(2, count + 1):
        page.keyboard.press("Enter")
        assert root.locator("[aria-live]").inner_text() == f"Now step {place} of {count}."
        here = root.locator("li").nth(place - 1)
        assert here.locator(".qkv-exercise-step").inner_text() == text
        assert here.locator('[data-move="down"]').evaluate("e => e === document.activeElement")
    page.keyboard.press("Enter")  # at the end nothing happens, and nothing is lost
    last = root.locator("li").last.locator('[data-move="down"]')
    assert last.get_attribute("aria-disabled") == "true"
    assert last.evaluate("e => e === document.activeElement")


def test_an_open_menu_is_no_try(few, open_page):
    page = open_page(few)
    name = next(name for name in FEW if get(name).kind == "match")
    root = page.locator(f"#{make_id(f'exercise-{name}')}")
    root.locator(".qkv-exercise-check").press("Enter")
    feedback = root.locator(".qkv-exercise-feedback")
    assert feedback.get_attribute("data-state") == "unread"
    assert get(name).labels[0] in feedback.inner_text()

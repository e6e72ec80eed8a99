"""TokensToRows in a real Chromium, from disk, under the strict policy."""

import pytest

from qkv.widgets import TokensToRows
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, small_targets, traits, write_page

pytestmark = pytest.mark.browser
BUTTONS = ".qkv-rows-tokens button"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, TokensToRows())


def state(page):
    page.wait_for_selector(".qkv-rows:not([aria-busy])")
    return traits(page, ["text", "mode", "special", "at"])


def rows(page, side):
    return page.eval_on_selector_all(
        f".qkv-rows-{side} tbody tr", "all => all.map(r => [...r.cells].map(c => c.textContent))"
    )


def assert_numbers_equal_pythons(page):
    page.wait_for_timeout(60)
    widget = TokensToRows(**state(page))
    found = widget.numbers()
    known, E = widget.vocabulary()
    digits = 0 if widget.mode == "whitespace" else 3
    shown = found["tokens"][:14]
    assert page.locator(f"{BUTTONS} b").all_inner_texts() == shown
    ids = page.locator(f"{BUTTONS} small").all_inner_texts()
    assert [int(i) for i in ids] == found["ids"][:14].tolist()
    want = [
        [f"{t}{token}", *(number(x, digits) for x in found["X"][t])]
        for t, token in enumerate(shown)
    ]
    assert rows(page, "X") == want
    used = range(len(known)) if widget.mode == "whitespace" else sorted(set(found["ids"][:14]))
    want = [[f"{i}{known[i]}", *(number(x, digits) for x in E[i])] for i in used]
    assert rows(page, "E") == want
    assert page.locator(".qkv-rows-links path").count() == len(shown)


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_pythons(page)
    page.get_by_label("Text", exact=True).focus()
    page.keyboard.press("End")
    page.keyboard.type(" and the kangaroos")
    assert_numbers_equal_pythons(page)
    assert state(page)["text"].endswith("bank and the kangaroos")
    page.focus(f"{BUTTONS}[tabindex='0']")
    for key in ["ArrowRight", "End", "ArrowLeft"]:
        page.keyboard.press(key)
    assert state(page)["at"] == 8
    said = page.inner_text(".qkv-rows-said")
    assert said.startswith(
        "Token 8, “kangaroo”, has id 21,652: row 21,652 of E becomes row 8 of X."
    )
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]") == said
    page.get_by_label("add [CLS] and [SEP]").focus()
    page.keyboard.press("Space")
    assert_numbers_equal_pythons(page)
    assert rows(page, "X")[0][0] == "0[CLS]"
    page.locator("input[value=wordpiece]").focus()
    page.keyboard.press("ArrowLeft")
    assert state(page)["mode"] == "whitespace"
    assert_numbers_equal_pythons(page)
    page.get_by_label("or take").select_option("she ate an apple .")
    assert_numbers_equal_pythons(page)
    page.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Enter")
    assert state(page) == {
        "text": "The bank by the river bank", "mode": "wordpiece", "special": False, "at": 1,
    }  # fmt: skip
    assert_numbers_equal_pythons(page)


def test_the_vocabulary_is_loaded_on_the_first_action_and_not_before(page):
    loaded = "[...document.scripts].map(script => script.src.split('/').pop())"
    assert "word-pieces.js" not in page.evaluate(loaded)
    page.get_by_label("add [CLS] and [SEP]").check()  # its pieces are in the page
    assert_numbers_equal_pythons(page)
    assert "word-pieces.js" not in page.evaluate(loaded)
    page.get_by_label("Text", exact=True).focus()
    page.wait_for_timeout(500)
    assert "word-pieces.js" in page.evaluate(loaded)


@pytest.mark.parametrize(
    "text",
    ["", "crème brûlée!", "日本語のテスト", "x" * 101, "ΟΔΟΣ İstanbul", "<b>&amp;</b>",
     "☃ a\u200bb",
     "one two three four five six seven eight nine ten eleven twelve thirteen fourteen more"],
)  # fmt: skip
def test_any_text_works(page, text):
    page.get_by_label("Text", exact=True).fill(text)
    assert_numbers_equal_pythons(page)
    if text.startswith("one"):
        assert page.inner_text(".qkv-rows-more").startswith("1 more token is cut")


def test_the_same_word_twice_lights_one_row_of_the_table(page):
    page.locator(BUTTONS).nth(5).focus()
    here = page.eval_on_selector_all(
        "tr.qkv-rows-here", "all => all.map(r => r.querySelector('th').textContent)"
    )
    assert here == ["2924bank", "5bank"]
    same = page.eval_on_selector_all(
        "tr.qkv-rows-same", "all => all.map(r => r.querySelector('th').textContent)"
    )
    assert same == ["1bank"]
    page.locator(".qkv-rows-X tbody tr").nth(2).click()
    assert state(page)["at"] == 2


def test_without_the_script_it_says_so_and_spaces_work(tmp_path, chromium):
    path = write_page(tmp_path, TokensToRows())
    (tmp_path / "word-pieces.js").unlink()
    page = chromium.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("figure[data-qkv-state=live]")
    page.get_by_label("Text", exact=True).fill("she ate a pear")
    page.locator(".qkv-rows-said", has_text="could not").wait_for()
    page.locator("input[value=whitespace]").check()
    assert rows(page, "X")[0][0] == "0she"
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    for text in ["", "Donaudampfschifffahrt 我爱北京 ☃ " + "w" * 120]:
        page.get_by_label("Text", exact=True).fill(text) if text else None
        assert_numbers_equal_pythons(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert axe_violations(page) == []
    page.locator("input[value=whitespace]").check()
    assert_numbers_equal_pythons(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input)") == []


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26


def test_without_javascript_the_picture_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")

"""Every planted bug is refused by at least one law, and the table says by which.

Run with ``-s`` to read the table, or call `table` to make a page from it.
"""

import numpy as np
import pytest

import qkv
from tests.core.calls import CALLS
from tests.core.lawbook import all_laws, draw
from tests.core.planted_bugs import ATTENTION, BUGS, HARMLESS
from tests.core.test_calls import arrays

LAWS = all_laws()


def refusals(bug):
    """Return the laws that the wrong version breaks by a wrong number, and those it cannot run."""
    wrong_numbers, errors = [], []
    for check in LAWS[bug.target]:
        try:
            with np.errstate(all="ignore"):
                check(bug.wrong)
        except AssertionError:
            wrong_numbers.append(check.__name__)
        except Exception:  # whatever the wrong version runs into
            errors.append(check.__name__)
    return wrong_numbers, errors


def keeps_its_shapes(bug, make_arguments=None):
    """Return whether a test of shapes alone would let the bug pass; at prime sizes by default."""
    make_arguments = make_arguments or (lambda: CALLS[bug.target](np.float64))
    right = arrays(getattr(qkv, bug.target)(*make_arguments()))
    try:
        with np.errstate(all="ignore"):
            wrong = arrays(bug.wrong(*make_arguments()))
    except Exception:  # an error is noticed too
        return False
    return [a.shape for a in wrong] == [a.shape for a in right]


def attention_at_equal_sizes():
    q, k, v = draw((4, 4), (4, 4), (4, 4))
    return q, k, v, qkv.causal_mask(4)


def table():
    """Return a row for each bug: name, target, symptom, the laws that refuse it, shapes kept."""
    rows = []
    for bug in BUGS:
        wrong_numbers, errors = refusals(bug)
        rows.append(
            {
                "name": bug.name,
                "target": bug.target,
                "symptom": bug.symptom,
                "wrong_numbers": wrong_numbers,
                "errors": errors,
                "keeps_its_shapes": keeps_its_shapes(bug),
            }
        )
    return rows


def refused_by_a_loop(row):
    return any("the_loop" in law for law in row["wrong_numbers"] + row["errors"])


@pytest.fixture(scope="module")
def rows():
    return table()


def test_there_are_enough_and_no_two_have_one_name():
    assert len(BUGS) >= 40
    assert len({bug.name for bug in BUGS + HARMLESS}) == len(BUGS + HARMLESS)
    assert {bug.target for bug in BUGS} <= set(qkv.core.__all__)


@pytest.mark.parametrize("index", range(len(BUGS)), ids=[bug.name for bug in BUGS])
def test_a_planted_bug_is_refused(rows, index):
    """By a wrong number; only where the symptom is an error may an error refuse it."""
    row = rows[index]
    refused = row["wrong_numbers"] or (row["symptom"].startswith("an error") and row["errors"])
    assert refused, f"{row['name']}: {row['errors'] or 'nothing noticed it'}"


@pytest.mark.parametrize("slip", HARMLESS, ids=lambda bug: bug.name)
def test_a_harmless_slip_is_not_refused(slip):
    assert refusals(slip) == ([], [])


def test_shapes_at_equal_sizes_refuse_no_attention_bug():
    noticed = [
        bug.name
        for bug in BUGS
        if bug.target == ATTENTION and not keeps_its_shapes(bug, attention_at_equal_sizes)
    ]
    assert noticed == []


def test_print_the_table(rows, capsys):
    groups = {"attention": [r for r in rows if r["target"] == ATTENTION], "all": rows}
    with capsys.disabled():
        print()
        for name, group in groups.items():
            by_shape = sum(not r["keeps_its_shapes"] for r in group)
            by_loop = sum(map(refused_by_a_loop, group))
            print(
                f"planted bugs, {name}: {len(group)}. Refused by shapes at prime sizes {by_shape},"
                f" by a loop at prime sizes {by_loop}, by loops and properties {len(group)}."
            )
        for row in rows:
            first, *more = row["wrong_numbers"] + row["errors"]
            others = f" and {len(more)} more" if more else ""
            print(f"  {row['target']:32} {row['name']:40} {first}{others}")
    assert by_shape < by_loop < len(rows)

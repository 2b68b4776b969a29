"""The row reference on cases small enough to see through, and on what the corpus does not show."""

import pytest

from sparkcep.pattern import row as ir
from tests.reference.row_output import Navigation, View, aggregate, all_rows, one_row
from tests.reference.rows import Match, Skip, SkipError, Step, first_match, match_rows
from tests.reference.text import row_pattern


def labelled(text: str):  # type: ignore[no-untyped-def]
    rows = text.split()
    return lambda variable, row, bindings: variable in rows[row]


def classifiers(match: Match) -> str:
    return "".join(step.variable for step in match.steps)


def test_preference_is_greedy_then_leftmost() -> None:
    found = match_rows(row_pattern("(A | B)* B"), labelled("AB AB AB"), 3)
    assert [classifiers(match) for match in found] == ["AAB"]


def test_numbers_and_starts() -> None:
    found = match_rows(row_pattern("A*"), labelled("B A A"), 3)
    assert found == [Match(1, 0, ()), Match(2, 1, (Step(1, "A"), Step(2, "A")))]


def test_bindings_end_with_the_row_being_tried() -> None:
    seen = []
    first_match(row_pattern("A B"), lambda variable, row, bindings: seen.append(bindings) or True, 2, 0)
    assert seen == [((0, "A"),), ((0, "A"), (1, "B"))]


def test_a_condition_over_bindings_backtracks() -> None:
    """B must be as many rows as A: the greedy A gives rows back."""

    def holds(variable: str, row: int, bindings: tuple[tuple[int, str], ...]) -> bool:
        names = [name for _, name in bindings]
        return variable == "A" or names.count("B") <= names.count("A")

    (match,) = match_rows(row_pattern("^ A+ B+ $"), holds, 4)
    assert classifiers(match) == "AAAB"


def test_an_empty_iteration_ends_the_loop() -> None:
    loop = ir.Quantified(ir.Alternate((ir.Empty(), ir.Variable("A"))), 0, None)
    assert match_rows(loop, labelled("A A"), 2) == [Match(1, 0, ()), Match(2, 1, ())]


@pytest.mark.parametrize("variable", ["A", "C"])
@pytest.mark.parametrize("to", ["first", "last"])
def test_skip_errors(to: str, variable: str) -> None:
    with pytest.raises(SkipError):
        match_rows(row_pattern("A B C?"), labelled("A B"), 2, skip=Skip(to, (variable,)))


def test_navigation_is_null_off_the_match_and_off_the_partition() -> None:
    rows = [{"x": 1}, {"x": 2}, {"x": 3}]
    view = View(rows, Match(1, 0, (Step(0, "A"), Step(1, "B"))), 1)
    assert Navigation(("A",)).value(view, "x") == 1
    assert Navigation(("A",), logical=1).value(view, "x") is None
    assert Navigation(("B",), physical=1).value(view, "x") == 3
    assert Navigation(("B",), physical=2).value(view, "x") is None
    assert Navigation(None, last=False).classifier(view) == "A"
    assert Navigation(("C",)).classifier(view) is None


def test_running_and_final_aggregates() -> None:
    rows = [{"x": 1}, {"x": None}, {"x": 5}]
    match = Match(1, 0, tuple(Step(row, "A") for row in range(3)))
    assert [aggregate(View(rows, match, row), "sum", ("A",), "x", True) for row in range(3)] == [1, 1, 6]
    assert aggregate(View(rows, match, 0), "avg", None, "x", False) == 3
    assert aggregate(View(rows, match, 0), "sum", ("B",), "x", False) is None


def test_output_modes() -> None:
    rows = [{}, {}, {}]
    matches = [Match(1, 0, ()), Match(2, 1, (Step(1, "A"),))]
    number = [lambda view: view.match.number]
    assert one_row(matches, rows, number) == [(1,), (2,)]
    assert all_rows(matches, rows, number) == [(0, 1), (1, 2)]
    assert all_rows(matches, rows, number, "all_omit_empty") == [(1, 2)]
    assert all_rows(matches, rows, number, "all_with_unmatched") == [(0, 1), (1, 2), (2, None)]

"""Small patterns over rows written as strings: which rows match, as which variables."""

from __future__ import annotations

from typing import Any

import pytest

from sparkcep.errors import CepDataError, CepInternalError, CepLimitError
from sparkcep.pattern.row import Empty, PartitionEnd, PartitionStart, Permute, Variable
from sparkcep.spec.row import ClassifierAt, CurrentRow, MatchNumber, Navigation, Output, Skip
from tests.engines.row_pattern.helpers import (
    A,
    B,
    C,
    D,
    alt,
    hidden,
    make_spec,
    make_table,
    maybe,
    plus,
    rep,
    rows_of,
    seq,
    star,
)

OUTPUTS = (
    Output("id", CurrentRow("id")),
    Output("number", MatchNumber()),
    Output("name", ClassifierAt(Navigation(running=True))),
)


def found(pattern: Any, rows: list[str] | str, **options: Any) -> str:
    """Output rows as text: ``0A1`` is row 0, mapped to A, in match 1; ``-`` stands for NULL."""
    spec = make_spec(pattern, OUTPUTS, **{"rows_per_match": "all_show_empty", **options})
    out = rows_of(spec, make_table(spec, [list(rows)]))
    return " ".join(f"{row['id']}{row['name'] or '-'}{row['number'] or '-'}" for row in out)


@pytest.mark.parametrize(
    ("pattern", "rows", "expected"),
    [
        (seq(A, B), "AABCD", "1A1 2B1"),
        (seq(A, plus(B), C), "ABBBCAC", "0A1 1B1 2B1 3B1 4C1"),
        (alt(seq(A, B), A), "ABA", "0A1 1B1 2A2"),
        (alt(A, seq(A, B)), "ABA", "0A1 2A2"),
        (rep(A, 2), "AAABA", "0A1 1A1 2A1"),
        (rep(A, 1, 2), "AAA", "0A1 1A1 2A2"),
        (seq(rep(A, 1, None, False), B), "AAB", "0A1 1A1 2B1"),
        (rep(A, 2, None, False), "AAAA", "0A1 1A1 2A2 3A2"),
        (maybe(A), "AB", "0A1 1-2"),
        (star(B), "AB", "0-1 1B2"),
        (Empty(), "AB", "0-1 1-2"),
        (seq(PartitionStart(), A), "AA", "0A1"),
        (seq(A, PartitionEnd()), "AA", "1A1"),
        (seq(A, PartitionStart(), B), "AB", ""),
        (seq(PartitionEnd(), A), "A", ""),
        (seq(PartitionStart(), star(A), PartitionEnd()), "AAA", "0A1 1A1 2A1"),
        (seq(PartitionStart(), star(A), PartitionEnd()), "AAB", ""),
        (Permute((A, B, C)), "CBAABC", "0C1 1B1 2A1 3A2 4B2 5C2"),
        (seq(A, hidden(plus(B)), C), "ABBC", "0A1 3C1"),
        (hidden(plus(A)), "AA", ""),
        (star(maybe(A, greedy=False)), "AA", "0-1 1-2"),
        (star(plus(maybe(A, greedy=False))), "AA", "0-1 1-2"),
        (star(rep(maybe(A, greedy=False), 0, 2)), "AA", "0-1 1-2"),
        (seq(star(maybe(A, greedy=False)), B), "AAB", "0A1 1A1 2B1"),
    ],
    ids=str,
)
def test_one_partition(pattern: Any, rows: str, expected: str) -> None:
    assert found(pattern, rows) == expected


def test_a_row_that_satisfies_several_variables_goes_to_the_preferred() -> None:
    assert found(plus(alt(B, A)), ["AB", "A", "AB"]) == "0B1 1A1 2B1"
    assert found(Permute((A, B)), ["AB", "AB"]) == "0A1 1B1"
    assert found(Permute((seq(A, B), C)), ["C", "A", "B"]) == "0C1 1A1 2B1"
    assert found(Permute((seq(A, B), C)), ["AC", "B", "BC"]) == "0A1 1B1 2C1"


def test_permute_prefers_an_order_over_a_longer_item() -> None:
    """A+ B C in any way comes before A+ C B: the orders are alternatives, not choices made item by item."""
    assert found(Permute((plus(A), B, C)), ["A", "AB", "C", "B"]) == "0A1 1B1 2C1"
    assert found(Permute((plus(A), B, C)), ["A", "AB", "A", "C", "B"]) == "0A1 1A1 2A1 3C1 4B1"


def test_iteration_without_a_row_ends_a_bounded_quantifier_too() -> None:
    """ISO/IEC 19075-5, 7.2.8: (() | A | B){0,2} over A B prefers the empty match; with a row forced, A first."""
    body = alt(Empty(), A, B)
    assert found(rep(body, 0, 2), "AB") == "0-1 1-2"
    assert found(seq(rep(body, 0, 2), C), ["A", "B", "C"]) == "0A1 1B1 2C1"
    assert found(seq(star(plus(maybe(A, greedy=False))), B), ["A", "AB", "B"]) == "0A1 1B1 2B2"
    assert found(seq(star(seq(plus(maybe(A, greedy=False)), maybe(C))), B), ["C", "AB", "B"]) == "0C1 1B1 2B2"
    body = alt(Empty(), A, seq(A, B))
    assert found(seq(rep(body, 0, 3), C), ["A", "A", "AB", "C"]) == "0A1 1A1 2A1 3C1"


MODES = {
    "one": "0-1 1-2 2B3",
    "all_show_empty": "0-1 1-2 2B3 3B3",
    "all_omit_empty": "2B3 3B3",
    "all_with_unmatched": "0-1 1-2 2B3 3B3",
}


@pytest.mark.parametrize(("mode", "expected"), MODES.items())
def test_rows_per_match(mode: str, expected: str) -> None:
    assert found(star(B), "AABB", rows_per_match=mode) == expected


def test_unmatched_rows() -> None:
    assert found(seq(A, B), "CABA", rows_per_match="all_with_unmatched") == "0-- 1A1 2B1 3--"
    assert found(seq(A, A, A), "AAAAB", rows_per_match="all_with_unmatched", skip=Skip("next_row")) == (
        "0A1 1A1 2A1 1A2 2A2 3A2 4--"
    )


@pytest.mark.parametrize(
    ("skip", "expected"),
    [
        (Skip(), "0A1 1A1 2B1 3B1"),
        (Skip("next_row"), "0A1 1A1 2B1 3B1 1A2 2B2 3B2"),
        (Skip("first", ("B",)), "0A1 1A1 2B1 3B1"),
        (Skip("last", ("A",)), "0A1 1A1 2B1 3B1 1A2 2B2 3B2"),
    ],
    ids=lambda value: str(getattr(value, "to", "")),
)
def test_skip(skip: Skip, expected: str) -> None:
    pattern = seq(A, star(A), plus(B))
    if skip.to == "last":
        with pytest.raises(CepDataError, match="would return to the first row of match 2"):
            found(pattern, "AABB", skip=skip)
        return
    assert found(pattern, "AABB", skip=skip) == expected


@pytest.mark.parametrize("mode", ["one", "all_show_empty"])
def test_skip_to_nowhere_says_where(mode: str) -> None:
    spec = make_spec(seq(A, maybe(B)), OUTPUTS, rows_per_match=mode, skip=Skip("last", ("B",)), partition=("key",))
    with pytest.raises(CepDataError, match=r"SKIP TO LAST B finds no row of B in match 1 of the partition key = 1"):
        rows_of(spec, make_table(spec, [["A", "B"], ["C", "A"]]))


def test_an_empty_match_skips_to_the_next_row_whatever_the_rule() -> None:
    assert found(star(A), "BB", skip=Skip("first", ("A",))) == "0-1 1-2"


def test_initial() -> None:
    spec = make_spec(plus(A), OUTPUTS, initial=True, rows_per_match="all_with_unmatched")
    out = rows_of(spec, make_table(spec, [["A", "A", "B", "A"], ["B", "A"]]))
    assert [row["number"] for row in out] == [1, 1, None, None, None, None]


def test_numbers_restart_and_matches_stay_inside_partitions() -> None:
    spec = make_spec(seq(A, B), OUTPUTS)
    out = rows_of(spec, make_table(spec, [["A", "B", "A"], ["B", "A", "B"], ["A"]]))
    assert [(row["id"], row["number"]) for row in out] == [(0, 1), (4, 1)]


def test_more_variables_than_one_mask_column() -> None:
    names = tuple(f"V{i:02}" for i in range(70))
    spec = make_spec(seq(*map(Variable, names)), OUTPUTS, variables=names, rows_per_match="all_show_empty")
    assert len(spec.masks) == 2
    out = rows_of(spec, make_table(spec, [["", *names, "V03"]]))
    assert [row["name"] for row in out] == list(names)


def test_int32_masks() -> None:
    spec = make_spec(plus(A), OUTPUTS)
    table = make_table(spec, [["A", "B"]])
    table = table.set_column(0, "mask0", table["mask0"].cast("int32"))
    assert len(rows_of(spec, table)) == 1


def test_broken_contract() -> None:
    spec = make_spec(plus(A), OUTPUTS)
    with pytest.raises(CepInternalError, match="first row"):
        rows_of(spec, make_table(spec, [["A", "B"]]).slice(1))
    assert rows_of(spec, make_table(spec, [["A"]]).slice(1)) == []


def test_limits() -> None:
    with pytest.raises(CepLimitError, match="steps"):
        found(rep(rep(rep(A, 100, 100), 100, 100), 100, 100), "A")
    with pytest.raises(CepLimitError, match="PERMUTE"):
        found(Permute((plus(A),) * 9), "A")
    assert found(rep(Empty(), 10**9, None), "A") == "0-1"
    assert found(Permute((D, C, B, A)), "ABCD") == "0A1 1B1 2C1 3D1"

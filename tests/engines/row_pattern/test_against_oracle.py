"""Random patterns x rows x options: the engine's output rows equal those of the backtracking oracle."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pyarrow as pa
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sparkcep.engines.row_pattern.program import compile_pattern
from sparkcep.errors import CepDataError
from sparkcep.pattern.row import Alternate, Concat, Empty, Excluded, PartitionEnd, PartitionStart, Permute, Quantified
from sparkcep.spec.row import Aggregate, ClassifierAt, ColumnAt, CurrentRow, MatchNumber, Navigation, Output, Skip
from tests.draws import draws
from tests.engines.row_pattern import oracle
from tests.engines.row_pattern.helpers import A, B, C, D, make_spec, make_table, maybe, rep, rows_of, seq, star

MOST_WAYS = 3_000
"""Ways of a pattern over the longest rows beyond which an example is too slow for the oracle."""

leaves = st.sampled_from([A, A, B, B, C, A, B, C, Empty(), PartitionStart(), PartitionEnd()])
quantifiers = st.sampled_from([(0, None), (1, None), (0, 1), (2, None), (0, 2), (1, 3), (2, 3), (2, 2), (0, 0)])


def _parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(Concat),
        several.map(Concat),
        several.map(Alternate),
        several.map(Permute),
        inner.map(Excluded),
        st.builds(lambda item, q, greedy: Quantified(item, *q, greedy), inner, quantifiers, st.booleans()),
        st.builds(lambda item, q, greedy: Quantified(item, *q, greedy), inner, quantifiers, st.booleans()),
    )


patterns = st.recursive(leaves, _parts, max_leaves=6)
labelled_rows = st.lists(st.sampled_from(["A", "B", "C", "AB", "ABC", "BC", ""]), min_size=1, max_size=6)
partitions = st.lists(labelled_rows, min_size=1, max_size=3)
variable_sets = st.sampled_from([None, ("A",), ("B",), ("A", "C"), ("C", "B")])
skips = st.one_of(
    st.sampled_from([Skip(), Skip("next_row")]),
    st.builds(Skip, st.sampled_from(["first", "last"]), st.sampled_from([("A",), ("B",), ("B", "C")])),
)
modes = st.sampled_from(["one", "one", "all_show_empty", "all_omit_empty", "all_with_unmatched"])
navigations = st.builds(
    Navigation, variable_sets, st.booleans(), st.booleans(), st.integers(0, 2), st.sampled_from([0, 0, 0, -1, 1, 2, -3])
)
aggregates = st.builds(
    Aggregate,
    st.sampled_from(["count", "sum", "min", "max", "array_agg"]),
    st.sampled_from(["id", "value"]),
    variable_sets,
    st.booleans(),
    st.sampled_from([False, False, True]),
    st.sampled_from([None, None, "flag"]),
)
sources = st.one_of(
    navigations.map(lambda at: ColumnAt("id", at)), navigations.map(lambda at: ColumnAt("value", at)),
    navigations.map(ClassifierAt), aggregates, variable_sets.map(lambda names: Aggregate("count", None, names)),
)  # fmt: skip

FIXED = (Output("id", CurrentRow("id")), Output("number", MatchNumber()), Output("of", ClassifierAt(Navigation())))
PATH = (
    Output("first", ColumnAt("id", Navigation(last=False))),
    Output("names", Aggregate("array_agg", "id")),
)


def _expected(spec: Any, parts: list[list[str]], data: list[dict[str, Any]]) -> list[dict[str, Any]] | str:
    out, at = [], 0
    try:
        for rows in parts:
            out += oracle.answer(spec, rows, data[at : at + len(rows)])
            at += len(rows)
    except oracle.SkipError as error:
        return str(error)
    return out


def _actual(spec: Any, table: pa.Table) -> list[dict[str, Any]] | str:
    try:
        return rows_of(spec, table)
    except CepDataError as error:
        return {"CEP_DATA_SKIP_TO_ABSENT": "absent", "CEP_DATA_SKIP_TO_START": "start"}[error.code]


def _check(spec: Any, parts: list[list[str]]) -> None:
    count = sum(map(len, parts))
    values = pa.array([None if i % 5 == 3 else i * 7 % 4 - 1 for i in range(count)], pa.int64())
    flags = pa.array([None if i % 7 == 2 else i % 3 != 1 for i in range(count)], pa.bool_())
    table = make_table(spec, parts, value=values, flag=flags)
    assert _actual(spec, table) == _expected(spec, parts, table.to_pylist()), f"{spec.pattern}"


def _feasible(pattern: Any) -> None:
    steps = sum(1 for _ in islice(oracle.ways(pattern, ["ABC"] * 6, 0), MOST_WAYS))
    assume(steps < MOST_WAYS)


@draws(300)
@given(patterns, partitions, skips, modes, st.booleans())
@example(star(maybe(A, False)), [["A", "A"]], Skip(), "one", False)
@example(rep(Alternate((Empty(), A, B)), 0, 2), [["A", "B"]], Skip(), "one", False)
@example(seq(rep(maybe(A, False), 1), B), [["A", "AB", "B"]], Skip(), "all_show_empty", False)
@example(seq(star(Alternate((PartitionEnd(), A))), star(B)), [["A", "AB", "B"]], Skip(), "one", False)
@example(Permute((rep(A, 1), B, C)), [["A", "ABC", "ABC", "C"]], Skip("next_row"), "one", False)
def test_paths(pattern: Any, parts: list[list[str]], skip: Skip, mode: Any, initial: bool) -> None:
    _feasible(pattern)
    outputs = FIXED + PATH
    _check(make_spec(pattern, outputs, skip=skip, rows_per_match=mode, initial=initial), parts)


@draws(300)
@given(patterns, partitions, skips, modes, st.lists(sources, min_size=1, max_size=4))
def test_measures(pattern: Any, parts: list[list[str]], skip: Skip, mode: Any, measures: list[Any]) -> None:
    _feasible(pattern)
    outputs = FIXED + tuple(Output(f"m{i}", source) for i, source in enumerate(measures))
    _check(make_spec(pattern, outputs, skip=skip, rows_per_match=mode), parts)


plain = st.one_of(
    navigations.map(lambda at: ColumnAt("value", at)),
    st.builds(ClassifierAt, st.builds(Navigation, variable_sets, st.booleans(), st.booleans(), st.integers(0, 2))),
    st.builds(Aggregate, st.sampled_from(["count", "sum", "min", "max"]), st.just("value"), variable_sets),
)


@draws(300)
@given(patterns, partitions, skips, st.lists(plain, min_size=1, max_size=4), st.booleans())
def test_overlapping_one_row(
    pattern: Any, parts: list[list[str]], skip: Skip, measures: list[Any], initial: bool
) -> None:
    """Measures that the forest of overlapping matches serves."""
    _feasible(pattern)
    outputs = FIXED + tuple(Output(f"m{i}", source) for i, source in enumerate(measures))
    _check(make_spec(pattern, outputs, skip=skip, initial=initial), parts)


@draws(60)
@given(patterns, labelled_rows, skips, modes)
def test_wide_programs_agree(pattern: Any, rows: list[str], skip: Skip, mode: Any) -> None:
    """The same pattern in Thompson's form: a second branch that never matches makes the program wide."""
    _feasible(pattern)
    wide = Alternate((pattern, rep(D, 70, 70)))
    assert not compile_pattern(make_spec(wide)).narrow
    _check(make_spec(wide, FIXED + PATH, skip=skip, rows_per_match=mode), [rows])

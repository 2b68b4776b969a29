"""WITHIN: what the engine knows of it changes how long it takes, not what it finds (without, it is one of the conditions)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from sparkcep.engines.choice import choose
from sparkcep.engines.row_match import engine as row_match
from sparkcep.engines.row_match import within as row_match_within
from sparkcep.pattern.row import Concat, Excluded, walk
from sparkcep.spec.row import Define, Frame, RowPatternSpec, Skip, Within
from tests.draws import draws
from tests.engines.row_match import conditions as of
from tests.engines.row_match import test_against_oracle as match_dependent
from tests.engines.row_pattern.helpers import A, B, C, make_spec, make_table, star

WITHIN = Within("ts", "deadline")


def _times(draw: st.DrawFn, rows: int, nulls_first: bool) -> list[int | None]:
    times: list[int | None] = sorted(draw(st.lists(st.integers(0, 6), min_size=rows, max_size=rows)))
    absent = draw(st.sampled_from([0, 0, 1, 2]))
    kept = times[absent:]
    nothing: list[int | None] = [None] * (rows - len(kept))
    return nothing + kept if nulls_first else kept + nothing


@st.composite
def cases(draw: st.DrawFn) -> tuple[RowPatternSpec, pa.Table]:
    """Partitions in order of time, some of whose rows have none; WITHIN alone or beside other conditions."""
    pattern, labels, inside = draw(match_dependent.patterns), draw(match_dependent.partitions), WITHIN.condition
    others = {one.variable: one.condition for one in draw(st.one_of(st.just(()), match_dependent.defines))}
    defines = [of.define(name, of.call("and", inside, others[name]) if name in others else inside) for name in "ABCD"]
    excludes = any(isinstance(part, Excluded) for part in walk(pattern))
    frame = draw(st.sampled_from([None, None, None, Frame(), Frame(seek=True), Frame("two"), Frame("two", seek=True)]))
    shown = st.sampled_from(["one", "one", "all_show_empty", "all_show_empty" if excludes else "all_with_unmatched"])
    spec = make_spec(
        pattern,
        match_dependent.OUTPUTS,
        skip=draw(match_dependent.skips),
        initial=frame is None and draw(st.booleans()),
        defines=tuple(defines),
        rows_per_match=draw(shown) if frame is None else "window",
        frame=frame,
        within=WITHIN,
    )
    nulls_first, length = draw(st.booleans()), draw(st.sampled_from([1, 2, 3, 9]))
    times = [time for part in labels for time in _times(draw, len(part), nulls_first)]
    kind = draw(st.sampled_from([pa.int64(), pa.float64()]))
    deadlines = [None if time is None else time + length for time in times]
    columns = {"ts": pa.array(times, kind), "deadline": pa.array(deadlines, kind), "two": pa.array([2] * len(times))}
    table = match_dependent._table(spec, labels)
    for name, values in columns.items():
        table = table.append_column(name, values)
    event(f"alone {not others}, {spec.skip.to}")
    return spec, table


@draws(600)
@given(cases())
def test_as_a_condition(case: tuple[RowPatternSpec, pa.Table]) -> None:
    spec, table = case
    expected = match_dependent._actual(replace(spec, within=None), table)
    assert match_dependent._actual(spec, table) == expected


@draws(100)
@given(cases())
def test_without_the_soonest_ends(case: tuple[RowPatternSpec, pa.Table]) -> None:
    spec, table = case
    expected = match_dependent._actual(spec, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_match_within, "MOST_BYTES", 0)
        assert match_dependent._actual(spec, table) == expected


@pytest.mark.parametrize("length", [1_000, 4_000, 1_000_000])
@pytest.mark.parametrize("skip", [Skip(), Skip("next_row")])
def test_no_cliff(skip: Skip, length: int) -> None:
    """Every row may begin a match, of as many rows as WITHIN allows, and few come to their end: a search of all these ways would take a minute."""
    count = 40_000
    labels = ["C" if row % 5_000 == 4_999 else "AB" for row in range(count)]
    times = pa.array(range(count), pa.int64())
    defines: tuple[Any, ...] = tuple(Define(name, WITHIN.condition) for name in "ABC")
    spec = make_spec(Concat((A, star(B), C)), skip=skip, defines=defines, within=WITHIN, variables=("A", "B", "C"))
    table = make_table(spec, [labels], ts=times, deadline=pa.array([at + length for at in range(count)], pa.int64()))
    engine = row_match.compile(spec)
    list(engine.run(table.slice(0, 10)))
    started = time.monotonic()
    found = sum(part.num_rows for part in engine.run(table))
    assert time.monotonic() - started < 3
    distinct = count // 5_000 if skip == Skip() else count // 5_000 * min(length - 1, 4_999)
    assert found == distinct


def test_what_explain_says() -> None:
    inside = tuple(of.define(name, WITHIN.condition) for name in "AB")
    alone = make_spec(Concat((A, B)), match_dependent.OUTPUTS, defines=inside, within=WITHIN)
    assert choose(alone).reason.startswith("linear: only WITHIN")
    other = of.define("B", of.call("and", WITHIN.condition, of.call("lt", of.last("ts", "A"), of.current("ts"))))
    assert choose(replace(alone, defines=(inside[0], other))).reason.startswith("search with memory")

"""Aggregates over the matches of a stream: after every turn those of the matches that are decided, whatever way the rows came."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.engines.aseq.sequences import check, sequences
from sparkcep.engines.stream import compile
from sparkcep.errors import CepAnalysisError, CepDataError, CepUnsupportedError
from sparkcep.pattern.event import elements
from sparkcep.spec.aggregate import (
    AggregateFunction,
    AggregateOutput,
    AggregateSpec,
    EmitTime,
    GroupColumn,
    MatchAggregate,
    NamedPattern,
    PatternName,
)
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import BEFORE, KNOWN, StreamSpec
from sparkcep.streaming.fold import Bucket, step
from tests.adapters import event_tables
from tests.corpus import EventCase
from tests.draws import draws
from tests.engines.aseq.cases import aggregate_spec
from tests.properties.arrivals import EVER, Arrival, arrivals
from tests.properties.strategies import event_cases as drawn_cases
from tests.reference.aggregates import Aggregate, aggregate, changes
from tests.reference.branches import UndefinedError
from tests.reference.corpus import event_query
from tests.reference.event_sql import equivalence
from tests.reference.events import match_events
from tests.reference.text import event_pattern

FUNCTIONS: tuple[AggregateFunction, ...] = ("count", "sum", "min", "max")


@st.composite
def measured(draw: st.DrawFn) -> tuple[EventCase, MatchAggregate, Aggregate]:
    """A clause with conditions on single events and ``[attr]`` only, and an aggregate over its matches."""
    case = draw(drawn_cases())
    where = tuple(text for text in case.where if equivalence(text) or len(set(re.findall(r"\bv\d+", text))) == 1)
    within = draw(st.integers(2, 11), label="within")
    case = replace(case, where=where, within=within, within_events=None, order=("ts",), strategy="any")
    pattern = event_pattern(case.pattern)
    variable = draw(st.sampled_from([element.variable for element in elements(pattern, negated=False)]))
    function = draw(st.sampled_from(FUNCTIONS))
    if function == "count" and draw(st.booleans()):
        return case, MatchAggregate("count"), ("count", None, None)
    return case, MatchAggregate(function, variable, "x"), (function, variable, "x")


@draws(150)
@given(st.data(), measured())
def test_changes(data: st.DataObject, drawn: tuple[EventCase, MatchAggregate, Aggregate]) -> None:
    case, source, wanted = drawn
    assume(case.events)
    groups: dict[Any, list[Any]] = {}
    for row in case.events:
        groups.setdefault(tuple(row.get(name) for name in case.partition), []).append(row)
    expected = _expected(case, lambda: {key: changes(event_query(case), rows, wanted) for key, rows in groups.items()})
    spec = _changes_spec(case, source)
    ahead = any(sequence.behind for sequence in sequences(event_pattern(case.pattern)))
    table = _table(case)
    found: dict[Any, list[tuple[Any, Any]]] = {key: [] for key in groups}
    decide, bucket = compile(spec), Bucket()
    for arrival in data.draw(arrivals(table["ts"].to_pylist()), label="arrivals"):
        turn = step(spec, decide, bucket, _rows(table, arrival), arrival.until)
        bucket = turn.bucket
        for row in (row for part in turn.found for row in part.to_pylist()):
            before = found[tuple(row[f"key{i}"] for i in range(len(case.partition)))]
            assert row[BEFORE + "a0"] == (before[-1][1] if before else 0 if wanted[0] == "count" else None)
            before.append((row["t"], row["a0"]))
        assert case.within is not None
        late = case.within if ahead else 1
        known = {key: [(t, v) for t, v in rows if t + late <= arrival.until] for key, rows in expected.items()}
        assert found == known
        assert turn.due is None or turn.due > arrival.until


@draws(150)
@given(st.data(), measured())
def test_totals(data: st.DataObject, drawn: tuple[EventCase, MatchAggregate, Aggregate]) -> None:
    case, source, wanted = drawn
    assume(case.events)
    query = event_query(case)
    every = _expected(case, lambda: match_events(query, case.events))
    spec = _totals_spec(case, [source])
    table = _table(case)
    ahead = any(sequence.behind for sequence in sequences(event_pattern(case.pattern)))
    try:
        decide = compile(spec)
    except CepUnsupportedError as error:
        assert "MIN and MAX" in error.message and wanted[0] in ("min", "max") and ahead
        assume(False)
    bucket, totals = Bucket(), {}
    for arrival in data.draw(arrivals(table["ts"].to_pylist()), label="arrivals"):
        turn = step(spec, decide, bucket, _rows(table, arrival), arrival.until)
        bucket = turn.bucket
        for row in (row for part in turn.found for row in part.to_pylist()):
            key = tuple(row[f"key{i}"] for i in range(len(case.partition)))
            assert row[KNOWN] == (key in totals)
            assert row[BEFORE + "a0"] == totals.get(key, 0 if wanted[0] == "count" else None)
            totals[key] = row["a0"]
        groups: dict[Any, list[Any]] = {}
        for match in every:
            events = [case.events[i] for _, value in match for i in _taken(value)]
            times = [event["ts"] for event in events]
            assert case.within is not None
            if (min(times) + case.within if ahead else max(times) + 1) <= arrival.until:
                groups.setdefault(tuple(events[0].get(name) for name in case.partition), []).append(match)
        assert totals == {key: aggregate(matches, case.events, wanted) for key, matches in groups.items()}
    assert bucket.rows is None


@draws(150)
@given(st.data(), measured())
def test_totals_without_a_window(data: st.DataObject, drawn: tuple[EventCase, MatchAggregate, Aggregate]) -> None:
    """Counters instead of rows: whatever way the rows come, the totals are those of all that have come."""
    case, source, wanted = drawn
    case = replace(case, within=None)
    assume(case.events and not any(one.open_ended for one in _sequences(case)))
    every = _expected(case, lambda: match_events(event_query(case), case.events))
    spec, table = _totals_spec(case, [source]), _table(case)
    decide, bucket, totals = compile(spec), Bucket(), {}
    for arrival in data.draw(arrivals(table["ts"].to_pylist()), label="arrivals"):
        turn = step(spec, decide, bucket, _rows(table, arrival), arrival.until)
        bucket = turn.bucket
        for row in (row for part in turn.found for row in part.to_pylist()):
            key = tuple(row[f"key{i}"] for i in range(len(case.partition)))
            assert row[KNOWN] == (key in totals)
            totals[key] = row["a0"]
        groups: dict[Any, list[Any]] = {}
        for match in every:
            events = [case.events[i] for _, value in match for i in _taken(value)]
            if max(event["ts"] for event in events) < arrival.until:
                groups.setdefault(tuple(events[0].get(name) for name in case.partition), []).append(match)
        assert totals == {key: aggregate(matches, case.events, wanted) for key, matches in groups.items()}
    assert bucket.rows is None


def _sequences(case: EventCase) -> Any:
    try:
        return sequences(event_pattern(case.pattern))
    except (CepUnsupportedError, CepAnalysisError):
        assume(False)


def test_several_patterns_and_sums_of_doubles() -> None:
    rows = tuple(
        {"id": i, "type": kind, "ts": i, "x": x, "k": k}
        for i, (kind, k, x) in enumerate(
            [("A", 1, 0.5), ("A", 2, 2.0), ("B", 1, 1.0), ("B", 2, 4.0), ("C", 1, 8.0)] * 3
        )
    )
    case = EventCase("several", "SEQ(A a, B b, C c)", rows, within=100, partition=("k",))
    spec = _totals_spec(case, [MatchAggregate("count"), MatchAggregate("sum", "b", "x", "double")])
    clause = spec.of
    assert isinstance(clause, AggregateSpec)
    patterns = (NamedPattern("ab", event_pattern("SEQ(A a, B b)")), NamedPattern("abc", clause.pattern))
    clause = replace(clause, patterns=patterns, outputs=(AggregateOutput("pattern", PatternName()), *clause.outputs))
    spec, table = replace(spec, of=clause), _table(case)
    answers = []
    for plan in ([Arrival((i,), i) for i in range(len(rows))], [Arrival(tuple(range(len(rows))), 0)]):
        bucket, decide, totals = Bucket(), compile(spec), {}
        for arrival in [*plan, Arrival((), EVER)]:
            turn = step(spec, decide, bucket, _rows(table, arrival), arrival.until)
            bucket = turn.bucket
            for row in (row for part in turn.found for row in part.to_pylist()):
                totals[row["pattern"], row["key0"]] = row["a0"], row["a1"]
        answers.append(totals)
    assert answers[0] == answers[1] == {("ab", 1): (6, 6.0), ("ab", 2): (6, 24.0), ("abc", 1): (10, 10.0)}


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("of", [int, "{:03}".format, lambda x: x / 7 if x else float("nan"), lambda x: x > 20])
@pytest.mark.parametrize("pattern", ["SEQ(A a, B+ b, C c)", "SEQ(A a, OR(SEQ(B b, A x), A y), NOT C c, B z)"])
def test_best_values_without_a_window(pattern: str, of: Callable[[int], Any], size: int) -> None:
    """Matches that begin in one turn and end in another have the least and greatest values that they have in one turn, of any type."""
    random = np.random.default_rng(size)
    kinds, keys = random.choice(["A", "B", "C"], 120, p=[0.3, 0.5, 0.2]).tolist(), random.integers(0, 3, 120).tolist()
    rows = tuple({"id": i, "type": kinds[i], "ts": i // 2, "x": 0, "k": keys[i]} for i in range(120))
    case = EventCase("best", pattern, rows, partition=("k",))
    sources = [MatchAggregate(function, name, "x") for function in ("min", "max") for name in "ab"]
    spec, table = _totals_spec(case, [*sources, MatchAggregate("count")]), _table(case)
    values = pa.array([None if x < 3 else of(x - 3) for x in random.integers(0, 40, 120).tolist()])
    table = table.set_column(table.column_names.index("x"), "x", values)
    answers = []
    for least in (size, 60):
        bucket, decide, totals = Bucket(), compile(spec), {}
        for first in range(0, 60, least):
            at = [i for i in range(120) if first <= i // 2 < first + least]
            turn = step(spec, decide, bucket, [table.take(at)], first + least)
            bucket = turn.bucket
            for row in (row for part in turn.found for row in part.to_pylist()):
                totals[row["key0"]] = [repr(row[f"a{i}"]) for i in range(5)]
        answers.append(totals)
    assert len(answers[1]) == 3
    assert answers[0] == answers[1]


def test_a_sum_of_no_values_is_null() -> None:
    """Also where a match that waits has a value, and decided ones are told by a difference."""
    rows = tuple({"id": i, "type": "A", "ts": ts, "x": x} for i, (ts, x) in enumerate([(0, None), (5, 0)]))
    case = EventCase("nothing", "SEQ(OR(A v0, A+ v1), SEQ(A? v2, NOT A v3))", rows, within=2)
    spec, table = _totals_spec(case, [MatchAggregate("sum", "v0", "x")]), _table(case)
    turn = step(spec, compile(spec), Bucket(), _rows(table, Arrival((0, 1), 6)), 6)
    assert [row["a0"] for part in turn.found for row in part.to_pylist()] == [None]


def test_events_whose_past_is_gone_are_no_matches() -> None:
    """The event at 1 stays for the sake of that at 2; the one at 0, for which it is no match, does not."""
    rows = tuple({"id": i, "type": "A", "ts": i, "x": x} for i, x in enumerate([None, 0, None, None]))
    case = EventCase("past", "SEQ(NOT A v0, A v1)", rows, within=2)
    spec, table = _changes_spec(case, MatchAggregate("count", "v1", "x")), _table(case)
    decide, bucket, found = compile(spec), Bucket(), list[pa.Table]()
    for arrival in (Arrival((0, 1, 2, 3), 3), Arrival((), EVER)):
        turn = step(spec, decide, bucket, _rows(table, arrival), arrival.until)
        bucket, found = turn.bucket, found + list(turn.found)
    assert [row for part in found for row in part.to_pylist()] == []


def test_totals_that_overflow() -> None:
    rows = tuple({"id": i, "type": "A", "ts": i, "x": 2**62, "k": 1} for i in range(3))
    case = EventCase("overflow", "SEQ(A a)", rows, within=10, partition=("k",))
    spec, table = _totals_spec(case, [MatchAggregate("sum", "a", "x")]), _table(case)
    decide, bucket = compile(spec), Bucket()
    bucket = step(spec, decide, bucket, _rows(table, Arrival((0,), 1)), 1).bucket
    with pytest.raises(CepDataError, match=r"SUM\(a.x\) over the matches is outside the range of BIGINT"):
        step(spec, decide, bucket, _rows(table, Arrival((1,), 2)), 2)


def _expected(case: EventCase, answer: Any) -> Any:
    try:
        found = answer()
        check(aggregate_spec(case, []))
    except (UndefinedError, CepUnsupportedError, CepAnalysisError):
        assume(False)
    return found


def _taken(value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _rows(table: pa.Table, arrival: Arrival) -> list[pa.Table]:
    return [table.take(list(arrival.rows))] if arrival.rows else []


def _changes_spec(case: EventCase, source: MatchAggregate) -> StreamSpec:
    spec = _totals_spec(case, [source])
    assert isinstance(spec.of, AggregateSpec)
    classes = "class" if any(map(equivalence, case.where)) else None
    outputs = (AggregateOutput("t", EmitTime("ts")), *spec.of.outputs)
    return replace(spec, of=replace(spec.of, outputs=outputs, emit="ts", classes=classes, partition=case.partition))


def _totals_spec(case: EventCase, sources: list[MatchAggregate]) -> StreamSpec:
    clause = aggregate_spec(case, sources)
    attributes = [name for text in case.where if (name := equivalence(text)) is not None]
    keys = tuple(AggregateOutput(f"key{i}", GroupColumn(name)) for i, name in enumerate(case.partition))
    return _stream(replace(clause, outputs=(*keys, *clause.outputs)), [*case.partition, *attributes])


def _stream(clause: AggregateSpec, keys: list[str]) -> StreamSpec:
    unique = tuple(dict.fromkeys(keys))
    deadline = None if clause.within is None else "deadline"
    return StreamSpec(clause, unique, (OrderColumn("ts"),), "ts", "identity", "{}", deadline=deadline)


def _table(case: EventCase) -> pa.Table:
    """The events in order of their time; those without a class take part in nothing."""
    attributes = [name for text in case.where if (name := equivalence(text)) is not None]
    whole = replace(case, partition=(), where=tuple(text for text in case.where if equivalence(text) is None))
    table = pa.concat_tables(event_tables(whole))
    absent = np.zeros(table.num_rows, np.bool_)
    for name in attributes:
        absent |= table[name].is_null().to_numpy()
    for name in (name for name in table.column_names if name.startswith("mask")):
        mask = np.where(absent, 0, np.asarray(table[name]) & (~1 if name == "mask0" else -1))
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(mask))
    return table.drop_columns(["rank"]).append_column("identity", pa.array(np.arange(table.num_rows)))

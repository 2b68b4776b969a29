"""Patterns of event and row clauses that change while their stream runs: in the end each version has answered the rows in whose lifetime they lie."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume, event, given
from hypothesis import strategies as st

from sparkcep.engines import stream
from sparkcep.errors import CepError
from sparkcep.spec import to_json
from sparkcep.spec.aggregate import AggregateSpec, MatchAggregate
from sparkcep.spec.automaton import AutomatonSpec
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.projection import Column, ProjectedSpec
from sparkcep.spec.row import RowPatternSpec
from sparkcep.spec.stream import DELETED, KNOWN, Followed, StreamSpec
from sparkcep.streaming import fold, speculation
from sparkcep.streaming.changing import compile
from sparkcep.streaming.fold import Bucket
from tests.draws import draws
from tests.properties import test_aggregate_streams, test_event_streams, test_open_runs
from tests.properties.arrivals import EVER, arrivals
from tests.properties.lines import signed_lines
from tests.properties.strategies import event_cases as drawn_cases
from tests.properties.test_row_streams import cases as row_cases
from tests.properties.test_row_streams import dependent_cases

SIGMAS = st.sampled_from([0, 0, None, 3])
LONG_AGO = -(1 << 63)


@draws(100)
@given(st.data(), drawn_cases(over_closures=True), st.integers(2, 11), SIGMAS)
def test_event_patterns(data: st.DataObject, case: Any, within: int, sigma: int | None) -> None:
    strategy = data.draw(st.sampled_from(["any", "any", "next", "partition_contiguity", "strict_contiguity"]))
    case = replace(case, within=within, within_events=None, order=("ts",), strategy=strategy)
    table = test_event_streams._table(case, {})
    assume(table is not None)
    assert table is not None
    output = data.draw(st.sampled_from(["all", "all", "non_overlapping", "compressed"]))
    spec = replace(test_event_streams._spec(case, output), sigma=sigma)
    _check(data, spec, test_event_streams._sent(table), sparse="contiguity" not in strategy)


@draws(100)
@given(st.data(), drawn_cases(over_closures=True, groups=True), SIGMAS)
def test_runs_that_stay_open(data: st.DataObject, case: Any, sigma: int | None) -> None:
    strategy = data.draw(st.sampled_from(["next", "next", "partition_contiguity"]))
    case = replace(case, within=None, within_events=None, order=("ts",), strategy=strategy)
    assume(case.events)
    try:
        table = test_open_runs._with_identity(case)
    except CepError:
        assume(False)
    assume(table is not None)
    assert table is not None
    output = data.draw(st.sampled_from(test_open_runs.OUTPUTS))
    spec = replace(test_open_runs._spec(case, output, merges=True), sigma=sigma)
    _check(data, spec, test_event_streams._sent(table), sparse=strategy == "next")


@draws(100)
@given(st.data(), row_cases(), SIGMAS)
def test_row_patterns(data: st.DataObject, case: tuple[StreamSpec, list[pa.Table]], sigma: int | None) -> None:
    spec, parts = case
    _check(data, replace(spec, sigma=sigma), pa.concat_tables(parts), sparse=False)


@draws(100)
@given(st.data(), dependent_cases(), SIGMAS)
def test_match_dependent_patterns(
    data: st.DataObject, case: tuple[StreamSpec, list[pa.Table]], sigma: int | None
) -> None:
    spec, parts = case
    _check(data, replace(spec, sigma=sigma), pa.concat_tables(parts), sparse=False)


@draws(100)
@given(st.data(), test_aggregate_streams.measured(), SIGMAS)
def test_changes_of_aggregates(data: st.DataObject, drawn: Any, sigma: int | None) -> None:
    case, source, _ = drawn
    assume(case.events)
    spec = replace(test_aggregate_streams._changes_spec(case, source), sigma=sigma)
    _check(data, spec, test_aggregate_streams._table(case), sparse=False)


@draws(100)
@given(st.data(), test_aggregate_streams.measured(), SIGMAS, st.booleans())
def test_totals(data: st.DataObject, drawn: Any, sigma: int | None, window: bool) -> None:
    """Those of all versions together."""
    case, source, _ = drawn
    assume(case.events)
    case = case if window else replace(case, within=None)
    spec = replace(test_aggregate_streams._totals_spec(case, [source, MatchAggregate("count")]), sigma=sigma)
    _check(data, spec, test_aggregate_streams._table(case), sparse=True)


def _check(data: st.DataObject, spec: StreamSpec, table: pa.Table, *, sparse: bool) -> None:
    """Fold ``table`` as drawn. Version i has the conditions of the row that is i rows further on; it holds from its own time on, at the earliest from
    the watermark of the turn that is told of it."""
    assert not isinstance(spec.of, AutomatonSpec)
    names = spec.of.masks
    masks = {name: table.column(name).to_numpy() & ~np.int64(1) for name in names}
    raw = table.drop_columns(list(names))
    versions = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3), label="versions")
    for shift in range(4):
        for name in names:
            raw = raw.append_column(f"{name}_{shift}", pa.array(np.roll(masks[name], shift)))
    clause = replace(spec, followed=Followed("p", "", "t", "i", 1))
    bucket, emitted, told = Bucket(), list[pa.Table](), [(0, LONG_AGO)]
    knows, before = data.draw(st.booleans(), label="knows"), None
    try:
        decide = compile(clause)
        for i, arrival in enumerate(data.draw(arrivals(table["ts"].to_pylist()), label="arrivals")):
            changes = [_change(spec, 0, None, versions[0], sparse=sparse)] if i == 0 else []
            if i and len(told) < len(versions) and data.draw(st.booleans(), label="change"):
                effective = data.draw(st.one_of(st.none(), st.integers(0, 12)), label="effective")
                changes = [_change(spec, len(told), effective, versions[len(told)], sparse=sparse)]
                told.append((len(told), max(arrival.until, arrival.until if effective is None else effective)))
            rows = [raw.take(list(arrival.rows))] if arrival.rows else []
            turn = speculation.step(clause, decide, bucket, rows, arrival.until, changes, before)
            bucket, before = turn.bucket, turn.foreseen if knows else None
            emitted += turn.found
        expected = _answers(replace(spec, sigma=0), raw, told, versions)
    except CepError as error:
        if error.kind == "CEP_INTERNAL":
            raise
        assume(False)
    event(f"{len(told)} versions, {sum(part.num_rows for part in expected)} rows")
    if isinstance(spec.of, AggregateSpec) and spec.of.of_all_matches:
        assert _current(emitted) == _together(spec.of, expected)
    else:
        assert _net(emitted) == _net(expected)
    if isinstance(spec.of, EventPatternSpec) and spec.of.within is not None:
        assert bucket.rows is None or spec.of.strategy == "strict_contiguity"


def _net(parts: list[pa.Table]) -> dict[str, int]:
    net = Counter[str]()
    for line, taken_back in signed_lines(parts):
        net[line] += -1 if taken_back else 1
    return {line: n for line, n in net.items() if n}


def _current(parts: list[pa.Table]) -> dict[Any, list[Any]]:
    """The totals by group that the rows leave, one after another."""
    current: dict[Any, list[Any]] = {}
    for row in (row for part in parts for row in part.to_pylist()):
        key, values = _group(row)
        assert row[KNOWN] == (key in current)
        current[key] = values
        if row.get(DELETED):
            del current[key]
    return current


def _together(spec: AggregateSpec, parts: list[pa.Table]) -> dict[Any, list[Any]]:
    """The totals by group of versions that have answered apart."""
    functions = [one.source.function for one in spec.outputs if isinstance(one.source, MatchAggregate)]
    add = {"min": min, "max": max, "sum": sum, "count": sum}
    groups: dict[Any, list[list[Any]]] = {}
    for row in (row for part in parts for row in part.to_pylist()):
        key, values = _group(row)
        groups.setdefault(key, []).append(values)
    together = {key: [[v for v in column if v is not None] for column in zip(*rows, strict=True)]
                for key, rows in groups.items()}  # fmt: skip
    return {
        key: [add[name](values) if values else None for name, values in zip(functions, columns, strict=True)]
        for key, columns in together.items()
    }


def _group(row: dict[str, Any]) -> tuple[Any, list[Any]]:
    return tuple(value for name, value in row.items() if name.startswith("key")), [row["a0"], row["a1"]]


def _answers(spec: StreamSpec, raw: pa.Table, told: list[tuple[int, int]], versions: list[int]) -> list[pa.Table]:
    """What each version answers to its rows, which end where the next one begins."""
    moments = sorted({since for _, since in told})
    says = [versions[max(number for number, since in told if since <= moment)] for moment in moments]
    line = [(moment, shift) for i, (moment, shift) in enumerate(zip(moments, says, strict=True))
            if not i or says[i - 1] != shift]  # fmt: skip
    found: list[pa.Table] = []
    for (since, shift), (end, _) in pairwise([*line, (EVER + 1, 0)]):
        times = raw["ts"].to_numpy()
        rows = raw.filter(pa.array((times >= since) & (times < end)))
        for name in spec.masks:
            rows = rows.append_column(name, rows.column(f"{name}_{shift}"))
        if rows.num_rows:
            closing = isinstance(spec.of, RowPatternSpec) and end < EVER
            turn = fold.step(spec, stream.compile(spec, closing=closing), Bucket(), [rows], EVER)
            found += turn.found
    return found


def _change(spec: StreamSpec, number: int, effective: int | None, shift: int, *, sparse: bool) -> str:
    assert not isinstance(spec.of, AutomatonSpec)
    columns = tuple(
        Column(name, '"long"', SparkFunction("AttributeReference", "bigint", settings=(f"{name}_{shift}",)))
        for name in spec.of.masks
    )
    version = ProjectedSpec(spec.of, columns, sparse, spec.deadline)
    told = {"version": number, "recorded": 0, "effective": effective, "spec": to_json(version)}
    return json.dumps(told)

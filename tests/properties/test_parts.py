"""A long partition part by part: the rows are those of the clause over the whole partition, however it is cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.engines.engine import evaluation
from sparkcep.engines.parts import LongPartition, Parts, compile
from sparkcep.errors import CepAnalysisError, CepError, CepLimitError, CepUnsupportedError
from sparkcep.spec import MatchSpec
from sparkcep.spec.aggregate import MatchAggregate
from tests.adapters import event_tables
from tests.automata import automaton_spec
from tests.corpus import EventCase
from tests.draws import draws
from tests.engines.aseq.cases import aggregate_spec
from tests.properties import test_aggregate_streams, test_automaton_streams, test_event_streams, test_open_runs
from tests.properties.automata import automata, events
from tests.properties.lines import signed_lines
from tests.properties.strategies import event_cases as drawn_cases
from tests.properties.test_row_streams import cases as row_cases

OUTPUTS = st.sampled_from(["all", "all", "non_overlapping", "compressed"])


@draws(100)
@given(st.data(), drawn_cases(over_closures=True), st.integers(2, 11))
def test_event_patterns(data: st.DataObject, case: Any, within: int) -> None:
    strategy = data.draw(st.sampled_from(["any", "any", "next", "partition_contiguity"]))
    case = replace(case, within=within, within_events=None, order=("ts",), strategy=strategy)
    table = test_event_streams._table(case, {})
    assume(table is not None)
    spec: Any = test_event_streams._spec(case, data.draw(OUTPUTS)).of
    _check(data, spec, table)


@draws(200)
@given(st.data(), drawn_cases(over_closures=True), st.integers(1, 4))
def test_windows_of_events(data: st.DataObject, case: Any, count: int) -> None:
    strategy = data.draw(st.sampled_from(["any", "any", "next", "partition_contiguity"]))
    case = replace(case, within=None, within_events=count, order=("ts",), strategy=strategy)
    tables = event_tables(case)
    assume(tables)
    table = pa.concat_tables(tables)
    spec: Any = test_event_streams._spec(case, data.draw(OUTPUTS)).of
    outputs = tuple(output for output in spec.outputs if output not in test_event_streams.HIDDEN)
    _check(data, replace(spec, outputs=outputs), table)


@draws(100)
@given(st.data(), drawn_cases(over_closures=True, groups=True))
def test_runs_without_a_window(data: st.DataObject, case: Any) -> None:
    strategy = data.draw(st.sampled_from(["next", "next", "partition_contiguity"]))
    case = replace(case, within=None, within_events=None, order=("ts",), strategy=strategy)
    assume(case.events)
    try:
        table = test_open_runs._with_identity(case)
    except CepAnalysisError:
        assume(False)
    assume(table is not None)
    spec: Any = test_open_runs._spec(case, data.draw(OUTPUTS), merges=True).of
    _check(data, spec, table)


@draws(100)
@given(st.data(), row_cases())
def test_row_patterns(data: st.DataObject, case: Any) -> None:
    spec, parts = case
    for part in parts:
        mask = part.column(spec.masks[0]).to_numpy().copy()
        mask[:1] |= 1
        _check(data, spec.of, part.set_column(part.column_names.index(spec.masks[0]), spec.masks[0], pa.array(mask)))


@draws(100)
@given(st.data(), automata(), st.lists(events(), min_size=1, max_size=2))
def test_automata(data: st.DataObject, automaton: Any, partitions: list[Any]) -> None:
    partitions = [part for part in partitions if part]
    assume(partitions)
    _check(data, automaton_spec(automaton, partitions), test_automaton_streams._table(automaton, partitions))


@draws(200)
@given(st.data(), test_aggregate_streams.measured(), st.booleans(), st.sampled_from(["bigint", "decimal"]))
def test_aggregates(data: st.DataObject, drawn: Any, windowed: bool, number: Any) -> None:
    case, source, _ = drawn
    case = case if windowed else replace(case, within=None)
    tables = event_tables(case)
    assume(tables)
    _check(
        data, aggregate_spec(case, [replace(source, number=number), MatchAggregate("count")]), pa.concat_tables(tables)
    )


def test_a_total_that_only_parts_overflow() -> None:
    """Each part's own sum may pass BIGINT."""
    rows = tuple({"id": i, "type": "A", "ts": i, "x": x} for i, x in enumerate([2**62, 2**62, -(2**62)]))
    case = EventCase("overflow", "SEQ(A a)", rows, within=10)
    spec = aggregate_spec(case, [MatchAggregate("sum", "a", "x")])
    parts, (table,) = compile(spec), event_tables(case)
    assert parts is not None
    partition = LongPartition(parts, 1)
    for batch in table.to_batches(max_chunksize=1):
        assert not list(partition.add(batch))
    assert [row for part in partition.end() for row in part.to_pylist()] == [{"a0": 2**62}]


def _check(data: st.DataObject, spec: MatchSpec, table: pa.Table) -> None:
    try:
        whole = list(evaluation(spec)(table))
    except (CepAnalysisError, CepUnsupportedError, CepLimitError):
        assume(False)
    except CepError as error:
        assert error.kind == "CEP_DATA"
        assume(False)
    parts = compile(spec)
    assume(parts is not None)
    assert parts is not None
    least = data.draw(st.integers(1, 5), label="least")
    found = [answer for part in _partitions(spec, table) for answer in _by_parts(data, parts, least, part)]
    assert Counter(signed_lines(found)) == Counter(signed_lines(whole))


def _partitions(spec: MatchSpec, table: pa.Table) -> Iterator[pa.Table]:
    starts = np.flatnonzero(table.column(spec.masks[0]).to_numpy() & 1)
    for begin, end in zip(starts, [*starts[1:], table.num_rows], strict=True):
        yield table.slice(begin, end - begin)


def _by_parts(data: st.DataObject, parts: Parts, least: int, rows: pa.Table) -> Iterator[pa.Table]:
    partition = LongPartition(parts, least)
    for batch in rows.combine_chunks().to_batches(max_chunksize=data.draw(st.integers(1, 4), label="batch")):
        yield from partition.add(batch)
    yield from partition.end()
    assert partition.rows == rows.num_rows

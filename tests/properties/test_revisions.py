"""Revisions of the input: in whatever order changes come, after every turn a stream has emitted the answer over the rows that stand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.engines.stream import compile
from sparkcep.errors import CepAnalysisError, CepDataError, CepError, CepLimitError, CepUnsupportedError
from sparkcep.spec.stream import CHANGE, EVENT, VERSION, Revisions, StreamSpec
from sparkcep.streaming import fold
from sparkcep.streaming.fold import Bucket
from sparkcep.streaming.revisions import compacted, standing
from sparkcep.streaming.speculation import step
from tests.automata import MASK, automaton_spec
from tests.draws import draws
from tests.properties import test_aggregate_streams, test_automaton_streams, test_event_streams
from tests.properties.arrivals import EVER, arrivals
from tests.properties.automata import automata, events
from tests.properties.lines import signed_lines
from tests.properties.revised import KINDS, Change, changes, content, sent
from tests.properties.strategies import event_cases as drawn_cases
from tests.properties.test_row_streams import cases as row_cases

SIGMAS = st.sampled_from([0, 0, None, None, 3])


@draws(100)
@given(st.data(), drawn_cases(over_closures=True), st.integers(2, 11))
def test_event_patterns(data: st.DataObject, case: Any, within: int) -> None:
    strategy = data.draw(st.sampled_from(["any", "any", "next", "partition_contiguity"]))
    case = replace(case, within=within, within_events=None, order=("ts",), strategy=strategy)
    table = test_event_streams._table(case, {})
    assume(table is not None)
    assert table is not None
    output = data.draw(st.sampled_from(["all", "all", "non_overlapping", "compressed"]))
    _check(data, test_event_streams._spec(case, output), test_event_streams._sent(table))


@draws(100)
@given(st.data(), row_cases())
def test_row_patterns(data: st.DataObject, case: tuple[StreamSpec, list[pa.Table]]) -> None:
    spec, parts = case
    rows = pa.concat_tables(parts)
    place = rows.schema.get_field_index(spec.identity)
    _check(data, spec, rows.set_column(place, spec.identity, pa.array(range(rows.num_rows), pa.int64())))


@draws(100)
@given(st.data(), automata(), st.lists(events(), min_size=1, max_size=2))
def test_automata(data: st.DataObject, automaton: Any, partitions: list[Any]) -> None:
    partitions = [part for part in partitions if part]
    assume(partitions and automaton.within is not None)
    table = test_automaton_streams._table(automaton, partitions)
    rows = table.set_column(table.column_names.index(MASK), MASK, pc.bit_wise_and(table[MASK], ~1))
    _check(data, test_automaton_streams._spec(automaton_spec(automaton, partitions)), rows)


@draws(100)
@given(st.data(), test_aggregate_streams.measured())
def test_changes_of_aggregates(data: st.DataObject, drawn: Any) -> None:
    case, source, _ = drawn
    assume(case.events)
    spec = test_aggregate_streams._changes_spec(case, source)
    _check(data, spec, test_aggregate_streams._table(case))


@draws(100)
@given(st.data(), test_aggregate_streams.measured(), st.booleans())
def test_totals(data: st.DataObject, drawn: Any, window: bool) -> None:
    """The last row of each group; without a window from counters."""
    case, source, _ = drawn
    assume(case.events)
    spec = test_aggregate_streams._totals_spec(case if window else replace(case, within=None), [source])
    spec = replace(spec, deadline=spec.deadline if window else None, revisions=data.draw(st.sampled_from(KINDS)))
    table = test_aggregate_streams._table(case)
    log = data.draw(changes(spec, table), label="changes")
    came = sent(spec, table, log)
    try:
        decide = compile(spec)
        bucket, totals = Bucket(), dict[str, Any]()
        for arrival in data.draw(arrivals(came[spec.time].to_pylist()), label="arrivals"):
            new = [came.take(list(arrival.rows))] if arrival.rows else []
            turn = step(spec, decide, bucket, new, arrival.until)
            bucket, totals = turn.bucket, totals | _totals(turn.found)
        assert spec.revisions is not None
        rows = table.take(pa.array(content(spec.revisions, log), pa.int64()))
        batch = replace(spec, revisions=None)
        assert totals == _totals(fold.step(batch, decide, Bucket(), [rows] if rows.num_rows else [], EVER).found)
    except (CepAnalysisError, CepUnsupportedError, CepLimitError):
        assume(False)


def _totals(found: Iterable[pa.Table]) -> dict[str, Any]:
    rows = [row for part in found for row in part.to_pylist()]
    return {json.dumps([value for name, value in row.items() if name.startswith("key")]): row["a0"] for row in rows}


def _check(data: st.DataObject, spec: StreamSpec, table: pa.Table) -> None:
    """Fold drawn changes of the rows of ``table``, each turn against the rows that stand."""
    spec = replace(spec, sigma=data.draw(SIGMAS), revisions=data.draw(st.sampled_from(KINDS)))
    log = data.draw(changes(spec, table), label="changes")
    assume(log)
    came = sent(spec, table, log)
    plan = data.draw(arrivals(came[spec.time].to_pylist()), label="arrivals")
    try:
        decide = compile(spec)
        bucket, net, seen = Bucket(), Counter[str](), list[int]()
        for arrival in plan:
            seen += arrival.rows
            turn = step(spec, decide, bucket, [came.take(list(arrival.rows))] if arrival.rows else [], arrival.until)
            bucket = turn.bucket
            assert turn.late is None
            for line, taken_back in signed_lines(turn.found):
                net[line] += -1 if taken_back else 1
                assert net[line] >= 0
            assert +net == _answer(spec, decide, table, [log[i] for i in seen], max(arrival.until, bucket.until))
    except (CepAnalysisError, CepUnsupportedError, CepLimitError):
        assume(False)
    except CepError as error:
        assume(error.kind != "CEP_DATA" or "EVENT_KEY" in error.code)
        raise


def _answer(spec: StreamSpec, decide: Any, table: pa.Table, seen: list[Change], until: int) -> Counter[str]:
    """The answer over the rows that stand, up to the horizon."""
    assert spec.revisions is not None
    rows = table.take(pa.array(content(spec.revisions, seen), pa.int64()))
    waiting = [at for at in rows[spec.time].to_pylist() if at >= until]
    if waiting and spec.sigma != 0:
        most = max(waiting) + 1
        until = max(until, most if spec.sigma is None else min(most, until + spec.sigma))
    batch = replace(spec, sigma=0, revisions=None)
    found = fold.step(batch, decide, Bucket(), [rows] if rows.num_rows else [], until).found
    return Counter(line for line, _ in signed_lines(found))


def _rows(*changed: tuple[int, int, int]) -> pa.Table:
    """(CHANGE, identity, VERSION) of one event."""
    signs, identities, versions = (list(column) for column in zip(*changed, strict=True))
    count = len(changed)
    columns = {"ts": [1_000_000] * count, "i": identities, CHANGE: signs, EVENT: [7] * count, VERSION: versions}
    return pa.table(columns)


def _spec(revisions: Revisions) -> StreamSpec:
    return StreamSpec(None, (), (), "ts", "i", "{}", revisions=revisions)  # type: ignore[arg-type]


def _standing(revisions: Revisions, rows: pa.Table) -> list[int]:
    spec = _spec(revisions)
    kept = compacted(spec, [rows])
    assert kept is not None
    found: list[int] = standing(spec, kept, foreseen=False)["i"].to_pylist()
    return found


@pytest.mark.parametrize(
    ("revisions", "changed", "left"),
    [
        (Revisions(), [(1, 5, 0), (1, 5, 0), (-1, 5, 0)], [5]),
        (Revisions(), [(-1, 5, 0), (1, 5, 0)], []),
        (Revisions(), [(-1, 6, 0), (1, 5, 0)], [5]),
        (Revisions(keyed=True), [(-1, 6, 0), (1, 5, 0)], []),
        (Revisions(keyed=True), [(1, 5, 0), (-1, 5, 0), (1, 6, 0)], [6]),
        (Revisions(keyed=True), [(1, 5, 0), (1, 5, 0)], [5]),
        (Revisions(keyed=True, versioned=True), [(1, 5, 1), (1, 6, 3), (1, 7, 2)], [6]),
        (Revisions(keyed=True, versioned=True), [(1, 5, 1), (-1, 9, 2)], []),
        (Revisions(keyed=True, versioned=True), [(1, 6, 2), (-1, 5, 2), (1, 5, 1)], [6]),
    ],
)
def test_what_stands_of_an_event(revisions: Revisions, changed: list[tuple[int, int, int]], left: list[int]) -> None:
    assert _standing(revisions, _rows(*changed)) == left
    assert _standing(revisions, _rows(*reversed(changed))) == left


def test_versions_of_which_none_is_the_newest_are_an_error() -> None:
    with pytest.raises(CepDataError, match=r"several versions of an event at 1970-01-01 00:00:01") as caught:
        _standing(Revisions(keyed=True), _rows((1, 5, 0), (1, 6, 0)))
    assert caught.value.code == "CEP_DATA_EVENT_KEY"
    assert caught.value.hint and "_commit_version" in caught.value.hint

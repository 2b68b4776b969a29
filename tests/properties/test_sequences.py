"""Sequence numbers: what is emitted depends on what has come alone, is the batch answer in the end, and does not wait for a watermark."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.engines.stream import compile
from sparkcep.errors import CepAnalysisError, CepDataError, CepError, CepLimitError, CepUnsupportedError
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import BEFORE, DELETED, KNOWN, SequenceNumber, StreamSpec
from sparkcep.streaming.fold import NEVER, Bucket
from sparkcep.streaming.rows import in_order
from sparkcep.streaming.speculation import step
from tests.automata import MASK, TIME, automaton_spec
from tests.draws import draws
from tests.properties import test_aggregate_streams, test_automaton_streams, test_event_streams, test_open_runs
from tests.properties.arrivals import EVER, Arrival
from tests.properties.automata import automata, events
from tests.properties.lines import signed_lines
from tests.properties.strategies import event_cases as drawn_cases
from tests.properties.test_row_streams import cases as row_cases

NUMBER = "sequence"
SIGMAS = st.sampled_from([0, 0, 0, 3, None])


@draws(100)
@given(st.data(), drawn_cases(over_closures=True), st.integers(2, 11), SIGMAS)
def test_event_patterns(data: st.DataObject, case: Any, within: int, sigma: int | None) -> None:
    strategy = data.draw(st.sampled_from(["any", "any", "next", "partition_contiguity"]))
    case = replace(case, within=within, within_events=None, order=("ts",), strategy=strategy)
    table = test_event_streams._table(case, {})
    assume(table is not None)
    output = data.draw(st.sampled_from(["all", "all", "non_overlapping", "compressed"]))
    _check(data, replace(test_event_streams._spec(case, output), sigma=sigma), test_event_streams._sent(table), "ts")


@draws(100)
@given(st.data(), drawn_cases(over_closures=True, groups=True), SIGMAS)
def test_runs_that_stay_open(data: st.DataObject, case: Any, sigma: int | None) -> None:
    strategy = data.draw(st.sampled_from(["next", "next", "partition_contiguity"]))
    case = replace(case, within=None, within_events=None, order=("ts",), strategy=strategy)
    assume(case.events)
    try:
        table = test_open_runs._with_identity(case)
    except CepAnalysisError:
        assume(False)
    assume(table is not None)
    spec = test_open_runs._spec(case, data.draw(st.sampled_from(test_open_runs.OUTPUTS)), merges=True)
    _check(data, replace(spec, sigma=sigma), test_event_streams._sent(table), "ts")


@draws(100)
@given(st.data(), row_cases(), SIGMAS)
def test_row_patterns(data: st.DataObject, case: tuple[StreamSpec, list[pa.Table]], sigma: int | None) -> None:
    spec, parts = case
    _check(data, replace(spec, sigma=sigma), pa.concat_tables(parts), "ts")


@draws(100)
@given(st.data(), automata(), st.lists(events(), min_size=1, max_size=2), SIGMAS)
def test_automata(data: st.DataObject, automaton: Any, partitions: list[Any], sigma: int | None) -> None:
    partitions = [part for part in partitions if part]
    assume(partitions)
    table = test_automaton_streams._table(automaton, partitions)
    sent = table.set_column(table.column_names.index(MASK), MASK, pc.bit_wise_and(table[MASK], ~1))
    spec = test_automaton_streams._spec(automaton_spec(automaton, partitions))
    _check(data, replace(spec, sigma=sigma), sent, TIME)


@draws(100)
@given(st.data(), test_aggregate_streams.measured(), st.booleans(), SIGMAS)
def test_totals(data: st.DataObject, drawn: Any, windowed: bool, sigma: int | None) -> None:
    case, source, _ = drawn
    assume(case.events)
    case = case if windowed else replace(case, within=None)
    spec = replace(test_aggregate_streams._totals_spec(case, [source]), sigma=sigma)
    _check(data, spec, test_aggregate_streams._table(case), "ts")


def _check(data: st.DataObject, plain: StreamSpec, table: pa.Table, time: str) -> None:
    """Fold the rows in any order, some of them twice, with a watermark that may never come."""
    plain = replace(plain, order=(plain.order[0], OrderColumn(NUMBER)))
    keys = plain.keys[: data.draw(st.integers(0, len(plain.keys)), label="keys")]
    table = _numbered(replace(plain, keys=keys), table, data.draw(st.sampled_from([1, 1, 7]), label="first"))
    first = data.draw(st.sampled_from([int(pc.min(table[NUMBER]).as_py()), None]), label="known")
    spec = replace(plain, sequence=SequenceNumber(NUMBER, keys, first))
    try:
        _folded(spec, plain, table, data.draw(_plans(table[time].to_pylist()), label="arrivals"))
    except (CepAnalysisError, CepUnsupportedError, CepLimitError):
        assume(False)


def _numbered(spec: StreamSpec, table: pa.Table, first: int) -> pa.Table:
    """``table`` with numbers from ``first`` on in each partition, and rows that are told apart."""
    rows = in_order(replace(spec, order=spec.order[:1]), table)
    rows = rows.set_column(
        rows.column_names.index(spec.identity), spec.identity, pa.array(np.arange(rows.num_rows, dtype=np.int64))
    )
    keys = [tuple(row.values()) for row in rows.select(list(spec.keys)).to_pylist()] if spec.keys else []
    seen, numbers = Counter[Any](), []
    for key in keys or [()] * rows.num_rows:
        numbers.append(first + seen[key])
        seen[key] += 1
    return rows.append_column(NUMBER, pa.array(numbers, pa.int64()))


@st.composite
def _plans(draw: st.DrawFn, times: list[int]) -> list[Arrival]:
    order = draw(st.permutations(range(len(times))))
    cuts = sorted(draw(st.lists(st.integers(0, len(times)), max_size=5)))
    found, since, come = [], NEVER, list[int]()
    for begin, end in zip([0, *cuts], [*cuts, len(times)], strict=True):
        come += order[begin:end]
        again = draw(st.lists(st.sampled_from(come), max_size=2)) if come else []
        bound = min((times[row] for row in order[end:]), default=EVER)
        since = max(since, min(bound, draw(st.sampled_from([NEVER, NEVER, *range(0, 14, 2)]))))
        found.append(Arrival((*order[begin:end], *again), since))
    return [*found, Arrival((), EVER)]


def _folded(spec: StreamSpec, plain: StreamSpec, table: pa.Table, plan: list[Arrival]) -> None:
    bucket, net, come = Bucket(), _Net(), list[int]()
    decide = compile(spec)
    final = _Net(_whole(replace(plain, sigma=0), decide, table, EVER))
    for arrival in plan:
        came = [table.take(list(arrival.rows))] if arrival.rows else []
        come += (row for row in dict.fromkeys(arrival.rows) if row not in come)
        turn = step(spec, decide, bucket, came, arrival.until)
        bucket = turn.bucket
        net.add(turn.found)
        rows = table.take(come) if come else table.slice(0, 0)
        assert net == _Net(_whole(spec, decide, rows, max(arrival.until, bucket.until)))
        assert turn.due is None or turn.due > arrival.until
        if spec.sigma == 0:
            assert net.among(final)
    assert net == final


def _whole(spec: StreamSpec, decide: Any, rows: pa.Table, until: int) -> tuple[pa.Table, ...]:
    try:
        return step(spec, decide, Bucket(), [rows] if rows.num_rows else [], until).found
    except CepError as error:
        if error.kind != "CEP_DATA" or error.code == "CEP_DATA_SEQUENCE_NUMBER":
            raise
        assume(False)
        raise


class _Net:
    """What emitted rows come to: a multiset of matches, or the last totals of each group."""

    def __init__(self, found: tuple[pa.Table, ...] = ()) -> None:
        self.matches, self.totals = Counter[str](), dict[str, Any]()
        self.add(found)

    def add(self, found: tuple[pa.Table, ...]) -> None:
        totals = [part for part in found if KNOWN in part.column_names]
        for row in (row for part in totals for row in part.to_pylist()):
            values = {name: value for name, value in row.items() if BEFORE + name in row}
            key = str({name: row[name] for name in row if name.startswith("key")})
            self.totals[key] = values
            if row.get(DELETED):
                del self.totals[key]
        for line, taken_back in signed_lines(part for part in found if KNOWN not in part.column_names):
            self.matches[line] += -1 if taken_back else 1
            assert self.matches[line] >= 0

    def among(self, other: _Net) -> bool:
        return self.matches <= other.matches

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Net) and +self.matches == +other.matches and self.totals == other.totals

    __hash__ = None  # type: ignore[assignment]


RISING = test_event_streams.EventCase(
    "rising",
    "SEQ(A a, B b)",
    tuple({"id": str(i), "type": "AB"[i % 2], "ts": i, "k": 1} for i in range(6)),
    within=50,
    partition=("k",),
)


def _stream(first: int | None) -> tuple[StreamSpec, pa.Table]:
    """A clause, and its rows with the numbers 1, 2, …; all rows of one key."""
    table = test_event_streams._table(RISING, {})
    assert table is not None
    plain = replace(test_event_streams._spec(RISING, "all"), order=(OrderColumn("ts"), OrderColumn(NUMBER)))
    sent = _numbered(plain, test_event_streams._sent(table), 1)
    return replace(plain, sequence=SequenceNumber(NUMBER, plain.keys, first)), sent


def test_a_match_waits_for_what_is_missing_and_no_longer() -> None:
    spec, table = _stream(1)
    decide, bucket, found = compile(spec), Bucket(), list[int]()
    for rows in ([1], [0], [3, 3], [5], [2, 0]):
        turn = step(spec, decide, bucket, [table.take(rows)], NEVER)
        bucket = turn.bucket
        found.append(sum(part.num_rows for part in turn.found))
    assert found == [0, 1, 0, 0, 2]
    assert turn.late is not None and turn.late.num_rows == 1
    turn = step(spec, decide, bucket, [], 6)  # the watermark gives up on number 5
    assert sum(part.num_rows for part in turn.found) == 2


def test_without_a_first_number_the_watermark_tells_where_a_partition_begins() -> None:
    spec, table = _stream(None)
    decide = compile(spec)
    turn = step(spec, decide, Bucket(), [table.take([0, 1, 2])], 1)
    assert [part.num_rows for part in turn.found] == [1]
    assert step(spec, decide, Bucket(), [table.take([0, 1, 2])], NEVER).found == ()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([1, 3, 2], "the event with the sequence number 3 of the partition 1 is earlier than one with a lower number"),
        ([1, None, 3], "an event has no sequence number: it is NULL"),
        ([1, 0, 2], "the sequence number 0 is less than the first one, 1"),
    ],
)
def test_numbers_that_contradict_the_order(numbers: list[int | None], message: str) -> None:
    spec, table = _stream(1)
    place = table.column_names.index(NUMBER)
    rows = table.slice(0, 3).set_column(place, NUMBER, pa.array(numbers, pa.int64()))
    with pytest.raises(CepDataError, match=message):
        step(spec, compile(spec), Bucket(), [rows], NEVER)

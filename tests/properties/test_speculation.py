"""Speculation: what is emitted, less what is taken back, is after every turn the answer over the rows that have come, up to the horizon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import Row

from sparkcep.engines.stream import compile
from sparkcep.engines.turn import Answer, Decide, Turn
from sparkcep.errors import CepAnalysisError, CepDataError, CepError, CepLimitError, CepUnsupportedError
from sparkcep.spec import to_json
from sparkcep.spec.aggregate import MatchAggregate
from sparkcep.spec.stream import BEFORE, DELETED, KNOWN, StreamSpec
from sparkcep.streaming import fold
from sparkcep.streaming.fold import Bucket, Step
from sparkcep.streaming.packets import of_bytes, to_bytes
from sparkcep.streaming.processor import BucketProcessor
from sparkcep.streaming.speculation import step
from tests.automata import MASK, TIME, automaton_spec
from tests.draws import draws
from tests.properties import test_aggregate_streams, test_automaton_streams, test_event_streams, test_open_runs
from tests.properties.arrivals import Arrival, arrivals
from tests.properties.automata import automata, events
from tests.properties.lines import signed_lines
from tests.properties.strategies import event_cases as drawn_cases
from tests.properties.test_row_streams import cases as row_cases
from tests.properties.test_stream_state import Store

SIGMAS = st.sampled_from([None, None, 0, 1, 3, 10])


@draws(100)
@given(st.data(), drawn_cases(over_closures=True), st.integers(2, 11), SIGMAS)
def test_event_patterns(data: st.DataObject, case: Any, within: int, sigma: int | None) -> None:
    strategy = data.draw(st.sampled_from(["any", "any", "next", "partition_contiguity"]))
    case = replace(case, within=within, within_events=None, order=("ts",), strategy=strategy)
    table = test_event_streams._table(case, {})
    assume(table is not None)
    assert table is not None
    output = data.draw(st.sampled_from(["all", "all", "non_overlapping", "compressed"]))
    spec = replace(test_event_streams._spec(case, output), sigma=sigma)
    _check(data, spec, test_event_streams._sent(table), "ts")


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
    assert table is not None
    spec = replace(
        test_open_runs._spec(case, data.draw(st.sampled_from(test_open_runs.OUTPUTS)), merges=True), sigma=sigma
    )
    _check(data, spec, test_event_streams._sent(table), "ts")


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
@given(st.data(), test_aggregate_streams.measured(), SIGMAS)
def test_changes_of_aggregates(data: st.DataObject, drawn: Any, sigma: int | None) -> None:
    case, source, _ = drawn
    assume(case.events)
    spec = replace(test_aggregate_streams._changes_spec(case, source), sigma=sigma)
    _check(data, spec, test_aggregate_streams._table(case), "ts")


@draws(100)
@given(st.data(), test_aggregate_streams.measured(), SIGMAS, st.booleans())
def test_totals(data: st.DataObject, drawn: Any, sigma: int | None, window: bool) -> None:
    """Every row is about the group as the rows before have left it, and what they leave are the totals of all that has come."""
    case, source, _ = drawn
    assume(case.events)
    case = case if window else replace(case, within=None)
    spec = replace(test_aggregate_streams._totals_spec(case, [source, MatchAggregate("count")]), sigma=sigma)
    table = test_aggregate_streams._table(case)
    plan = data.draw(arrivals(table["ts"].to_pylist()), label="arrivals")
    knows = data.draw(st.booleans(), label="knows")
    totals: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    try:
        for turn, whole in _turns(spec, compile(spec), table, "ts", plan, knows=knows):
            for row in (row for part in turn.found for row in part.to_pylist()):
                key = tuple(value for name, value in row.items() if name.startswith("key"))
                now, old = ((row[f"{prefix}a0"], row[f"{prefix}a1"]) for prefix in ("", BEFORE))
                assert row[KNOWN] == (key in totals)
                assert not row[KNOWN] or old == totals[key]
                totals[key] = now
                if row.get(DELETED):
                    assert now == old
                    del totals[key]
            rows = [row for part in whole for row in part.to_pylist()]
            assert totals == {
                tuple(v for name, v in row.items() if name.startswith("key")): (row["a0"], row["a1"]) for row in rows
            }
    except (CepAnalysisError, CepUnsupportedError, CepLimitError):
        assume(False)


def test_a_late_event_takes_a_match_back() -> None:
    rows = tuple({"id": name, "type": name[0].upper(), "ts": int(name[1:])} for name in ("a1", "b5", "n3", "z99"))
    table = test_event_streams._table(
        case := test_event_streams.EventCase("late", "SEQ(A a, NOT N n, B b)", rows, within=50), {}
    )
    assert table is not None
    spec = replace(test_event_streams._spec(case, "all"), sigma=None)
    by_id = {row["id"]: i for i, row in enumerate(table.to_pylist())}
    plan = [Arrival((by_id["a1"], by_id["b5"]), 0), Arrival((by_id["n3"],), 2), Arrival((by_id["z99"],), 60)]
    bucket, found = Bucket(), []
    for arrival in plan:
        turn = step(
            spec, compile(spec), bucket, [test_event_streams._sent(table).take(list(arrival.rows))], arrival.until
        )
        bucket = turn.bucket
        found.append([(row["b"]["id"], row[DELETED]) for part in turn.found for row in part.to_pylist()])
    assert found == [[("b5", False)], [("b5", True)], []]


class Watermark:
    """Spark's timer values, at ``until``."""

    def __init__(self, until: int) -> None:
        self.until = until

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return self.until


class Handle(Store):
    """Spark's handle of a stateful processor, without timers."""

    def registerTimer(self, at: int) -> None:  # noqa: N802
        pass

    deleteTimer = registerTimer  # noqa: N815


@pytest.mark.parametrize("knows", [True, False])
def test_a_worker_that_knows_what_was_foreseen_asks_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, knows: bool
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    rows = tuple({"id": name, "type": name[0].upper(), "ts": 1000 * int(name[1:])} for name in ("a1", "b2", "b3", "n2"))
    table = test_event_streams._table(
        case := test_event_streams.EventCase("known", "SEQ(A a, NOT N n, B b)", rows, within=50_000), {}
    )
    assert table is not None
    spec, handle = replace(test_event_streams._spec(case, "all"), sigma=None), Handle()
    asked, found = list[int](), list[list[tuple[str, bool]]]()
    by_id = {row["id"]: i for i, row in enumerate(table.to_pylist())}
    for name in ("a1", "b3", "b2", "n2"):
        processor = BucketProcessor(to_json(spec), "clause")
        processor.init(handle)
        decide, times = processor.turns.decide, 0

        def counted(turn: Turn, decide: Decide = decide) -> Answer:
            nonlocal times
            times += 1
            return decide(turn)

        processor.turns.decide = counted
        new = Row(payload=to_bytes(test_event_streams._sent(table).take([by_id[name]])))
        for out in processor.handleInputRows((7,), iter([new]), Watermark(1)):
            part = of_bytes(out.payload).to_pylist() if out.payload else []
            found.append([(row["b"]["id"], row[DELETED]) for row in part])
        asked.append(times)
        assert len(list(tmp_path.glob("*/*"))) == 1
        for path in () if knows else tmp_path.glob("*/*"):
            path.unlink()
    assert found == [[], [("b3", False)], [("b2", False)], [("b3", True)]]
    assert asked == ([1, 1, 1, 1] if knows else [1, 2, 2, 2])


def _check(data: st.DataObject, spec: StreamSpec, table: pa.Table, time: str) -> None:
    """Fold ``table`` as drawn; ``time``: the column of times."""
    plan = data.draw(arrivals(table[time].to_pylist()), label="arrivals")
    try:
        decide = compile(spec)
        _folded(spec, decide, table, time, plan, knows=data.draw(st.booleans(), label="knows"))
    except (CepAnalysisError, CepUnsupportedError, CepLimitError):
        assume(False)


def _folded(spec: StreamSpec, decide: Any, table: pa.Table, time: str, plan: list[Arrival], *, knows: bool) -> None:
    net = Counter[str]()
    for turn, whole in _turns(spec, decide, table, time, plan, knows=knows):
        deletes = [part for part in turn.found if DELETED in part.column_names]
        assert len(deletes) == (0 if spec.sigma == 0 else len(turn.found))
        for line, taken_back in signed_lines(turn.found):
            net[line] += -1 if taken_back else 1
            assert net[line] >= 0
        assert +net == Counter(line for line, _ in signed_lines(whole))


def _turns(
    spec: StreamSpec, decide: Any, table: pa.Table, time: str, plan: list[Arrival], *, knows: bool
) -> Iterator[tuple[Step, tuple[pa.Table, ...]]]:
    """Each turn, and what a conservative one would find of all that has come, up to the horizon. ``knows``: the worker of a turn has what the one
    before foresaw."""
    bucket, come, before = Bucket(), list[int](), None
    conservative = replace(spec, sigma=0)
    for arrival in plan:
        new = [table.take(list(arrival.rows))] if arrival.rows else []
        come += arrival.rows
        try:
            turn = step(spec, decide, bucket, new, arrival.until, before=before)
        except CepError as error:
            if error.kind != "CEP_DATA":
                raise
            assume(False)
        bucket, before = turn.bucket, turn.foreseen if knows else None
        until = max(arrival.until, bucket.until)
        decided, rows = until, [table.take(come)] if come else []
        times = [t for t in table[time].take(come).to_pylist() if t >= until] if come else []
        if times and spec.sigma != 0:
            most = max(times) + 1
            until = max(until, most if spec.sigma is None else min(most, until + spec.sigma))
        try:
            whole = fold.step(conservative, decide, Bucket(), rows, until)
        except CepDataError:  # in rows that may yet be proved wrong
            whole = fold.step(conservative, decide, Bucket(), rows, decided)
        yield turn, whole.found
        assert turn.due is None or turn.due > arrival.until

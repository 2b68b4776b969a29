"""MATCH PATTERN without WITHIN over a stream, where runs go on from turn to turn: after every turn exactly the matches that are decided."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from sparkcep.engines.nfa_b import engine
from sparkcep.engines.stream import compile
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.spec.event import BufferStruct, EventPatternSpec, LastEvent, MatchOutput, Output
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import StreamSpec
from sparkcep.streaming.fold import Bucket, step
from sparkcep.streaming.packets import of_bytes, to_bytes
from sparkcep.streaming.rows import in_order
from tests.adapters import event_pattern_spec, event_tables
from tests.corpus import EventCase, event_cases
from tests.draws import draws
from tests.properties import test_event_streams
from tests.properties.arrivals import EVER, Arrival, arrivals
from tests.properties.strategies import event_cases as drawn_cases
from tests.reference.event_sql import equivalence

STRATEGIES = ["next", "next", "partition_contiguity", "strict_contiguity"]
OUTPUTS: list[MatchOutput] = ["all", "all", "non_overlapping", "compressed"]


@draws(150)
@given(st.data(), drawn_cases(over_closures=True, groups=True))
def test_a_stream_emits_what_is_decided(data: st.DataObject, case: EventCase) -> None:
    order = data.draw(st.sampled_from([("ts",), ("ts",), ("ts", "id")]), label="order")
    where = case.where if data.draw(st.booleans(), label="where") else ()
    strategy = data.draw(st.sampled_from(STRATEGIES), label="strategy")
    case = replace(case, within=None, within_events=None, order=order, where=where, strategy=strategy)
    if strategy == "strict_contiguity":  # the table lacks events of no class, which are neighbours all the same
        case = replace(case, where=tuple(text for text in case.where if equivalence(text) is None))
    merges = data.draw(st.booleans(), label="merges")
    output = data.draw(st.sampled_from(OUTPUTS), label="output")
    table = _with_identity(case)
    assume(table is not None)
    assert table is not None
    plan = data.draw(arrivals(table["ts"].to_pylist()), label="arrivals")
    try:
        event(_check(_spec(case, output, merges=merges), table, plan))
    except CepAnalysisError as error:
        assume(not any(code in error.code for code in ("NO_POSITIVE_EVENT", "NEGATION_WITHOUT_WITHIN")))
        raise
    except CepUnsupportedError as error:
        assume(not any(code in error.code for code in ("PREDICATE_OVER_NEGATIONS", "KLEENE_IN_AND")))
        raise


def _open(case: EventCase) -> bool:
    plain = case.within is None and case.within_events is None and case.error is None and case.matches is not None
    return plain and case.strategy != "any"


@pytest.mark.parametrize("case", [case for case in event_cases() if _open(case)], ids=str)
def test_the_corpus(case: EventCase) -> None:
    case = replace(case, events=tuple({**row, "ts": round(row["ts"] * 1000)} for row in case.events))
    table = _with_identity(case)
    assert table is not None
    times = table["ts"].to_pylist()
    one_by_one = [Arrival((row,), times[row]) for row in sorted(range(len(times)), key=times.__getitem__)]
    for plan in ([*one_by_one, Arrival((), EVER)], [Arrival(tuple(range(len(times))), EVER)]):
        _check(_spec(case, "non_overlapping" if case.non_overlapping else "all", merges=True), table, plan)


KEPT = {
    ("next", "SEQ(A a, B b)"): "b1 a2 b3 c4 a5 | a5",
    ("next", "SEQ(A a, B+ b, C c)"): "a1 b2 c3 b4 a5 | a1 b2 b4 a5",
    ("next", "SEQ(A a, NOT B n, C c)"): "b1 a2 b3 c4 b5 a6 b7 | a6 b7",
    ("partition_contiguity", "SEQ(A a, B b, C c)"): "a1 b2 c3 a4 c5 a6 b7 | a6 b7",
    ("partition_contiguity", "SEQ(A a, B b)"): "a1 c2 | ",
    ("strict_contiguity", "SEQ(A a, B b, C c)"): "a1 c2 a6 b7 | a6 b7",
}
"""Strategy and pattern: events, and after the bar those that are kept."""


@pytest.mark.parametrize(("strategy", "pattern"), KEPT)
def test_only_rows_of_open_runs_are_kept(strategy: Any, pattern: str) -> None:
    events, kept = (part.split() for part in KEPT[strategy, pattern].split("|"))
    rows = tuple({"id": name, "type": name[0].upper(), "ts": int(name[1:])} for name in events)
    case = EventCase("kept", pattern, rows, strategy=strategy)
    spec = _spec(case, "all", merges=True)
    table = _with_identity(case)
    assert table is not None
    bucket = step(spec, compile(spec), Bucket(), [test_event_streams._sent(table)], 50).bucket
    assert (bucket.rows["id"].to_pylist() if bucket.rows is not None else []) == kept
    assert (bucket.numbers is None) == (not kept)


def test_runs_that_overlap_what_was_output_are_not_kept() -> None:
    rows = tuple({"id": name, "type": name[0].upper(), "ts": int(name[1:])} for name in ("a1", "a2", "b3", "a4", "c5"))
    case = EventCase("kept", "OR(SEQ(A a, C c), SEQ(A d, B e, B f))", rows, strategy="next")
    spec = _spec(case, "non_overlapping", merges=True)
    table = _with_identity(case)
    assert table is not None
    turn = step(spec, compile(spec), Bucket(), [test_event_streams._sent(table)], 50)
    assert [row["c"]["id"] for part in turn.found for row in part.to_pylist()] == ["c5"]
    assert turn.bucket.rows is None


def test_one_run_at_a_time_cannot_stay_open() -> None:
    spec = _spec(EventCase("refused", "SEQ(A a, B b)", (), strategy="next"), "all", merges=True)
    assert isinstance(spec.of, EventPatternSpec)
    with pytest.raises(CepUnsupportedError, match="the engine backtrack over a streaming relation without WITHIN"):
        compile(replace(spec, of=replace(spec.of, engine="backtrack")))


def _check(spec: StreamSpec, table: pa.Table, plan: list[Arrival]) -> str:
    """Fold ``table`` as ``plan`` says, with a bucket that is read again; after every turn compare what has been emitted."""
    clause = spec.of
    assert isinstance(clause, EventPatternSpec)
    every = test_event_streams._answers(clause, engine.compile(clause).run(table))
    sent, decide, bucket, emitted, early = (
        test_event_streams._sent(table),
        compile(spec),
        Bucket(),
        Counter[Any](),
        False,
    )
    for arrival in plan:
        turn = step(spec, decide, bucket, [sent.take(list(arrival.rows))] if arrival.rows else [], arrival.until)
        bucket = _read_again(spec, turn.bucket)
        emitted += test_event_streams._answers(clause, turn.found)
        assert emitted == Counter({line: n for line, n in every.items() if line[-1] < arrival.until})
        early |= arrival.until < EVER and bool(emitted)
    return f"{'some' if every else 'no'} matches, {'some' if early else 'none'} before the end"


def _read_again(spec: StreamSpec, bucket: Bucket) -> Bucket:
    """As segments give its rows back: partitions in another order."""
    if bucket.rows is None:
        return bucket
    final = [time < bucket.until for time in bucket.rows[spec.time].to_pylist()]
    rows = pa.concat_tables([in_order(spec, bucket.rows.filter(final)), bucket.rows.filter([not f for f in final])])
    return replace(bucket, rows=rows, numbers=bucket.numbers and of_bytes(to_bytes(bucket.numbers)))


def _spec(case: EventCase, output: MatchOutput, *, merges: bool) -> StreamSpec:
    clause = event_pattern_spec(replace(case, non_overlapping=False))
    outputs = clause.outputs
    if output == "compressed":
        outputs = (Output("last", LastEvent("id")), Output("buffer", BufferStruct((("id", "id"),))))
    outputs = (*outputs, Output("end", LastEvent("ts")))
    clause = replace(clause, matches=output, engine="auto" if merges else "basic", outputs=outputs)
    attributes = (equivalence(text) for text in case.where)
    keys = tuple(dict.fromkeys([*case.partition, *(name for name in attributes if name is not None)]))
    return StreamSpec(clause, keys, tuple(OrderColumn(name) for name in case.order), "ts", "identity", "{}")


def _with_identity(case: EventCase) -> pa.Table | None:
    """The events as the batch engine reads them. Of concurrent ones the first has the least identity; else it says nothing about the order."""
    tables = list(event_tables(case))
    if not tables:
        return None
    table = pa.concat_tables(tables)
    places = {row["id"]: place - 1000 * int(row["ts"]) for place, row in enumerate(case.events)}
    return table.append_column("identity", pa.array([places[name] for name in table["id"].to_pylist()]))

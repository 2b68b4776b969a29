"""MATCH AUTOMATON over a stream: after every turn exactly the matches that are decided, whatever way the rows came."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.engines.automaton import engine
from sparkcep.engines.stream import compile
from sparkcep.errors import CepDataError, CepLimitError
from sparkcep.spec import to_json
from sparkcep.spec.automaton import AutomatonSpec, waits
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import DELETED, Followed, StreamSpec
from sparkcep.streaming import speculation
from sparkcep.streaming.fold import Bucket, step
from tests.automata import DEADLINE, MASK, ROW, TIME, automaton_spec, changing, events_table, whole
from tests.draws import draws
from tests.properties.arrivals import EVER, arrivals
from tests.properties.automata import automata, events
from tests.reference.automaton import Arc, Automaton


@draws(200)
@given(st.data(), automata(), st.lists(events(), min_size=1, max_size=2), st.booleans())
def test_a_stream_emits_what_is_decided(
    data: st.DataObject, automaton: Automaton, partitions: list[list[dict[str, Any]]], periods: bool
) -> None:
    """``periods``: of an automaton whose arcs' lifetimes are periods."""
    partitions = [part for part in partitions if part]
    assume(partitions)
    clause = automaton_spec(automaton, partitions)
    table = _table(automaton, partitions)
    try:
        every = _answers(engine.compile(clause).run(table))
    except (CepLimitError, CepDataError):
        assume(False)
    if periods:
        clause = changing(automaton, partitions)
        assert _answers(engine.compile(clause).run(table)) == every
    time = table[TIME].to_pylist()
    deadline = table[DEADLINE].to_pylist() if automaton.within is not None else []
    late = waits(clause)
    moments = {line: deadline[line[0]] if late else time[line[1]] + 1 for line in every}
    sent = table.set_column(table.column_names.index(MASK), MASK, pc.bit_wise_and(table[MASK], ~1))
    decide, bucket, emitted = compile(_spec(clause)), Bucket(), Counter[Any]()
    for arrival in data.draw(arrivals(time), label="arrivals"):
        turn = step(
            _spec(clause), decide, bucket, [sent.take(list(arrival.rows))] if arrival.rows else [], arrival.until
        )
        bucket = turn.bucket
        emitted += _answers(turn.found)
        assert emitted == Counter({line: n for line, n in every.items() if moments[line] <= arrival.until})
        assert turn.due is None or turn.due > arrival.until
        final = bucket.rows.filter(pc.less(bucket.rows[TIME], arrival.until)) if bucket.rows is not None else None
        if automaton.within is None:
            continue
        assert final is None or (np.asarray(final[DEADLINE]) > arrival.until).all()
        if not arrival.rows and arrival.until < EVER:
            left = [moments[line] for line in every - emitted if deadline[line[0]] - automaton.within < arrival.until]
            assert not (left and late) or (turn.due is not None and turn.due <= min(left))
    assert bucket.rows is None or automaton.within is None


@draws(200)
@given(st.data(), automata(), st.lists(events(), min_size=1, max_size=2), st.sampled_from([0, 3, None]))
def test_a_pattern_changes_while_the_stream_runs(
    data: st.DataObject, automaton: Automaton, partitions: list[list[dict[str, Any]]], sigma: int | None
) -> None:
    """Each version has some of the arcs; it holds from its own time on, at the earliest from the first time of which the turn that is told has decided nothing."""
    partitions = [part for part in partitions if part]
    assume(partitions)
    table = _table(automaton, partitions)
    clause = whole(automaton, partitions)
    numbers = st.lists(st.integers(0, len(clause.arcs) - 1), unique=True)
    versions = data.draw(st.lists(numbers, min_size=1, max_size=3), label="arcs of versions")
    spec = replace(_spec(clause), followed=Followed("p", "", "t", "i", 1), sigma=sigma)
    decide, bucket, emitted, told = compile(spec), Bucket(), Counter[Any](), [(0, -(1 << 63))]
    knows, before = data.draw(st.booleans(), label="knows"), None
    for i, arrival in enumerate(data.draw(arrivals(table[TIME].to_pylist()), label="arrivals")):
        changes = [_change(0, None, clause, versions[0])] if i == 0 else []
        if i and len(told) < len(versions) and data.draw(st.booleans(), label="change"):
            effective = data.draw(st.one_of(st.none(), st.integers(0, 12)), label="effective")
            changes = [_change(len(told), effective, clause, versions[len(told)])]
            undecided = arrival.until + waits(clause)  # the windows that end at the watermark have been decided
            told.append((len(told), undecided if effective is None else max(undecided, effective)))
        try:
            rows = [table.take(list(arrival.rows))] if arrival.rows else []
            turn = speculation.step(spec, decide, bucket, rows, arrival.until, changes, before)
        except (CepLimitError, CepDataError):
            assume(False)
        bucket, before = turn.bucket, turn.foreseen if knows else None
        emitted.update(_signed(turn.found))
        emitted.subtract(_signed(turn.found, deleted=True))
    told_of = _lifetimes(automaton, versions, told)
    expected = _answers(engine.compile(automaton_spec(told_of, partitions)).run(_table(told_of, partitions)))
    assert {line: n for line, n in emitted.items() if n} == dict(expected)


def test_a_window_that_ends_at_the_watermark_is_decided_before_a_change() -> None:
    """The turn that decides it has not been told; another one at the same watermark is. The event at that time meets the version before, too."""
    arcs = (Arc("s", "a"), Arc("a", "s", "window_end"), Arc("a", "f", "window_end"))
    automaton = Automaton("s", ("s", "f"), arcs, within=3)
    partitions = [[{"ts": 5, "x": 0}, {"ts": 8, "x": 0}]]
    spec = replace(_spec(whole(automaton, partitions)), followed=Followed("p", "", "t", "i", 1))
    decide, of = compile(spec), spec.of
    assert isinstance(of, AutomatonSpec)
    first = step(spec, decide, Bucket(), [_table(automaton, partitions)], 8, [_change(0, None, of, [0, 1])])
    told = step(spec, decide, first.bucket, [], 8, [_change(1, 0, of, [2])])
    last = step(spec, decide, told.bucket, [], EVER)
    assert _answers(first.found) == Counter({(0, 0, "s"): 1})
    assert not told.found
    assert _answers(last.found) == Counter({(1, 1, "f"): 1})


def _change(number: int, effective: int | None, clause: AutomatonSpec, arcs: list[int]) -> str:
    start, *others = clause.states
    version = replace(
        clause,
        arcs=tuple(clause.arcs[i] for i in arcs),
        states=(start, *(others[::-1] if number % 2 else others)),
        registers=clause.registers[:: -1 if number % 2 else 1],
    )
    told = {"version": number, "recorded": 0, "effective": effective, "spec": to_json(version)}
    return json.dumps(told)


def _lifetimes(automaton: Automaton, versions: list[list[int]], told: list[tuple[int, int]]) -> Automaton:
    """The arcs of each version with the times in which it is the last one that holds."""
    moments = sorted({since for _, since in told})
    arcs = []
    for low, high in zip(moments, [*moments[1:], None], strict=True):
        number = max(number for number, since in told if since <= low)
        arcs += [replace(automaton.arcs[i], valid=(low, high)) for i in versions[number]]
    return replace(automaton, arcs=tuple(arcs))


def _signed(found: Any, *, deleted: bool = False) -> Counter[Any]:
    """The answers that are inserted, or that are taken back."""
    if found and DELETED in found[0].column_names:
        found = [part.filter(pc.equal(part[DELETED], deleted)).drop_columns([DELETED]) for part in found]
    elif deleted:
        return Counter()
    return _answers(found)


def _table(automaton: Automaton, partitions: list[list[dict[str, Any]]]) -> pa.Table:
    """The events as the batch engine reads them, with whole times, keys and identities."""
    table = events_table(automaton, partitions)
    for name in (TIME, DEADLINE):
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.int64()))
    if TIME not in table.column_names:
        table = table.append_column(TIME, pa.array([event["ts"] for part in partitions for event in part], pa.int64()))
    key = np.repeat(np.arange(len(partitions)), [len(part) for part in partitions])
    return table.append_column("key", pa.array(key)).append_column("identity", table[ROW])


def _spec(clause: AutomatonSpec) -> StreamSpec:
    return StreamSpec(of=clause, keys=("key",), order=(OrderColumn(TIME),), time=TIME, identity="identity", schema="{}")


def _answers(found: Any) -> Counter[Any]:
    return Counter(tuple(row.values()) for table in found for row in table.to_pylist())

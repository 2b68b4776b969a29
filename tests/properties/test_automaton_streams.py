"""MATCH AUTOMATON over a stream: after every turn exactly the matches that are decided, whatever way the rows came."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sparkcep.engines.automaton import engine
from sparkcep.engines.stream import compile
from sparkcep.errors import CepLimitError
from sparkcep.spec.automaton import AutomatonSpec
from sparkcep.spec.stream import OrderColumn, StreamSpec
from sparkcep.streaming.fold import Bucket, step
from tests.automata import DEADLINE, MASK, ROW, TIME, automaton_spec, changing, events_table
from tests.properties.arrivals import EVER, arrivals
from tests.properties.automata import automata, events
from tests.reference.automaton import Automaton


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
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
    except CepLimitError:
        assume(False)
    if periods:
        clause = changing(automaton, partitions)
        assert _answers(engine.compile(clause).run(table)) == every
    time = table[TIME].to_pylist()
    deadline = table[DEADLINE].to_pylist() if automaton.within is not None else []
    waits = any(arc.kind == "window_end" for arc in clause.arcs)
    moments = {line: deadline[line[0]] if waits else time[line[1]] + 1 for line in every}
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
            assert not (left and waits) or (turn.due is not None and turn.due <= min(left))
    assert bucket.rows is None or automaton.within is None


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

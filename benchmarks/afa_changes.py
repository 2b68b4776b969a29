"""MATCH AUTOMATON whose arcs change while the stream runs, engine only, one core: figure 9 of the AFA paper.

In: Q3, a line of eight arcs that wait for upticks or downticks (p = 0.5), over a stream in order, a window of 500 events. Every d events an arc goes
and another comes in its place that waits for the other kind of tick, so that matches are as frequent as before.

Out, for each d, events/s in processor time and the ratio to the automaton that does not change, each the best of ``--runs``, in turns:

* ``bound``: the events in one pass, the arcs compiled before (``bind``: what that takes, a change);
* ``turns``: a stream in micro-batches that are told of the changes; each decodes and compiles those that it needs;
* ``restart``: the operator is replaced at each change, and its state made again from the window before (the events of 10 … 1,000 changes).

``bound`` at d = 10 should be at most 10 % slower. All find the same matches.

    python benchmarks/afa_changes.py [--events N] [--batch N] [--runs N]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa

from sparkcep.engines.automaton.engine import AutomatonEngine
from sparkcep.engines.automaton.graph import ALWAYS
from sparkcep.engines.automaton.versions import merged
from sparkcep.engines.stream import compile as compile_stream
from sparkcep.spec import to_json
from sparkcep.spec.automaton import Arc, AutomatonSpec, EventValue, Output
from sparkcep.spec.event import FirstEvent, LastEvent, WithinTime
from sparkcep.spec.expression import Call, Constant
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import Followed, StreamSpec
from sparkcep.streaming.fold import Bucket, step

ARCS, WINDOW = 8, 500
INTERVALS = (10, 100, 1_000, 10_000)
Waits = tuple[int, ...]
"""For each arc, 1: an uptick, 0: a downtick."""


def spec(waits: Waits) -> AutomatonSpec:
    """The line of arcs."""
    arcs = [
        Arc(f"a{i}", f"q{i}", f"q{i + 1}", condition=Call("eq", (EventValue("up"), Constant(up, "int"))))
        for i, up in enumerate(waits)
    ]
    states = tuple(f"q{i}" for i in range(ARCS + 1))
    outputs = Output("first", FirstEvent("ts")), Output("last", LastEvent("ts"))
    within = WithinTime("ts", "deadline")
    return AutomatonSpec(states, states[-1:], tuple(arcs), ("mask",), outputs, "{}", within=within, clock="ts")


def ticks(size: int) -> pa.Table:
    """The stream; time is the event's number."""
    time = np.arange(size)
    up = np.random.default_rng(5).integers(0, 2, size).astype(np.int32)
    mask = (time == 0).astype(np.int32)
    return pa.table({"ts": time, "deadline": time + WINDOW, "row": time, "up": up, "mask": mask})


def versions(size: int, every: int | None) -> list[tuple[int, Waits]]:
    """Since when which arcs wait for what."""
    drawn = np.random.default_rng(7)
    waits = [1, 0] * (ARCS // 2)
    found = [(ALWAYS, tuple(waits))]
    for since in range(every, size, every) if every else ():
        arc = int(drawn.integers(0, ARCS))
        waits[arc] = 1 - waits[arc]
        found.append((since, tuple(waits)))
    return found


def bound(rows: pa.Table, line: list[tuple[int, Waits]]) -> tuple[float, float, int]:
    """Seconds of the pass, seconds of compiling, matches."""
    began = process_time()
    engine = AutomatonEngine(merged(spec(line[0][1]), [(since, spec(waits)) for since, waits in line]))
    count_of(engine.run(rows.slice(0, 1)))
    ready = process_time()
    found = count_of(engine.run(rows))
    return process_time() - ready, ready - began, found


def turns(rows: pa.Table, line: list[tuple[int, Waits]], length: int) -> tuple[float, int]:
    """Seconds of a stream, and matches."""
    clause = StreamSpec(
        spec(line[0][1]),
        (),
        (OrderColumn("ts"),),
        "ts",
        "row",
        "{}",
        "deadline",
        followed=Followed("q3", "", "t", "i", 1),
    )
    told = [
        json.dumps({"version": i, "recorded": 0, "effective": max(since, 0), "spec": to_json(spec(waits))})
        for i, (since, waits) in enumerate(line)
    ]
    times = np.array([max(since, 0) for since, _ in line])
    unmarked = rows.set_column(rows.schema.get_field_index("mask"), "mask", pa.array(np.zeros(len(rows), np.int32)))
    decide, bucket, found = compile_stream(clause), Bucket(), 0
    began = process_time()
    for low in range(-length, len(rows) + length, length):  # a change is told before its time has come
        changes = [told[i] for i in range(*np.searchsorted(times, [low + length, low + 2 * length]))]
        new = [unmarked.slice(low, length)] if 0 <= low < len(rows) else []
        turn = step(clause, decide, bucket, new, low + length, changes)
        bucket = turn.bucket
        found += sum(part.num_rows for part in turn.found)
    return process_time() - began, found


def restart(rows: pa.Table, line: list[tuple[int, Waits]]) -> tuple[float, int, int]:
    """Seconds, matches and events of an operator that is replaced at each change. Until the next one it has one version's arcs alone: what began
    under those before is found again from the window's rows, as far as these have the version's arcs as well."""
    ends = [since for since, _ in line[1:]] + [len(rows)]
    began, found, events = process_time(), 0, 0
    for i, ((since, waits), end) in enumerate(zip(line, ends, strict=True)):
        begin = max(since, 0)
        back = max(begin - WINDOW, 0)
        known = [(max(low, ALWAYS), spec(own)) for low, own in line[max(i - ARCS, 0) : i + 1]]
        engine = AutomatonEngine(merged(spec(waits), known))
        part = rows.slice(back, end - back)
        mask = np.zeros(len(part), np.int32)
        mask[0] = 1
        part = part.set_column(part.schema.get_field_index("mask"), "mask", pa.array(mask))
        for table in engine.run(part):
            found += int(np.count_nonzero(table["last"].to_numpy() >= begin))
        events += end - begin
        if i == MOST_RESTARTS:
            break
    return process_time() - began, found, events


MOST_RESTARTS = 1_000


def count_of(tables: object) -> int:
    return sum(table.num_rows for table in tables)  # type: ignore[attr-defined]


def best(runs: int, one: Callable[[], tuple[float, ...]]) -> tuple[float, ...]:
    """The fastest of some runs."""
    return min(one() for _ in range(runs))


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    rows = ticks(options.events)
    print(
        "| arcs change | bound, events/s | ratio | bind, µs a change | turns, events/s | ratio | restart, events/s | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|")
    still: list[float] = []
    for every in (None, *reversed(INTERVALS)):
        line = versions(options.events, every)
        seconds, binding, matches = best(options.runs, lambda line=line: bound(rows, line))  # type: ignore[misc]
        stream, found = best(options.runs, lambda line=line: turns(rows, line, options.batch))  # type: ignore[misc]
        assert found == matches, f"{found} matches in turns, {matches} in one pass"
        again, _, events = restart(rows, line)
        rates = [options.events / seconds, options.events / stream, events / again]
        still = still or rates
        ratios = [rate / first for rate, first in zip(rates, still, strict=True)]
        cells = [f"{rate:,.0f} | {ratio:.2f}" for rate, ratio in zip(rates, ratios, strict=True)]
        name = f"every {every:,} events" if every else "never"
        print(f"| {name} | {cells[0]} | {binding / len(line) * 1e6:,.0f} | {cells[1]} | {cells[2]} |", flush=True)


if __name__ == "__main__":
    main()

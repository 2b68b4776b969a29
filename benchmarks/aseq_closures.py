"""Counting closures with A-Seq: without conditions between their events, with a comparison of neighbours, with a distance. One core.

In: random events of ``--types`` types; time is the event's number. Out, for ``SEQ(t0, t1+, t2)`` by window: the matches, ns of CPU time per
event (the least of ``--repetitions``), and how many times longer building the matches takes (chain NFA), while a run of it takes
``--limit`` seconds at most; both must find as many. "2^63": as many or more.

    python benchmarks/aseq_closures.py [--events N] [--types N] [--limit SECONDS] [--repetitions N]
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import pyarrow as pa
import scan

from sparkcep.engines.aseq.events import read
from sparkcep.engines.aseq.passes import Passes, Weighing
from sparkcep.engines.aseq.semiring import MAX
from sparkcep.engines.aseq.sequences import sequences
from sparkcep.engines.event_pattern import engine
from sparkcep.errors import CepLimitError
from sparkcep.pattern.event import Element, Seq
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.event import EventPatternSpec, FirstEvent, Output, Predicate, WithinTime
from sparkcep.spec.expression import Call, ElementOf
from sparkcep.spec.neighbours import linked

WINDOWS = (50, 100, 200, 500, 1_000, 2_000)
PATTERN = Seq((Element("t0", ("t0",)), Element("t1", ("t1",), 1, None), Element("t2", ("t2",))))
EACH, BEFORE, FIFTY = ElementOf("t1", "x"), ElementOf("t1", "x", "previous"), ElementOf("t1", "fifty")
CONDITIONS = {
    "any": (),
    "rising": (Predicate(Call("gt", (EACH, BEFORE)), "t1[i].x > t1[i-1].x"),),
    "near": (
        Predicate(Call("lt", (Call("abs", (Call("sub", (EACH, BEFORE)),)), FIFTY)), "ABS(t1[i].x - t1[i-1].x) < 50"),
    ),
}
WITHIN = WithinTime("time", "deadline")
NAMES = ("t0", "t1", "t2")


def main() -> None:
    """A table for each kind of condition."""
    options = _options()
    for name, predicates in CONDITIONS.items():
        print(f"\n{name}: {predicates[0].text if predicates else 'no condition'}")
        print(f"{'window':>10}{'matches':>24}{'ns/event':>10}{'x matches':>12}")
        built: float | None = 0.0
        for window in WINDOWS:
            table = stream(options.events, options.types, window)
            found, seconds = scan.fastest(lambda: count(table, predicates), options.repetitions)  # noqa: B023
            if built is not None:
                built = build(table, predicates, found, options.limit)
            ratio = "-" if built is None else f"{built / seconds:.1f}"
            matches = "2^63" if found == MAX else f"{found:,}"
            print(f"{window:10,}{matches:>24}{seconds / options.events * 1e9:10.1f}{ratio:>12}")


def stream(size: int, types: int, window: int) -> pa.Table:
    """Events with a value below 1,000, of which three types are in the pattern."""
    random = np.random.default_rng(2014)
    kind, at = random.integers(0, types, size), np.arange(size)
    mask = (at == 0) + np.where(kind < len(NAMES), np.int64(2) << kind, 0)
    columns = {"mask": mask, "rank": at, "time": at, "deadline": at + window, "x": random.integers(0, 1_000, size)}
    return pa.table(columns | {"fifty": np.full(size, 50)})


def count(table: pa.Table, predicates: tuple[Predicate, ...]) -> int:
    """The matches, without building any."""
    spec = AggregateSpec(NAMES, PATTERN, ("mask",), "rank", (), "{}", WITHIN, neighbours=predicates)
    passes = Passes(read(table, spec), NAMES, sequences(PATTERN), linked=linked(predicates))
    return int(passes.integers(Weighing())[0])


def build(table: pa.Table, predicates: tuple[Predicate, ...], expected: int, limit: float) -> float | None:
    """Seconds in which every match is made; None past the limit."""
    outputs = (Output("match_start", FirstEvent("rank")),)
    spec = EventPatternSpec(NAMES, PATTERN, ("mask",), "rank", outputs, "{}", predicates, WITHIN, engine="chain")
    started, found = time.process_time(), 0
    try:
        for matches in engine.compile(spec).run(table, max_partial_matches=10**8):
            found += matches.num_rows
            if time.process_time() - started > limit:
                return None
    except CepLimitError:
        return None
    if found != expected:
        sys.exit(f"{expected:,} matches counted, {found:,} built")
    return time.process_time() - started


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--types", type=int, default=20)
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--repetitions", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()

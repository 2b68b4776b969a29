"""EMIT CHANGES of A-Seq by number of classes of ``[attr]``, and with NOT first or last by window. Engine only, one core.

In: random events of ``--types`` types; time is the event's number. Out: ns of CPU time per event (the least of ``--repetitions``) and the
rows emitted. A window holds as many events of each class, whatever the number of classes: what grows is the number of classes alive.

    python benchmarks/aseq_changes.py [--quick] [--events N] [--types N] [--repetitions N]
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
import pyarrow as pa
import scan

from sparkcep.engines.aseq import engine
from sparkcep.pattern.event import Element, EventPattern, Not, Seq
from sparkcep.spec.aggregate import AggregateOutput, AggregateSpec, MatchAggregate
from sparkcep.spec.event import WithinTime

CLASSES = (1, 10, 100, 1_000, 10_000, 100_000)
EVENTS_OF_A_CLASS = 100
WINDOWS = (100, 1_000, 10_000, 100_000, 1_000_000)


def main() -> None:
    """Both tables."""
    options = _options()
    size = options.events or (60_000 if options.quick else 1_000_000)
    kind = np.random.default_rng(2014).integers(0, options.types, size)
    first, second, third, none = (Element(f"t{i}", (f"t{i}",)) for i in range(4))
    plain = Seq((first, second, third))
    measure(options, kind, plain, 100, 1)  # kernels are loaded
    print(f"SEQ(A, B, C), a window of {EVENTS_OF_A_CLASS} events of each class (ns/event)")
    print(f"{'classes':>10}{'ns':>10}{'rows':>12}")
    for classes in (number for number in CLASSES if number * EVENTS_OF_A_CLASS <= 10 * size):
        rows, ns = measure(options, kind, plain, classes * EVENTS_OF_A_CLASS, classes)
        print(f"{classes:10,}{ns:10.1f}{rows:12,}")
    patterns = plain, Seq((Not(none), first, second, third)), Seq((first, second, third, Not(none)))
    print("\nSEQ(A, B, C), SEQ(!D, A, B, C), SEQ(A, B, C, !D) (ns/event)")
    print(f"{'window':>10}{'plain':>10}{'first':>10}{'last':>10}")
    for window in (length for length in WINDOWS if length <= size):
        print(f"{window:10,}" + "".join(f"{measure(options, kind, one, window, 1)[1]:10.1f}" for one in patterns))


def measure(
    options: argparse.Namespace, kind: np.ndarray, pattern: EventPattern, window: int, classes: int
) -> tuple[int, float]:
    """Rows and ns per event, of events of these types."""
    variables = tuple(f"t{i}" for i in range(options.types))
    outputs = (AggregateOutput("n", MatchAggregate("count")),)
    spec = AggregateSpec(variables, pattern, ("mask",), "rank", outputs, "{}", WithinTime("time", "deadline"))
    plan = engine.compile(replace(spec, emit="time", classes="class"))
    table = _table(kind, window, classes)
    rows, seconds = scan.fastest(lambda: sum(part.num_rows for part in plan.run(table)), options.repetitions)
    return rows, seconds / table.num_rows * 1e9


def _table(kind: np.ndarray, window: int, classes: int) -> pa.Table:
    """Class by class, each in order of time: one mask bit per type."""
    of = np.random.default_rng(7).integers(0, classes, len(kind))
    order = np.argsort(of, kind="stable")
    mask = np.int64(2) << kind[order]
    mask[0] |= 1
    return pa.table({"mask": mask, "rank": order + 1, "time": order, "deadline": order + window, "class": of[order]})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60,000 events")
    parser.add_argument("--events", type=int)
    parser.add_argument("--types", type=int, default=16)
    parser.add_argument("--repetitions", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""How A-Seq's cost per event depends on the window, the length of the pattern and the number of groups. Engine only, one core.

In: synthetic events of ``--types`` types with a fixed seed; time is the event's number. Out: ns per event of one pass (read, code, count),
CPU time, the minimum of ``--repetitions``, and its ratio to the first line of each table.
The pass is the one behind every COUNT(*); what a window of a million events counts is past BIGINT, and the pass then goes on
saturated at the same cost. Before any time is taken a small stream is counted in Python's integers too.

    python benchmarks/aseq_flatness.py [--events N] [--types N] [--repetitions N]
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import pyarrow as pa

from sparkcep.engines.aseq.events import read
from sparkcep.engines.aseq.passes import Passes, Weighing
from sparkcep.engines.aseq.sequences import sequences
from sparkcep.pattern.event import Element, Not, Seq
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.event import WithinTime

WINDOWS = (100, 1_000, 10_000, 100_000, 1_000_000)
LENGTHS = (2, 3, 4, 5, 6, 8, 10)
GROUPS = (100, 1_000, 10_000, 100_000)


def main() -> None:
    """Check, then print the tables."""
    options = _options()
    check()
    size, types = options.events, options.types

    def nanoseconds(length: int, window: int | None, groups: int = 1, *, negation: bool = False) -> float:
        spec, table = stream(size, types, length, window, groups, negation=negation)
        return min(_seconds(spec, table) for _ in range(options.repetitions)) / size * 1e9

    report("window (length 5)", {f"{window:,}": nanoseconds(5, window) for window in WINDOWS})
    report("window (length 5, NOT)", {f"{window:,}": nanoseconds(5, window, negation=True) for window in WINDOWS})
    report("length (window 10,000)", {str(length): nanoseconds(length, 10_000) for length in LENGTHS})
    report("groups (length 5, no WITHIN)", {f"{groups:,}": nanoseconds(5, None, groups) for groups in GROUPS})
    report("groups (length 5, window 1,000)", {f"{groups:,}": nanoseconds(5, 1_000, groups) for groups in GROUPS})


def stream(
    size: int, types: int, length: int, window: int | None, groups: int, *, negation: bool = False
) -> tuple[AggregateSpec, pa.Table]:
    """``SEQ(t0, t1, …)`` (with NOT of the last type in the middle) over random events, whole groups one after another."""
    random = np.random.default_rng(2014)
    kind = random.integers(0, types, size)
    group = np.sort(random.integers(0, groups, size))
    starts = np.r_[True, group[1:] != group[:-1]]
    names = tuple(f"t{i}" for i in range(length))
    bits = [kind == i for i in range(length)]
    items: list[Element | Not] = [Element(name, (name,)) for name in names]
    if negation:
        items.insert(length // 2, Not(Element("n", ("n",))))
        names, bits = (*names, "n"), [*bits, random.random(size) < 0.01]
    mask = starts + sum((bit.astype(np.int64) << (i + 1) for i, bit in enumerate(bits)), np.int64(0))
    at = np.arange(size)
    columns = {"mask": mask, "rank": at} | ({} if window is None else {"time": at, "deadline": at + window})
    within = None if window is None else WithinTime("time", "deadline")
    spec = AggregateSpec(names, Seq(tuple(items)), ("mask",), "rank", (), "{}", within)
    return spec, pa.table(columns)


def check() -> None:
    """Stop unless the kernels count what Python's integers count."""
    for negation in (False, True):
        spec, table = stream(2_000, 4, 3, 150, 3, negation=negation)
        passes = Passes(read(table, spec), spec.variables, sequences(spec.pattern))
        if passes.integers(Weighing()).tolist() != [passes.recounted(Weighing(), part) for part in range(3)]:
            sys.exit("wrong answer")


def report(title: str, times: dict[str, float]) -> None:
    """One line per setting."""
    first = next(iter(times.values()))
    print(f"{title:34}{'ns/event':>10}{'ratio':>8}{'M events/s':>12}")
    for name, value in times.items():
        print(f"{name:>34}{value:10.1f}{value / first:8.2f}{1e3 / value:12.1f}")


def _seconds(spec: AggregateSpec, table: pa.Table) -> float:
    start = time.process_time()
    Passes(read(table, spec), spec.variables, sequences(spec.pattern)).integers(Weighing())
    return time.process_time() - start


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--types", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()

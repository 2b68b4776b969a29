"""Figures 12 to 16 of the A-Seq paper again, on a synthetic stream of stock ticks. Engine only, one core.

In: random events of ``--types`` types; time is the event's number, so a window of n holds n events. Out: ns of CPU time per event
(the least of ``--repetitions``) of A-Seq, of SEM and DPC as the paper prints them, and of the two-step plan: SASE's active
instance stacks, which build every match, and a count. The two-step plan runs on a stream shortened until it takes about
``--limit`` seconds at most; where not even a few windows finish in that time its line ends. Every number of matches that two of
them give is compared.

    python benchmarks/aseq_figures.py [--quick] [--events N] [--types N] [--limit SECONDS] [--repetitions N]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import scan

from sparkcep.engines.aseq import engine
from sparkcep.engines.aseq.baselines import dpc, sem
from sparkcep.engines.aseq.events import code, read
from sparkcep.engines.aseq.passes import Weighing
from sparkcep.engines.aseq.semiring import SATURATING
from sparkcep.engines.aseq.sequences import Sequence, sequences
from sparkcep.engines.aseq.sharing import plan_sharing
from sparkcep.engines.aseq.work import Work
from sparkcep.engines.event_pattern import engine as event_pattern
from sparkcep.errors import CepLimitError
from sparkcep.pattern.event import Element, Not, Or, Seq
from sparkcep.spec.aggregate import AggregateOutput, AggregateSpec, MatchAggregate
from sparkcep.spec.event import EventPatternSpec, FirstEvent, Output, WithinTime

T = TypeVar("T")
WINDOWS = (100, 1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Setting:
    """What is measured on: the stream, the settings of the measurement."""

    kind: np.ndarray
    types: int
    repetitions: int
    limit: float

    def table(self, window: int | None, size: int | None = None) -> pa.Table:
        """The first ``size`` events: one mask bit per type, ranks, times."""
        kind = self.kind[:size]
        at = np.arange(len(kind))
        mask = np.int64(2) << kind
        mask[:1] |= 1
        columns = {"mask": mask, "rank": at} | ({} if window is None else {"time": at, "deadline": at + window})
        return pa.table(columns)


def main() -> None:
    """All figures."""
    options = _options()
    size = options.events or (60_000 if options.quick else 1_000_000)
    random = np.random.default_rng(2014)
    setting = Setting(random.integers(0, options.types, size), options.types, options.repetitions, options.limit)
    windows = [window for window in WINDOWS if window <= size]
    a_seq(setting, seq(2), 100)  # kernels are loaded
    length_figure(setting)
    window_figure(setting, windows)
    largest_window(setting)
    scalability_figure(setting, windows)
    changes_figure(setting, windows)
    negation_figure(setting)
    sharing_figures(setting)


def length_figure(setting: Setting) -> None:
    """Figure 12: length 2 to 5, window 1000."""
    print(
        "\nFigure 12: length, window 1,000 (ns/event; objects: most prefix counters, most events in the window's stacks)"
    )
    print(
        f"{'length':>10}{'A-Seq':>10}{'SEM':>10}{'two-step':>14}{'x A-Seq':>10}{'x SEM':>10}{'counters':>10}{'stacked':>10}"
    )
    for length in range(2, 6):
        found, ns = a_seq(setting, seq(length), 1_000)
        count, most, sem_ns = start_event_marking(setting, seq(length), 1_000)
        require(found == count, "SEM")
        steps = two_step(setting, seq(length), 1_000)
        stacked = round(1_000 * length / setting.types)
        print(f"{length:10}{ns:10.1f}{sem_ns:10.1f}{_versus(steps, ns)}{_ratio(steps, sem_ns)}{most:10}{stacked:10}")


def window_figure(setting: Setting, windows: Iterable[int]) -> None:
    """Figure 13: window, length 3."""
    print("\nFigure 13: window, length 3 (ns/event)")
    print(f"{'window':>10}{'A-Seq':>10}{'SEM':>10}{'two-step':>14}{'x A-Seq':>10}")
    steps: float | None = 0.0
    for window in windows:
        found, ns = a_seq(setting, seq(3), window)
        count, _, sem_ns = start_event_marking(setting, seq(3), window) if window <= 10_000 else (found, 0, np.nan)
        require(found == count, "SEM")
        steps = None if steps is None else two_step(setting, seq(3), window)
        print(f"{window:10,}{ns:10.1f}{sem_ns:10.1f}{_versus(steps, ns)}")


def largest_window(setting: Setting) -> None:
    """The largest window (by doubling) of which the two-step plan finishes three within the limit."""
    window, last = 1_000, None
    while 3 * window <= len(setting.kind) and (steps := two_step(setting, seq(3), window)) is not None:
        window, last = 2 * window, (window, steps)
    if last is not None:
        window, steps = last
        ns = a_seq(setting, seq(3), window)[1]
        print(f"largest window of the two-step plan in {setting.limit:g} s: {window:,}{_versus(steps, ns)}")


def changes_figure(setting: Setting, windows: Iterable[int]) -> None:
    """EMIT CHANGES: the count of the matches alive at every event, against one count in the end."""
    print("\nEMIT CHANGES, length 3 (ns/event)")
    print(f"{'window':>10}{'count':>10}{'changes':>10}{'x count':>10}{'rows':>12}")
    for window in windows:
        ns = a_seq(setting, seq(3), window)[1]
        rows, changing = changes(setting, seq(3), window)
        print(f"{window:10,}{ns:10.1f}{changing:10.1f}{changing / ns:10.1f}{rows:12,}")


def scalability_figure(setting: Setting, windows: list[int]) -> None:
    """Figure 14 (a): length 2 to 10 and windows; the last column has no window."""
    print("\nFigure 14 (a): A-Seq by length (down) and window (across); ns/event; last: DPC, no window")
    print(f"{'':>10}{''.join(f'{window:12,}' for window in windows)}{'no window':>12}{'DPC':>12}")
    for length in (2, 3, 4, 5, 6, 7, 8, 9, 10):
        row = [a_seq(setting, seq(length), window)[1] for window in windows]
        found, ns = a_seq(setting, seq(length), None)
        count, dpc_ns = prefix_counting(setting, seq(length))
        require(found == count, "DPC")
        print(f"{length:10}{''.join(f'{value:12.1f}' for value in [*row, ns, dpc_ns])}")


def negation_figure(setting: Setting) -> None:
    """Figure 14 (b): q1 = (t0, t1, t2), q2 = (t0, t1, !t3, t2)."""
    print("\nFigure 14 (b): negation, window 1,000 (ns/event)")
    print(f"{'query':>10}{'A-Seq':>10}{'two-step':>14}{'x A-Seq':>10}")
    for name, pattern in (("q1", seq(3)), ("q2", negated())):
        found, ns = a_seq(setting, pattern, 1_000)
        require(found == start_event_marking(setting, pattern, 1_000)[0], "SEM")
        print(f"{name:>10}{ns:10.1f}{_versus(two_step(setting, pattern, 1_000), ns)}")


def sharing_figures(setting: Setting) -> None:
    """Figures 15 and 16: patterns one by one and in one pass; ``counters``: how many times fewer prefix counters the one pass has."""
    last = setting.types - 1

    def by_prefix(queries: int, shared: int) -> list[Seq]:
        return [seq_of([*range(shared), last - query]) for query in range(queries)]

    def by_part(queries: int, shared: int) -> list[Seq]:
        return [seq_of([last - query, *range(shared), last - queries - query]) for query in range(queries)]

    print("\nFigure 15: 3 queries of a shared sub-pattern of length 2, window 1,000 (ns/event)")
    patterns = by_part(3, 2)
    alone, together = shared_and_alone(setting, patterns, 1_000)
    steps = [two_step(setting, pattern, 1_000) for pattern in patterns]
    whole = None if None in steps else float(np.sum(steps))  # type: ignore[arg-type]
    print(f"two-step {_number(whole)}, A-Seq one by one {alone:.1f}, in one pass {together:.1f}")
    for title, make in (("prefix", by_prefix), ("sub-pattern", by_part)):
        for within, label in ((1_000, "window 1,000"), (None, "no window")):
            print(f"\nFigure 16: shared {title}, {label} (ns/event)")
            print(f"{'queries':>10}{'length':>10}{'one by one':>12}{'one pass':>12}{'gain':>8}{'counters':>10}")
            for queries, length in [(3, n) for n in range(2, 7)] + [(n, 3) for n in range(2, 7)]:
                patterns = make(queries, length)
                alone, together = shared_and_alone(setting, patterns, within)
                own = len(patterns[0].items) - length
                counters = queries * (length + own) / (length + queries * own)
                print(f"{queries:10}{length:10}{alone:12.1f}{together:12.1f}{alone / together:8.2f}{counters:10.2f}")


def seq(length: int) -> Seq:
    """SEQ(t0, t1, …)."""
    return seq_of(range(length))


def seq_of(types: Iterable[int]) -> Seq:
    """SEQ of the given types."""
    return Seq(tuple(Element(f"t{i}", (f"t{i}",)) for i in types))


def negated() -> Seq:
    """SEQ(t0, t1, NOT t3, t2)."""
    first, second, third = seq(3).items
    return Seq((first, second, Not(Element("t3", ("t3",))), third))


def spec_of(setting: Setting, pattern: Seq, window: int | None) -> AggregateSpec:
    """The pattern as the engine reads it; variable t_i is bit i + 1 of the mask."""
    within = None if window is None else WithinTime("time", "deadline")
    return AggregateSpec(tuple(f"t{i}" for i in range(setting.types)), pattern, ("mask",), "rank", (), "{}", within)


def a_seq(setting: Setting, pattern: Seq, window: int | None) -> tuple[int, float]:
    """Matches (2^63 - 1: or more) and ns per event."""
    found, ns = _counted(setting, [pattern], window, [(0,)])
    return found[0], ns


def shared_and_alone(setting: Setting, patterns: list[Seq], window: int | None) -> tuple[float, float]:
    """ns per event one by one, and in the passes of the sharing plan."""
    named = [(str(number), sequences(pattern)) for number, pattern in enumerate(patterns)]
    plan = plan_sharing(named, windowed=window is not None)
    alone = [a_seq(setting, pattern, window) for pattern in patterns]
    found, together = _counted(setting, patterns, window, list(plan.passes))
    require(found == [count for count, _ in alone], "one pass")
    return sum(ns for _, ns in alone), together


def _counted(
    setting: Setting, patterns: list[Seq], window: int | None, passes: list[tuple[int, ...]]
) -> tuple[list[int], float]:
    spec = spec_of(setting, patterns[0] if len(patterns) == 1 else Or(tuple(patterns)), window)  # type: ignore[arg-type]
    table = setting.table(window)
    every: tuple[tuple[Sequence, ...], ...] = tuple(sequences(pattern) for pattern in patterns)

    def run() -> list[int]:
        work = Work(read(table, spec), spec.variables, every, tuple(passes))
        return [int(work.numbers(number, Weighing(), SATURATING)[0]) for number in range(len(patterns))]

    return _timed(setting, run, table.num_rows)


def changes(setting: Setting, pattern: Seq, window: int) -> tuple[int, float]:
    """Rows of EMIT CHANGES and ns per event."""
    spec = replace(
        spec_of(setting, pattern, window), emit="rank", outputs=(AggregateOutput("n", MatchAggregate("count")),)
    )
    plan, table = engine.compile(spec), setting.table(window)
    return _timed(setting, lambda: sum(part.num_rows for part in plan.run(table)), table.num_rows)


def start_event_marking(setting: Setting, pattern: Seq, window: int) -> tuple[int, int, float]:
    """Matches, most counters, ns per event of SEM (rows coded beforehand)."""
    spec = spec_of(setting, pattern, window)
    coded = code(read(setting.table(window), spec), spec.variables, sequences(pattern)[0])
    (found, most), ns = _timed(replace(setting, repetitions=1), lambda: sem(coded), len(setting.kind))
    return found, most, ns


def prefix_counting(setting: Setting, pattern: Seq) -> tuple[int, float]:
    """Matches and ns per event of DPC (rows coded beforehand)."""
    spec = spec_of(setting, pattern, None)
    coded = code(read(setting.table(None), spec), spec.variables, sequences(pattern)[0])
    return _timed(setting, lambda: dpc(coded), len(setting.kind))


def two_step(setting: Setting, pattern: Seq, window: int) -> float | None:
    """ns per event of building every match and counting them; None where a few windows take longer than the limit."""
    size = min(len(setting.kind), 3 * window)
    ns, best = None, 0.0
    while best < setting.limit / 4:
        found, best = _stacks(setting, pattern, window, size)
        if found is None:
            return ns
        require(found == _prefix(setting, size, pattern, window), "two-step")
        ns = best / size * 1e9
        if size == len(setting.kind):
            break
        size = min(len(setting.kind), 4 * size)
    return ns


def _stacks(setting: Setting, pattern: Seq, window: int, size: int) -> tuple[int | None, float]:
    """Matches in the first ``size`` events, and seconds; None where the limit cut it short."""
    names = tuple(f"t{i}" for i in range(setting.types))
    outputs = (Output("match_start", FirstEvent("rank")),)
    within = WithinTime("time", "deadline")
    spec = EventPatternSpec(names, pattern, ("mask",), "rank", outputs, "{}", within=within, engine="stack")
    started, found = time.process_time(), 0
    try:
        tables = event_pattern.compile(spec).run(setting.table(window, size), max_partial_matches=10**11)
        for matches in tables:
            found += matches.num_rows
            if time.process_time() - started > setting.limit:
                return None, setting.limit
    except CepLimitError:
        return None, setting.limit
    return found, time.process_time() - started


def _prefix(setting: Setting, size: int, pattern: Seq, window: int) -> int:
    return a_seq(replace(setting, kind=setting.kind[:size], repetitions=1), pattern, window)[0]


def _timed(setting: Setting, run: Callable[[], T], events: int) -> tuple[T, float]:
    found, seconds = scan.fastest(run, setting.repetitions)
    return found, seconds / events * 1e9


def require(same: bool, name: str) -> None:
    """Stop where two of them disagree."""
    if not same:
        sys.exit(f"{name} counts other matches")


def _number(ns: float | None) -> str:
    return "-" if ns is None else f"{ns:,.0f}"


def _versus(steps: float | None, ns: float) -> str:
    return f"{_number(steps):>14}{_ratio(steps, ns)}"


def _ratio(steps: float | None, ns: float) -> str:
    return f"{'-' if steps is None else f'{steps / ns:,.0f}':>10}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60,000 events")
    parser.add_argument("--events", type=int)
    parser.add_argument("--types", type=int, default=16)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--repetitions", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()

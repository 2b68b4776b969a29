"""The lazy paper's figures 10-19 (section 8), engine only, on a synthetic stream of its stock data's shape.

Stream: stock updates of companies in 8 regions, which are the event types; rates are skewed as the paper's regions are (8
companies in Africa, 267 in Europe, …); each update carries the last 20 prices of its company, and neighbouring companies
follow common sectors, so that some histories correlate. Every two events of a match must correlate: Pearson's coefficient
of their histories exceeds ``--threshold`` (the paper asks for high correlation and names no number). Time is in seconds, windows in minutes.

* ``windows`` (figures 10-16, 19): SEQ3-5, AND2-3, NOT (post-processing and first-chance), ITER3 and disjunctions over
  windows of 5 … 30 minutes (ITER3: half of them): chain, tree, stack and the planner's order against eager order, which is
  the paper's baseline and what it compares with in figure 19 under the name of SASE+.
* ``ratio`` (figure 17): the same for a rarest type that is 3 … 700 times rarer than the most frequent one.
* ``rates`` (figure 18): a stream whose rarest type changes every 100,000 events: computations (pairs tried and predicates
  evaluated) per event of each engine; ``orders`` are the chains of a fixed order.
* ``sanity``: events per second of SEQ of 3 … 9 with rates of 1:100 and a window of 1000 events.

    python benchmarks/lazy_figures.py [--quick] [--only windows,ratio,rates,sanity] [--limit PAIRS]

All engines must count the same matches. Per engine: thousands of events per second of CPU on one core; ``memory``: MB that the
run needed at most beyond what was held before; ``predicates`` evaluated and ``partial`` matches created in all, and the most
held at one time (``peak``). The last columns are eager's numbers divided by the engine's. A run that tries more than ``--limit``
pairs is ended (``<`` and ``>``: bounds).

What the times do and do not show. ``eager`` takes the events in the order in which they arrive and makes the same partial matches
as the paper's eager NFA, but it does so as the other engines do: a set of partial matches at a time, order and window by binary
search, predicates over whole columns. The paper's makes them one by one. So a partial match or a predicate costs the eager engine
here no more than it costs the chain (tens of nanoseconds), and eager is spared what makes it slowest in the paper. Ratios of
predicates and of partial matches are the paper's ratios; ratios of times are what is left of them beside the work that no order
saves: reading the stream, and making the matches themselves. Streams are longer for shorter windows, so that neither engine's
time is a few fixed milliseconds.
"""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import argparse
import gc
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa

from sparkcep.engines.event_pattern.budget import Counters
from sparkcep.engines.event_pattern.engine import compile
from sparkcep.errors import CepLimitError
from sparkcep.pattern.event import And, Element, EventItem, EventPattern, Not, Or, Seq, elements
from sparkcep.spec.event import Engine, EventPatternSpec, FirstEvent, Negation, Output, Predicate, WithinTime
from sparkcep.spec.expression import Call, ColumnOf, ElementOf, Expression

REGIONS = {"AFR": 8, "MDE": 25, "CAR": 40, "SAM": 90, "EUR": 267, "ASI": 420, "CAN": 700, "NAM": 1400}
"""Companies of each region: event rates."""

HISTORY = 20
SECTORS = 6
PER_MINUTE = 100

WINDOWS = {5: 400_000, 10: 200_000, 20: 80_000, 30: 40_000}
QUICK_WINDOWS = {5: 4_000, 20: 4_000}
RATIOS = {3: 20_000, 10: 20_000, 30: 40_000, 100: 100_000, 300: 200_000, 700: 200_000}
QUICK_RATIOS = {3: 4_000, 300: 4_000}
"""Events to read for each length of a window, and for each ratio of rates: about equal work for the eager engine."""

REPEATED = 0.4
"""Seconds: runs shorter than this are repeated."""

Terms = dict[str, "list[Expression]"]


@dataclass(frozen=True, slots=True)
class Workload:
    """A pattern over variables that all correlate with each other; ``scale``: of the windows."""

    name: str
    pattern: EventPattern
    negation: Negation = "auto"
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Run:
    """What one engine did; ``matches`` None: it passed the limit."""

    matches: int | None
    seconds: float
    memory: float
    counters: Counters


def one(region: str, low: int = 1, high: int | None = 1) -> Element:
    """An element of a region, named after it."""
    return Element(region.lower(), (region,), low, high)


def seq(*regions: str) -> Seq:
    """SEQ of single events."""
    return Seq(tuple(one(region) for region in regions))


def twice(*sequences: Sequence[str]) -> Or:
    """OR of SEQs; a region that occurs again gets a variable of its own."""
    count = itertools.count()
    parts = [Seq(tuple(replace(one(name), variable=f"{name.lower()}{next(count)}") for name in s)) for s in sequences]
    return Or(tuple(parts))


def workloads() -> list[Workload]:
    """The paper's patterns; the rarest type comes last, as eager evaluation likes it least."""
    not3: EventItem = Not(one("ASI"))
    not5 = Seq((one("SAM"), not3, one("AFR"), one("NAM"), one("EUR")))
    four = (("NAM", "AFR"), ("CAN", "MDE"), ("ASI", "CAR"), ("EUR", "SAM"))
    return [
        Workload("SEQ3", seq("NAM", "EUR", "AFR")),
        Workload("SEQ4", seq("NAM", "EUR", "SAM", "AFR")),
        Workload("SEQ5", seq("NAM", "EUR", "SAM", "CAR", "AFR")),
        Workload("AND2", And((one("NAM"), one("AFR")))),
        Workload("AND3", And((one("NAM"), one("EUR"), one("AFR")))),
        Workload("NOT-SEQ3", Seq((one("NAM"), not3, one("AFR"))), "post"),
        Workload("NOT-AND3", And((one("NAM"), not3, one("AFR"))), "post"),
        Workload("NOT-SEQ5 PP", not5, "post"),
        Workload("NOT-SEQ5 FC", not5, "first"),
        Workload("ITER3", Seq((one("EUR"), one("SAM", 1, None), one("AFR"))), scale=0.5),
        Workload("OR2SEQ2", twice(*four[:2])),
        Workload("OR4SEQ2", twice(*four)),
        Workload("OR2SEQ4", twice(("NAM", "EUR", "SAM", "AFR"), ("CAN", "ASI", "CAR", "MDE"))),
    ]


def correlated(pattern: EventPattern, threshold: float) -> tuple[Predicate, ...]:
    """Every two variables of one branch: the scalar product of their normalised histories exceeds ``threshold``. Of a
    negated variable: it and its neighbours."""
    negated = {element.variable for element in elements(pattern, negated=True)}
    kleene = {element.variable for element in elements(pattern) if element.kleene}
    branches = pattern.items if isinstance(pattern, Or) else (pattern,)
    found = []
    for branch in branches:
        names = [element.variable for element in elements(branch)]
        for x, y in itertools.combinations(names, 2):
            if negated & {x, y} and abs(names.index(x) - names.index(y)) > 1:
                continue
            products = [Call("mul", (_term(x, f"h{i}", kleene), _term(y, f"h{i}", kleene))) for i in range(HISTORY)]
            total: Expression = products[0]
            for product in products[1:]:
                total = Call("add", (total, product))
            least = _term(x if x not in kleene else y, "threshold", kleene)
            found.append(Predicate(Call("gt", (total, least)), f"corr({x}.history, {y}.history) > {threshold}"))
    return tuple(found)


def _term(variable: str, column: str, kleene: set[str]) -> ColumnOf | ElementOf:
    return ElementOf(variable, column) if variable in kleene else ColumnOf(variable, column)


def stocks(events: int, rates: dict[str, float], threshold: float, seed: int = 1) -> tuple[np.ndarray, pa.Table]:
    """Regions (as indexes into ``rates``) and columns: time in seconds, rank, normalised histories h0 …, threshold."""
    random = np.random.default_rng(seed)
    weights = np.array(list(rates.values()), dtype=float)
    kind = random.choice(len(rates), size=events, p=weights / weights.sum())
    time = np.sort(random.integers(0, max(events * 60 // PER_MINUTE, 1), events))
    common = random.normal(size=(SECTORS, HISTORY)).cumsum(axis=1)
    history = common[random.integers(0, SECTORS, events)] + 1.2 * random.normal(size=(events, HISTORY)).cumsum(axis=1)
    history -= history.mean(axis=1, keepdims=True)
    history /= np.linalg.norm(history, axis=1, keepdims=True)
    rank = np.searchsorted(time, time) + 1
    columns = {f"h{i}": np.ascontiguousarray(history[:, i]) for i in range(HISTORY)}
    return kind, pa.table({"time": time, "rank": rank, "threshold": np.full(events, threshold), **columns})


def prepared(
    pattern: EventPattern, kind: np.ndarray, rates: dict[str, float], table: pa.Table, window: int
) -> pa.Table:
    """The engine's input: masks of the pattern's variables, deadlines of a window in seconds."""
    names = list(rates)
    mask = np.zeros(len(kind), dtype=np.int64)
    for at, element in enumerate(elements(pattern)):
        mask |= (kind == names.index(element.types[0])).astype(np.int64) << (at + 1)
    mask[0] |= 1
    deadline = table.column("time").to_numpy() + window
    return table.append_column("mask", pa.array(mask)).append_column("deadline", pa.array(deadline))


def spec(
    pattern: EventPattern, predicates: tuple[Predicate, ...], engine: Engine, negation: Negation
) -> EventPatternSpec:
    """The clause as an engine reads it."""
    return EventPatternSpec(
        variables=tuple(element.variable for element in elements(pattern)),
        pattern=pattern,
        masks=("mask",),
        rank="rank",
        outputs=(Output("start", FirstEvent("rank")),),
        schema="",
        predicates=predicates,
        within=WithinTime("time", "deadline"),
        engine=engine,
        negation=negation,
    )


def measured(clause: EventPatternSpec, table: pa.Table, limit: int) -> Run:
    """The fastest of some runs; its memory is the growth of the process's peak in the first."""
    first = _measured(clause, table, limit)
    seconds, spent = first.seconds, first.seconds
    while spent < REPEATED:
        again = _measured(clause, table, limit).seconds
        seconds, spent = min(seconds, again), spent + again
    return replace(first, seconds=seconds)


def _measured(clause: EventPatternSpec, table: pa.Table, limit: int) -> Run:
    plan, counters = compile(clause), Counters()
    gc.collect()
    before = _peak_memory(reset=True)
    start = process_time()
    matches: int | None = 0
    try:
        for part in plan.run(table, max_partial_matches=limit, counters=counters):
            matches = (matches or 0) + part.num_rows
    except CepLimitError:
        matches = None
    return Run(matches, process_time() - start, _peak_memory() - before, counters)


def _peak_memory(*, reset: bool = False) -> float:
    """MB of resident memory at most so far (0 where the system does not tell)."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    return float(status.split("VmHWM:")[1].split()[0]) / 1024


ENGINES: tuple[Engine, ...] = ("eager", "chain", "auto", "tree", "stack")


def compare(title: str, clauses: dict[str, EventPatternSpec], table: pa.Table, limit: int) -> None:
    """One line per engine; the first is the baseline."""
    found = {name: measured(clause, table, limit) for name, clause in clauses.items()}
    counts = {one.matches for one in found.values() if one.matches is not None}
    assert len(counts) <= 1, f"engines disagree: {found}"
    base = next(iter(found.values()))
    for name, one in found.items():
        sign, more = ("<", ">=") if one.matches is None else (" ", ">=" if base.matches is None else "")
        print(
            f"{title:22} {name:6} {'-' if one.matches is None else one.matches:>9} "
            f"{sign}{table.num_rows / one.seconds / 1000:>9.1f} {one.memory:>7.0f} {one.counters.predicates:>12,} "
            f"{one.counters.partial_matches:>12,} {one.counters.peak:>9,}   "
            f"{more}{base.seconds / one.seconds:.1f}x time, "
            f"{more}{base.counters.predicates / max(one.counters.predicates, 1):.1f}x predicates, "
            f"{more}{base.counters.partial_matches / max(one.counters.partial_matches, 1):.1f}x partial",
            flush=True,
        )


def header(title: str) -> None:
    """The columns of ``compare``."""
    print(f"\n{title}")
    print(
        f"{'':22} {'engine':6} {'matches':>9} {'ke/s':>10} {'memory':>7} {'predicates':>12} {'partial':>12} {'peak':>9}"
    )


def windows(lengths: dict[int, int], threshold: float, limit: int) -> None:
    """Figures 10-16 and 19. ``lengths``: minutes of a window, and how many events to read with it."""
    sizes = ", ".join(f"{minutes} min: {events:,} events" for minutes, events in lengths.items())
    header(f"windows (figures 10-16, 19); {sizes}")
    streams = {events: stocks(events, REGIONS, threshold) for events in set(lengths.values())}
    for workload in workloads():
        predicates = correlated(workload.pattern, threshold)
        for length, events in lengths.items():
            kind, table = streams[events]
            rows = prepared(workload.pattern, kind, REGIONS, table, int(60 * length * workload.scale))
            clauses = {e: spec(workload.pattern, predicates, e, workload.negation) for e in ENGINES}
            compare(f"{workload.name} {length * workload.scale:g} min", clauses, rows, limit)


def ratios(sizes: dict[int, int], threshold: float, limit: int) -> None:
    """Figure 17: windows of 20 minutes. ``sizes``: ratios, and how many events to read with each."""
    header("ratio of the rarest to the most frequent type (figure 17), 20 min")
    patterns: dict[str, EventPattern] = {"SEQ3": seq("X", "Y", "Z"), "AND3": And((one("X"), one("Y"), one("Z")))}
    patterns["NOT-SEQ3"] = Seq((one("X"), Not(one("Y")), one("Z")))
    for name, pattern in patterns.items():
        for ratio, events in sizes.items():
            rates = {"X": float(ratio), "Y": ratio**0.5, "Z": 1.0, "OTHER": float(ratio)}
            kind, table = stocks(events, rates, threshold)
            rows = prepared(pattern, kind, rates, table, 20 * 60)
            clauses = {e: spec(pattern, correlated(pattern, threshold), e, "auto") for e in ENGINES[:3]}
            compare(f"{name} 1:{ratio}", clauses, rows, limit)


def rates_that_change(block: int, blocks: int, limit: int) -> None:
    """Figure 18: SEQ3 of X, Y, Z; every ``block`` events another of them is 100 times rarer than the others."""
    header(f"rarest type changes every {block:,} events (figure 18)")
    random = np.random.default_rng(2)
    rates = {"X": 1.0, "Y": 1.0, "Z": 1.0}
    kinds = []
    for at in range(blocks):
        weights = np.where(np.arange(3) == at % 3, 1.0, 100.0)
        kinds.append(random.choice(3, size=block, p=weights / weights.sum()))
    kind = np.concatenate(kinds)
    count = len(kind)
    table = pa.table({"time": np.arange(count), "rank": np.arange(1, count + 1), "x": random.integers(0, 1000, count)})
    table = table.append_column("y", pa.array(table.column("x").to_numpy() + 50))
    pattern = seq("X", "Y", "Z")
    rows = prepared(pattern, kind, rates, table, 300)
    close = [
        Predicate(Call(operator, (ColumnOf(x, "x"), ColumnOf(y, column))), f"{x}, {y}")
        for x, y in (("x", "y"), ("y", "z"))
        for operator, column in (("gt", "x"), ("lt", "y"))
    ]
    clauses = {engine: spec(pattern, tuple(close), engine, "auto") for engine in ENGINES}
    found = {name: measured(clause, rows, limit) for name, clause in clauses.items()}
    assert len({one.matches for one in found.values()} - {None}) == 1
    tree = found["tree"]
    for name, one in found.items():
        work = _computations(one)
        print(
            f"{'SEQ3':22} {name:6} {'-' if one.matches is None else one.matches:>9} "
            f"{count / one.seconds / 1000:>10.1f} {one.memory:>7.0f} {one.counters.predicates:>12,} "
            f"{one.counters.partial_matches:>12,} {one.counters.peak:>9,}   computations per 10,000 events: "
            f"{work / count * 10_000:,.0f}; tree: {work / _computations(tree):.1f}x fewer, "
            f"{one.seconds / tree.seconds:.1f}x faster",
            flush=True,
        )


def _computations(found: Run) -> int:
    return found.counters.predicates + found.counters.tried.total()


def sanity(events: int, lengths: Sequence[int]) -> None:
    """SEQ of 3 … 9, equal on a key, the last type 100 times rarer, a window of 1000 events."""
    print(f"\nsanity: {events:,} events, 1:100, window of 1000 events, equal on a key of 1000 values")
    base = 0.0
    for length in lengths:
        names = [f"T{i}" for i in range(length)]
        rates = dict.fromkeys(names, 100.0) | {names[-1]: 1.0}
        weights = np.array(list(rates.values()))
        random = np.random.default_rng(1)
        kind = random.choice(length, size=events, p=weights / weights.sum())
        table = pa.table(
            {"time": np.arange(events), "rank": np.arange(1, events + 1), "k": random.integers(0, 1000, events)}
        )
        pattern = seq(*names)
        equal = tuple(
            Predicate(Call("eq", (ColumnOf(x, "k"), ColumnOf(y, "k"))), f"{x}, {y}")
            for x, y in itertools.pairwise(name.lower() for name in names)
        )
        rows = prepared(pattern, kind, rates, table, 1000)
        best = {
            e: min(measured(spec(pattern, equal, e, "auto"), rows, 10**9).seconds for _ in range(5)) for e in ENGINES
        }
        base = base or best["chain"]
        line = ", ".join(f"{name} {events / seconds / 1e6:.1f}" for name, seconds in best.items())
        print(
            f"SEQ{length}: million events/s: {line}; chain {best['chain'] / base:.2f}x the time of SEQ{lengths[0]}",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small streams, two windows, two ratios")
    parser.add_argument("--only", default="windows,ratio,rates,sanity")
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--limit", type=int, default=None, help="pairs that a run may try")
    options = parser.parse_args(arguments)
    quick, wanted = options.quick, options.only.split(",")
    limit = options.limit or (3_000_000 if quick else 100_000_000)
    if "windows" in wanted:
        windows(QUICK_WINDOWS if quick else WINDOWS, options.threshold, limit)
    if "ratio" in wanted:
        ratios(QUICK_RATIOS if quick else RATIOS, options.threshold, limit)
    if "rates" in wanted:
        rates_that_change(20_000 if quick else 100_000, 3 if quick else 6, 10**9)
    if "sanity" in wanted:
        sanity(200_000 if quick else 1_000_000, (3, 9) if quick else (3, 5, 7, 9))


if __name__ == "__main__":
    main()

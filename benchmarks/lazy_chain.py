"""Lazy Chain NFA against eager order, engine only: the shape of the lazy paper's figures 10-19 (section 8).

A synthetic stream: the first types of a pattern are frequent, its last one is rare (``--ratios``: 1:3 … 1:700); each
event has a value x, and neighbours in the pattern are compared on it. ``eager`` binds the variables in pattern order (as
events arrive), ``chain`` in ascending frequency, ``auto`` by measured cost; all three give the same matches (checked).

    python benchmarks/lazy_chain.py [--events 200000] [--ratios 3,30,300,700] [--limit 200000000]

Prints per pattern and ratio: matches, thousands of events per second, and how many times faster than eager.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa

from sparkcep.engines.event_pattern.engine import compile, run
from sparkcep.errors import CepLimitError
from sparkcep.pattern.event import And, Element, EventPattern, Not, Seq
from sparkcep.spec.event import Engine, EventPatternSpec, FirstEvent, Output, Predicate, WithinEvents
from sparkcep.spec.expression import Call, ColumnOf, ElementOf, Expression

WINDOW = 60
ENGINES: tuple[Engine, ...] = ("eager", "chain", "auto")


@dataclass(frozen=True, slots=True)
class Workload:
    """A pattern; ``compared``: pairs of terms, the first less than the second. The last variable is rare."""

    name: str
    pattern: EventPattern
    compared: tuple[tuple[Expression, Expression], ...]
    variables: tuple[str, ...]
    window: int = WINDOW


def workloads() -> list[Workload]:
    """SEQ3-5, AND3, NOT and ITER3, as in the paper; the last positive variable is rare."""
    names = "abcde"
    one = {name: Element(name, (name.upper(),)) for name in names}
    below = {x + y: (ColumnOf(x, "x"), ColumnOf(y, "x")) for x in names for y in names}
    found = [
        Workload(
            f"SEQ{n}",
            Seq(tuple(one[name] for name in names[:n])),
            tuple(below[names[i : i + 2]] for i in range(n - 1)),
            tuple(names[:n]),
        )
        for n in (3, 4, 5)
    ]
    found.append(Workload("AND3", And((one["a"], one["b"], one["c"])), (below["ab"], below["bc"]), ("a", "b", "c")))
    negated = Seq((one["a"], Not(one["d"]), one["b"], one["c"]))
    found.append(Workload("NOT4", negated, (below["ab"], below["bc"]), ("a", "d", "b", "c")))
    iterated = Seq((one["a"], Element("b", ("B",), 1, None), one["c"]))
    rising = (ElementOf("b", "x", "previous"), ElementOf("b", "x"))
    found.append(Workload("ITER3", iterated, (rising, below["ac"]), ("a", "b", "c"), WINDOW // 3))
    return found


def spec(workload: Workload, engine: Engine) -> EventPatternSpec:
    """The workload as an engine reads it."""
    return EventPatternSpec(
        variables=workload.variables,
        pattern=workload.pattern,
        masks=("mask",),
        rank="rank",
        outputs=(Output("start", FirstEvent("rank")),),
        schema="",
        predicates=tuple(Predicate(Call("lt", pair), f"{pair[0]} < {pair[1]}") for pair in workload.compared),
        within=WithinEvents(workload.window),
        engine=engine,
    )


def stream(workload: Workload, events: int, ratio: int) -> pa.Table:
    """Types at random: all but the last variable's equally frequent, that one ``ratio`` times rarer; x in 0 … 999."""
    random = np.random.default_rng(1)
    kinds = len(workload.variables)
    weights = np.array([float(ratio)] * (kinds - 1) + [1.0])
    kind = random.choice(kinds, size=events, p=weights / weights.sum())
    masks = np.left_shift(1, kind + 1)
    masks[0] |= 1
    return pa.table({"mask": masks, "rank": np.arange(1, events + 1), "x": random.integers(0, 1000, events)})


def measured(workload: Workload, engine: Engine, table: pa.Table, limit: int) -> tuple[int | None, float]:
    """Matches (None: the limit was passed) and seconds."""
    plan = compile(spec(workload, engine))
    start = perf_counter()
    try:
        matches = sum(part.num_rows for part in run(plan, table, max_partial_matches=limit))
    except CepLimitError:
        return None, perf_counter() - start
    return matches, perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line a pattern and ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--ratios", default="3,30,300,700")
    parser.add_argument("--limit", type=int, default=200_000_000)
    options = parser.parse_args(arguments)
    print(
        f"{'pattern':8} {'ratio':>6} {'matches':>9} "
        + " ".join(f"{name + ' ke/s':>12}" for name in ENGINES)
        + "   speed-up"
    )
    for workload in workloads():
        for ratio in map(int, options.ratios.split(",")):
            table = stream(workload, options.events, ratio)
            found = {engine: measured(workload, engine, table, options.limit) for engine in ENGINES}
            counts = {count for count, _ in found.values() if count is not None}
            assert len(counts) <= 1, f"engines disagree: {found}"
            rates = [options.events / seconds / 1000 for _, seconds in found.values()]
            bounds = ["<" if count is None else " " for count, _ in found.values()]
            cells = " ".join(f"{bound + format(rate, '.1f'):>12}" for bound, rate in zip(bounds, rates, strict=True))
            more = ">=" if found["eager"][0] is None else ""
            matches = next(iter(counts), None)
            print(
                f"{workload.name:8} {'1:' + str(ratio):>6} {'-' if matches is None else matches:>9} {cells}"
                f"   chain {more}{rates[1] / rates[0]:.1f}x, auto {more}{rates[2] / rates[0]:.1f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()

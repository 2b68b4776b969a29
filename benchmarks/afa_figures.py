"""MATCH AUTOMATON, engine only, one core, on the AFA paper's synthetic stock ticks (section 6.1): figures 8, 16 and 17, and the cost of registers.

Stream: a price that rises with probability p and falls otherwise, by a normal magnitude of 0.70 +- 0.30 (cut off at 0.01).
Time is the event's number.

* ``queries``: Q1 (a drop of more than delta, then k V-patterns with as many upticks as downticks; k = 2, p = 0.5, delta = 0.25, 2000 events) and Q2
  (V-patterns until the price is what it was before the drop; p = 0.7 and 0.5, 500 events).
* ``two_state`` (figure 8): Q1 against the constrained automaton of section 3, whose only loop keeps the state in a register.
* ``ignorable`` (figures 16, 17): Q1 (k = 1, delta = 0, 500 events) where 0 … 90 % of the events are ignored: events/s, and the most runs alive.
* ``registers``: Q2 with 0 … 8 further registers that every arc changes.
* ``indexed``: some of them with the paper's data structure (section 5.1, appendix C) in the place of the engine's: see ``afa_indexed``.

``held``: the most runs alive at one time in the first 100,000 events; of ``indexed``, the most nodes.

    python benchmarks/afa_figures.py [--quick] [--only queries,two_state,ignorable,registers,indexed]

First 1,500 events of each case are compared with the reference matcher. Times are the best of three runs, in processor seconds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
from afa_indexed import indexed

from sparkcep.engines.automaton import run_kernels
from sparkcep.engines.automaton.codes import P_PEAK
from sparkcep.engines.automaton.engine import compile
from sparkcep.spec.automaton import (
    Arc,
    Assignment,
    AutomatonSpec,
    EventValue,
    FinalState,
    Output,
    Register,
    RegisterValue,
    Value,
)
from sparkcep.spec.event import FirstEvent, LastEvent, WithinTime
from sparkcep.spec.expression import Call, Constant
from tests.reference import automaton as reference

UP, DOWN, DROP, NOISE, QUIET = range(5)
BITS = ("up = 1", "down = 1", "fall = 1", "noise = 1", "noise = 0")
CHECKED = 1_500


@dataclass(frozen=True)
class Case:
    """An automaton as the reference writes it; ``p``, ``delta``, ``ignored``: its stream."""

    name: str
    arcs: tuple[str, ...]
    registers: str
    within: int
    p: float
    delta: float
    ignored: float = 0.0
    start: str = "q0"
    final: str = "q3"


def q1(k: int, noise: bool = False) -> tuple[str, ...]:
    """Figure 3."""
    arcs = (
        "q0 -> q1 WHEN fall = 1",
        "q1 -> q1 WHEN down = 1 SET r1 = r1 + 1",
        "q1 -> q2 WHEN down = 1 SET r1 = r1 + 1",
        "q2 -> q2 WHEN up = 1 SET r1 = r1 - 1",
        f"q2 -> q1 WHEN up = 1 AND r2 < {k - 1} SET r1 = r1 - 1, r2 = r2 + 1",
        f"q2 -> q3 WHEN up = 1 AND r1 = 1 AND r2 = {k - 1} SET r1 = r1 - 1, r2 = r2 + 1",
    )
    return (*arcs, "q1 -> q1 WHEN noise = 1", "q2 -> q2 WHEN noise = 1") if noise else arcs


def two_state(k: int) -> tuple[str, ...]:
    """The same with its state in a register."""
    found = ["q0 -> c WHEN fall = 1 SET st = 1"]
    for arc in q1(k)[1:]:
        source, target = int(arc[1]), int(arc[7])
        event, sets = arc[arc.index("WHEN") + 5 :].split(" SET ")
        found.append(f"c -> {'q3' if target == 3 else 'c'} WHEN {event} AND st = {source} SET {sets}, st = {target}")
    return tuple(found)


def q2(extra: int = 0) -> tuple[str, ...]:
    """Until the price is what it was before the drop; ``extra`` registers that each arc changes."""
    more = "".join(f", x{i} = x{i} + 1" for i in range(extra))
    alone = more.replace(", ", " SET ", 1)
    return (
        f"q0 -> q1 WHEN fall = 1 SET p = before{more}",
        f"q1 -> q1 WHEN down = 1{alone}",
        f"q1 -> q2 WHEN up = 1 AND price < p{alone}",
        f"q2 -> q2 WHEN up = 1 AND price < p{alone}",
        f"q2 -> q1 WHEN down = 1 SET n = n + 1{more}",
        f"q1 -> q3 WHEN up = 1 AND price >= p SET n = n + 1{more}",
        f"q2 -> q3 WHEN up = 1 AND price >= p SET n = n + 1{more}",
    )


def cases() -> dict[str, list[Case]]:
    """All of them, by section."""
    counters, price = "r1 INT DEFAULT 0, r2 INT DEFAULT 0", "p DOUBLE, n INT DEFAULT 0"
    paper = Case("Q1, k = 2", q1(2), counters, 2000, 0.5, 0.25)
    extras = [", ".join([price, *(f"x{i} INT DEFAULT 0" for i in range(n))]) for n in range(9)]
    return {
        "queries": [
            paper,
            Case("Q2, p = 0.7", q2(), price, 500, 0.7, 0.25),
            Case("Q2, p = 0.5", q2(), price, 500, 0.5, 0.25),
        ],
        "two_state": [paper, Case("two states", two_state(2), f"{counters}, st INT DEFAULT 0", 2000, 0.5, 0.25)],
        "ignorable": [
            Case(f"{share:.0%} ignored", q1(1, True), counters, 500, 0.5, 0.0, share)
            for share in (0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
        ],
        "indexed": [
            Case("Q1, k = 2", q1(2), counters, 2000, 0.5, 0.25),
            Case("Q2, p = 0.7", q2(), price, 500, 0.7, 0.25),
            Case("Q2, p = 0.5", q2(), price, 500, 0.5, 0.25),
            *(Case(f"{share:.0%} ignored", q1(1, True), counters, 500, 0.5, 0.0, share) for share in (0, 0.5, 0.9)),
        ],
        "registers": [Case(f"{n} more registers", q2(n), extras[n], 500, 0.7, 0.25) for n in (0, 1, 2, 4, 8)],
    }


def stream(case: Case, size: int) -> dict[str, np.ndarray]:
    """Columns of ``size`` ticks."""
    rng = np.random.default_rng(1)
    up, magnitude = rng.random(size) < case.p, np.clip(rng.normal(0.70, 0.30, size), 0.01, None)
    noise = rng.random(size) < case.ignored
    price = np.round(100 + np.cumsum(np.where(noise, 0, np.where(up, magnitude, -magnitude))), 6)
    fall = ~up & (magnitude > case.delta) & ~noise
    return {
        "ts": np.arange(size),
        "up": up & ~noise,
        "down": ~up & ~noise,
        "fall": fall,
        "noise": noise,
        "price": price,
        "before": np.concatenate([[100.0], price[:-1]]),
    }


def table(case: Case, columns: dict[str, np.ndarray]) -> pa.Table:
    """The events as the driver sends them: what looks at an event alone is a bit."""
    names = ("up", "down", "fall", "noise")
    masks = sum(columns[name].astype(np.int64) << (1 + bit) for bit, name in enumerate(names))
    masks[0] |= 1
    rows = np.arange(len(masks))
    own = {"row": rows, "ts": columns["ts"], "deadline": columns["ts"] + case.within, "mask": masks}
    return pa.table(own | {name: columns[name] for name in ("price", "before")})


def spec(case: Case) -> AutomatonSpec:
    """The MatchSpec."""
    arcs = tuple(reference.arc(text) for text in case.arcs)
    registers = reference.registers(case.registers)
    kinds = {part.split()[0]: part.split()[1].lower() for part in case.registers.split(",")}
    states = dict.fromkeys([case.start, *(state for arc in arcs for state in (arc.source, arc.target))])
    outputs = [Output("first", FirstEvent("row")), Output("last", LastEvent("row")), Output("state", FinalState())]
    return AutomatonSpec(
        states=tuple(states),
        finals=(case.final,),
        arcs=tuple(_arc(arc, i) for i, arc in enumerate(arcs)),
        masks=("mask",),
        outputs=(*outputs, *(Output(name, RegisterValue(name)) for name in registers)),
        schema="{}",
        registers=tuple(
            Register(name, kinds[name], None if value is None else Constant(value, kinds[name]))
            for name, value in registers.items()
        ),
        within=WithinTime("ts", "deadline"),
    )


def _arc(arc: reference.Arc, number: int) -> Arc:
    parts: list[Any] = []
    if arc.when is not None:
        parts = list(arc.when.arguments) if arc.when.name == "AND" else [arc.when]  # type: ignore[union-attr]
    bits = [("up", "down", "fall", "noise").index(part.arguments[0].attribute) for part in parts if _is_bit(part)]
    tests = [_value(part) for part in parts if not _is_bit(part)]
    condition = tests[0] if len(tests) == 1 else Call("and", tuple(tests)) if tests else None
    sets = tuple(Assignment(name, _value(value)) for name, value in arc.sets)
    return Arc(f"a{number}", arc.source, arc.target, "event", bits[0] if bits else None, condition, sets)


def _is_bit(part: Any) -> bool:
    return part.arguments[0].attribute in ("up", "down", "fall", "noise")


def _value(node: Any) -> Value:
    if hasattr(node, "value"):
        return Constant(node.value, "int")
    if hasattr(node, "attribute"):
        return EventValue(node.attribute) if node.attribute in ("price", "before") else RegisterValue(node.attribute)
    names = {"+": "add", "-": "sub", "<": "lt", ">=": "ge", "=": "eq"}
    return Call(names[node.name], tuple(_value(argument) for argument in node.arguments))  # type: ignore[arg-type]


def check(case: Case) -> None:
    """The engine's matches in a short stream are the reference's."""
    columns = stream(case, CHECKED)
    events = [{name: column[i].item() for name, column in columns.items()} for i in range(CHECKED)]
    automaton = reference.Automaton(
        case.start,
        (case.final,),
        tuple(reference.arc(text) for text in case.arcs),
        reference.registers(case.registers),
        min(case.within, 60),
    )
    expected = reference.match_automaton(automaton, events)
    short = Case(case.name, case.arcs, case.registers, min(case.within, 60), case.p, case.delta, case.ignored)
    found = [
        (line[0], line[1], line[2], tuple(line[3:]))
        for part in compile(spec(short)).run(table(short, columns))
        for line in zip(*(column.to_pylist() for column in part.columns), strict=True)
    ]
    assert set(found) == expected and len(found) == len(expected), (
        f"{case.name}: {len(found)} matches, {len(expected)} expected"
    )


def held(case: Case, size: int) -> int:
    """The most runs alive at one time."""
    engine, most, advance = compile(spec(case)), 0, run_kernels.advance

    def watched(given: Any, *rest: Any) -> Any:
        nonlocal most
        status = advance(given, *rest)
        most = max(most, int(given.position[P_PEAK]))
        return status

    with mock.patch.object(run_kernels, "advance", watched):
        for _ in engine.run(table(case, stream(case, size))):
            pass
    return most


def measured_index(case: Case, size: int) -> tuple[float, int]:
    """Events per second, and matches, of the paper's data structure."""
    events, engine, best = table(case, stream(case, size)), compile(spec(case)), 1e9
    with indexed() as matches:
        for _ in range(3):
            began = process_time()
            assert not list(engine.run(events))
            best = min(best, process_time() - began)
    assert matches[-1] == sum(part.num_rows for part in engine.run(events))
    return size / best, matches[-1]


def measured(case: Case, size: int) -> Iterator[Any]:
    """Events per second, matches, arcs taken per event."""
    events, engine = table(case, stream(case, size)), compile(spec(case))
    best, matches = 1e9, 0
    for _ in range(3):
        began = process_time()
        matches = sum(part.num_rows for part in engine.run(events))
        best = min(best, process_time() - began)
    counts = engine.analyze(events.slice(0, min(size, 100_000))).found
    taken = sum(number or 0 for (section, _), (_, _, number) in counts.items() if section == "arc")
    yield from (size / best, matches, taken / min(size, 100_000))


def main() -> None:
    """The tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the stream")
    parser.add_argument("--only", default="queries,two_state,ignorable,registers,indexed")
    options = parser.parse_args()
    size = 100_000 if options.quick else 1_000_000
    for section, found in cases().items():
        if section not in options.only.split(","):
            continue
        print(f"{section}\n{'':20} {'events/s':>12} {'matches':>10} {'arcs/event':>11} {'held':>8} {'ratio':>6}")
        first = None
        for case in found:
            check(case)
            if section == "indexed":
                rate, matches = measured_index(case, size)
                with indexed():
                    most = held(case, min(size, 100_000))
                taken = float("nan")
            else:
                rate, matches, taken = measured(case, size)
                most = held(case, min(size, 100_000))
            first = first or rate
            print(f"{case.name:20} {rate:12,.0f} {matches:10,} {taken:11.2f} {most:8,} {rate / first:6.2f}", flush=True)


if __name__ == "__main__":
    main()

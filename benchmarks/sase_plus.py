"""SASE+, section 6, regenerated: Table 2 and figures 8(a) to 8(g), engine only, one core.

The stream and the query template are the paper's: two symbols, prices that rise with probability 0.7 (experiments 1 to 4)
or 0.55 (5 and 6), ``SEQ(stock+ a[], stock b)`` with ``[symbol]``, ``a[1].price % 500 = 0``, P on a[i], ``b.volume < 150``, WITHIN W
EVENTS; 200 W events a symbol. p1: true; p2: a[i].price > a[i-1].price; p3: a[i].price > MIN(a[..i-1].price); p3*: p3 with a
third component, c.price between a[1].price and a[a.LEN].price. s2: PARTITION CONTIGUITY, s3: SKIP TILL NEXT MATCH.

    python benchmarks/sase_plus.py [--quick] [--repeats 3] [--only table2,a,b,c,d,e,f,g,targets]

Throughputs are thousands of events per second: of matching alone (runs and shared buffer), of COMPRESSED MATCHES (a table of buffers)
and of ALL MATCHES (a table of matches, every event a STRUCT of four columns). The algorithms' counts are checked to be equal.
Seconds are those of the process on its one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow.compute as pc

from sparkcep.engines.nfa_b import engine
from sparkcep.engines.nfa_b.evaluation import searches
from sparkcep.engines.nfa_b.search import Counters
from sparkcep.pattern.event import Element, Seq
from sparkcep.spec.event import Engine, EventPatternSpec, EventStruct, MatchOutput, Output, Predicate, Strategy
from sparkcep.spec.expression import Call, ColumnOf, ElementOf
from tests.engines.nfa_b.trades import FIELDS, Name, spec, table

WINDOWS = (500, 1000, 1500, 2000)
STRATEGIES: dict[str, Strategy] = {"s2": "partition_contiguity", "s3": "next"}
PREDICATES: dict[str, Name] = {"p1": "p1", "p2": "p2", "p3": "p3", "p3*": "p3"}
QUERIES = ("p1s2", "p1s3", "p2s2", "p2s3", "p3s2", "p3s3")
EARLY, LATE = 0.7, 0.55


@dataclass(frozen=True, slots=True)
class Measured:
    """Best of some runs: seconds, rows, events in them; what the search did."""

    seconds: float
    rows: int
    elements: int
    counters: Counters | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """``size``: W's of events a symbol; ``repeats``: runs, of which the best counts."""

    size: int
    repeats: int

    def events(self, window: int) -> int:
        """The length of the stream."""
        return 2 * self.size * window

    def measure(
        self, query: str, window: int, rising: float, way: Engine = "basic", matches: MatchOutput | None = "all"
    ) -> Measured:
        """One query; ``matches`` None: runs and buffer only."""
        compiled = engine.compile(clause(query, window, way, matches or "all"))
        data = table(self.events(window), rising)
        run: Callable[[], Measured] = lambda: self._run(compiled, data) if matches else self._search(compiled, data)  # noqa: E731
        return min((run() for _ in range(self.repeats)), key=lambda one: one.seconds)

    def _run(self, compiled: engine.NfaEngine, data: object) -> Measured:
        started, rows, elements, counted = process_time(), 0, 0, 0.0
        for part in compiled.run(data):
            pause = process_time()
            rows += part.num_rows
            closures = part.column(0)
            if part.column_names[0] == "a":
                elements += pc.sum(pc.list_value_length(closures)).as_py() + part.num_rows * (part.num_columns - 1)
            counted += process_time() - pause
        return Measured(process_time() - started - counted, rows, elements)

    def _search(self, compiled: engine.NfaEngine, data: object) -> Measured:
        started = process_time()
        (search,) = searches(compiled.plan, data)
        ends = sum(part.count for part in search.ends())
        return Measured(process_time() - started, ends, 0, search.counters)

    def speed(self, measured: Measured, window: int) -> float:
        """Thousands of events per second."""
        return self.events(window) / measured.seconds / 1e3


@cache
def clause(query: str, window: int, way: Engine, matches: MatchOutput) -> EventPatternSpec:
    """``p1s2`` … ``p3*s3`` as a MatchSpec."""
    name, strategy = query[:-2], STRATEGIES[query[-2:]]
    found = spec(PREDICATES[name], strategy, matches=matches, engine=way, within=window)
    if name != "p3*":
        return found
    price, between = ColumnOf("c", "price"), "c.price between a[1].price and a[a.LEN].price"
    bounds = (
        Predicate(Call("gt", (price, ElementOf("a", "price", "first"))), between),
        Predicate(Call("lt", (price, ElementOf("a", "price", "last"))), between),
    )
    assert isinstance(found.pattern, Seq)
    return replace(
        found,
        variables=("a", "b", "c"),
        masks=("mask3",),
        pattern=Seq((*found.pattern.items, Element("c", ("stock",)))),
        predicates=(*found.predicates, *bounds),
        outputs=(*found.outputs, Output("c", EventStruct("c", FIELDS))),
    )


def table_2(bench: Bench) -> None:
    """Match length, runs per time step, and how the cost is divided (experiment 1), with figure 8(a)."""
    print(
        "Table 2 and figure 8(a): basic, W = 500, p = 0.7 (the paper: lengths 250 250 4.5 140 250 250, runs 2 2 0.01 2 2 2)"
    )
    print(
        f"{'query':8}{'matches':>9}{'length':>8}{'runs/step':>11}{'matching %':>12}{'construction %':>16}{'k events/s':>12}"
    )
    for query in QUERIES:
        every, search = bench.measure(query, 500, EARLY), bench.measure(query, 500, EARLY, matches=None)
        assert search.counters is not None
        length = (every.elements - every.rows) / max(every.rows, 1)
        share = min(search.seconds / every.seconds, 1.0) * 100
        runs = search.counters.steps / bench.events(500)
        cost = f"{share:12.0f}{100 - share:16.0f}"
        print(f"{query:8}{every.rows:9}{length:8.1f}{runs:11.2f}{cost}{bench.speed(every, 500):12.0f}")


def windows(bench: Bench) -> None:
    """Figures 8(b) and 8(c): throughput and cost against the query output complexity, W from 500 to 2000."""
    print("Figures 8(b), 8(c): basic, ALL MATCHES, p = 0.7; output: events of matches for W events of the stream")
    print(f"{'query':8}{'W':>6}{'k events/s':>12}{'output':>12}{'ms for W events':>17}{'ns an output event':>20}")
    for query in QUERIES[1:]:
        for window in WINDOWS:
            every = bench.measure(query, window, EARLY)
            share = window / bench.events(window)
            output, cost = every.elements * share, every.seconds * share
            unit = f"{every.seconds / every.elements * 1e9:20.1f}" if every.elements else f"{'-':>20}"
            print(f"{query:8}{window:6}{bench.speed(every, window):12.0f}{output:12.0f}{cost * 1e3:17.3f}{unit}")


def backtracking(bench: Bench) -> None:
    """Figures 8(d), 8(e): the basic algorithm against backtrack."""
    print("Figures 8(d), 8(e): basic against backtrack, W = 500, p = 0.7")
    print(f"{'query':8}{'output':>17}{'matches':>9}{'basic k/s':>11}{'backtrack k/s':>15}{'gain':>7}")
    outputs: tuple[tuple[MatchOutput, tuple[str, ...]], ...] = (
        ("all", QUERIES[1:]),
        ("non_overlapping", ("p3s2", "p3s3", "p3*s2", "p3*s3")),
    )
    for matches, queries in outputs:
        for query in queries:
            basic, other = (bench.measure(query, 500, EARLY, way, matches) for way in ("basic", "backtrack"))
            assert (basic.rows, basic.elements) == (other.rows, other.elements), query
            speeds = f"{bench.speed(basic, 500):11.0f}{bench.speed(other, 500):15.0f}"
            print(f"{query:8}{matches:>17}{basic.rows:9}{speeds}{other.seconds / basic.seconds:7.2f}")


def merging(bench: Bench) -> None:
    """Figures 8(f), 8(g): merging against basic; gains in steps, matching, COMPRESSED and ALL MATCHES."""
    print("Figures 8(f), 8(g): merging against basic, p = 0.55 (the paper: 1.4 to 2.1)")
    print(
        f"{'query':8}{'W':>6}{'basic k/s':>11}{'merging k/s':>13}{'steps':>8}{'matching':>10}{'compressed':>12}{'all':>6}"
    )
    rows = [(query, 500) for query in QUERIES[1:]]
    rows += [(query, window) for query in ("p1s3", "p2s3", "p3s3") for window in WINDOWS[1:]]
    for query, window in rows:
        ways: tuple[Engine, Engine] = ("basic", "auto")
        search = [bench.measure(query, window, LATE, way, None) for way in ways]
        outputs: tuple[MatchOutput, MatchOutput] = ("compressed", "all")
        gains = []
        for matches in outputs:
            basic, merged = (bench.measure(query, window, LATE, way, matches) for way in ways)
            assert (basic.rows, basic.elements) == (merged.rows, merged.elements), query
            gains.append(basic.seconds / merged.seconds)
        steps = [one.counters.steps for one in search if one.counters is not None]
        speeds = f"{bench.speed(search[0], window):11.0f}{bench.speed(search[1], window):13.0f}"
        gain = f"{steps[0] / max(steps[1], 1):8.2f}{search[0].seconds / search[1].seconds:10.2f}{gains[0]:12.2f}{gains[1]:6.2f}"
        print(f"{query:8}{window:6}{speeds}{gain}")


def targets(bench: Bench) -> None:
    """The engine as a session runs it, W = 500, NEXT."""
    print("Targets: W = 500, NEXT, p = 0.7: 1,000 k events/s with COMPRESSED MATCHES, 300 with ALL MATCHES")
    print(f"{'query':8}{'matching':>10}{'compressed':>12}{'all':>8}")
    for query in ("p1s3", "p2s3", "p3s3"):
        kinds: tuple[MatchOutput | None, ...] = (None, "compressed", "all")
        speeds = [bench.speed(bench.measure(query, 500, EARLY, "auto", matches), 500) for matches in kinds]
        print(f"{query:8}{speeds[0]:10.0f}{speeds[1]:12.0f}{speeds[2]:8.0f}")


PARTS: dict[str, Callable[[Bench], None]] = {
    "table2": table_2,
    "b": windows,
    "d": backtracking,
    "f": merging,
    "targets": targets,
}
SAME = {"a": "table2", "c": "b", "e": "d", "g": "f"}


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the stream, one run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    options = parser.parse_args()
    bench = Bench(20, 1) if options.quick else Bench(200, options.repeats)
    wanted = {SAME.get(name, name) for name in options.only.split(",")}
    for name, part in PARTS.items():
        if name in wanted:
            part(bench)
            print()


if __name__ == "__main__":
    main()

"""SASE's experiments (section 5), and the same questions asked of Spark as self-joins.

Stream (the paper's Table 1): 20 event types and attributes with V values each, all uniform; time is the position.

* ``stacks`` (figures 8, 9): sequence construction from active instance stacks against the Basic algorithm, which searches
  the run-time stack event by event back to the start of the window. As in the paper no predicate is evaluated; a larger
  domain V of the equivalence attribute is simulated by more event types, 20 · V^((L-1)/L). Basic runs in the same engine:
  its one stack holds all events, and the type is tested as construction scans it.
* ``pushdown`` (section 5.3, figure 10): the equivalence tests pushed into scan and construction (PAIS, dynamic filtering)
  against their evaluation in a selection behind construction, in the same engine.
* ``joins`` (figures 11, 12): length 2-6 and domains of 10 … 10,000: MATCH PATTERN in Spark SQL (each engine) against
  self-joins with range binning, as an expert writes them: events are cut into bins as long as the window, an event meets
  those of its own and of the next bin by an equality join (on the attribute too), and the join's condition does the rest.
  Then the same with a range predicate between neighbours instead of the equality.
  Both are whole Spark jobs on ``local[2]`` that write to Spark's noop sink; the counts are compared first. Where DuckDB is
  installed (``pip install duckdb``) it answers the same self-joins, with two threads, from a table in memory into one.

    python benchmarks/sase_figures.py [--quick] [--only stacks,pushdown,joins] [--repetitions N]
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import NamedTemporaryFile
from threading import Timer
from time import perf_counter
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scan import take_turns

from sparkcep.engines.event_pattern.budget import Counters
from sparkcep.engines.event_pattern.candidates import ranges
from sparkcep.engines.event_pattern.engine import compile
from sparkcep.pattern.event import Element, Seq
from sparkcep.spec.event import EventPatternSpec, EventStruct, Output, Predicate, WithinEvents
from sparkcep.spec.expression import Call, ColumnOf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = 20
NAMES = "abcdef"


def stream(events: int, types: int, domains: Sequence[int], seed: int = 1) -> dict[str, np.ndarray]:
    """``kind`` (0 … types - 1) and ``attr1``, ``attr2``, … of each event."""
    random = np.random.default_rng(seed)
    columns = {"kind": random.integers(0, types, events)}
    return columns | {f"attr{at}": random.integers(0, size, events) for at, size in enumerate(domains, 1)}


def clause(length: int, window: int, equal: Sequence[str], engine: str) -> EventPatternSpec:
    """SEQ(E1, …) [attr] … WITHIN window EVENTS; outputs carry the attributes for a selection behind it."""
    names = NAMES[:length]
    return EventPatternSpec(
        variables=tuple(names),
        pattern=Seq(tuple(Element(name, (name.upper(),)) for name in names)),
        masks=("mask",),
        rank="rank",
        outputs=tuple(Output(name, EventStruct(name, (("attr1", "attr1"), ("attr2", "attr2")))) for name in names),
        schema="",
        predicates=tuple(
            Predicate(Call("eq", (ColumnOf(x, column), ColumnOf(y, column))), f"{x}.{column} = {y}.{column}")
            for column in equal
            for x, y in itertools.pairwise(names)
        ),
        within=WithinEvents(window),
        engine=engine,  # type: ignore[arg-type]
    )


def table(columns: dict[str, np.ndarray], length: int) -> pa.Table:
    """The engine's input: type i is that of variable i."""
    kind = columns["kind"]
    mask = np.where(kind < length, np.left_shift(1, np.minimum(kind, length) + 1), 0)
    mask[0] |= 1
    attributes = {"attr1": columns["attr1"], "attr2": columns.get("attr2", columns["attr1"])}
    return pa.table({"mask": mask, "rank": np.arange(1, len(kind) + 1), **attributes})


def seconds(work: Callable[[], Any], repetitions: int) -> tuple[Any, float]:
    """The result and the least time."""
    best, result = float("inf"), None
    for _ in range(repetitions):
        start = perf_counter()
        result = work()
        best = min(best, perf_counter() - start)
    return result, best


def basic(length: int, window: int) -> EventPatternSpec:
    """SASE's Basic: each event of the last type searches the run-time stack, which holds events of all types."""
    spec = clause(length, window, (), "stack")
    names = spec.variables
    last = names[-1]
    types = [
        Predicate(Call(operator, (ColumnOf(name, "kind"), ColumnOf(last, f"kind {at}"))), f"{name} is of type {at}")
        for at, name in enumerate(names[:-1])
        for operator in ("ge", "le")
    ]
    return replace(spec, predicates=tuple(types))


def basic_table(rows: pa.Table, kind: np.ndarray, length: int) -> pa.Table:
    """Every event may be taken by every variable but the last."""
    mask = np.where(kind == length - 1, 1 << length, 0) | (1 << length) - 2
    mask[0] |= 1
    rows = rows.set_column(0, "mask", pa.array(mask)).append_column("kind", pa.array(kind))
    for at in range(length):
        rows = rows.append_column(f"kind {at}", pa.array(np.full(len(kind), at)))
    return rows


def count(spec: EventPatternSpec, rows: pa.Table, counters: Counters | None = None) -> int:
    """The engine's matches, built and counted."""
    return sum(part.num_rows for part in compile(spec).run(rows, counters=counters))


def stacks(quick: bool, repetitions: int) -> None:
    """Figures 8 and 9."""
    print("\nstacks: SEQ of 3, active instance stacks against Basic (thousand events/s)")
    events = 50_000 if quick else 200_000
    cases = [(size, 10_000) for size in ((100, 10_000) if quick else (100, 500, 1000, 5000, 10_000))]
    cases += [(10_000, window) for window in (() if quick else (20_000, 50_000, 100_000))]
    for size, window in cases:
        columns = stream(events, round(TYPES * size ** (2 / 3)), (size,))
        rows = table(columns, 3)
        ours, fast = seconds(partial(count, clause(3, window, (), "stack"), rows), repetitions)
        searched = basic_table(rows, columns["kind"], 3)
        with patch.object(ranges, "SORTED_AFTER", 1 << 40):
            theirs, slow = seconds(partial(count, basic(3, window), searched), 1)
        assert ours == theirs
        print(
            f"V = {size:>6}, W = {window:>7,}: {ours:>9,} matches; stacks {events / fast / 1000:>9.0f}, "
            f"Basic {events / slow / 1000:>8.0f}: {slow / fast:.1f}x",
            flush=True,
        )


def pushdown(quick: bool, repetitions: int) -> None:
    """Section 5.3: the second test too (V2 = 20)."""
    print(
        "\npushdown: SEQ of 3, W = 10,000 (quick: 2,000), equivalence tests in construction against selection behind it"
    )
    events, window = (20_000, 2000) if quick else (100_000, 10_000)
    for size in (10, 1000) if quick else (10, 50, 100, 500, 1000, 10_000):
        rows = table(stream(events, TYPES, (size, 20)), 3)
        pushed: dict[str, float] = {}
        found: dict[str, int] = {}
        counters = {name: Counters() for name in ("none", "one", "both")}
        for name, equal in (("none", ()), ("one", ("attr1",)), ("both", ("attr1", "attr2"))):
            spec = clause(3, window, equal, "stack")
            if name == "none" and not quick and size > 10:
                continue  # the same work whatever the domain: hundreds of millions of sequences
            found[name], pushed[name] = seconds(
                partial(_selected, spec, rows, counters[name]), 1 if name == "none" else repetitions
            )
        assert len(set(found.values())) == 1
        rest = {name: f"{events / time / 1000:,.0f}" for name, time in pushed.items()}
        more = f", {pushed['none'] / pushed['both']:.1f}x over none" if "none" in pushed else ""
        print(
            f"V1 = {size:>6}: {found['both']:>8,} matches; thousand events/s by tests pushed: {rest}; "
            f"both: {pushed['one'] / pushed['both']:.1f}x over one{more}",
            flush=True,
        )


def _selected(spec: EventPatternSpec, rows: pa.Table, counters: Counters) -> int:
    """Matches that satisfy both tests; those that ``spec`` does not push are evaluated behind it."""
    pushed = {column for predicate in spec.predicates for column in ("attr1", "attr2") if column in predicate.text}
    left = [column for column in ("attr1", "attr2") if column not in pushed]
    total = 0
    for part in compile(spec).run(rows, counters=counters, max_partial_matches=10**11):
        keep: Any = True
        for column in left:
            values = [pc.struct_field(part.column(name), column) for name in spec.variables]
            for x, y in itertools.pairwise(values):
                keep = pc.equal(x, y) if keep is True else pc.and_(keep, pc.equal(x, y))
        total += part.num_rows if keep is True else pc.sum(keep).as_py() or 0
    return total


@dataclass(frozen=True, slots=True)
class Question:
    """A pattern of ``length`` types; ``joined`` and ``where``: its predicates between an event, the one before it and the
    first one, for the self-joins and for WHERE (of each event after the first, or ``[attr1]`` once)."""

    length: int
    window: int
    where: str
    joined: str

    @property
    def names(self) -> str:
        return NAMES[: self.length]

    def joins(self) -> str:
        """The self-joins: each later event meets the first event's bin from its own and from the next one."""
        first = self.names[0]
        parts = [f"(SELECT * FROM binned WHERE kind = '{first.upper()}') {first}"]
        for before, name in itertools.pairwise(self.names):
            near = f"SELECT *, explode(array(bin - 1, bin)) AS near FROM binned WHERE kind = '{name.upper()}'"
            condition = self.joined.format(first=first, before=before, name=name)
            parts.append(
                f"JOIN ({near}) {name} ON {name}.near = {first}.bin AND {condition} "
                f"AND {name}.ts > {before}.ts AND {name}.ts < {first}.ts + {self.window}"
            )
        binned = f"SELECT *, ts DIV {self.window} AS bin FROM events"
        return f"WITH binned AS ({binned}) SELECT {self.columns()} FROM {' '.join(parts)}"

    def pattern(self) -> str:
        """The same as a pattern."""
        items = ", ".join(f"{name.upper()} {name}" for name in self.names)
        each = [self.where.format(before=before, name=name) for before, name in itertools.pairwise(self.names)]
        return (
            f"SELECT {self.columns()} FROM events MATCH PATTERN (SEQ({items}) EVENT TYPE kind ORDER BY ts "
            f"WHERE {' AND '.join(dict.fromkeys(each))} WITHIN {self.window})"
        )

    def columns(self) -> str:
        """The times of all events."""
        return ", ".join(f"{name}.ts AS {name}_ts" for name in self.names)


WARM = 5
"""Repetitions of queries of some tenths of a second, after as many less one to warm up."""

PEER_REPETITIONS = 3
PEER_LIMIT = 30.0
"""Seconds that the peer may take for all repetitions of a question."""

BAND = "{name}.attr1 BETWEEN {before}.attr1 AND {before}.attr1 + 10"


def joins(quick: bool, repetitions: int) -> None:
    """Figures 11 and 12, and the same without an equality."""
    from sparkcep.session import session

    spark: SparkSession = session(master="local[2]", **{"spark.ui.showConsoleProgress": "false"})
    spark.sparkContext.setLogLevel("ERROR")
    events, window = (20_000, 2000) if quick else (1_000_000, 10_000)
    print(f"\njoins: {events:,} events, [attr1] with V values, W = {window:,}: self-joins against MATCH PATTERN")
    lengths = [(length, 100) for length in ((2, 3) if quick else (2, 3, 4, 5, 6))]
    domains = [(length, size) for size in ((10, 10_000) if quick else (10, 100, 1000, 10_000)) for length in (2, 3)]
    for length, size in dict.fromkeys(lengths + domains):
        question = Question(length, window, "[attr1]", "{name}.attr1 = {first}.attr1")
        _compared(spark, question, events, size, repetitions if quick else WARM)
    events, window = (50_000, 10_000) if quick else (1_000_000, 50_000)
    print(f"\njoins: {events:,} events, each attr1 (of 10,000 values) at most 10 above the one before, W = {window:,}")
    for length in (2, 3) if quick else (2, 3, 4, 5, 6):
        _compared(spark, Question(length, window, BAND, BAND), events, 10_000, repetitions)
    spark.stop()


def _compared(spark: SparkSession, question: Question, events: int, size: int, repetitions: int) -> None:
    columns = stream(events, TYPES, (size,))
    letters = np.array([chr(ord("A") + at) for at in range(TYPES)])
    frame = {"ts": np.arange(events), "kind": letters[columns["kind"]], "attr1": columns["attr1"]}
    with NamedTemporaryFile(suffix=".parquet") as file:  # rows of pandas or Arrow would stand in each plan
        pq.write_table(pa.table(frame), file.name)
        spark.read.parquet(file.name).createOrReplaceTempView("rows")
        spark.sql("CACHE TABLE events AS SELECT * FROM rows")
        queries = {"joins": question.joins(), "pattern": question.pattern()}
        counts = {name: spark.sql(query).count() for name, query in queries.items()}
        assert len(set(counts.values())) == 1, counts
        calls = {name: partial(_drained, spark, query) for name, query in queries.items()}
        times = {name: median(found) for name, found in take_turns(calls, repetitions, repetitions - 1).items()}
        spark.catalog.dropTempView("events")
    peer = _duckdb(question, pa.table(frame), counts["joins"], min(repetitions, PEER_REPETITIONS))
    more = ">" if peer == PEER_LIMIT else ""
    against = "" if peer is None else f"; DuckDB's joins {more}{peer:.2f} s: {more}{peer / times['pattern']:.2f}x"
    print(
        f"L = {question.length}, V = {size:>6}: {counts['joins']:>9,} matches; joins {times['joins']:.2f} s, "
        f"pattern {times['pattern']:.2f} s: {times['joins'] / times['pattern']:.2f}x{against}",
        flush=True,
    )


def _duckdb(question: Question, events: pa.Table, matches: int, repetitions: int) -> float | None:
    """Seconds of the same self-joins in DuckDB, PEER_LIMIT where it was ended there; None where it is not installed."""
    if find_spec("duckdb") is None:
        return None
    import duckdb
    import sqlglot

    database = duckdb.connect(config={"threads": 2})
    database.register("arriving", events)
    database.execute("CREATE TABLE events AS SELECT * FROM arriving")
    (query,) = sqlglot.transpile(question.joins(), read="spark", write="duckdb")
    answer = f"CREATE OR REPLACE TEMPORARY TABLE answer AS {query}"
    end = Timer(PEER_LIMIT, database.interrupt)
    end.start()
    try:
        _, best = seconds(partial(database.execute, answer), repetitions)
    except duckdb.InterruptException:
        return PEER_LIMIT
    finally:
        end.cancel()
    found = database.execute("SELECT COUNT(*) FROM answer").fetchone()
    assert found == (matches,), found
    return best


def _drained(spark: SparkSession, query: str) -> None:
    spark.sql(query).write.format("noop").mode("overwrite").save()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small streams, few points")
    parser.add_argument("--only", default="stacks,pushdown,joins")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args(arguments)
    for name, work in (("stacks", stacks), ("pushdown", pushdown), ("joins", joins)):
        if name in options.only.split(","):
            work(options.quick, 1 if options.quick else options.repetitions)


if __name__ == "__main__":
    main()

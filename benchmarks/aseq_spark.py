"""What counting the matches of a pattern costs through Spark, over a window query with a sum per group.

In: 5,000,000 synthetic ticks of 20 types in 1,000 groups, made once with a fixed seed, kept as Parquet in the temporary directory.
Out: for each case minimum and median seconds, and the ratio to ``GROUP BY key`` with a ``SUM`` over ``lag()``, with its target;
then what several patterns cost in one MATCH PATTERNS, and as a MATCH PATTERN each: in turns, with the same answers.

Both queries read the same columns, shuffle and sort by the same key and order, make one number per group and end in one row.
Spark's settings are its defaults, on two cores (``local[2]``). The counts are checked against prefix counting in plain Python,
with a window against a counter per START event (A-Seq, Figures 3 and 5) in a few groups.

    python benchmarks/aseq_spark.py [--quick] [--rows N] [--keys N] [--only CASE] [--repetitions N] [--warmups N]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl
import scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = 20
TARGET = 2.5
WINDOW = 1_000
CHECKED = 3
PATTERN = ("t0", "t1", "t2", "t3", "t4")
CLAUSE = f"ticks MATCH PATTERN (SEQ({', '.join(PATTERN)}) EVENT TYPE type PARTITION BY key ORDER BY ts{{within}})"
QUERY = f"SELECT SUM(n) AS matches FROM (SELECT key, COUNT(*) AS n FROM {CLAUSE} GROUP BY key)"
CASES = {"no window": "", f"window {WINDOW}": f" WITHIN {WINDOW}"}
SHARED = {
    "p0": "SEQ(t0, t1, t2)",
    "p1": "SEQ(t0, t1, !t9, t3)",
    "p2": "SEQ(t0, t1, t2, t4)",
    "p3": "SEQ(t5, t1, t2)",
    "p4": "SEQ(t5, t0, t1, t6)",
    "p5": "SEQ(t0, t1, !t9, t7)",
}
"""Patterns with prefixes and sub-patterns in common."""
REST = "EVENT TYPE type PARTITION BY key ORDER BY ts{within} MEASURES COUNT(*) AS n"
LAG = """
SELECT SUM(n) AS repeated FROM (
  SELECT key, SUM(IF(type = previous, 1, 0)) AS n
  FROM (SELECT key, type, LAG(type) OVER (PARTITION BY key ORDER BY ts) AS previous FROM ticks)
  GROUP BY key)
"""


def main() -> None:
    """Each case: check its answer, run it and the window in turns, print a line."""
    options = _options()
    rows = options.rows or (100_000 if options.quick else 5_000_000)
    path = scan.cached(f"ticks-{rows}-{options.keys}", lambda: ticks(rows, options.keys))
    spark = scan.session("aseq_spark")
    print(f"{rows:,} rows, local[2]; {scan.surroundings()}")
    print(
        f"{'case':14}{'min s':>8}{'median s':>10}{'window s':>10}{'rows/s':>14}{'ratio min':>11}{'median':>8}{'target':>8}"
    )
    for case, within in CASES.items():
        if options.only in (None, case):
            spark.read.parquet(str(path)).createOrReplaceTempView("ticks")
            check(spark, pl.read_parquet(path), within)
            print(f"{case:14}{_line(spark, QUERY.format(within=within), rows, options)}", flush=True)
    if options.only is None:
        print(f"{'patterns':14}{'each':>8}{'together':>10}{'gain min':>10}{'median':>8}   seconds, medians")
        for within in CASES.values():
            for number in (2, 4, 6):
                print(f"{number} {within:12}{_together(spark, number, within, options)}", flush=True)
    print(scan.surroundings())
    spark.stop()


def ticks(rows: int, keys: int) -> pl.DataFrame:
    """key INT, ts BIGINT, type STRING; in time order, the keys interleaved."""
    index = pl.int_range(rows, eager=True)
    kind = scan.draws(rows, TYPES).cast(pl.String)
    return pl.DataFrame({"key": (index % keys).cast(pl.Int32), "ts": index // keys, "type": "t" + kind})


def check(spark: SparkSession, frame: pl.DataFrame, within: str) -> None:
    """Raise unless the matches of a few groups are as many as plain Python counts."""
    query = f"SELECT key, COUNT(*) AS n FROM {CLAUSE.format(within=within)} WHERE key < {CHECKED} GROUP BY key"
    found = {row["key"]: row["n"] for row in scan.run(spark, query)}
    for key in range(CHECKED):
        group = frame.filter(pl.col("key") == key).sort("ts")
        expected = matches(group.select("ts", "type").iter_rows(), WINDOW if within else None)
        if found.get(key, 0) != expected:
            raise ValueError(f"wrong answer: {found.get(key, 0)} matches in group {key}, expected {expected}")


def matches(events: Iterable[tuple[int, str]], window: int | None) -> int:
    """A counter of prefixes per START event (one in all without a window); every event counts once."""
    found = 0
    counters: list[tuple[int, list[int]]] = []
    for ts, kind in events:
        if kind not in PATTERN:
            continue
        if window is not None:
            counters = [(start, counter) for start, counter in counters if ts - start < window]
        place = PATTERN.index(kind)
        if place == 0:
            counters.append((ts, [1, 0, 0, 0, 0]))
            continue
        for _, counter in counters:
            counter[place] += counter[place - 1]
            found += counter[place - 1] if place == len(PATTERN) - 1 else 0
    return found


def _line(spark: SparkSession, query: str, rows: int, options: argparse.Namespace) -> str:
    ratio = scan.against(spark, query, LAG, options.repetitions, options.warmups)
    middle = statistics.median(ratio.query)
    return (
        f"{min(ratio.query):8.2f}{middle:10.2f}{statistics.median(ratio.baseline):10.2f}{rows / middle:14,.0f}"
        f"{ratio.smallest:11.2f}{ratio.median:8.2f}{TARGET:8.1f}"
    )


def _together(spark: SparkSession, number: int, within: str, options: argparse.Namespace) -> str:
    """Several patterns, a statement each, against one statement. Raises where the answers differ."""
    patterns = dict(list(SHARED.items())[:number])
    rest = REST.format(within=within)
    named = ", ".join(f"{name} AS {pattern}" for name, pattern in patterns.items())
    together = f"SELECT pattern, SUM(n) AS n FROM ticks MATCH PATTERNS ({named} {rest}) GROUP BY pattern ORDER BY 1"
    each = [f"SELECT SUM(n) AS n FROM ticks MATCH PATTERN ({pattern} {rest})" for pattern in patterns.values()]
    calls = {
        "each": lambda: [scan.run(spark, query)[0]["n"] for query in each],
        "together": lambda: [row["n"] for row in scan.run(spark, together)],
    }
    if calls["each"]() != calls["together"]():
        raise ValueError(f"{number} patterns have other matches together")
    seconds = scan.take_turns(calls, options.repetitions, options.warmups)
    apart, once = ([min(seconds[name]), statistics.median(seconds[name])] for name in ("each", "together"))
    return f"{apart[1]:8.2f}{once[1]:10.2f}{apart[0] / once[0]:10.2f}{apart[1] / once[1]:8.2f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100,000 rows")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--warmups", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""How much a row pattern costs over the window query that it contains: the V-shape, ``PATTERN (strt down+ up+)``.

In: 2,000,000 synthetic prices, made once with a fixed seed, kept as Parquet in the temporary directory.
Out: for each case minimum and median seconds, and the ratio to ``lag()`` over the same rows, with its target.

* ``prev``: 1,000 keys, conditions with PREV, ONE ROW PER MATCH.
* ``match-dependent``: the same matches, asked with LAST(down.price, 1) and LAST(up.price, 1): the engine must look at the match.
* ``short partitions``: ``prev`` over 100,000 keys of 20 rows.
* ``all rows``: ``prev`` with ALL ROWS PER MATCH and its running measures.
* ``wide``: ``all rows`` over rows of 16 more columns, which the query does not use.

What is compared: both queries read the same columns of the same file, shuffle and sort by the same key and order, look at
every row and the one before it, and end in an aggregate of one row that is collected. So neither pays for writing or
fetching rows. The pattern query alone searches the rows, and builds the matches that its aggregate reads: that is the cost
to measure. Spark's settings are its defaults, on two cores (``local[2]``). The matches, and the rows in them, are counted
with Python's ``re`` before any time is taken.

    python benchmarks/row_pattern_scan.py [--rows N] [--keys N] [--only CASE] [--repetitions N] [--warmups N]
"""

from __future__ import annotations

import argparse
import re
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

V_SHAPE = """
SELECT {aggregates}
FROM prices MATCH_RECOGNIZE (
  PARTITION BY key
  ORDER BY ts
  MEASURES FIRST(strt.price) AS first_price,
           LAST(down.price) AS lowest,
           LAST(up.price) AS last_price,
           COUNT(*) AS length
  {rows} PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (strt down+ up+)
  DEFINE {define}
)
"""

ONE_ROW = "COUNT(*) AS matches, SUM(length) AS covered, SUM(last_price - first_price) AS gain, SUM(lowest) AS lowest"
ALL_ROWS = (
    "COUNT_IF(length = 1) AS matches, COUNT(*) AS covered, SUM(last_price - first_price) AS gain, SUM(price) AS sum"
)

PREV = "down AS price < PREV(price), up AS price > PREV(price)"
MATCH_DEPENDENT = """
  down AS (LAST(down.price, 1) IS NULL AND down.price < strt.price) OR down.price < LAST(down.price, 1),
  up AS (LAST(up.price, 1) IS NULL AND up.price > LAST(down.price)) OR up.price > LAST(up.price, 1)
"""
WIDE = f"(SELECT *, {', '.join(f'price * {i} AS c{i}' for i in range(16))} FROM prices)"


@dataclass(frozen=True, slots=True)
class Case:
    """A query, what its partitions are, and the ratio it should not exceed."""

    name: str
    query: str
    target: float
    rows_per_key: int | None = None


CASES = (
    Case("prev", V_SHAPE.format(aggregates=ONE_ROW, rows="ONE ROW", define=PREV), 2.5),
    Case("match-dependent", V_SHAPE.format(aggregates=ONE_ROW, rows="ONE ROW", define=MATCH_DEPENDENT), 4.0),
    Case("short partitions", V_SHAPE.format(aggregates=ONE_ROW, rows="ONE ROW", define=PREV), 3.0, rows_per_key=20),
    Case("all rows", V_SHAPE.format(aggregates=ALL_ROWS, rows="ALL ROWS", define=PREV), 5.0),
    Case("wide", V_SHAPE.replace("prices", WIDE).format(aggregates=ALL_ROWS, rows="ALL ROWS", define=PREV), 5.0),
)


def main() -> None:
    """Each case: make its data, check its answer, run it and the window in turns, print a line."""
    options = _options()
    spark = scan.session("row_pattern_scan")
    print(f"{options.rows:,} rows, local[2]; {scan.surroundings()}")
    print(
        f"{'case':18}{'min s':>8}{'median s':>10}{'window s':>10}{'rows/s':>14}{'ratio min':>11}{'median':>8}{'target':>8}"
    )
    for case in CASES:
        if options.only in (None, case.name):
            print(f"{case.name:18}{_result(spark, case, options)}", flush=True)
    print(scan.surroundings())
    spark.stop()


def _result(spark: SparkSession, case: Case, options: argparse.Namespace) -> str:
    keys = options.keys if case.rows_per_key is None else options.rows // case.rows_per_key
    path = scan.prices(options.rows, keys)
    spark.read.parquet(str(path)).createOrReplaceTempView("prices")
    try:
        check(spark, case, pl.read_parquet(path))
    except Exception as error:
        return f"  {scan.refusal(error)}"
    ratio = scan.against(spark, case.query, scan.lag_scan("prices"), options.repetitions, options.warmups)
    middle = statistics.median(ratio.query)
    return (
        f"{min(ratio.query):8.2f}{middle:10.2f}{statistics.median(ratio.baseline):10.2f}{options.rows / middle:14,.0f}"
        f"{ratio.smallest:11.2f}{ratio.median:8.2f}{case.target:8.1f}"
    )


def check(spark: SparkSession, case: Case, walk: pl.DataFrame) -> None:
    """Raise unless the query finds the matches that Python's ``re`` finds, and as many rows in them."""
    row = scan.run(spark, case.query)[0]
    found, expected = (row["matches"], row["covered"]), expected_matches(walk)
    if found != expected:
        raise ValueError(f"wrong answer: {found} matches and rows, expected {expected}")


def expected_matches(walk: pl.DataFrame) -> tuple[int, int]:
    """Matches of ``strt down+ up+`` and their rows: d, u and e say how a price compares with the one before."""
    change = pl.col("price").diff().over("key").fill_null(0)
    letter = pl.when(change < 0).then(pl.lit("d")).when(change > 0).then(pl.lit("u")).otherwise(pl.lit("e"))
    words = (
        walk.sort("key", "ts").with_columns(letter.alias("letter")).group_by("key").agg(pl.col("letter").str.join(""))
    )
    matches = [match for word in words["letter"] for match in re.findall(".d+u+", word)]
    return len(matches), sum(map(len, matches))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--only", choices=[case.name for case in CASES])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--warmups", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()

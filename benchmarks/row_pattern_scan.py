"""How much a row pattern costs over the window query that it contains.

In: 2,000,000 synthetic prices of 1,000 keys, made once with a fixed seed, kept as Parquet in the temporary directory.
Out: minimum and median seconds of two queries, and their ratio.

* ``pattern``: MATCH_RECOGNIZE, ``PATTERN (strt down+ up+)``, both conditions with PREV, ONE ROW PER MATCH.
* ``window``: the same scan and the same two comparisons with Spark's own ``lag()``; no pattern.

What is compared: both read the same columns of the same file, shuffle and sort by the same key and order, evaluate both
comparisons on every row, and end in an aggregate of one row that is collected. So neither pays for writing or fetching
rows. The pattern query alone searches the rows, and builds the matches that its aggregate reads: that is the cost to
measure. The two take turns in one session, after warm-up runs that start the JVM's compiler, the Python workers and the
file cache. Spark's settings are its defaults, on two cores (``local[2]``). The number of matches is checked against
Python's ``re`` before any time is taken.

    python benchmarks/row_pattern_scan.py [--rows N] [--keys N] [--repetitions N] [--warmups N]
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import sparkcep

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Row, SparkSession

SEED = 20_130_101
CACHE = Path(tempfile.gettempdir()) / "sparkcep-benchmarks"
LARGEST_STEP = 5

PATTERN_QUERY = """
SELECT COUNT(*) AS matches, SUM(last_price - first_price) AS gain, SUM(lowest) AS lowest, MAX(length) AS longest
FROM prices MATCH_RECOGNIZE (
  PARTITION BY key
  ORDER BY ts
  MEASURES FIRST(strt.price) AS first_price,
           LAST(down.price) AS lowest,
           LAST(up.price) AS last_price,
           COUNT(*) AS length
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (strt down+ up+)
  DEFINE down AS price < PREV(price),
         up AS price > PREV(price)
)
"""

WINDOW_QUERY = """
SELECT COUNT_IF(price < previous) AS down, COUNT_IF(price > previous) AS up, SUM(price - previous) AS gain
FROM (SELECT price, LAG(price) OVER (PARTITION BY key ORDER BY ts) AS previous FROM prices)
"""

QUERIES = {"pattern": PATTERN_QUERY, "window": WINDOW_QUERY}


def main() -> None:
    """Make the data if it is not there, check the answer, run both queries in turns, print the table."""
    options = _options()
    path = prices(options.rows, options.keys)
    spark = sparkcep.session(app_name="row_pattern_scan", master="local[2]")
    spark.read.parquet(str(path)).createOrReplaceTempView("prices")
    check(spark, path)
    report(measure(spark, options.repetitions, options.warmups), options.rows)
    spark.stop()


def prices(rows: int, keys: int) -> Path:
    """The Parquet file of ``rows`` prices: key INT, ts BIGINT, price BIGINT. In time order, the keys interleaved."""
    path = CACHE / f"prices-{rows}-{keys}-{SEED}.parquet"
    if path.exists():
        return path
    CACHE.mkdir(parents=True, exist_ok=True)
    index = pl.int_range(rows, eager=True)
    draws = pl.int_range(2 * LARGEST_STEP + 1, eager=True)
    steps = draws.sample(rows, with_replacement=True, seed=SEED) - LARGEST_STEP
    frame = pl.DataFrame({"key": (index % keys).cast(pl.Int32), "ts": index // keys, "step": steps})
    walk = frame.select("key", "ts", price=pl.col("step").cum_sum().over("key") + 1_000)
    unfinished = path.with_suffix(".unfinished")
    walk.write_parquet(unfinished, compression="zstd", row_group_size=max(rows // 8, 1))
    unfinished.rename(path)
    return path


def check(spark: SparkSession, path: Path) -> None:
    """Stop unless the pattern query finds as many matches as Python's ``re`` does."""
    found = run(spark, PATTERN_QUERY)[0]["matches"]
    expected = _matches(pl.read_parquet(path))
    if found != expected:
        sys.exit(f"wrong answer: {found} matches, expected {expected}")
    print(f"{found:,} matches")


def measure(spark: SparkSession, repetitions: int, warmups: int) -> dict[str, list[float]]:
    """Seconds of every repetition of each query; the queries take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in QUERIES}
    for turn in range(warmups + repetitions):
        for name, query in QUERIES.items():
            start = time.perf_counter()
            run(spark, query)
            if turn >= warmups:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def run(spark: SparkSession, query: str) -> list[Row]:
    """Parse, plan and execute the query; its one row."""
    return spark.sql(query).collect()


def report(seconds: dict[str, list[float]], rows: int) -> None:
    """Print one line for each query, then the ratio of pattern to window, by minimum and by median."""
    print(f"{'query':10}{'min s':>8}{'median s':>10}{'rows/s (median)':>18}")
    for name, values in seconds.items():
        median = statistics.median(values)
        print(f"{name:10}{min(values):8.2f}{median:10.2f}{rows / median:18,.0f}")
    smallest, middle = (_ratio(seconds, of) for of in (min, statistics.median))
    print(f"{'ratio':10}{smallest:8.2f}{middle:10.2f}")


def _ratio(seconds: dict[str, list[float]], of: Callable[[list[float]], float]) -> float:
    return of(seconds["pattern"]) / of(seconds["window"])


def _matches(walk: pl.DataFrame) -> int:
    """Matches of ``strt down+ up+``: d, u and e say how a price compares with the one before."""
    change = pl.col("price").diff().over("key").fill_null(0)
    letter = pl.when(change < 0).then(pl.lit("d")).when(change > 0).then(pl.lit("u")).otherwise(pl.lit("e"))
    words = (
        walk.sort("key", "ts").with_columns(letter.alias("letter")).group_by("key").agg(pl.col("letter").str.join(""))
    )
    return sum(len(re.findall(".d+u+", word)) for word in words["letter"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--warmups", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""MATCH AUTOMATON through Spark: Q2 of the AFA paper over 2,000,000 rows and 1,000 keys, against the ``lag()`` window of the same rows, in turns.

    python benchmarks/afa_spark.py [--rows 2000000] [--turns 5] [--only files,memory,join]

What is compared. Both queries read the same three columns of the same rows, need the row before of the same key in time order, and end in an
aggregate of one row. The window compares each price with the one before and counts; it answers nothing of Q2, and no ``lag()`` can: which row ends a
match depends on the price before the drop. The automaton finds, for about two rows in seven, how far the price takes to recover and by how many
V-patterns. So the ratio is the cost of the automaton and of its matches on top of the window that it needs.

* ``files``: the rows are a Parquet file in time order, the keys interleaved, as in ``row_pattern_scan.py``: both read, shuffle and sort. The target
  of 3 is for this.
* ``memory``: the rows are cached, already partitioned and sorted by key and time, so that the window neither shuffles nor sorts. What remains of it
  is next to nothing, and any row that goes to Python costs more: the worst case.
* ``join``: Q2 in plain SQL, a self-join that tests the rows of the next 500 ticks; the same answer. Over ``files``, once.

The data has no two equal prices in a row, so that the self-join need not tell them apart.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = 1_000
BEFORE = "LAG(price) OVER (PARTITION BY sym ORDER BY ts) AS before"
LAG = f"SELECT COUNT_IF(price < before), COUNT_IF(price > before) FROM (SELECT *, {BEFORE} FROM {{ticks}})"
Q2 = f"""SELECT COUNT(*), SUM(n) FROM (SELECT *, {BEFORE} FROM {{ticks}}) MATCH AUTOMATON (
  PARTITION BY sym ORDER BY ts REGISTERS (p DOUBLE, n INT DEFAULT 0)
  START q0 FINAL q3
  ARC q0 -> q1 WHEN price < before - 0.25D SET p = before
  ARC q1 -> q1 WHEN price < before
  ARC q1 -> q2 WHEN price > before AND price < p
  ARC q2 -> q2 WHEN price > before AND price < p
  ARC q2 -> q1 WHEN price < before SET n = n + 1
  ARC q1 -> q3 WHEN price > before AND price >= p SET n = n + 1
  ARC q2 -> q3 WHEN price > before AND price >= p SET n = n + 1
  WITHIN 500)"""
JOIN = f"""WITH moves AS (SELECT *, {BEFORE} FROM {{ticks}}),
turns AS (
  SELECT *, price < before AND LAG(price > before) OVER (PARTITION BY sym ORDER BY ts) AS turn FROM moves),
counted AS (
  SELECT *, COUNT_IF(turn) OVER (PARTITION BY sym ORDER BY ts) AS turns, ts DIV 500 AS bucket FROM turns),
drops AS (SELECT *, EXPLODE(ARRAY(bucket, bucket + 1)) AS near FROM counted WHERE price < before - 0.25D)
SELECT COUNT(*), SUM(n) FROM (
  SELECT MIN_BY(1 + later.turns - drops.turns, later.ts) AS n
  FROM drops JOIN counted AS later ON later.sym = drops.sym AND later.bucket = drops.near
    AND later.ts > drops.ts AND later.ts < drops.ts + 500 AND later.price >= drops.before
  GROUP BY drops.sym, drops.ts)"""


def ticks(rows: int) -> pl.DataFrame:
    """sym BIGINT, ts BIGINT, price DOUBLE: prices that rise with probability 0.7."""
    rng, index = np.random.default_rng(scan.SEED), np.arange(rows)
    sign = np.where(rng.random(rows) < 0.7, 1, -1)
    frame = pl.DataFrame({"sym": index % KEYS, "ts": index // KEYS, "step": sign * magnitudes(rng, rows)})
    return frame.select("sym", "ts", price=pl.col("step").cum_sum().over("sym"))


def magnitudes(rng: np.random.Generator, rows: int) -> np.ndarray:
    """The paper's: normal, 0.70 +- 0.30."""
    return np.clip(rng.normal(0.7, 0.3, rows), 0.01, None)


def tables(spark: SparkSession, rows: int) -> None:
    """The rows as ``files`` and as ``memory``."""
    path = scan.cached(f"ticks-{rows}-{KEYS}", lambda: ticks(rows))
    spark.read.parquet(str(path)).createOrReplaceTempView("files")
    sorted_rows = spark.table("files").repartition("sym").sortWithinPartitions("sym", "ts")
    sorted_rows.cache().createOrReplaceTempView("memory")
    spark.table("memory").count()


def main() -> None:
    """A line for each table; then the self-join."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="files,memory,join")
    options = parser.parse_args()
    spark = scan.session("afa_spark")
    tables(spark, options.rows)
    print(f"{options.rows:,} rows, local[2]; {scan.surroundings()}")
    for name in ("files", "memory"):
        if name in options.only.split(","):
            found = scan.against(spark, Q2.format(ticks=name), LAG.format(ticks=name), options.turns, 3)
            query, window = min(found.query), min(found.baseline)
            ratios = f"ratio {found.smallest:.2f}, of medians {found.median:.2f}"
            print(f"{name:8} automaton {query:.2f} s, lag() {window:.2f} s, {ratios}", flush=True)
    if "join" in options.only.split(","):
        answer, seconds = scan.timed(lambda: scan.run(spark, JOIN.format(ticks="files")))
        expected = scan.run(spark, Q2.format(ticks="files"))
        assert list(map(tuple, answer)) == list(map(tuple, expected)), (answer, expected)
        print(f"{'join':8} {seconds:.1f} s, the same answer: {answer[0][0]:,} matches, {answer[0][1]:,} V-patterns")
    print(scan.surroundings())


if __name__ == "__main__":
    main()

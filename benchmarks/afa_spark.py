"""MATCH AUTOMATON through Spark: Q2 of the AFA paper over 2,000,000 rows and 1,000 keys, against the ``lag()`` window of the same rows, in turns.

    python benchmarks/afa_spark.py [--rows 2000000] [--turns 3]

Both end in an aggregate of one row. The ratio is what the automaton costs on top of the window that it needs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pyspark.sql import SparkSession

import sparkcep

TICKS = "SELECT *, LAG(price) OVER (PARTITION BY sym ORDER BY ts) AS before FROM ticks"
LAG = f"SELECT COUNT_IF(price < before), COUNT_IF(price > before) FROM ({TICKS})"
Q2 = f"""SELECT COUNT(*), SUM(n) FROM ({TICKS}) MATCH AUTOMATON (
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


def ticks(spark: SparkSession, rows: int) -> None:
    """Prices that rise with probability 0.7, as a table in memory."""
    step = "IF(RAND(1) < 0.7, 1, -1) * GREATEST(0.01D, 0.7D + 0.3D * RANDN(2))"
    walk = "SUM(step) OVER (PARTITION BY sym ORDER BY ts)"
    steps = f"SELECT id % 1000 AS sym, id DIV 1000 AS ts, {step} AS step FROM RANGE(0, {rows}, 1, 2)"
    spark.sql(f"SELECT sym, ts, {walk} AS price FROM ({steps})").cache().createOrReplaceTempView("ticks")
    spark.sql("SELECT COUNT(*) FROM ticks").collect()


def seconds(spark: SparkSession, text: str) -> float:
    """One run."""
    began = time.perf_counter()
    spark.sql(text).collect()
    return time.perf_counter() - began


def main() -> None:
    """The two in turns, after one run of each to warm up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    spark = sparkcep.session("afa", "local[2]", **settings)
    ticks(spark, options.rows)
    taken = [(seconds(spark, Q2), seconds(spark, LAG)) for _ in range(options.turns + 1)][1:]
    automaton, window = (min(times) for times in zip(*taken, strict=True))
    print(f"{options.rows:,} rows: automaton {automaton:.2f} s, lag() {window:.2f} s, ratio {automaton / window:.2f}")


if __name__ == "__main__":
    main()

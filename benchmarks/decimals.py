"""Conditions on DECIMAL columns against the same on DOUBLE, warm, in turns in one session: prices are decimals, and a condition on two of them should
cost what it costs on doubles.

In: rows of 100 keys with a price as DOUBLE, DECIMAL(10, 2), DECIMAL(38, 10) (what JDBC sources give) and DECIMAL(38, 18) (what
Python's decimals become; none of the prices fits 64 bits). Out, for each condition: the median seconds of each type, and the ratios to DOUBLE; at
most 1.5 is wanted.

    python benchmarks/decimals.py [--rows N] [--runs N]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from lazy_spark import in_turns, run

import sparkcep

TYPES = ("DOUBLE", "DECIMAL(10, 2)", "DECIMAL(38, 10)", "DECIMAL(38, 18)")
ROWS = "SELECT COUNT(*), SUM(n) FROM prices MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES COUNT(b.*) AS n PATTERN (a b+) DEFINE b AS {})"
EVENTS = "SELECT COUNT(*), SUM(b.id) FROM prices MATCH PATTERN (SEQ(ANY a, ANY b) PARTITION BY k ORDER BY ts WHERE {} WITHIN 1000 SECONDS)"
CLOSURES = "SELECT COUNT(*), SUM(c.id) FROM prices MATCH PATTERN (SEQ(A a, B+ b, C c) PARTITION BY k ORDER BY ts {} WHERE {{}} WITHIN 1000 SECONDS)"
ANY, NEXT = CLOSURES.format(""), CLOSURES.format("SKIP TILL NEXT MATCH")
STATEMENTS = (
    ("MATCH_RECOGNIZE", "b.p > a.p", ROWS),
    ("MATCH_RECOGNIZE", "b.p / a.p > 1.05", ROWS),
    ("MATCH_RECOGNIZE", "(b.p - a.p) / a.p > 0.05", ROWS),
    ("MATCH_RECOGNIZE", "SUM(b.p) + 1000 < 100 * a.p", ROWS),
    ("MATCH_RECOGNIZE", "ABS(b.p / a.p - 1) > 0.5", ROWS),
    ("MATCH PATTERN", "b.p > a.p AND b.p / a.p > 9", EVENTS),
    ("MATCH PATTERN", "AVG(b.p) > a.p", ANY),
    ("SKIP TILL NEXT", "b[i].p > b[i-1].p", NEXT),
    ("SKIP TILL NEXT", "AVG(b.p) > a.p", NEXT),
)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    spark = sparkcep.session(
        "decimals", "local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
    )
    spark.sparkContext.setLogLevel("OFF")
    prices(spark, options.rows)
    print(
        f"| clause | condition | {' | '.join(f'{kind}, s' for kind in TYPES)} | ratios |\n|{'---|' * (len(TYPES) + 3)}"
    )
    for clause, condition, statement in STATEMENTS:
        texts = {kind: statement.format(condition.replace(".p", f".p{i}")) for i, kind in enumerate(TYPES)}
        seconds, _ = in_turns({kind: run(spark, text) for kind, text in texts.items()}, options.runs)
        ratios = ", ".join(f"{seconds[kind] / seconds['DOUBLE']:.2f}" for kind in TYPES[1:])
        cells = " | ".join(f"{seconds[kind]:.2f}" for kind in TYPES)
        print(f"| {clause} | `{condition}` | {cells} | {ratios} |", flush=True)


def prices(spark: Any, rows: int) -> None:
    """The view of the prices, as a file."""
    folder = tempfile.mkdtemp(prefix="decimals")
    price = "ROUND(100 + RAND(1) * 900, 2)"
    columns = ", ".join(f"CAST(p AS {kind}) AS p{i}" for i, kind in enumerate(TYPES))
    kind = "ELEMENT_AT(ARRAY('A', 'B', 'B', 'C'), CAST(RAND(2) * 4 AS INT) + 1)"
    drawn = f"SELECT id % 100 AS k, id, TIMESTAMP_SECONDS(id) AS ts, {kind} AS type, {price} AS p FROM RANGE({rows})"
    spark.sql(f"SELECT k, id, ts, type, {columns} FROM ({drawn})").write.mode("overwrite").parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("prices")


if __name__ == "__main__":
    main()

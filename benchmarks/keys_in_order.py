"""The rule ``keys_in_order`` against Spark's sort and window that it replaces: the three clauses, by the type of the key and by what is sent.

In: events of four types, 1,000 keys in no order, as a file. Out: medians of both forms of each statement, in turns in one session, and their ratio.
Both must find the same. The first three statements send one event in 22, A-Seq three in four, the others all.

    python benchmarks/keys_in_order.py [--rows N] [--runs N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scan import run, session, surroundings, take_turns

import sparkcep
from rewrites.rules.keys_in_order import NAME

EVENTS = (
    "CAST(RAND(1) * 1000 AS INT) AS number",
    "CONCAT('user-', CAST(RAND(1) * 1000 AS INT)) AS name",
    "ELEMENT_AT(ARRAY('A', 'B', 'C', 'D'), CAST(RAND(2) * 4 AS INT) + 1) AS type",
    "id AS ts",
    "CAST(RAND(3) * 100 AS INT) AS x",
)
PAIRS = "events MATCH PATTERN (SEQ(A a, B b) PARTITION BY {} ORDER BY ts WHERE a.x + 90 < b.x WITHIN 9000)"
ROWS = "events MATCH_RECOGNIZE ({keys} ORDER BY ts MEASURES s.x AS top, LAST(d.x) AS low PATTERN (s d+ u+) DEFINE {define})"
PREV = "d AS x < PREV(x), u AS x > PREV(x)"
OWN = "d AS x < s.x AND COUNT(d.*) < 9, u AS x > s.x"
RUNS = """events MATCH AUTOMATON (PARTITION BY number ORDER BY ts REGISTERS (low INT) START s FINAL f ARC s -> m SET low = x
    ARC m -> m WHEN x < low SET low = x ARC m -> f WHEN x > low + 50 WITHIN 9000)"""
COUNT = "events MATCH PATTERN (SEQ(A a, B b, C c) PARTITION BY name ORDER BY ts WITHIN 9000)"
QUERIES = {
    "INT": f"SELECT SUM(number), SUM(a.ts), SUM(b.ts) FROM {PAIRS.format('number')}",
    "STRING": f"SELECT SUM(LENGTH(name)), SUM(a.ts), SUM(b.ts) FROM {PAIRS.format('name')}",
    "STRING, not shown": f"SELECT SUM(a.ts), SUM(b.ts) FROM {PAIRS.format('name')}",
    "STRING, counted by A-Seq": f"SELECT SUM(n) FROM (SELECT name, COUNT(*) AS n FROM {COUNT} GROUP BY name)",
    "row pattern, PREV": f"SELECT SUM(top), SUM(low) FROM {ROWS.format(keys='PARTITION BY number', define=PREV)}",
    "row pattern, match-dependent": f"SELECT SUM(top), SUM(low) FROM {ROWS.format(keys='PARTITION BY number', define=OWN)}",
    "row pattern, no key": f"SELECT SUM(top), SUM(low) FROM {ROWS.format(keys='', define=PREV)}",
    "automaton": f"SELECT COUNT(*), SUM(low) FROM {RUNS}",
}


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    spark = session("keys_in_order", **{"spark.ui.enabled": "false"})
    with tempfile.TemporaryDirectory() as folder:
        spark.range(options.rows).selectExpr(*EVENTS).write.parquet(f"{folder}/events")
        spark.read.parquet(f"{folder}/events").createOrReplaceTempView("events")
        print(
            f"{options.rows:,} events; {surroundings()}\n\n| statement | window, s | in order, s | ratio |\n|---|---|---|---|"
        )
        for name, query in QUERIES.items():
            seconds = take_turns(forms(spark, query), options.runs, 3)
            window, ordered = (statistics.median(seconds[form]) for form in ("window", "in order"))
            print(f"| {name} | {window:.3f} | {ordered:.3f} | {window / ordered:.2f} |", flush=True)
    spark.stop()


def forms(spark: Any, query: str) -> dict[str, Callable[[], Any]]:
    """The statement as it is rewritten with the rule and without it."""
    ordered = sparkcep.rewrite(query, spark)
    spark.conf.set("sparkcep.rules.disable", NAME)
    window = sparkcep.rewrite(query, spark)
    spark.conf.unset("sparkcep.rules.disable")
    assert ordered != window
    assert run(spark, ordered) == run(spark, window)
    return {"window": partial(run, spark, window), "in order": partial(run, spark, ordered)}


if __name__ == "__main__":
    main()

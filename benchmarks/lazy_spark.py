"""MATCH PATTERN in Spark SQL against the binned self-join, warm: ``SEQ(P p, Q q, R r) … WHERE p.x + q.x > r.x + c WITHIN W``, one time line.

In: an event a second, its type one of three, x of 0 … 199. The self-join is what an expert writes: events in bins of W, an event meets those of its
own and the next bin. c is such that one pair of P and Q in some hundreds passes, and the matches are few.

Out, for each number of events and each W: the medians of both, in turns in one session, and their ratio; at least 5 is wanted. Both must count the
same.

    python benchmarks/lazy_spark.py [--events N …] [--seconds W …] [--runs N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import sparkcep

LEAST = 380
JOIN = """WITH binned AS (SELECT *, UNIX_SECONDS(ts) AS s, UNIX_SECONDS(ts) DIV {w} AS bin FROM ticks),
    near AS (SELECT *, bin AS near FROM binned UNION ALL SELECT *, bin - 1 AS near FROM binned)
SELECT COUNT(*), SUM(r.x) FROM binned p
    JOIN near q ON q.near = p.bin AND q.type = 'Q' AND q.s > p.s AND q.s < p.s + {w}
    JOIN near r ON r.near = p.bin AND r.type = 'R' AND r.s > q.s AND r.s < p.s + {w} AND p.x + q.x > r.x + {c}
WHERE p.type = 'P'"""
PATTERN = """SELECT COUNT(*), SUM(r.x) FROM ticks
    MATCH PATTERN (SEQ(P p, Q q, R r) ORDER BY ts WHERE p.x + q.x > r.x + {c} WITHIN {w} SECONDS)"""


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 4_000_000])
    parser.add_argument("--seconds", type=int, nargs="+", default=[30, 120, 600])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    spark = sparkcep.session(
        "lazy_spark", "local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
    )
    spark.sparkContext.setLogLevel("OFF")
    print("| events | W | matches | self-join, s | MATCH PATTERN, s | ratio |\n|---|---|---|---|---|---|")
    for events in options.events:
        ticks(spark, events)
        for window in options.seconds:
            queries = {name: text.format(w=window, c=LEAST) for name, text in (("join", JOIN), ("pattern", PATTERN))}
            seconds, found = in_turns({name: run(spark, text) for name, text in queries.items()}, options.runs)
            assert found["join"] == found["pattern"], f"{found} for W = {window}"
            ratio = seconds["join"] / seconds["pattern"]
            cells = f"{found['join'][0]:,} | {seconds['join']:.2f} | {seconds['pattern']:.2f} | {ratio:.2f}"
            print(f"| {events:,} | {window} s | {cells} |", flush=True)


def ticks(spark: Any, events: int) -> None:
    """The view of the events, as a file."""
    folder = tempfile.mkdtemp(prefix="lazy_spark")
    rows = spark.range(events).selectExpr(
        "ELEMENT_AT(ARRAY('P', 'Q', 'R'), CAST(RAND(3) * 3 AS INT) + 1) AS type",
        "CAST(RAND(4) * 200 AS INT) AS x",
        "TIMESTAMP_SECONDS(id) AS ts",
    )
    rows.write.mode("overwrite").parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("ticks")


def run(spark: Any, text: str) -> Callable[[], Any]:
    """What answers a statement."""
    return lambda: tuple(spark.sql(text).collect()[0])


def in_turns(forms: dict[str, Callable[[], Any]], runs: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The median seconds of each, and what they found. A run that counts follows one of the same form that does not: so none pays for what another
    one leaves behind (shuffle files, garbage)."""
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    found = {name: form() for name, form in forms.items()}
    for _ in range(runs):
        for name, form in forms.items():
            form()
            began = time.perf_counter()
            form()
            seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) for name, times in seconds.items()}, found


if __name__ == "__main__":
    main()

"""One question of each clause, asked of the sparkcep that is installed: a line of JSON with the versions, and what failed by name.

``python smoke.py [NAME …]`` asks those that are named, by default all. Run it outside of the tree, so that the tree is not what is imported.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from collections.abc import Callable

import pyspark
from pyspark.sql import SparkSession

import sparkcep

EVENTS = """VALUES ('u1', 'View', 1, 12), ('u1', 'Cart', 2, 10), ('u1', 'Buy', 3, 9), ('u1', 'Buy', 4, 11), ('u2', 'View', 1, 5)
            AS events(user, type, ts, price)"""

QUESTIONS = {
    "MATCH_RECOGNIZE": (
        """SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES COUNT(*) AS n
           PATTERN (a down+ up) DEFINE down AS price < PREV(price), up AS price > PREV(price))""",
        [("u1", 4)],
    ),
    "in a window": (
        """SELECT ts, count(*) OVER (PARTITION BY user ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
           PATTERN (a down+) DEFINE down AS price < PREV(price)) AS n FROM events WHERE user = 'u1' ORDER BY ts""",
        [(1, 3), (2, 0), (3, 0), (4, 0)],
    ),
    "MATCH PATTERN": (
        """SELECT user, b.ts FROM events MATCH PATTERN (
           SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WHERE b.price < v.price WITHIN 3)""",
        [("u1", 3)],
    ),
    "SKIP TILL NEXT MATCH": (
        """SELECT user, size(b) FROM events MATCH PATTERN (
           SEQ(View v, Buy+ b) PARTITION BY user ORDER BY ts SKIP TILL NEXT MATCH) ORDER BY 2""",
        [("u1", 1), ("u1", 2)],
    ),
    "A-Seq": (
        """SELECT user, COUNT(*) FROM events MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts) GROUP BY user""",
        [("u1", 2)],
    ),
    "MATCH AUTOMATON": (
        """SELECT match_start, match_end, spent FROM events MATCH AUTOMATON (
           PARTITION BY user ORDER BY ts REGISTERS (spent INT DEFAULT 0) START s FINAL done
           ARC s -> s WHEN spent < 15 SET spent = spent + price ARC s -> done WHEN spent >= 15) ORDER BY 1, 2""",
        [(1, 3, 22), (2, 4, 19)],
    ),
    "aseq_count": (
        "SELECT user, aseq_count(ts, type, 'SEQ(View, Buy)', 10) FROM events GROUP BY user ORDER BY 1",
        [("u1", 2), ("u2", 0)],
    ),
}
"""Each question with its rows."""

STREAM = """SELECT m.user, b.ts AS bought FROM STREAM page_events WATERMARK ts DELAY OF INTERVAL 1 MINUTE
            MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WITHIN INTERVAL 10 MINUTES) AS m"""


def ask(spark: SparkSession, name: str) -> None:
    """The question's rows are those that it should have."""
    text, expected = QUESTIONS[name]
    found = [tuple(row) for row in spark.sql(text).collect()]
    assert found == expected, found


def named_pattern(spark: SparkSession) -> None:
    spark.sql("CREATE PATTERN bought AS (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts)")
    assert spark.sql("SELECT * FROM events MATCH PATTERN bought").count() == 2


def data_frame(spark: SparkSession) -> None:
    found = sparkcep.match(spark.table("events"), "SEQ(View v, Cart c) PARTITION BY user ORDER BY ts")
    assert [row.user for row in found.collect()] == ["u1"]


def stream(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE page_events (user STRING, type STRING, ts TIMESTAMP) USING parquet")
    spark.sql("""INSERT INTO page_events VALUES ('ann', 'View', TIMESTAMP '2026-03-01 10:00:00'),
              ('ann', 'Buy', TIMESTAMP '2026-03-01 10:04:00'), ('eve', 'View', TIMESTAMP '2026-03-01 12:00:00')""")
    query = spark.sql(STREAM).writeStream.format("memory").queryName("found").trigger(availableNow=True).start()
    query.awaitTermination()
    assert spark.table("found").count() == 1


def checks() -> dict[str, Callable[[SparkSession], None]]:
    asked: dict[str, Callable[[SparkSession], None]] = {
        name: lambda spark, name=name: ask(spark, name)
        for name in QUESTIONS  # type: ignore[misc]
    }
    return asked | {"CREATE PATTERN": named_pattern, "DataFrame": data_frame, "a stream": stream}


def main() -> None:
    settings = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.sql.shuffle.partitions": "2"}
    settings |= {"spark.sql.warehouse.dir": tempfile.mkdtemp(), "sparkcep.precompile": "off"}
    spark = sparkcep.session("smoke", "local[2]", **settings)
    spark.sql(f"CREATE TEMP VIEW events AS SELECT * FROM {EVENTS}")
    failed = {}
    names = sys.argv[1:] or list(checks())
    for name in names:
        try:
            checks()[name](spark)
        except Exception as error:  # whatever it is, it is the answer
            failed[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    spark.stop()
    versions = {"python": platform.python_version(), "pyspark": pyspark.__version__, "sparkcep": sparkcep.__version__}
    print(
        json.dumps(
            versions | {"file": sparkcep.__file__, "passed": [n for n in names if n not in failed], "failed": failed}
        )
    )


if __name__ == "__main__":
    main()

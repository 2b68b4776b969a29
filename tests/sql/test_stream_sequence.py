"""SEQUENCE NUMBER: a clause over a stream emits what a gapless beginning of each partition decides, without a watermark, and each delivery once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.sql.arrivals import put
from tests.sql.test_streams import emitted, in_order, refusals

NUMBERED = "k STRING, type STRING, x INT, ts TIMESTAMP, seq INT"
ARRIVALS: list[list[tuple[str, str, int, int, int]]] = [
    [("a", "B", 5, 105, 2), ("b", "A", 1, 100, 1), ("a", "A", 1, 100, 1), ("a", "C", 3, 120, 4)],
    [("b", "D", 9, 101, 2), ("b", "B", 4, 101, 3), ("a", "B", 5, 105, 2), ("b", "C", 2, 140, 5)],
    [("a", "B", 7, 110, 3), ("a", "A", 2, 121, 5), ("a", "C", 8, 130, 7), ("b", "A", 0, 150, 7), ("c", "C", 8, 99, 1)],
]
"""In micro-batches: b lacks its number 4 and a its number 6, one row comes twice, none is beyond the watermark."""
CAME = {"a": 5, "b": 3, "c": 1}
"""The last number of each partition before which none is missing."""
WATERMARK = "1 hour"
QUERIES = {
    "rows": """SELECT * FROM {table} MATCH_RECOGNIZE ({key} PARTITION BY k ORDER BY ts, seq MEASURES a.x AS ax, COUNT(b.x) AS n
        PATTERN (a b+ c) DEFINE a AS type = 'A', b AS type = 'B' AND b.x > a.x, c AS type <> 'B')""",
    "events": """SELECT m.k, b FROM {table} MATCH PATTERN (SEQ(B b, NOT D d) {key} PARTITION BY k ORDER BY ts, seq WITHIN 10 SECONDS) AS m""",
    "automaton": """SELECT k, match_start, match_end FROM {table} MATCH AUTOMATON ({key} PARTITION BY k ORDER BY ts, seq START s FINAL f
        ARC s -> m WHEN type = 'A' ARC m -> m WHEN type = 'B' ARC m -> f WHEN type = 'C')""",
}


@pytest.fixture
def numbered(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The views ``moving``, a stream of ARRIVALS, and ``still``, the rows that CAME without a gap."""
    every = "k STRING, type STRING, x INT, s INT, seq INT"
    columns = "k", "type", "x", "TIMESTAMP_SECONDS(s) AS ts", "seq"
    for batch in ARRIVALS:
        put(tmp_path / "in", NUMBERED, batch)
    stream = spark.readStream.schema(NUMBERED).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    stream.withWatermark("ts", WATERMARK).createOrReplaceTempView("moving")
    came = {row for batch in ARRIVALS for row in batch if row[-1] <= CAME[row[0]]}
    spark.createDataFrame(sorted(came), every).selectExpr(*columns).createOrReplaceTempView("still")
    yield tmp_path
    spark.catalog.dropTempView("moving")
    spark.catalog.dropTempView("still")


def test_matches_come_before_the_watermark(spark: SparkSession, numbered: Path) -> None:
    moving = {
        name: spark.sql(text.format(table="moving", key="SEQUENCE NUMBER (seq FROM 1)"))
        for name, text in QUERIES.items()
    }
    for name, text in QUERIES.items():
        rows, query = emitted(moving[name], str(numbered), name)
        wanted = [row.asDict(recursive=True) for row in spark.sql(text.format(table="still", key="")).collect()]
        if name == "events":  # the last event of b is that of the match
            wanted = [row for row in wanted if row["k"] == "a"]
        assert wanted
        assert Counter(in_order(rows)) == Counter(in_order(wanted)), name
        assert sum(m["late"] or 0 for p in query.recentProgress for m in p["observedMetrics"].values()) == 1


def test_totals_are_those_of_what_has_come(spark: SparkSession, numbered: Path) -> None:
    text = """SELECT * FROM {} MATCH PATTERN (SEQ(ANY a, C c) {} PARTITION BY k ORDER BY ts, seq WITHIN 1 MINUTE
        MEASURES COUNT(*) AS n, SUM(a.x) AS s)"""
    found, _ = emitted(spark.sql(text.format("moving", "SEQUENCE NUMBER (seq FROM 1)")), str(numbered))
    (wanted,) = [row.asDict() for row in spark.sql(text.format("still", "")).collect() if row.n]
    assert [(row["k"], row["n"], row["s"]) for row in found][-1:] == [(wanted["k"], wanted["n"], wanted["s"])]


SEQ = "SEQ(A a, B b)"
REFUSED = [
    (
        f"SELECT * FROM still MATCH PATTERN ({SEQ} «SEQUENCE NUMBER (seq)» ORDER BY ts, seq WITHIN 5 SECONDS)",
        "ANALYSIS",
    ),
    ("SELECT * FROM moving MATCH_RECOGNIZE («SEQUENCE NUMBER (seq)» ORDER BY ts PATTERN (a))", "ANALYSIS"),
    ("SELECT * FROM moving MATCH_RECOGNIZE (SEQUENCE NUMBER (seq) ORDER BY ts, «x» PATTERN (a))", "ANALYSIS"),
    ("SELECT * FROM moving MATCH_RECOGNIZE (SEQUENCE NUMBER (seq) ORDER BY ts, «seq DESC» PATTERN (a))", "ANALYSIS"),
    ("SELECT * FROM moving MATCH_RECOGNIZE (SEQUENCE NUMBER (seq) ORDER BY ts, seq, «x» PATTERN (a))", "ANALYSIS"),
    ("SELECT * FROM moving MATCH_RECOGNIZE («SEQUENCE NUMBER (type)» ORDER BY ts, type PATTERN (a))", "UNSUPPORTED"),
    ("SELECT * FROM moving MATCH_RECOGNIZE (SEQUENCE NUMBER «(seq TO 3)» ORDER BY ts, seq PATTERN (a))", "SYNTAX"),
]
NOT_OF_STREAMS = [
    f"SELECT * FROM moving MATCH PATTERN ({SEQ} «SEQUENCE NUMBER (seq)» PARTITION BY k ORDER BY ts, seq STRICT CONTIGUITY WITHIN 5 SECONDS)",
    f"""SELECT * FROM moving MATCH PATTERN ({SEQ} «SEQUENCE NUMBER (seq)» PARTITION BY k ORDER BY ts, seq WITHIN 5 SECONDS
        MEASURES COUNT(*) AS n EMIT CHANGES)""",
    f"SELECT * FROM changing MATCH PATTERN ({SEQ} «SEQUENCE NUMBER (seq)» PARTITION BY k ORDER BY ts, seq WITHIN 5 SECONDS)",
]


def test_what_a_number_cannot_say_is_refused(spark: SparkSession, numbered: Path) -> None:
    spark.table("moving").selectExpr("*", "'insert' AS _change_type").createOrReplaceTempView("changing")
    wanted = [(text, f"CEP_{kind}_SEQUENCE_NUMBER") for text, kind in REFUSED]
    wanted += [(text, "CEP_UNSUPPORTED_STREAM") for text in NOT_OF_STREAMS]
    assert refusals(spark, wanted) == wanted


def test_explain_says_what_is_waited_for(spark: SparkSession, numbered: Path) -> None:
    text = QUERIES["events"].format(table="moving", key="SEQUENCE NUMBER (seq)")
    report = "\n".join(row[0] for row in spark.sql(f"EXPLAIN PATTERN {text}").collect())
    assert "an event is final once no sequence number before its own is missing" in report
    assert "SEQUENCE NUMBER keeps the last number of every partition for ever" in report

"""Streams of changes (``_change_type``, EVENT KEY): what a clause over one emits is the batch answer over the rows that stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.sql.arrivals import put
from tests.sql.test_streams import DELAY, END, emitted, in_order, refusals

CHANGED = "k STRING, id INT, type STRING, x INT, ts TIMESTAMP, _commit_version BIGINT, _change_type STRING"
FEED: list[list[tuple[str, int, str | None, int | None, int, int, str]]] = [
    [  # of a disordered source: what takes a row away may come before the row
        ("a", 1, "A", 1, 100, 1, "insert"),
        ("a", 2, "B", 2, 103, 1, "insert"),
        ("a", 3, "B", 3, 104, 4, "update_preimage"),
        ("b", 4, "A", 4, 100, 2, "insert"),
    ],
    [
        ("a", 3, "B", 3, 104, 1, "insert"),
        ("a", 3, "C", 7, 104, 4, "update_postimage"),
        ("b", 5, "B", 5, 105, 3, "insert"),
        ("b", 6, "B", 6, 106, 3, "insert"),
    ],
    [("b", 5, "B", 5, 105, 5, "delete"), ("a", 8, "C", 8, 107, 6, "insert")],
    [("end", 9, "Z", 0, END, 7, "insert")],
]
"""In micro-batches."""
STANDS = [
    ("a", 1, "A", 1, 100),
    ("a", 2, "B", 2, 103),
    ("a", 3, "C", 7, 104),
    ("b", 4, "A", 4, 100),
    ("b", 6, "B", 6, 106),
    ("a", 8, "C", 8, 107),
]
REVISED = {
    "rows": """SELECT * FROM {table} MATCH_RECOGNIZE ({key} PARTITION BY k ORDER BY ts ALL ROWS PER MATCH
        PATTERN (p q) DEFINE p AS type = 'A', q AS type = 'B') WHERE k <> 'end'""",
    "events": """SELECT m.k, p, q{sign} FROM {table} MATCH PATTERN (SEQ(A p, ANY(B, C) q) {key} PARTITION BY k ORDER BY ts
        WHERE p.x < q.x AND p.k = q.k WITHIN 6 SECONDS) AS m""",
    "several": """SELECT * FROM {table} MATCH PATTERNS (one AS SEQ(A p, B q), two AS SEQ(A p, C r) {key} PARTITION BY k ORDER BY ts
        WITHIN 1 MINUTE MEASURES COUNT(*) AS n EMIT CHANGES) WHERE emit_time < TIMESTAMP_SECONDS(9000)""",
    "automaton": """SELECT k, match_start, match_end{sign} FROM {table} MATCH AUTOMATON ({key} PARTITION BY k ORDER BY ts START s FINAL f
        ARC s -> m WHEN type = 'A' ARC m -> m WHEN x < 5 ARC m -> f WHEN type <> 'A' WITHIN 1 MINUTE)""",
}


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The views ``changing``, a stream of FEED, and ``still``, the rows that stand of it."""
    for batch in FEED:
        put(tmp_path / "in", CHANGED, batch)
    stream = spark.readStream.schema(CHANGED).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    stream.withWatermark("ts", f"{DELAY} seconds").createOrReplaceTempView("changing")
    still = spark.createDataFrame(STANDS, "k STRING, id INT, type STRING, x INT, s INT")
    still.selectExpr("k", "id", "type", "x", "TIMESTAMP_SECONDS(s) AS ts").createOrReplaceTempView("still")
    yield tmp_path
    spark.catalog.dropTempView("changing")
    spark.catalog.dropTempView("still")


@pytest.mark.parametrize(
    ("name", "mode", "key"),
    [
        ("rows", "conservative", ""),
        ("events", "speculative", "EVENT KEY (id)"),
        ("several", "speculative", ""),
        ("automaton", "conservative", "EVENT KEY (k, id)"),
    ],
)
def test_changes_of_the_input_are_counted(spark: SparkSession, feed: Path, name: str, mode: str, key: str) -> None:
    spark.conf.set("sparkcep.stream.mode", mode)
    try:
        moving = spark.sql(REVISED[name].format(table="changing", key=key, sign=", _change_type"))
    finally:
        spark.conf.unset("sparkcep.stream.mode")
    assert "_commit_version" not in moving.columns
    found, _ = emitted(moving, str(feed))
    wanted = [
        row.asDict(recursive=True) for row in spark.sql(REVISED[name].format(table="still", key="", sign="")).collect()
    ]
    assert wanted
    net = Counter(in_order([row for row in found if row["_change_type"] != "delete"]))
    net.subtract(in_order([row for row in found if row["_change_type"] == "delete"]))
    assert +net == Counter(in_order(wanted))
    assert not -net


NESTED = [
    [("A", None, 1, 100, "insert"), ("A", 1, None, 100, "insert"), ("A", 2, None, 100, "insert")],
    [("A", 3, 4, 90, "insert"), ("A", None, 4, 99, "insert"), ("A", 4, None, 99, "insert")],
    [("A", None, 1, 100, "delete"), ("B", None, 1, 101, "insert"), ("B", 1, None, 101, "insert")],
    [("B", 2, 2, 102, "insert"), ("Z", 9, 9, END, "insert")],
    [("Z", 9, 9, END + 1, "insert")],
]
"""In micro-batches; rows at one time differ in where their NULL is, and are in different partitions."""


def test_rows_that_differ_in_what_is_null_are_not_each_other(spark: SparkSession, tmp_path: Path) -> None:
    for i, batch in enumerate(NESTED):
        frame = spark.createDataFrame(batch, "type STRING, a INT, b INT, s INT, _change_type STRING")
        rows = frame.selectExpr("type", "STRUCT(a, b) AS of", "TIMESTAMP_SECONDS(s) AS ts", "_change_type")
        rows.coalesce(1).write.parquet(str(tmp_path / f"part{i}"))
        (tmp_path / "in").mkdir(exist_ok=True)
        (part,) = (tmp_path / f"part{i}").glob("*.parquet")
        part.rename(tmp_path / "in" / f"{i}.parquet")
    stream = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    stream.withWatermark("ts", f"{DELAY} seconds").createOrReplaceTempView("nested")
    spark.conf.set("sparkcep.stream.buckets", "1")
    try:
        moving = spark.sql("""SELECT p.of.a, p.of.b, q.ts AS ended FROM nested MATCH PATTERN (SEQ(A p, B q)
            PARTITION BY of.a ORDER BY ts SKIP TILL NEXT MATCH) AS m""")
    finally:
        spark.conf.unset("sparkcep.stream.buckets")
    found, _ = emitted(moving, str(tmp_path))
    spark.catalog.dropTempView("nested")
    assert {(row["ended"].second, row["a"], row["b"]) for row in found} == {(41, 1, None), (41, None, 4), (42, 2, None)}


def test_a_change_that_is_not_known_is_named(spark: SparkSession, feed: Path) -> None:
    text = """SELECT * FROM (SELECT * EXCEPT (_change_type), 'upsert' AS _change_type FROM changing)
        MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 15 SECONDS)"""
    with pytest.raises(
        StreamingQueryException, match=r"CEP_DATA_CHANGE_TYPE. _change_type is upsert; it is one of insert, "
    ):
        emitted(spark.sql(text), str(feed))


KEYLESS = [
    (
        "SELECT * FROM still MATCH PATTERN (SEQ(A a, B b) «EVENT KEY (id)» ORDER BY ts WITHIN 1 HOUR)",
        "CEP_ANALYSIS_EVENT_KEY",
    ),
    ("SELECT * FROM plain MATCH_RECOGNIZE («EVENT KEY (id)» ORDER BY ts PATTERN (a))", "CEP_ANALYSIS_EVENT_KEY"),
    (
        "SELECT * FROM changing MATCH PATTERN (SEQ(A a, B b) EVENT KEY (k, «ident») ORDER BY ts WITHIN 1 HOUR)",
        "CEP_ANALYSIS_UNKNOWN_COLUMN",
    ),
    (
        "SELECT * FROM changing MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS «_commit_version» > 1)",
        "CEP_ANALYSIS_CHANGE_FEED",
    ),
    (
        "SELECT * FROM texts MATCH AUTOMATON («EVENT KEY (id)» ORDER BY ts START s FINAL f ARC s -> f WHEN x = 1)",
        "CEP_UNSUPPORTED_EVENT_KEY",
    ),
]


def test_an_event_key_without_use_is_refused(spark: SparkSession, feed: Path) -> None:
    changing = spark.table("changing")
    changing.drop("_change_type").createOrReplaceTempView("plain")
    changing.selectExpr("* EXCEPT (_commit_version)", "'v1' AS _commit_version").createOrReplaceTempView("texts")
    assert refusals(spark, KEYLESS) == KEYLESS
    report = spark.sql(
        f"EXPLAIN PATTERN {REVISED['events'].format(table='changing', key='EVENT KEY (id)', sign='')}"
    ).collect()
    assert any("rows are changes (_change_type): an event is known by EVENT KEY" in row[0] for row in report)
    assert any("_change_type of the input revises it" in row[0] for row in report)


def test_a_table_of_changes_is_a_table(spark: SparkSession) -> None:
    rows = "VALUES (1, 'delete'), (2, 'insert') AS t(x, _change_type)"
    found = spark.sql(f"SELECT * FROM {rows} MATCH_RECOGNIZE (ORDER BY x ALL ROWS PER MATCH PATTERN (a b))").collect()
    assert [row["_change_type"] for row in found] == ["delete", "insert"]

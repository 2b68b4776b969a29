"""Clauses over streams: what a stream emits is the batch answer; what no watermark decides is refused where it stands."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import CepError
from sparkcep.session.config import NULL_EVENT_TIME
from sparkcep.streaming import busy
from tests.spark_setup import SETTINGS
from tests.sql.arrivals import put

SCHEMA = "k STRING, type STRING, x INT, ts TIMESTAMP"
DELAY = 20
"""Seconds: how far rows arrive out of order."""
END = 10_000
"""The time of the row that lets the watermark pass all others."""
LAST = ("end", "Z", 0, END)

Batches = list[list[tuple[str, str, int, int]]]
Arrive = Callable[[Batches], str]


def events(count: int, seed: int = 7) -> list[tuple[str, str, int, int]]:
    """Rows in order of time, no two at one time: MATCH_RECOGNIZE leaves ties to the sort."""
    drawn = random.Random(seed)
    times = sorted(drawn.sample(range(2 * count), count))
    return [(drawn.choice("abc"), drawn.choice("AABCD"), drawn.randrange(10), at) for at in times]


def disordered(rows: list[tuple[str, str, int, int]], size: int, seed: int = 8) -> Batches:
    """The rows as they arrive: late by less than the watermark's delay, in micro-batches; then what ends the stream."""
    drawn = random.Random(seed)
    arrival = sorted(rows, key=lambda row: row[3] + drawn.randrange(DELAY))
    return [*(arrival[i : i + size] for i in range(0, len(arrival), size)), [LAST]]


@pytest.fixture
def arrive(spark: SparkSession, tmp_path: Path) -> Iterator[Arrive]:
    """Makes a streaming view of rows, a file a micro-batch, and a batch view of the same rows; their names are ``moving`` and ``still``."""

    def made(batches: Batches) -> str:
        for batch in batches:
            put(tmp_path / "in", SCHEMA, batch)
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        stream.withWatermark("ts", f"{DELAY} seconds").createOrReplaceTempView("moving")
        spark.read.parquet(str(tmp_path / "in")).createOrReplaceTempView("still")
        return str(tmp_path)

    yield made
    spark.catalog.dropTempView("moving")
    spark.catalog.dropTempView("still")


def emitted(frame: DataFrame, folder: str, name: str = "out") -> tuple[list[dict[str, Any]], Any]:
    """All rows that a streaming query writes until its input is used up, and the query. Its state is in one partition; in those of
    ``test_stream_following`` it is in two."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", f"{folder}/{name}.check")
    frame.sparkSession.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        query = writer.option("path", f"{folder}/{name}").trigger(availableNow=True).start()
    finally:
        frame.sparkSession.conf.set("spark.sql.shuffle.partitions", SETTINGS["spark.sql.shuffle.partitions"])
    query.awaitTermination()
    rows = frame.sparkSession.read.schema(frame.schema).parquet(f"{folder}/{name}").collect()
    return [row.asDict(recursive=True) for row in rows], query


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    """The rows without the columns of streams, sorted."""
    return sorted(
        str({name: value for name, value in row.items() if name not in ("match_id", "_change_type")}) for row in rows
    )


QUERIES = {
    "rows": """SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, x DESC
        MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c, b.x - a.x AS d, var_pop(x) AS v ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO LAST b
        PATTERN (a b+ c) WITHIN INTERVAL 30 SECONDS DEFINE a AS type = 'A', b AS b.x > a.x OR b.x > PREV(b.x), c AS c.x < LAST(b.x)) AS m
        WHERE k <> 'end'""",
    "events": """SELECT m.k, a.x AS ax, size(b) AS bs, c.ts, s.label FROM {} MATCH PATTERN (SEQ(A a, B+ b[], NOT D d, C c)
        PARTITION BY k ORDER BY ts WHERE a.x <= c.x AND d.x > a.x WITHIN INTERVAL 40 SECONDS) AS m
        JOIN (SELECT * FROM VALUES ('a', 'first'), ('b', 'second') AS s(k, label)) AS s ON m.k = s.k""",
    "next": """SELECT k, a.x AS ax, size(b) AS bs, match_start, match_end FROM {} MATCH PATTERN (SEQ(A a, ANY+ b[], C c, NOT D d)
        PARTITION BY k ORDER BY ts SKIP TILL NEXT MATCH WHERE b[i].x > b[i-1].x AND c.x < a.x AND d.x > a.x WITHIN INTERVAL 40 SECONDS)""",
    "open": """SELECT k, a.x AS ax, size(b) AS bs, c.type AS ended, match_start, match_end FROM {} MATCH PATTERN (SEQ(A a, ANY+ b[], NOT D d, ANY c)
        PARTITION BY k ORDER BY ts SKIP TILL NEXT MATCH WHERE b[i].x > b[i-1].x AND c.x < a.x AND d.x > a.x AND c.type <> b[1].type)""",
    "strict_open": """SELECT k, a.x AS ax, b.x AS bx, match_start, match_end FROM {} MATCH PATTERN (SEQ(ANY+ a, B b)
        PARTITION BY k ORDER BY ts STRICT CONTIGUITY NON OVERLAPPING MATCHES)""",
    "automaton": """SELECT k, match_start, match_end, first, sum, seen, made, wide, at, day, bytes, xs, half, none FROM
        (SELECT *, CAST(type AS BINARY) AS b, CAST(x AS DECIMAL(30, 1)) AS d, DATE(ts) AS today FROM {}) MATCH AUTOMATON (
        PARTITION BY k ORDER BY ts REGISTERS (first INT, sum INT, seen STRING DEFAULT 'none', made STRING DEFAULT '', wide DECIMAL(30, 1), at TIMESTAMP,
        day DATE, bytes BINARY, xs ARRAY<INT>, half DOUBLE DEFAULT 8, none INT) START s FINAL f
        ARC s -> m WHEN type = 'A' SET first = x, sum = x, wide = d, day = today, xs = ARRAY(x), half = half / 2, bytes = b
        ARC m -> m WHEN type <> 'A' AND x > 2 AND type <> seen
        SET sum = sum + x, seen = type, made = upper(concat(made, type)), at = ts, bytes = b, xs = concat(xs, ARRAY(x)), none = NULL
        ARC m -> m WHEN x <= 2 ARC m -> f WHEN type = 'C' AND x < first)""",
    "contiguous": """SELECT k, a.x AS ax, b.x AS bx, match_start, match_end FROM {} MATCH PATTERN (SEQ(A a, B b)
        PARTITION BY k ORDER BY ts PARTITION CONTIGUITY WITHIN INTERVAL 10 SECONDS NON OVERLAPPING MATCHES)""",
    "strict": """SELECT k, a.x AS ax, b.x AS bx, match_start, match_end FROM {} MATCH PATTERN (SEQ(A+ a, ANY b, NOT C c)
        PARTITION BY k ORDER BY ts STRICT CONTIGUITY WITHIN INTERVAL 10 SECONDS NON OVERLAPPING MATCHES)""",
    "compressed": """SELECT m.k, match_end, e.a.x AS ax, e.b.x AS bx FROM {} MATCH PATTERN (SEQ(A a, B b, NOT C c)
        PARTITION BY k ORDER BY ts WITHIN INTERVAL 20 SECONDS COMPRESSED MATCHES) AS m, LATERAL cep_expand(m.buffer) AS e""",
    "changes": """SELECT * FROM {} MATCH PATTERN (SEQ(A a, NOT D n, B+ b[]) PARTITION BY k ORDER BY ts WHERE [x] WITHIN INTERVAL 90 SECONDS
        MEASURES COUNT(*) AS n, AVG(b.x * 2) AS mean, MIN(a.ts) AS since, MAX(a.x) - MIN(a.x) AS wide EMIT CHANGES)""",
    "several": """SELECT * FROM {} MATCH PATTERNS (p AS SEQ(A a, B b), q AS SEQ(A a, B b, NOT C c) ORDER BY ts WITHIN INTERVAL 20 SECONDS
        MEASURES COUNT(*) AS n, SUM(CAST(b.x AS DECIMAL(9, 2))) AS s EMIT CHANGES) WHERE emit_time < TIMESTAMP_SECONDS(9000)""",
}


def by_name(spark: SparkSession, text: str) -> str:
    """The statement with its body, which ends it, as a named pattern."""
    at = text.index("MATCH PATTERN (") + len("MATCH PATTERN ")
    spark.sql(f"CREATE OR REPLACE PATTERN changing AS {text[at:]}")
    return f"{text[:at]}changing"


@pytest.mark.parametrize("name", QUERIES)
def test_a_stream_emits_the_batch_answer(spark: SparkSession, arrive: Arrive, name: str) -> None:
    folder = arrive(disordered(events(240), 120))
    moving = QUERIES[name].format("moving")
    found, query = emitted(spark.sql(by_name(spark, moving) if name == "changes" else moving), folder)
    wanted = spark.sql(QUERIES[name].format("still")).collect()
    assert len(wanted) > 10
    assert in_order(found) == in_order([row.asDict(recursive=True) for row in wanted])
    counts = [metric for one in query.recentProgress for metric in one["observedMetrics"].values()]
    assert sum(one["events"] or 0 for one in counts) > 100
    assert sum(one["late"] or 0 for one in counts) == 0


def test_speculation_takes_back_what_a_late_event_proves_wrong(spark: SparkSession, arrive: Arrive) -> None:
    first = [("a", "A", 1, 100), ("a", "B", 2, 110), ("b", "A", 3, 101), ("b", "B", 4, 109)]
    folder = arrive([first, [("a", "Z", 0, 112)], [("a", "D", 0, 105)], [LAST]])
    text = """SELECT k, b.x AS x{} FROM {} MATCH PATTERN (SEQ(A a, NOT D d, B b) PARTITION BY k ORDER BY ts WITHIN 15 SECONDS)"""
    given = {"sparkcep.stream.mode": "speculative", "sparkcep.stream.sigma": "1 minute 30 seconds"}
    try:
        for key, value in given.items():
            spark.conf.set(key, value)
        found, _ = emitted(spark.sql(text.format(", match_id, _change_type", "moving")), folder)
    finally:
        for key in given:
            spark.conf.unset(key)
    assert sorted((row["k"], row["x"], row["_change_type"]) for row in found) == [
        ("a", 2, "delete"),
        ("a", 2, "insert"),
        ("b", 4, "insert"),
    ]
    assert len({row["match_id"] for row in found}) == 2
    assert [tuple(row) for row in spark.sql(text.format("", "still")).collect()] == [("b", 4)]


def test_an_error_that_a_late_event_prevents_is_none(spark: SparkSession, arrive: Arrive) -> None:
    folder = arrive([[("a", "A", 2**31 - 1, 1), ("a", "B", 1, 5)], [("a", "N", 0, 3)], [LAST]])
    clause = """SELECT k FROM moving MATCH PATTERN (/*+ CEP_STREAM(speculative) */ SEQ(A a, NOT N n, B b)
      PARTITION BY k ORDER BY ts WHERE a.x + b.x > 5 WITHIN 50 SECONDS)"""
    assert emitted(spark.sql(clause), folder)[0] == []


def test_a_key_with_half_of_the_stream_is_named(
    spark: SparkSession, arrive: Arrive, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(busy, "FEWEST", 50)
    rows = [("much" if i % 2 else f"k{i}", type, x, at) for i, (_, type, x, at) in enumerate(events(240))]
    folder = arrive(disordered(rows, 120))
    with caplog.at_level(logging.WARNING, "sparkcep"):
        found, query = emitted(spark.sql(QUERIES["rows"].format("moving")), folder)
        limit = time.monotonic() + 60
        while not (named := _named(caplog)) and time.monotonic() < limit:  # Spark reports from a thread of its own
            time.sleep(0.05)
    wanted = spark.sql(QUERIES["rows"].format("still")).collect()
    assert in_order(found) == in_order([row.asDict(recursive=True) for row in wanted])
    (message,) = named
    assert message.startswith(f"[CEP_NOTICE] in query {query.id} ")
    assert message.endswith("% of a micro-batch has one key, k = much: one task works on all its rows")


def _named(caplog: pytest.LogCaptureFixture) -> set[str]:
    """The warnings of busy keys."""
    return {message.partition("\n")[0] for message in caplog.messages if "has one key" in message}


TOTALS = {
    "one": """SELECT * FROM {} MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WHERE [x] WITHIN INTERVAL 40 SECONDS
        MEASURES COUNT(*) AS n, AVG(CAST(b.x AS DECIMAL(5, 1))) AS mean, MAX(a.ts) AS last, CAST(SUM(a.x) AS DECIMAL(38, 0)) AS wide)""",
    "counters": """SELECT * FROM {} MATCH PATTERN (SEQ(A a, NOT D d, B b) PARTITION BY k ORDER BY ts WHERE [x]
        MEASURES COUNT(*) AS n, AVG(b.x) AS mean, SUM(10 % (b.x + 1)) AS s, MIN(a.ts) AS since, MAX(CAST(b.ts AS STRING)) AS last)""",
    "several": """SELECT * FROM {} MATCH PATTERNS (p AS SEQ(A a, B+ b, NOT C c), q AS SEQ(A a, D d) PARTITION BY k, x % 2 AS odd ORDER BY ts
        WITHIN INTERVAL 20 SECONDS MEASURES COUNT(*) AS n, SUM(b.x + 0.5D) AS s, COUNT(b.*) AS bs)""",
}


@pytest.mark.parametrize("name", TOTALS)
def test_measures_end_as_the_batch_answer(spark: SparkSession, arrive: Arrive, name: str) -> None:
    folder = arrive(disordered(events(240), 60))
    moving, still = (spark.sql(TOTALS[name].format(table)) for table in ("moving", "still"))
    assert moving.schema.fields[:-2] == still.schema.fields
    (found, _), rows = emitted(moving, folder), still.collect()
    wanted = {_about(row.asDict()): row.asDict() for row in rows}
    last: dict[Any, dict[str, Any]] = {}
    for row in sorted(found, key=lambda row: row["n"]):
        assert row["_change_type"] == ("update_postimage" if _about(row) in last else "insert")
        assert last.get(_about(row), row)["match_id"] == row["match_id"]
        last[_about(row)] = row
    assert len(wanted) > 2 and len(found) > 2 * len(wanted)
    assert len({row["match_id"] for row in found}) == len(wanted)
    assert in_order(list(last.values())) == in_order(list(wanted.values()))


def test_measures_are_revised_in_the_mode_speculative(spark: SparkSession, arrive: Arrive) -> None:
    """A table that follows the rows by their match_id, each micro-batch twice, ends as the batch answer."""
    first = [("a", "A", 1, 100), ("a", "B", 2, 110), ("b", "A", 3, 101), ("b", "B", 4, 109)]
    folder = arrive([first, [("a", "D", 0, 105), ("b", "B", 5, 108)], [LAST]])
    text = """SELECT * FROM {} MATCH PATTERNS (/*+ CEP_STREAM(speculative) */ p AS SEQ(A a, NOT D d, B b), q AS SEQ(A a, B b)
        PARTITION BY k ORDER BY ts WITHIN 15 SECONDS MEASURES COUNT(*) AS n, SUM(b.x) AS s)"""
    current: dict[str, dict[str, Any]] = {}
    came: list[str] = []

    def merge(batch: DataFrame, _: int) -> None:
        rows = [row.asDict() for row in batch.collect()]
        came.extend(row["_change_type"] for row in rows)
        for row in rows:
            assert (row["_change_type"] == "insert") == (row["match_id"] not in current)
        for row in [*rows, *rows]:
            if row["_change_type"] == "delete":
                current.pop(row["match_id"], None)
            else:
                current[row["match_id"]] = row

    writer = spark.sql(text.format("moving")).writeStream.foreachBatch(merge)
    writer.option("checkpointLocation", f"{folder}/check").trigger(availableNow=True).start().awaitTermination()
    wanted = [row.asDict() for row in spark.sql(text.format("still")).collect()]
    assert in_order(list(current.values())) == in_order(wanted)
    assert sorted(came) == ["delete", *["insert"] * 4, *["update_postimage"] * 2]


def _about(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["k"], row.get("odd"), row.get("pattern")


REFUSED = [
    (
        "SELECT * FROM plain MATCH PATTERN (SEQ(A a, B b) ORDER BY «ts» WITHIN INTERVAL 1 HOUR)",
        "CEP_ANALYSIS_STREAM_WATERMARK",
    ),
    ("SELECT * FROM moving MATCH PATTERN (SEQ(A a, B b) ORDER BY «x» WITHIN 10)", "CEP_ANALYSIS_STREAM_WATERMARK"),
    ("SELECT * FROM moving «MATCH PATTERN» (SEQ(A a, B b) ORDER BY ts)", "CEP_ANALYSIS_STREAM_WITHIN"),
    ("SELECT * FROM moving MATCH PATTERN (SEQ(A a, B b) ORDER BY ts «WITHIN 10 EVENTS»)", "CEP_UNSUPPORTED_STREAM"),
    (
        "SELECT * FROM moving MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WITHIN 1 HOUR MEASURES «COUNT(DISTINCT a.x)» AS n)",
        "CEP_UNSUPPORTED_STREAM",
    ),
    (
        "SELECT * FROM moving «MATCH PATTERN» (SEQ(A a, B b) ORDER BY ts WHERE a.x < b.x WITHIN 1 HOUR MEASURES COUNT(*) AS n)",
        "CEP_UNSUPPORTED_STREAM",
    ),
    ("SELECT * FROM moving «MATCH_RECOGNIZE» (PARTITION BY k PATTERN (a))", "CEP_ANALYSIS_STREAM_WATERMARK"),
    ("SELECT * FROM moving MATCH_RECOGNIZE (ORDER BY «ts DESC» PATTERN (a))", "CEP_ANALYSIS_STREAM_WATERMARK"),
    ("SELECT * FROM moving MATCH_RECOGNIZE (ORDER BY ts PATTERN (a «$»))", "CEP_UNSUPPORTED_STREAM"),
    ("SELECT * FROM moving MATCH_RECOGNIZE (ORDER BY ts PATTERN («^» a))", "CEP_UNSUPPORTED_STREAM"),
    (
        "SELECT * FROM moving MATCH_RECOGNIZE (ORDER BY ts MEASURES «NEXT(a.x)» AS n PATTERN (a))",
        "CEP_UNSUPPORTED_STREAM",
    ),
    (
        "SELECT * FROM moving MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS x < «NEXT(x)»)",
        "CEP_UNSUPPORTED_STREAM",
    ),
    (
        "SELECT * FROM moving MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS x < «max(x) OVER ()»)",
        "CEP_UNSUPPORTED_STREAM",
    ),
    (
        "SELECT * FROM moving «MATCH_RECOGNIZE» (ORDER BY ts MEASURES median(a.x) AS s PATTERN (a+ b) DEFINE b AS x > 1)",
        "CEP_UNSUPPORTED_STREAM",
    ),
    (
        "SELECT * FROM moving «MATCH PATTERN» (SEQ(A a, B b) ORDER BY ts MEASURES COUNT(*) AS n EMIT CHANGES)",
        "CEP_ANALYSIS_STREAM_WITHIN",
    ),
    (
        "SELECT * FROM moving «MATCH PATTERN» (SEQ(NOT A a, B b) ORDER BY ts MEASURES MAX(b.x) AS n)",
        "CEP_UNSUPPORTED_STREAM",
    ),
]
COUNTED = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS c PATTERN (a b))"
PAIR = "MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 9 SECONDS)"
ARCS = "START s FINAL f ARC s -> f WITHIN 9 SECONDS)"
LISTS = {
    COUNTED: "k, n",
    PAIR: "k, since, until, first, second",
    PAIR.replace("SECONDS)", "SECONDS COMPRESSED MATCHES)"): "k, until, all",
    f"MATCH AUTOMATON (PARTITION BY k ORDER BY ts REGISTERS (r INT) {ARCS}": "k, s, e, ls, le, final, r",
    PAIR.replace("SECONDS)", "SECONDS MEASURES COUNT(*) AS c)"): "k, n",
}
OWN_NAMES = [
    (f"SELECT q FROM moving {COUNTED} AS m «(q, n, i)»", "CEP_ANALYSIS_COLUMN_LIST"),
    (f"SELECT q FROM moving {COUNTED} m «(q)»", "CEP_ANALYSIS_COLUMN_LIST"),
    (f"SELECT q FROM moving {PAIR} AS m «(q, s, e, a)»", "CEP_ANALYSIS_COLUMN_LIST"),
    (f"SELECT q FROM moving {COUNTED} AS m (q, «Match_ID»)", "CEP_ANALYSIS_DUPLICATE_NAME"),
    (f"SELECT k FROM moving {COUNTED.replace('AS c', 'AS «`match_id`»')}", "CEP_ANALYSIS_DUPLICATE_NAME"),
    (f"SELECT k FROM moving {COUNTED.replace('AS c', 'AS «_change_type»')}", "CEP_ANALYSIS_DUPLICATE_NAME"),
    (f"SELECT k FROM moving {PAIR.replace('B b', '«B match_id»')}", "CEP_ANALYSIS_DUPLICATE_NAME"),
    (f"SELECT k FROM moving {PAIR.replace('BY k', 'BY «k» AS match_id')}", "CEP_ANALYSIS_DUPLICATE_NAME"),
    (f"SELECT k FROM moving {PAIR[:-1]} MEASURES COUNT(*) AS «match_id»)", "CEP_ANALYSIS_DUPLICATE_NAME"),
    (
        f"SELECT k FROM moving MATCH AUTOMATON (ORDER BY ts REGISTERS («match_id» INT) {ARCS}",
        "CEP_ANALYSIS_DUPLICATE_NAME",
    ),
    (
        "SELECT k FROM (SELECT *, x AS match_id FROM moving) MATCH_RECOGNIZE (ORDER BY ts «ALL ROWS PER MATCH» PATTERN (a))",
        "CEP_ANALYSIS_DUPLICATE_NAME",
    ),
    (
        "SELECT 1 FROM (SELECT *, x AS match_id FROM moving) MATCH_RECOGNIZE (PARTITION BY «match_id» ORDER BY ts PATTERN (a))",
        "CEP_ANALYSIS_DUPLICATE_NAME",
    ),
]
KEPT = [
    (
        f"SELECT k FROM moving {PAIR.replace('B b', '«B _late»')} AS m (k, s, e, a, b, i, c, l)",
        "CEP_ANALYSIS_DUPLICATE_NAME",
    ),
    (f"SELECT k FROM moving {COUNTED} AS m (k, «_late»)", "CEP_ANALYSIS_DUPLICATE_NAME"),
    (f"SELECT k FROM moving {COUNTED} AS m «(k, n, i, c)»", "CEP_ANALYSIS_COLUMN_LIST"),
]


def rated(spark: SparkSession) -> DataFrame:
    """A stream without a watermark."""
    stream = spark.readStream.format("rate").load()
    return stream.selectExpr("timestamp AS ts", "CAST(value AS STRING) AS k", "k AS type", "value AS x")


def test_names_of_the_columns_that_a_stream_adds(spark: SparkSession) -> None:
    rated(spark).withWatermark("ts", "1 second").createOrReplaceTempView("moving")
    assert refusals(spark, OWN_NAMES) == OWN_NAMES
    for clause, listed in LISTS.items():
        names = listed.split(", ")
        assert spark.sql(f"SELECT * FROM moving {clause} AS m ({listed})").columns == [
            *names,
            "match_id",
            "_change_type",
        ]
        assert spark.sql(f"SELECT * FROM moving {clause} m ({listed}, match_id, c)").columns == [
            *names,
            "match_id",
            "c",
        ]
    assert spark.sql(f"SELECT k FROM moving {PAIR.replace('B b', 'NOT B match_id, C _late')}").columns == ["k"]
    spark.conf.set("sparkcep.stream.lateRows", "keep")
    try:
        assert refusals(spark, KEPT) == KEPT
        assert spark.sql(f"SELECT * FROM moving {COUNTED} AS m (q, n)").columns[2:] == [
            "match_id",
            "_change_type",
            "_late",
        ]
    finally:
        spark.conf.unset("sparkcep.stream.lateRows")


def test_a_list_names_what_it_names_over_a_table(spark: SparkSession, arrive: Arrive) -> None:
    folder = arrive(disordered(events(40), 20))
    text = f"SELECT q, n, size(x) AS s FROM {{}} {PAIR.replace('B b', 'B+ b')} AS m (q, since, n, y, x)"
    found, _ = emitted(spark.sql(text.format("moving")), folder)
    wanted = [row.asDict() for row in spark.sql(text.format("still")).collect()]
    assert len(wanted) > 5
    assert in_order(found) == in_order(wanted)


def test_what_no_watermark_decides_is_refused(spark: SparkSession) -> None:
    stream = rated(spark)
    stream.createOrReplaceTempView("plain")
    stream.withWatermark("ts", "1 second").createOrReplaceTempView("moving")
    assert refusals(spark, REFUSED) == REFUSED


def refusals(spark: SparkSession, cases: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The statements of ``cases``, marked where their errors point, and the codes of these; each has a hint."""
    found = []
    for marked, _ in cases:
        text = marked.replace("«", "").replace("»", "")
        with pytest.raises(CepError) as caught:
            spark.sql(text)
        span = caught.value.span
        assert span is not None and caught.value.hint
        found.append((f"{text[: span.start]}«{text[span.start : span.end]}»{text[span.end :]}", caught.value.code))
    return found


def test_a_windowed_group_by_stands_behind_a_clause(spark: SparkSession, arrive: Arrive) -> None:
    """A permanent view of a clause over a streaming view; a clause over its matches; and an aggregate over those."""
    folder = arrive(disordered(events(200), 100))
    matches = """SELECT k, a.x AS x, match_end AS at FROM {} MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WHERE a.x < b.x
        WITHIN INTERVAL :w SECONDS)"""
    pairs = """SELECT window(match_end, '2 minutes').start AS start, COUNT(*) AS n, SUM(p.x) AS s FROM ({}) MATCH PATTERN (
        SEQ(ANY p, ANY q) PARTITION BY k ORDER BY at WHERE p.x < q.x WITHIN 90 SECONDS) GROUP BY window(match_end, '2 minutes')"""
    found, _ = emitted(spark.sql(pairs.format(matches.format("moving")), args={"w": 60}), folder)
    wanted = spark.sql(pairs.format(matches.format("still")), args={"w": 60}).collect()
    assert len(wanted) > 2
    assert in_order(found) == in_order([row.asDict() for row in wanted])


PAIRS = "SELECT k, a.x AS ax, b.x AS bx, match_id, _change_type FROM {} MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 15 SECONDS)"


def test_the_name_of_a_match_is_its_clauses_and_its_rows(spark: SparkSession, arrive: Arrive) -> None:
    """Not what is selected from it, how the clause is spaced, or a setting; a checkpoint goes on with other limits, too."""
    clause = "MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WHERE a.x < b.x WITHIN 15 SECONDS)"
    spaced = "Match Pattern (/*+ CEP_ENGINE(eager) */ Seq(A a, B b)\nPARTITION BY k ORDER BY ts -- time\nWHERE A.x<b.x WITHIN 15 SECONDS)"
    folder = arrive([[("a", "A", 1, 10), ("a", "B", 2, 12), ("b", "A", 3, 100), ("b", "B", 4, 101)]])
    emitted(spark.sql(f"SELECT match_id FROM moving {clause}"), folder)
    arrive([[LAST]])
    found = []
    for name, columns, text, given in [
        ("out", "match_id", clause, {"sparkcep.maxPartialMatches": "1000000", "sparkcep.negation": "post"}),
        ("wide", "match_id, b.ts, a.x", clause, {"sparkcep.rules.disable": "prune_fields"}),
        ("spaced", "match_id, a.x", spaced, {}),
    ]:
        try:
            for key, value in given.items():
                spark.conf.set(key, value)
            found.append(
                {row["match_id"] for row in emitted(spark.sql(f"SELECT {columns} FROM moving {text}"), folder, name)[0]}
            )
        finally:
            for key in given:
                spark.conf.unset(key)
    assert len(found[0]) == 2 and found[0] == found[1] == found[2]


@pytest.mark.parametrize("condition", ["", "WHERE a.x < (SELECT 5) + b.x * 0"])
def test_late_rows_are_kept_apart_and_matches_have_names(spark: SparkSession, arrive: Arrive, condition: str) -> None:
    """Also where Spark applies a condition to the matches."""
    rows = [("a", "A", 1, 10), ("a", "B", 2, 12), ("b", "A", 3, 100), ("b", "B", 4, 101), ("b", "B", 4, 101)]
    late = ("a", "B", 9, 11)
    folder = arrive([rows, [("b", "C", 0, 300)], [late, ("b", "C", 0, 301)], [LAST]])
    spark.conf.set("sparkcep.stream.lateRows", "keep")
    try:
        text = PAIRS.format("moving").replace("_change_type", "_change_type, _late")
        text = text.replace("WITHIN", f"{condition} WITHIN")
        found, query = emitted(spark.sql(text), folder)
    finally:
        spark.conf.unset("sparkcep.stream.lateRows")
    matches = {row["match_id"]: (row["k"], row["ax"], row["bx"]) for row in found if row["_change_type"] == "insert"}
    assert sorted(matches.values()) == [("a", 1, 2), ("b", 3, 4), ("b", 3, 4)]
    (kept,) = (row["_late"] for row in found if row["_change_type"] == "late")
    assert (kept["k"], kept["type"], kept["x"]) == late[:3]
    assert sum(m["late"] or 0 for p in query.recentProgress for m in p["observedMetrics"].values()) == 1


def test_late_rows_are_kept_with_intervals(spark: SparkSession, arrive: Arrive) -> None:
    folder = arrive(
        [[("a", "A", 1, 10), ("b", "A", 3, 100)], [("b", "C", 0, 300)], [("a", "B", 9, 11), ("b", "C", 0, 301)], [LAST]]
    )
    months = "MAKE_YM_INTERVAL(0, x)"
    intervals = (
        f"{months} AS m, NAMED_STRUCT('i', ARRAY({months}), '`j`', MAP(x, {months})) AS `two s`, MAKE_INTERVAL(x) AS c"
    )
    rows = f"(SELECT * EXCEPT (type), {intervals} FROM moving)"
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a))"
    spark.conf.set("sparkcep.stream.lateRows", "keep")
    try:
        text = f"SELECT CAST(_late AS STRING) AS late, _late.m > INTERVAL '8' MONTH AS long FROM {rows} {clause}"
        found, _ = emitted(spark.sql(text), folder)
    finally:
        spark.conf.unset("sparkcep.stream.lateRows")
    nine = "INTERVAL '0-9' YEAR TO MONTH"
    late = f"{{a, 9, 1970-01-01 00:00:11, {nine}, {{[{nine}], {{9 -> {nine}}}}}, 9 years}}"
    assert [row for row in found if row["late"]] == [{"late": late, "long": True}]


def test_a_checkpoint_belongs_to_its_clause(spark: SparkSession, arrive: Arrive) -> None:
    folder = arrive([[("a", "A", 1, 10)]])
    emitted(spark.sql(PAIRS.format("moving")), folder)
    with pytest.raises(StreamingQueryException, match=r"CEP_DATA_STREAM_CHECKPOINT.*SEQ\(A a, B b\)"):
        (Path(folder) / "in" / "001.parquet").write_bytes((Path(folder) / "in" / "000.parquet").read_bytes())
        emitted(spark.sql(PAIRS.format("moving").replace("15 SECONDS", "16 SECONDS")), folder)


def test_explain_says_what_a_stream_keeps(spark: SparkSession, arrive: Arrive) -> None:
    arrive([[("a", "A", 1, 10)]])
    spark.conf.set("sparkcep.explain.rows", "3")
    report = "\n".join(row[0] for row in spark.sql(f"EXPLAIN PATTERN {PAIRS.format('moving')}").collect())
    spark.conf.unset("sparkcep.explain.rows")
    assert "stream        keeps events until their windows have closed" in report
    assert "a match is emitted when the watermark passes its last event" in report
    rows = "EXPLAIN PATTERN SELECT * FROM moving MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS n PATTERN (a b+) DEFINE b AS x > PREV(x))"
    report = "\n".join(row[0] for row in spark.sql(rows).collect())
    assert "keeps the rows from the first start of a match on that is undecided" in report
    assert "never dropped" in report
    for name, kept in {"open": "keeps matches that have begun", "automaton": "keeps runs that are open"}.items():
        report = "\n".join(row[0] for row in spark.sql(f"EXPLAIN PATTERN {QUERIES[name].format('moving')}").collect())
        assert kept in report


def test_a_setting_of_streams_that_is_not_known_is_refused(spark: SparkSession) -> None:
    spark.conf.set("sparkcep.stream.mode", "optimistic")
    try:
        with pytest.raises(CepError, match=r"sparkcep\.stream\.mode is optimistic"):
            spark.sql("SELECT * FROM VALUES (1) AS t(x) MATCH_RECOGNIZE (ORDER BY x PATTERN (a))")
    finally:
        spark.conf.unset("sparkcep.stream.mode")


def test_clauses_that_read_the_same_of_a_stream(spark: SparkSession, arrive: Arrive) -> None:
    """Spark would exchange their rows once, and tell the second one no time."""
    folder = arrive(disordered(events(40), 15))
    pattern = "MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN {} SECONDS)"
    text = f"""WITH c AS (SELECT k, a.x AS x, b.x AS y FROM moving {pattern.format(9)})
      SELECT k, x FROM c UNION ALL SELECT k, y FROM c UNION ALL SELECT k, b.x FROM moving {pattern.format(7)}"""
    found, _ = emitted(spark.sql(text), folder)
    wanted = [row.asDict() for row in spark.sql(text.replace("moving", "still")).collect()]
    assert len(wanted) > 9
    assert sorted(map(str, found)) == sorted(map(str, wanted))


@pytest.mark.parametrize("dropped", [False, True], ids=["never NULL", "NULLs dropped"])
def test_time_passes_with_events_that_take_no_part(spark: SparkSession, arrive: Arrive, dropped: bool) -> None:
    folder = arrive([[("a", "A", 1, 100), ("a", "B", 2, 103)], [LAST]])
    if dropped:
        spark.conf.set(NULL_EVENT_TIME, "drop")
    else:
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
        timed = stream.selectExpr("k", "type", "x", "COALESCE(ts, TIMESTAMP '1970-01-01 00:00:00') AS ts")
        timed.withWatermark("ts", f"{DELAY} seconds").createOrReplaceTempView("moving")
    try:
        text = "SELECT a.x FROM moving MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 6 SECONDS)"
        found, _ = emitted(spark.sql(text), folder)
    finally:
        spark.conf.unset(NULL_EVENT_TIME)
    assert found == [{"x": 1}]

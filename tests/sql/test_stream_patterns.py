"""Patterns that change while a stream runs: arcs hold for events in their lifetimes, runs go on by state and register, changes that would break a
stream are refused by its name."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from sparkcep.errors import CepError
from tests.sql.arrivals import put
from tests.sql.test_streams import DELAY, END, LAST, SCHEMA, emitted, in_order, refusals

START = "PARTITION BY k ORDER BY ts REGISTERS (n INT DEFAULT 0) START s FINAL f"
FIRST = f"{START} ARC s -> m WHEN type = 'A' SET n = x ARC m -> m WHEN type <> 'B' ARC m -> f WHEN type = 'B' AND x > n"
LIFETIMES = """{start} ARC s -> m WHEN type = 'A' SET n = x ARC m -> m WHEN type <> 'B' ARC m -> f WHEN type = 'B' AND x > n
    ARC m -> f NAMED c WHEN type = 'C' SET n = n + 100 VALID FROM TIMESTAMP_SECONDS({added})
    ARC m -> f NAMED d WHEN upper(type) = 'D' AND x BETWEEN 2 AND 9 SET n = -1 VALID FROM TIMESTAMP_SECONDS({planned}) TO TIMESTAMP_SECONDS({dropped})
    ARC s -> f NAMED e WHEN type = 'E' AND seen = 7 AND ts IS NOT NULL VALID FROM TIMESTAMP_SECONDS({dropped})"""
"""What the stream of ``test_…_reach_a_running_stream`` has been told, as one automaton over a table."""

Arrive = Callable[[list[tuple[str, str, int, int]]], None]
Begin = Callable[..., StreamingQuery]


@pytest.fixture
def patterns(spark: SparkSession) -> Iterator[None]:
    """A schema of its own, with the pattern ``changing``."""
    schema = f"followed_{time.monotonic_ns()}"
    spark.sql(f"CREATE SCHEMA {schema}")
    spark.sql(f"USE {schema}")
    spark.sql(f"CREATE PATTERN changing AS ({FIRST})")
    yield
    spark.sql("USE default")
    spark.sql(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def arrive(spark: SparkSession, tmp_path: Path, patterns: None) -> Iterator[Arrive]:
    """Lets rows arrive in the view ``moving``, as a file."""
    (tmp_path / "in").mkdir()
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    stream.withWatermark("ts", f"{DELAY} seconds").createOrReplaceTempView("moving")
    yield partial(put, tmp_path / "in", SCHEMA)
    spark.catalog.dropTempView("moving")


@pytest.fixture(params=["conservative", "speculative"])
def begin(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Begin:
    """Starts the stream ``alarms`` that follows a pattern, or lets it go on."""

    def begun(pattern: str = "changing") -> StreamingQuery:
        spark.conf.set("sparkcep.stream.mode", request.param)
        try:
            found = spark.sql(f"SELECT * FROM moving MATCH AUTOMATON {pattern}")
        finally:
            spark.conf.unset("sparkcep.stream.mode")
        writer = found.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "check"))
        return writer.option("path", str(tmp_path / "out")).queryName("alarms").start()

    return begun


def test_changes_reach_a_running_stream(spark: SparkSession, tmp_path: Path, arrive: Arrive, begin: Begin) -> None:
    query = begin()
    arrive([("a", "A", 1, 100), ("a", "C", 5, 101), ("a", "B", 3, 102), ("b", "A", 4, 103), ("b", "C", 0, 140)])
    query.processAllAvailable()  # the watermark: 120
    spark.sql("ALTER PATTERN changing ADD ARC m -> f NAMED c WHEN type = 'C' SET n = n + 100")
    arrive([("b", "C", 1, 141), ("a", "A", 2, 142), ("a", "C", 6, 160), ("b", "D", 5, 161)])
    query.processAllAvailable()
    spark.sql("""ALTER PATTERN changing ADD ARC m -> f NAMED d WHEN upper(type) = 'D' AND x BETWEEN 2 AND 9 SET n = -1
        EFFECTIVE FROM TIMESTAMP_SECONDS(180)""")
    arrive([("b", "D", 5, 179), ("b", "D", 5, 181), ("b", "D", 1, 182), ("c", "E", 1, 183), ("a", "D", 8, 200)])
    query.processAllAvailable()  # 180
    query.stop()
    spark.sql(f"""ALTER PATTERN changing REPLACE AS ({START.replace("0)", "0, seen INT DEFAULT 7)").replace("BY ", "BY  ")}
        ARC m -> f WHEN x > n AND type = 'B' ARC s -> m WHEN type = 'A' SET n = x ARC m -> m WHEN type <> 'B'
        ARC m -> f NAMED c WHEN type = 'C' SET n = n + 100 ARC s -> f NAMED e WHEN type = 'E' AND seen = 7 AND ts IS NOT NULL)
        EFFECTIVE FROM TIMESTAMP_SECONDS(210)""")
    query = begin()
    arrive([("a", "D", 8, 209), ("a", "D", 8, 210), ("c", "E", 1, 211), ("b", "C", 2, 212), ("d", "E", 3, 190)])
    query.processAllAvailable()
    arrive([LAST])
    query.processAllAvailable()
    query.stop()
    found = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "out")).drop("seen")
    came = [row.asDict() for row in found.collect()]
    spark.read.schema(SCHEMA).parquet(str(tmp_path / "in")).createOrReplaceTempView("still")
    told = LIFETIMES.format(start=START.replace("0)", "0, seen INT DEFAULT 7)"), added=120, planned=180, dropped=210)
    wanted = spark.sql(f"SELECT * EXCEPT (seen) FROM still MATCH AUTOMATON ({told})").collect()
    net = Counter(in_order([row for row in came if row["_change_type"] != "delete"]))
    net.subtract(in_order([row for row in came if row["_change_type"] == "delete"]))
    assert {line: n for line, n in net.items() if n} == Counter(in_order([row.asDict() for row in wanted]))
    assert {row["n"] for row in wanted} >= {1, -1, 0, 104}


REFUSED = [
    (
        "ALTER PATTERN changing REPLACE AS («PARTITION BY k ORDER BY ts REGISTERS (m INT) START s FINAL f ARC s -> f SET m = 1»)",
        "CEP_ANALYSIS_PATTERN_STREAM",
    ),
    (
        f"ALTER PATTERN changing REPLACE AS («{START.replace('INT', 'BIGINT')} ARC s -> f»)",
        "CEP_ANALYSIS_PATTERN_STREAM",
    ),
    (
        f"ALTER PATTERN changing REPLACE AS («{START.replace('BY k', 'BY type')} ARC s -> f»)",
        "CEP_ANALYSIS_PATTERN_STREAM",
    ),
    (f"ALTER PATTERN changing REPLACE AS («{FIRST} WITHIN 1 HOUR»)", "CEP_ANALYSIS_PATTERN_STREAM"),
    ("ALTER PATTERN changing «ADD» ARC m -> f WHEN nothing = 1", "CEP_ANALYSIS_PATTERN_STREAM"),
    ("CREATE OR REPLACE PATTERN «changing» AS (SEQ(A a, B b) ORDER BY ts)", "CEP_ANALYSIS_PATTERN_STREAM"),
    ("DROP PATTERN «changing»", "CEP_ANALYSIS_PATTERN_STREAM"),
    ("ALTER PATTERN changing DROP STREAM «other»", "CEP_ANALYSIS_PATTERN_STREAM"),
]


@pytest.mark.parametrize("begin", ["conservative"], indirect=True)
def test_what_would_break_a_running_stream_is_refused_by_its_name(
    spark: SparkSession, arrive: Arrive, begin: Begin
) -> None:
    query = begin()
    arrive([("a", "A", 1, 100)])
    query.processAllAvailable()
    refused = [
        (text.replace("«ADD» ARC m -> f WHEN nothing = 1", "ADD «ARC m -> f WHEN nothing = 1»"), code)
        for text, code in REFUSED
    ]
    assert refusals(spark, refused) == refused
    with pytest.raises(
        Exception, match="the stream alarms follows the pattern changing: the register n may not change: int"
    ):
        spark.sql(refused[1][0].replace("«", "").replace("»", ""))
    explained = spark.sql("EXPLAIN PATTERN SELECT * FROM moving MATCH AUTOMATON changing").collect()
    assert any("follows the pattern changing" in row[0] for row in explained)
    described = {row.info_name: row.info_value for row in spark.sql("DESCRIBE PATTERN changing").collect()}
    assert described["Followed by"] == "alarms"
    spark.sql("ALTER PATTERN changing DROP STREAM alarms")
    query.stop()
    spark.sql("DROP PATTERN changing")


@pytest.mark.parametrize("begin", ["conservative"], indirect=True)
def test_a_stream_that_has_ended_refuses_nothing(spark: SparkSession, arrive: Arrive, begin: Begin) -> None:
    query = begin()
    arrive([("a", "A", 1, 100)])
    query.processAllAvailable()
    query.stop()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    spark.sql("ALTER PATTERN changing REPLACE AS (ORDER BY ts START s FINAL f ARC s -> f)")


@pytest.mark.parametrize("begin", ["conservative"], indirect=True)
def test_the_checkpoint_of_another_pattern_is_refused(spark: SparkSession, arrive: Arrive, begin: Begin) -> None:
    query = begin()
    arrive([("a", "A", 1, 100)])
    query.processAllAvailable()
    query.stop()
    spark.sql(f"CREATE PATTERN other AS ({FIRST})")
    query = begin("other")
    arrive([("a", "A", 1, 101)])
    with pytest.raises(StreamingQueryException, match="CEP_DATA_STREAM_CHECKPOINT"):
        query.processAllAvailable()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (f"{START} ARC s -> f WHEN x = (SELECT max(x) FROM VALUES (1) AS v(x))", "a subquery"),
        (f"{START.replace('INT DEFAULT 0', 'ARRAY<INT>')} ARC s -> f", "the register n array<int>"),
        ("SEQ(A a, B b) PARTITION BY k ORDER BY ts WHERE soundex(a.k) = 'x' WITHIN 1 HOUR", "the function soundex"),
        ("SEQ(A a, B b) ORDER BY ts WHERE a.k = b.k WITHIN 1 HOUR", "a WHERE that partitions its events"),
    ],
)
def test_what_no_running_stream_can_follow_is_said(
    spark: SparkSession, arrive: Arrive, body: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    clause = "MATCH PATTERN" if body.startswith("SEQ") else "MATCH AUTOMATON"
    spark.sql(f"CREATE PATTERN fixed AS ({body})")
    with caplog.at_level(logging.WARNING, "sparkcep"):
        assert spark.sql(f"SELECT * FROM moving {clause} fixed").isStreaming
    (said,) = (record.getMessage() for record in caplog.records if "as it is now" in record.getMessage())
    assert why in said
    caplog.clear()
    spark.conf.set("sparkcep.stream.patterns", "fixed")
    try:
        spark.sql("SELECT * FROM moving MATCH AUTOMATON changing")
    finally:
        spark.conf.unset("sparkcep.stream.patterns")
    assert spark.sql("SELECT * FROM sparkcep_patterns WHERE change = 'bound'").isEmpty()


def test_a_stream_that_cannot_follow_is_refused(spark: SparkSession, arrive: Arrive) -> None:
    planned = "ALTER PATTERN changing REPLACE AS (ORDER BY ts START s FINAL f ARC s -> f) EFFECTIVE FROM TIMESTAMP'2099-01-01'"
    spark.sql(planned)
    unable = [("SELECT * FROM moving «MATCH AUTOMATON» changing", "CEP_ANALYSIS_PATTERN_STREAM")]
    with pytest.raises(CepError, match="version 2 of the pattern changing: PARTITION BY may not change"):
        spark.sql(unable[0][0].replace("«", "").replace("»", ""))
    assert refusals(spark, unable) == unable
    spark.sql("CREATE OR REPLACE PATTERN changing AS (ORDER BY ts START s FINAL f ARC s -> f)")
    spark.sql("CREATE VIEW others AS SELECT * FROM sparkcep_patterns")
    spark.conf.set("sparkcep.patterns.table", "others")
    try:
        assert refusals(spark, unable) == unable
    finally:
        spark.conf.unset("sparkcep.patterns.table")


ASKED = (
    *(
        "x > 4",
        "x >= n",
        "x + 1 > n * 2",
        "x / 2 > 1.5",
        "x BETWEEN n AND 7",
        "abs(x - n) < 3",
        "-x < n",
        "x <=> NULL",
        "x IS NULL OR n = 2",
    ),
    *(
        "big > 2",
        "big > x",
        "d > 2.25",
        "d > x",
        "d > 3",
        "f > 2.5",
        "f > x",
        "dec > 2.5",
        "dec = x",
        "dec + 1 < n",
        "x IN (1, 3, 5)",
    ),
    *(
        "type = 'B'",
        "type < 'C'",
        "type <> 'B' AND x > 2",
        "'B' = type OR x = n",
        "type LIKE '_' AND NOT type IN ('A', 'C')",
        "upper(type) = 'D'",
    ),
    *(
        "day > DATE'1970-01-01'",
        "ts >= TIMESTAMP'1970-01-01 00:00:30'",
        "ok",
        "NOT ok",
        "ok AND x > n",
        "CASE WHEN ok THEN x ELSE n END > 3",
    ),
    *(
        "exists(xs, x -> x > 5)",
        "xs[0] = n",
        "coalesce(d, x) > n",
        "d > f AND big <> n",
        "length(type) = 1 AND x % 2 = 0",
    ),
)
"""Conditions of all kinds; x, d, f, dec and type have NULLs, d and f NaN."""


def test_the_engine_asks_what_spark_would(spark: SparkSession, arrive: Arrive, tmp_path: Path) -> None:
    """Each condition leads to a state of its own, so that one stream and one query compare all."""
    arrive([("ab"[i % 2], "ABCD"[i * 7 % 4], i * 5 % 9, i) for i in range(60)])
    arrive([("end", "Z", 0, END)])
    arrive([("end", "Z", 0, END + 1)])
    columns = """SELECT k, IF(x = 8, NULL, type) AS type, IF(x = 7, NULL, x) AS x, ts, CAST(x AS BIGINT) AS big, IF(x = 6, DOUBLE('NaN'), x / 2) AS d,
        IF(x = 5, FLOAT('NaN'), CAST(x AS FLOAT)) AS f, CAST(IF(x = 4, NULL, x) AS DECIMAL(10, 2)) AS dec, DATE_ADD(DATE'1970-01-01', x - 2) AS day,
        x > 3 AS ok, ARRAY(x, x + 1) AS xs FROM {}"""
    states = ", ".join(f"f{i}" for i in range(len(ASKED)))
    arcs = " ".join(f"ARC m -> f{i} WHEN {condition}" for i, condition in enumerate(ASKED))
    body = f"PARTITION BY k ORDER BY ts REGISTERS (n INT) START s FINAL {states} ARC s -> m SET n = x {arcs} WITHIN 10 SECONDS"
    spark.sql(f"CREATE PATTERN asks AS ({body})")
    moving = spark.sql(f"SELECT * FROM ({columns.format('moving')}) MATCH AUTOMATON asks")
    assert spark.sql("SELECT * FROM sparkcep_patterns WHERE change = 'bound'").count() == 1
    found, _ = emitted(moving, str(tmp_path), "asked")
    still = columns.format(f"parquet.`{tmp_path}/in`")
    wanted = [
        row.asDict()
        for row in spark.sql(f"SELECT * FROM ({still}) MATCH AUTOMATON ({body}) WHERE k <> 'end'").collect()
    ]
    assert in_order(found) == in_order(wanted)
    assert len({row["final_state"] for row in wanted}) > len(ASKED) - 3


def test_a_field_of_a_struct_is_sparks_affair(
    spark: SparkSession, arrive: Arrive, caplog: pytest.LogCaptureFixture
) -> None:
    spark.sql(f"CREATE PATTERN fielded AS ({START} ARC s -> f WHEN both.x = 1)")
    with caplog.at_level(logging.WARNING, "sparkcep"):
        assert spark.sql("SELECT * FROM (SELECT *, STRUCT(x) AS both FROM moving) MATCH AUTOMATON fielded").isStreaming
    assert any("as it is now" in record.getMessage() for record in caplog.records)

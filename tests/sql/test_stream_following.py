"""Patterns of MATCH_RECOGNIZE and MATCH PATTERN that change while a stream runs: each version answers the rows in whose lifetime they lie."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StreamingQuery

from sparkcep.engines.functions.columns import computed
from sparkcep.errors import CepError
from sql_functions.catalog import ClassicDescribe, dataset_of_plan
from tests.sql.test_stream_patterns import Arrive, arrive, patterns
from tests.sql.test_streams import END, LAST, SCHEMA, in_order

__all__ = ["arrive", "patterns"]

ROWS = """PARTITION BY k ORDER BY ts MEASURES a.x AS ax, LAST(b.x) AS bx, COUNT(*) AS n, LAST(b.type) AS t
    PATTERN (a b+{more}) {within} DEFINE a AS {a}, b AS {b}"""
EVENTS = "SEQ(A a, {negated} n, {types} b) PARTITION BY k ORDER BY ts {strategy} WHERE {where} {within}"
COUNTED = """SEQ(A a, {negated} n, {types} b) PARTITION BY k ORDER BY ts WHERE {where} {within}
    MEASURES COUNT(*) AS n, SUM(b.x + 1) AS total, MAX(a.ts) AS last"""
BODIES = {
    "MATCH_RECOGNIZE": (
        ROWS.format(more="", within="", a="type = 'A'", b="b.x > 3 AND type <> 'A'"),
        ROWS.format(more="", within="", a="type = 'A'", b="upper(type) < 'D' AND b.x >= a.x OR x = PREV(x)"),
        ROWS.format(more="?", within="WITHIN INTERVAL 20 SECONDS", a="type IN ('A', 'B') AND (x <> PREV(x)) IS NOT FALSE", b="x % 2 = 0 OR x > 100 / (x + 1)"),
    ),
    "MATCH PATTERN": (
        EVENTS.format(negated="NOT D", types="B", strategy="", where="a.x < b.x", within="WITHIN INTERVAL 20 SECONDS"),
        EVENTS.format(
            negated="NOT C", types="ANY", strategy="", where="upper(b.type) = 'B' AND b.x > a.x - 3 AND n.x > 1",
            within="WITHIN INTERVAL 25 SECONDS"),
        EVENTS.format(negated="NOT D", types="ANY", strategy="SKIP TILL NEXT MATCH", where="b.x > 100 / (a.x + 20)",
                      within="WITHIN INTERVAL 1 MINUTE"),
    ),
    "MATCH PATTERN totals": (
        COUNTED.format(negated="NOT D", types="B", where="a.x < 8", within="WITHIN INTERVAL 20 SECONDS"),
        COUNTED.format(negated="NOT C", types="ANY", where="upper(b.type) = 'B' AND n.x > 1", within="WITHIN INTERVAL 25 SECONDS"),
        COUNTED.format(negated="NOT D", types="ANY", where="b.x > 100 / (b.x + 20)", within="WITHIN INTERVAL 1 MINUTE"),
    ),
}  # fmt: skip


def test_changes_reach_running_streams(spark: SparkSession, tmp_path: Path, arrive: Arrive) -> None:
    for kind, bodies in BODIES.items():
        spark.sql(f"CREATE OR REPLACE PATTERN {_name(kind)} AS ({bodies[0]})")
    queries = [_begin(spark, tmp_path, kind) for kind in BODIES]
    arrive(_rows(100, 141, 1))  # the watermark: 120
    _all_done(queries)
    _refused(spark)
    for kind, bodies in BODIES.items():
        spark.sql(f"ALTER PATTERN {_name(kind)} REPLACE AS ({bodies[1]})")
    arrive(_rows(121, 162, 2))  # 141
    _all_done(queries)
    for kind, bodies in BODIES.items():
        spark.sql(f"ALTER PATTERN {_name(kind)} REPLACE AS ({bodies[2]}) EFFECTIVE FROM TIMESTAMP_SECONDS(180)")
    arrive(_rows(150, 200, 3))
    _all_done(queries)
    for query in queries:
        query.stop()
    queries = [_begin(spark, tmp_path, kind) for kind in BODIES]
    arrive(_rows(181, 240, 4))
    _all_done(queries)
    arrive([LAST])
    _all_done(queries)
    for query in queries:
        query.stop()
    spark.read.schema(SCHEMA).parquet(str(tmp_path / "in")).createOrReplaceTempView("still")
    for kind, bodies in BODIES.items():
        wanted = []
        for body, low, high in zip(bodies, (0, 120, 180), (120, 180, END), strict=True):
            rows = f"(SELECT * FROM still WHERE ts >= TIMESTAMP_SECONDS({low}) AND ts < TIMESTAMP_SECONDS({high}))"
            found = spark.sql(f"SELECT * FROM {rows} {_clause(kind)} ({body})").collect()
            assert found
            wanted += [row.asDict(recursive=True) for row in found]
        came = spark.read.parquet(str(tmp_path / f"{_name(kind)}.out")).collect()
        if kind == "MATCH PATTERN totals":
            assert _current(came) == _together(wanted)
            continue
        net = Counter(in_order([row.asDict(True) for row in came if row["_change_type"] != "delete"]))
        net.subtract(in_order([row.asDict(True) for row in came if row["_change_type"] == "delete"]))
        assert {line: n for line, n in net.items() if n} == Counter(in_order(wanted)), kind


def _current(came: list[Row]) -> dict[str, tuple[Any, ...]]:
    """The totals of each key: the number of matches only grows."""
    return {row.k: (row.n, row.total, row.last) for row in sorted(came, key=lambda row: row.n)}


def _together(wanted: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """The totals of each key, of all versions."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in wanted:
        found.setdefault(row["k"], []).append(row)
    return {
        k: (sum(one["n"] for one in rows), sum(one["total"] for one in rows), max(one["last"] for one in rows))
        for k, rows in found.items()
    }


def _clause(kind: str) -> str:
    return kind.removesuffix(" totals")


def _name(kind: str) -> str:
    return kind.replace(" ", "_").lower()


def _begin(spark: SparkSession, folder: Path, kind: str) -> StreamingQuery:
    """Starts the stream, or lets it go on; that of events takes back what is wrong."""
    name = _name(kind)
    spark.conf.set("sparkcep.stream.mode", "speculative" if kind == "MATCH PATTERN" else "conservative")
    spark.conf.set("sparkcep.stream.buckets", 2)
    found = spark.sql(f"SELECT * FROM moving {_clause(kind)} {name}")
    spark.conf.unset("sparkcep.stream.mode")
    spark.conf.unset("sparkcep.stream.buckets")
    writer = found.writeStream.format("parquet").option("checkpointLocation", str(folder / f"{name}.check"))
    return writer.option("path", str(folder / f"{name}.out")).queryName(name).start()


def _all_done(queries: list[StreamingQuery]) -> None:
    for query in queries:
        query.processAllAvailable()


REFUSED = [
    (f"{BODIES['MATCH_RECOGNIZE'][0].replace('LAST(b.x)', 'LAST(b.x) + 1')}", "MEASURES may not change: a.x AS ax,"),
    (f"{BODIES['MATCH_RECOGNIZE'][0].replace('BY k', 'BY type')}", "PARTITION BY may not change: k, now type"),
    (
        f"{BODIES['MATCH_RECOGNIZE'][0].replace('b.x > 3', 'soundex(type) = 0')}",
        "the function soundex for workers alone",
    ),
    (f"{BODIES['MATCH_RECOGNIZE'][0].replace('b.x > 3', 'nothing > 3')}", "nothing"),
    ("SEQ(A a, B b) PARTITION BY k ORDER BY ts", "is a body of"),
]


def _refused(spark: SparkSession) -> None:
    """What would break the running stream is refused by its name."""
    for body, why in REFUSED:
        with pytest.raises(CepError, match=re.escape(why)) as refusal:
            spark.sql(f"ALTER PATTERN match_recognize REPLACE AS ({body})")
        assert refusal.value.span is not None
        assert "is a body of" in why or "the stream match_recognize follows the pattern" in refusal.value.message
    with pytest.raises(CepError, match="MEASURES may not change: COUNT"):
        spark.sql(
            f"ALTER PATTERN match_pattern_totals REPLACE AS ({BODIES['MATCH PATTERN totals'][0].replace('+ 1', '+ 2')})"
        )
    no_engine = "AND(A a, ANY+ b[], C c) PARTITION BY k ORDER BY ts SKIP TILL NEXT MATCH"
    with pytest.raises(CepError, match="the stream match_pattern follows the pattern"):
        spark.sql(f"ALTER PATTERN match_pattern REPLACE AS ({no_engine})")


def test_columns_of_workers_are_sparks(spark: SparkSession) -> None:
    """What workers compute from whole rows is what Spark computes."""
    drawn = random.Random(1)
    values = {
        "i INT": (None, -5, 0, 1, 2, 3, 2147483647),
        "l BIGINT": (None, -1, 0, 7, 9223372036854775807),
        "d DOUBLE": (None, 0.0, -0.0, float("nan"), 1.5, float("inf")),
        "s STRING": (None, "a", "B", "", "buy"),
        "b BOOLEAN": (None, True, False),
        "t TIMESTAMP": (None, datetime(2024, 3, 31, 1, 30), datetime(1969, 1, 1)),
        "day DATE": (None, date(2024, 2, 29)),
        "m DECIMAL(10,2)": (None, Decimal("1.50"), Decimal("-3.25")),
    }
    rows = [tuple(drawn.choice(own) for own in values.values()) for _ in range(300)]
    table = spark.createDataFrame(rows, ", ".join(values)).coalesce(1)
    table.createOrReplaceTempView("drawn_columns")
    stand_in = ", ".join(f"CAST(NULL AS {field.dataType.simpleString()}) AS {field.name}" for field in table.schema)
    texts = ", ".join(f"{text} AS c{i}" for i, text in enumerate(COLUMNS))
    for zone in ("UTC", "Europe/Berlin"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            wanted = spark.sql(f"SELECT {texts} FROM drawn_columns").toArrow()
            trees = _describe(spark).columns(f"SELECT {texts} FROM (SELECT {stand_in}) AS leaf", "leaf")
            found = computed(trees, table.toArrow(), {name: wanted.schema.field(name).type for name in trees})
        finally:
            spark.conf.unset("spark.sql.session.timeZone")
        for name, text in zip(trees, COLUMNS, strict=True):
            assert str(found[name].to_pylist()) == str(wanted.column(name).to_pylist()), text
    for text, error in FAILING.items():
        trees = _describe(spark).columns(f"SELECT {text} AS r FROM (SELECT {stand_in}) AS leaf", "leaf")
        with pytest.raises(CepError, match=error):
            computed(trees, table.toArrow(), {"r": pa.int64()})


def _describe(spark: SparkSession) -> ClassicDescribe:
    session = spark._jsparkSession
    parse = session.sessionState().sqlParser().parsePlan
    return ClassicDescribe(dataset_of_plan(spark.sparkContext), session, parse)


COLUMNS = (
    *("i > 1", "d > 1", "d = d", "d <=> NULL", "s = 'buy'", "s IN ('a', NULL)", "i IN (1, 2, NULL)", "NOT b"),
    *("b AND d > 0", "b OR i IS NULL", "CASE WHEN i > 2 THEN 1 WHEN b THEN 2 END", "IF(i > 1, l, 5)", "COALESCE(i, 3)"),
    *("CAST(i AS BIGINT) * 3 + 1", "i / 2.0D", "d * 2 + i", "UNIX_MICROS(t) + 3600000000L", "m > 1", "m * 2"),
    *("UNIX_MICROS(t + INTERVAL 1 HOUR)", "UNIX_MICROS(t + INTERVAL 2 DAYS)", "t > TIMESTAMP '2000-01-01'", "t", "m"),
    *("day = DATE '2024-02-29'", "upper(s) = 'A'", "length(s) + 1", "CASE WHEN l < 100 THEN l + 1 END", "day + 1"),
    *("CASE WHEN i < 100 THEN i + 1 END", "i BETWEEN 1 AND 3", "s LIKE 'b%'", "HOUR(t)", "abs(i)", "-i", "s || 'x'"),
    *("CAST(CASE WHEN i > 1 THEN 2L ELSE 0L END + CASE WHEN s = 'a' THEN 4L ELSE 0L END AS INT)", "TRY_ADD(l, 1)"),
    *("CASE WHEN i IS NULL THEN NULL WHEN i > 0 OR i <= 0 THEN 1 ELSE RAISE_ERROR('x') END", "i = d", "nullif(i, 1)"),
    *("CAST(l AS DOUBLE) > d", "true", "NULL", "b = true", "GREATEST(i, 2)", "date_trunc('HOUR', t)", "day < day + 1"),
)  # fmt: skip
FAILING = {"l + 1": "OVERFLOW", "CASE WHEN i IS NULL THEN RAISE_ERROR('[CEP_DATA_X] bad') ELSE 1 END": "CEP_DATA_X"}


def _rows(low: int, high: int, seed: int) -> list[tuple[str, str, int, int]]:
    """Rows of three keys, in any order, no two at one time in different draws."""
    drawn = random.Random(seed)
    times = [time for time in range(low, high - 1) if time % 2 == seed % 2]
    rows = [(key, drawn.choice("AABBCD"), drawn.randrange(10), time) for time in times for key in "abc"]
    drawn.shuffle(rows)
    return [*rows, ("d", "Z", 0, high - 1)]

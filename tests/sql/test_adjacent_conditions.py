"""Conditions on adjacent rows that workers test: the answers are those of Spark's LAG and LEAD, and what workers do not test Spark still does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import sparkcep
from rewrites.rules.keys_in_order import NAME
from tests.sql.cases import answers
from tests.sql.test_aseq import setting

pytestmark = pytest.mark.spark

COLUMNS = {
    "tiny": "CASE pmod(hash(id, 1), 5) WHEN 0 THEN -128Y WHEN 1 THEN 127Y WHEN 2 THEN 0Y WHEN 3 THEN 1Y END",
    "n": "CASE pmod(hash(id, 2), 5) WHEN 0 THEN -2147483648 WHEN 1 THEN 2147483647 WHEN 2 THEN 0 WHEN 3 THEN 2 END",
    "big": "CASE pmod(hash(id, 3), 4) WHEN 0 THEN 9007199254740993L WHEN 1 THEN 9007199254740992L WHEN 2 THEN -5L END",
    "d": "CASE pmod(hash(id, 4), 6) WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D WHEN 3 THEN 1e300D WHEN 4 THEN -1.5D END",
    "f": "CASE pmod(hash(id, 5), 5) WHEN 0 THEN CAST('NaN' AS FLOAT) WHEN 1 THEN 0.1F WHEN 2 THEN 1e30F WHEN 3 THEN -0.0F END",
    "m": "CASE pmod(hash(id, 6), 4) WHEN 0 THEN -1.50BD WHEN 1 THEN 1.50BD WHEN 2 THEN 99.99BD END",
    "s": "CASE pmod(hash(id, 7), 5) WHEN 0 THEN '' WHEN 1 THEN 'a' WHEN 2 THEN 'Z' WHEN 3 THEN 'é' END",
    "b": "CASE pmod(hash(id, 8), 3) WHEN 0 THEN TRUE WHEN 1 THEN FALSE END",
    "day": "DATE'2024-02-28' + CAST(pmod(hash(id, 9), 4) AS INT)",
    "ts": "TIMESTAMP'2024-03-10 00:00:00' + make_dt_interval(0, CAST(id AS INT), CAST(id % 7 AS INT))",
    "x": "CASE pmod(hash(id, 10), 7) WHEN 0 THEN X'00FF' WHEN 1 THEN X'' ELSE X'01' END",
}
CONDITIONS = {
    "tiny": ["tiny > PREV(tiny)", "tiny <=> PREV(tiny, 2)", "tiny <> PREV(tiny)", "PREV(tiny) IN (1Y, 127Y)"],
    "n": ["n >= PREV(n)", "n > PREV(n, 2) OR PREV(n) IS NULL", "NOT n = PREV(n)", "n BETWEEN PREV(n) AND PREV(n, 2)"],
    "n, guarded": [
        "n BETWEEN 0 AND 2 AND n - PREV(n, 0) = 0 AND n + 1 > PREV(tiny)",
        "ABS(big) > 2 AND big - PREV(big) > 0",
    ],
    "mixed": [
        "big > PREV(n)",
        "n < PREV(d)",
        "big <= PREV(d)",
        "f > PREV(n)",
        "m > PREV(n)",
        "d > PREV(m)",
        "n = PREV(m)",
    ],
    "d": [
        "d < PREV(d)",
        "d = PREV(d)",
        "d >= PREV(d)",
        "d * 2 > PREV(d) + 1",
        "d IS DISTINCT FROM PREV(d)",
        "-d < PREV(d)",
    ],
    "f": ["f < PREV(f)", "f = PREV(f)", "f * f > PREV(f)", "f + d > PREV(f)", "f <= PREV(d)"],
    "m": ["m > PREV(m)", "m = PREV(m, 3)", "m <> 1.5", "m + 1 > PREV(m)", "m < PREV(m) * 2"],
    "s": [
        "s > PREV(s)",
        "s = PREV(s) OR s = 'a'",
        "CASE WHEN s > PREV(s) THEN b ELSE s = PREV(s, 2) END",
        "s LIKE PREV(s) || '%'",
    ],
    "b": [
        "b > PREV(b)",
        "b AND NOT PREV(b)",
        "b = PREV(b)",
        "PREV(b)",
        "(b = PREV(b)) IS NOT TRUE",
        "COALESCE(PREV(b), b)",
    ],
    "day": [
        "day > PREV(day)",
        "DATEDIFF(day, PREV(day)) = 2",
        "day = PREV(day) + INTERVAL 1 DAY",
        "month(day) > month(PREV(day))",
    ],
    "ts": ["ts - PREV(ts) < INTERVAL 1 HOUR", "ts > PREV(ts, 2) + INTERVAL 125 MINUTES", "hour(ts) < hour(PREV(ts))"],
    "x": ["x > PREV(x)", "x = PREV(x)"],
    "division": ["n / 4 > PREV(n)", "tiny <> 0 AND big / tiny < PREV(tiny)", "COALESCE(PREV(d), 7D) > d"],
    "what may fail": [
        "tiny <> 0Y AND PREV(tiny) <> 0Y AND 5 / tiny < 3 OR tiny IS NULL",
        "n > 0 AND PREV(n) > 0 AND 6 / n > 2",
        "n > 0 AND 6 / n > 2 AND PREV(n) > 0",
        "PREV(tiny) > 0 AND s <> '' AND CAST(IF(s = '', 'x', '1') AS INT) = 1",
        "PREV(n) = 0 OR PREV(n) IS NULL OR 100 / PREV(n) > n",
        "PREV(n) <> 0 AND n <> 0 AND 100 / n > PREV(n)",
        "CASE WHEN PREV(big) IS NOT NULL THEN PREV(n) > 0 ELSE n = 0 END",
    ],
    "next": [
        "d > NEXT(d)",
        "d < PREV(d) AND d < NEXT(d)",
        "n = NEXT(n, 2) OR PREV(s) < NEXT(s)",
        "NEXT(id, 3) IS NULL",
        "d > NEXT(LAST(d))",
    ],
    "the match": ["d > PREV(FIRST(c.d))", "d > PREV(d) AND COUNT(*) < 3", "PREV(LAST(c.n), 2) < n"],
}
ORDERS = {
    "": "ts",
    "descending": "ts DESC",
    "two": "day DESC NULLS FIRST, ts",
    "nulls": "n, ts DESC",
    "nulls last": "n NULLS LAST, id DESC",
}
QUERY = """SELECT {keys}i FROM ordered MATCH_RECOGNIZE (PARTITION BY k, u ORDER BY {order} MEASURES LAST(id) AS i
    PATTERN (c+) DEFINE c AS {condition})"""


@pytest.fixture(scope="module", autouse=True)
def ordered(spark: SparkSession) -> Iterator[None]:
    columns = ", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())
    keys = "IF(id % 5 = 0, NULL, id % 3) AS k, element_at(array('a', 'b', NULL), CAST(id % 2 AS INT) + 1) AS u"
    spark.sql(f"SELECT id, {keys}, {columns} FROM range(150)").createOrReplaceTempView("ordered")
    yield
    spark.catalog.dropTempView("ordered")


def queries(conditions: list[str], order: str = "ts") -> dict[str, str]:
    return {text: QUERY.format(keys="k, u, ", order=order, condition=text) for text in conditions}


def both(spark: SparkSession, asked: dict[str, str]) -> None:
    """With the rule and without it."""
    found = answers(spark, asked)
    with setting(spark, "sparkcep.rules.disable", NAME):
        assert all("ROW_NUMBER" in sparkcep.rewrite(query, spark) for query in asked.values())
        assert answers(spark, asked) == found


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(spark: SparkSession, name: str) -> None:
    both(spark, queries(CONDITIONS[name]))


def test_conditions_without_ansi_mode(spark: SparkSession) -> None:
    with setting(spark, "spark.sql.ansi.enabled", "false"):
        both(
            spark,
            queries(["n + 1 > PREV(n)", "big / tiny < PREV(tiny)", "f > PREV(n)", "s > PREV(n)", "-tiny < PREV(tiny)"]),
        )


def test_orders(spark: SparkSession) -> None:
    asked = {name: QUERY.format(keys="", order=order, condition="id > PREV(id) + 2") for name, order in ORDERS.items()}
    both(spark, asked)
    assert not any("ROW_NUMBER" in sparkcep.rewrite(query, spark) for query in asked.values())


def test_workers_test_common_conditions(spark: SparkSession) -> None:
    """Neither LAG nor a number for rows; EXPLAIN says who tests what."""
    for text in (
        "d < PREV(d)",
        "d * 2 > PREV(d) + 1",
        "ts - PREV(ts) < INTERVAL 1 HOUR",
        "b AND NOT PREV(b)",
        "s > PREV(s)",
    ):
        written = sparkcep.rewrite(queries([text])[text], spark)
        assert "LAG(" not in written and "LEAD(" not in written and "ROW_NUMBER" not in written, text
    lines = [
        row[0] for row in spark.sql(f"EXPLAIN PATTERN {queries(['b AND d < PREV(d)'])['b AND d < PREV(d)']}").collect()
    ]
    assert any("Spark, on each row: (b)" in line for line in lines)
    assert any("workers, on each row and rows next to it: b AND d < PREV(d)" in line for line in lines)
    assert any(line.startswith("keys ") and "workers sort" in line for line in lines)


def test_a_condition_guards_what_measures_compute(spark: SparkSession) -> None:
    """``100 / n`` of rows that the condition excludes is no error, whoever tests it; sums of floats cannot fail."""
    query = "SELECT COUNT(*) AS c, SUM(i) AS s FROM ordered MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {} AS i PATTERN (a+) DEFINE a AS {})"
    rises = "tiny > PREV(tiny) AND PREV(n) IN (0, 2)"
    asked = {
        "divided": query.format("SUM(100 / (a.tiny + 128))", rises),
        "cast": query.format("SUM(CAST(IF(a.tiny > -128, '1', 'x') AS INT))", rises),
        "in a condition": query.format("COUNT(*)", f"{rises} AND (COUNT(*) < 3 OR 100 / (a.tiny + 128) > FIRST(a.n))"),
    }
    both(spark, asked)
    assert all("ROW_NUMBER" in sparkcep.rewrite(text, spark) for text in asked.values())
    for measure in ("SUM(a.d * a.d + 1D)", "MAX(upper(a.s))", "AVG(a.n)"):
        assert "ROW_NUMBER" not in sparkcep.rewrite(query.format(measure, rises), spark), measure


def test_an_overflow_is_an_error_as_in_spark(spark: SparkSession) -> None:
    query = queries(["n + 1 > PREV(n)"])["n + 1 > PREV(n)"]
    for disabled in ("", NAME):
        with setting(spark, "sparkcep.rules.disable", disabled), pytest.raises(Exception, match=r"OVERFLOW|overflow"):
            spark.sql(query).collect()


def test_small_batches(spark: SparkSession) -> None:
    asked = queries(["d < PREV(d, 2)", "s > PREV(s) OR n > PREV(n, 3)"])
    found = answers(spark, asked)
    with setting(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", "3"):
        assert answers(spark, asked) == found

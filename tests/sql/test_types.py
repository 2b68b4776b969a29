"""Every Spark type goes through both clauses as it is: as partition key, order key, measure and field of an event."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import CepUnsupportedError
from tests.sql.cases import Case, check, parametrize

VALUES = {
    "boolean": "true",
    "tinyint": "-128Y",
    "smallint": "32767S",
    "int": "-2147483648",
    "bigint": "9223372036854775807L",
    "decimal_38": "CAST('12345678901234567890123456789012345678' AS DECIMAL(38, 0))",
    "decimal_38_scale": "CAST('-0.12345678901234567890123456789012345678' AS DECIMAL(38, 38))",
    "decimal_5_2": "CAST('-123.40' AS DECIMAL(5, 2))",
    "float": "CAST('1.1' AS FLOAT)",
    "double": "1.5e300D",
    "nan": "CAST('NaN' AS DOUBLE)",
    "negative_zero": "-0.0D",
    "infinity": "CAST('-Infinity' AS FLOAT)",
    "string": "'Größe \\n \\'𝛑\\' '",
    "string_collated": "'Abc' COLLATE UTF8_LCASE",
    "char": "CAST('ab' AS STRING)",
    "binary": "X'00FF10'",
    "date": "DATE'1582-10-14'",
    "date_far": "DATE'9999-12-31'",
    "timestamp": "TIMESTAMP'2024-03-31 02:30:00.123456'",
    "timestamp_ntz": "TIMESTAMP_NTZ'1900-01-01 00:00:00.000001'",
    "day_time": "INTERVAL '-3 04:05:06.789' DAY TO SECOND",
    "hour_interval": "INTERVAL '5' HOUR",
    "array": "array(1, NULL, 3)",
    "array_empty": "CAST(array() AS ARRAY<INT>)",
    "array_of_struct": "array(struct(1 AS a, 'x' AS b), NULL)",
    "map": "map('a', 1.5BD, 'b', NULL)",
    "struct": "struct(1 AS a, struct(array('x') AS c, DATE'2024-01-01' AS d) AS `odd name`)",
    "variant": "parse_json('{\"a\": [1, 2.5, null]}')",
    "null_int": "CAST(NULL AS INT)",
    "void": "NULL",
    "time": "TIME'12:34:56.123456'",
}
NOT_KEYS = {"map", "variant"}
"""Types that Spark itself does not group by."""
INTERVALS = {"year_month": "INTERVAL '1-2' YEAR TO MONTH", "month": "INTERVAL '14' MONTH", "calendar": "make_interval(1, 2, 3, 4, 5, 6, 7.5)"}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_through(spark: SparkSession, name: str) -> None:
    """Measures, ALL ROWS columns, aggregates, event fields: the same values, of the same types, as Spark shows for the input."""
    rows = f"(SELECT 1 AS ts, 'A' AS type, {VALUES[name]} AS x UNION ALL SELECT 2, 'B', NULL)"
    wanted = shown(spark, f"SELECT x FROM {rows} WHERE ts = 1")
    row = f"MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(x) AS f, ARRAY_AGG(x) AS l, LAST(a.x) AS g {{mode}} PATTERN (a b))"
    one = f"(SELECT f, get(l, 0) AS l, g FROM {rows} {row.format(mode='ONE ROW PER MATCH')})"
    assert [shown(spark, f"SELECT {column} FROM {one}") for column in "flg"] == [wanted] * 3
    every = f"(SELECT * FROM {rows} {row.format(mode='ALL ROWS PER MATCH')} WHERE ts = 1)"
    assert [shown(spark, f"SELECT {column} FROM {every}") for column in "fgx"] == [wanted] * 3
    event = f"{rows} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts)"
    assert shown(spark, f"SELECT a.x FROM {event}") == wanted
    assert shown(spark, f"SELECT named_struct('x', a.x).x FROM (SELECT * FROM {event})") == wanted


@pytest.mark.parametrize("name", [name for name in VALUES if name not in NOT_KEYS])
def test_a_value_is_a_key(spark: SparkSession, name: str) -> None:
    """As PARTITION BY column and as the first ORDER BY column."""
    rows = f"(SELECT id AS ts, 'A' AS type, {VALUES[name]} AS x FROM range(2))"
    wanted = shown(spark, f"SELECT x FROM {rows} LIMIT 1")
    keyed = f"SELECT x FROM {rows} MATCH_RECOGNIZE (PARTITION BY x ORDER BY ts PATTERN (a a))"
    assert shown(spark, keyed) == wanted
    assert shown(spark, keyed.replace("BY x", "BY coalesce(x, NULL)").replace("SELECT x", "SELECT `coalesce(x, NULL)`")) == wanted
    assert shown(spark, f"SELECT x FROM {rows} MATCH PATTERN (SEQ(A a, A b) PARTITION BY x ORDER BY ts)") == wanted
    ordered = "MEASURES LAST(x) AS x PATTERN (a a)"
    assert shown(spark, f"SELECT x FROM {rows} MATCH_RECOGNIZE (ORDER BY x, ts {ordered})") == wanted
    if name not in ("null_int", "void"):
        assert shown(spark, f"SELECT match_end FROM {rows} MATCH PATTERN (SEQ(A a, A b) ORDER BY x, ts)") == wanted


@pytest.mark.parametrize("name", INTERVALS)
def test_month_intervals(spark: SparkSession, name: str) -> None:
    """They come through, or are refused by name."""
    rows = f"(SELECT 1 AS ts, 'A' AS type, {INTERVALS[name]} AS x UNION ALL SELECT 2, 'B', NULL)"
    wanted = shown(spark, f"SELECT x FROM {rows} WHERE ts = 1")
    for text in (
        f"SELECT x FROM {rows} MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(x) AS x PATTERN (a b))",
        f"SELECT a.x FROM {rows} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts)",
        f"SELECT a.x FROM (SELECT * FROM {rows} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts) LIMIT 1)",
    ):
        try:
            assert shown(spark, text) == wanted
        except CepUnsupportedError as error:
            assert "interval" in str(error)


def shown(spark: SparkSession, query: str) -> list:
    """Type and value of a query's only column, the value as Spark prints it with its sign and digits."""
    frame = spark.sql(query)
    (field,) = frame.schema.fields
    kind = field.dataType.simpleString()
    text = "hex(x)" if kind == "binary" else "CAST(x AS STRING)"
    values = frame.toDF("x").selectExpr("typeof(x)", text).collect()
    return [kind, *(tuple(row) for row in values)]


NUMBERS = "(SELECT * FROM VALUES (1, 'A', CAST('NaN' AS DOUBLE)), (2, 'A', 0.0D), (3, 'B', CAST('NaN' AS DOUBLE)), (4, 'B', -0.0D), (5, 'B', NULL) AS t(ts, type, x))"

CASES = [
    Case("nan_equals_nan", f"SELECT a.ts, b.ts FROM {NUMBERS} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE a.x = b.x)", [(1, 3), (2, 4)]),
    Case("nan_is_largest", f"SELECT a.ts, b.ts FROM {NUMBERS} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE a.x > b.x)", [(1, 4)]),
    Case("nan_equivalence", f"SELECT a.ts, b.ts FROM {NUMBERS} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE [x])", [(1, 3), (2, 4)]),
    Case("nan_partitions", f"SELECT COUNT(*) FROM {NUMBERS} MATCH_RECOGNIZE (PARTITION BY x ORDER BY ts PATTERN (a+))", [(3,)]),
    Case("sum_min_max", f"SELECT * FROM {NUMBERS} MATCH_RECOGNIZE (ORDER BY ts MEASURES MIN(x) AS lo, MAX(a.x) = double('NaN') AS hi, COUNT(x) AS n PATTERN (a+))",
         [(0.0, True, 4)]),
    Case(
        "decimal_sum_and_average",
        """SELECT *, typeof(s), typeof(m) FROM VALUES (1, 1.10BD), (2, 2.25BD) AS t(ts, x)
           MATCH_RECOGNIZE (ORDER BY ts MEASURES SUM(x) AS s, AVG(x) AS m PATTERN (a+))""",
        [(Decimal("3.35"), Decimal("1.675000"), "decimal(13,2)", "decimal(7,6)")],
    ),
    Case(
        "integer_average",
        "SELECT *, typeof(s), typeof(m) FROM VALUES (1, 1), (2, 2) AS t(ts, x) MATCH_RECOGNIZE (ORDER BY ts MEASURES SUM(x) AS s, AVG(x) AS m PATTERN (a+))",
        [(3, 1.5, "bigint", "double")],
    ),
]


@parametrize(CASES)
def test_numbers(spark: SparkSession, case: Case) -> None:
    check(spark, case)


def test_time_zone_does_not_matter(spark: SparkSession) -> None:
    text = """SELECT CAST(k AS STRING), CAST(m AS STRING), CAST(n AS STRING) FROM
      VALUES (1, TIMESTAMP'2024-03-10 02:30:00', TIMESTAMP_NTZ'2024-03-10 02:30:00') AS t(ts, x, y)
      MATCH_RECOGNIZE (PARTITION BY x ORDER BY ts MEASURES LAST(x) AS m, LAST(y) AS n PATTERN (a)) AS r (k, m, n)"""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        assert spark.sql(text).collect() == [("2024-03-10 03:30:00", "2024-03-10 03:30:00", "2024-03-10 02:30:00")]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")

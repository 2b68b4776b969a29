"""Every Spark type goes through both clauses as it is: as partition key, order key, measure and field of an event."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import CepError
from tests.sql.cases import Case, assert_rows, check, parametrize

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
    "year_month": "INTERVAL '-1-2' YEAR TO MONTH",
    "month": "INTERVAL '14' MONTH",
    "year": "INTERVAL '3' YEAR",
    "calendar": "make_interval(1, -2, 3, 4, 100, 6, -7.000001)",
    "intervals": "array(struct(INTERVAL '5' MONTH AS m, map(INTERVAL '2' YEAR, make_interval(0, 1)) AS n), NULL)",
    "interval_struct": "struct(CAST(NULL AS INTERVAL MONTH) AS `odd name`, array(INTERVAL '1' YEAR) AS x)",
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
NOT_KEYS = {"map", "variant", "calendar", "intervals"}
"""Types that Spark itself does not group by."""
KEYS = [name for name in VALUES if name not in NOT_KEYS]
TIMES = (
    "bigint",
    "decimal_38",
    "double",
    "string",
    "date",
    "timestamp",
    "timestamp_ntz",
    "day_time",
    "month",
    "struct",
)
"""What match_start and match_end are taken from, each once."""


def one_of(names: list[str], pattern: str) -> str:
    """``pattern`` for every name, separated by commas."""
    return ", ".join(pattern.format(x=f"`{name}`", name=name) for name in names)


ALL = list(VALUES)
INPUT = (
    f"(SELECT 1 AS ts, 'A' AS type, {', '.join(f'{value} AS `{name}`' for name, value in VALUES.items())} "
    f"UNION ALL SELECT 2, 'B', {', '.join('NULL' for _ in VALUES)})"
)
TWICE = f"(SELECT id AS ts, 'A' AS type, {', '.join(f'{value} AS `{name}`' for name, value in VALUES.items())} FROM range(2))"


def shown(
    spark: SparkSession, query: str, names: list[str] = ALL, column: str = "{name}"
) -> dict[str, tuple[str, str]]:
    """By name the type and the value of the first row, the value as Spark prints it with its sign and digits."""
    parts = []
    for name in names:
        x = f"`{column.format(name=name)}`"
        parts += [f"typeof({x})", f"hex({x})" if name == "binary" else f"CAST({x} AS STRING)"]
    values = spark.sql(f"SELECT {', '.join(parts)} FROM ({query})").collect()[0]
    return {name: (values[2 * i], values[2 * i + 1]) for i, name in enumerate(names)}


@pytest.fixture(scope="module")
def wanted(spark: SparkSession) -> dict[str, tuple[str, str]]:
    """What Spark shows for the input itself."""
    return shown(spark, f"SELECT * FROM {INPUT} WHERE ts = 1")


Shown = dict[str, tuple[str, str]]


def test_measures(spark: SparkSession, wanted: Shown) -> None:
    measures = f"{one_of(ALL, 'FIRST({x}) AS `f_{name}`')}, {one_of(ALL, 'LAST(a.{x}) AS `l_{name}`')}"
    text = f"SELECT * FROM {INPUT} MATCH_RECOGNIZE (ORDER BY ts MEASURES {measures} PATTERN (a b))"
    assert shown(spark, text, column="f_{name}") == wanted
    assert shown(spark, text, column="l_{name}") == wanted


def test_arrays(spark: SparkSession, wanted: Shown) -> None:
    measures = one_of(ALL, "ARRAY_AGG({x}) AS {x}")
    text = f"SELECT * FROM {INPUT} MATCH_RECOGNIZE (ORDER BY ts MEASURES {measures} PATTERN (a b))"
    assert shown(spark, f"SELECT {one_of(ALL, 'get({x}, 0) AS {x}')} FROM ({text})") == wanted


def test_all_rows(spark: SparkSession, wanted: Shown) -> None:
    text = f"SELECT * FROM {INPUT} MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH PATTERN (a b)) WHERE ts = 1"
    assert shown(spark, text) == wanted


def test_fields_of_events(spark: SparkSession, wanted: Shown) -> None:
    event = f"{INPUT} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts)"
    assert shown(spark, f"SELECT {one_of(ALL, 'a.{x}')} FROM {event}") == wanted
    assert shown(spark, f"SELECT a.* FROM (SELECT * FROM {event})") == wanted


def test_partition_keys(spark: SparkSession, wanted: Shown) -> None:
    keys = {name: wanted[name] for name in KEYS}
    columns, expressions = one_of(KEYS, "{x}"), one_of(KEYS, "coalesce({x}, NULL)")
    text = f"SELECT * FROM {TWICE} MATCH_RECOGNIZE (PARTITION BY {columns} ORDER BY ts PATTERN (a a))"
    assert shown(spark, text, KEYS) == keys
    text = f"SELECT * FROM {TWICE} MATCH_RECOGNIZE (PARTITION BY {expressions} ORDER BY ts PATTERN (a a))"
    assert shown(spark, text, KEYS, "coalesce(`{name}`, NULL)".replace("`", "``")) == keys
    text = f"SELECT {columns} FROM {TWICE} MATCH PATTERN (SEQ(A a, A b) PARTITION BY {columns} ORDER BY ts)"
    assert shown(spark, text, KEYS) == keys


def test_order_keys(spark: SparkSession, wanted: Shown) -> None:
    columns, measures = one_of(KEYS, "{x}"), one_of(KEYS, "LAST({x}) AS {x}")
    text = f"SELECT * FROM {TWICE} MATCH_RECOGNIZE (ORDER BY {columns}, ts MEASURES {measures} PATTERN (a a))"
    assert shown(spark, text, KEYS) == {name: wanted[name] for name in KEYS}


def test_event_times(spark: SparkSession, wanted: Shown) -> None:
    one = "SELECT '{name}', typeof(match_start), CAST(match_end AS STRING) FROM {TWICE} MATCH PATTERN (SEQ(A a, A b) ORDER BY `{name}`, ts)"
    rows = spark.sql(" UNION ALL ".join(one.format(name=name, TWICE=TWICE) for name in TIMES)).collect()
    assert {name: (kind, value) for name, kind, value in rows} == {name: wanted[name] for name in TIMES}


NUMBERS = "(SELECT * FROM VALUES (1, 'A', CAST('NaN' AS DOUBLE)), (2, 'A', 0.0D), (3, 'B', CAST('NaN' AS DOUBLE)), (4, 'B', -0.0D), (5, 'B', NULL) AS t(ts, type, x))"

CASES = [
    Case(
        "nan_equals_nan",
        f"SELECT a.ts, b.ts FROM {NUMBERS} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE a.x = b.x)",
        [(1, 3), (2, 4)],
    ),
    Case(
        "nan_is_largest",
        f"SELECT a.ts, b.ts FROM {NUMBERS} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE a.x > b.x)",
        [(1, 4)],
    ),
    Case(
        "nan_equivalence",
        f"SELECT a.ts, b.ts FROM {NUMBERS} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE [x])",
        [(1, 3), (2, 4)],
    ),
    Case(
        "nan_partitions",
        f"SELECT COUNT(*) FROM {NUMBERS} MATCH_RECOGNIZE (PARTITION BY x ORDER BY ts PATTERN (a+))",
        [(3,)],
    ),
    Case(
        "sum_min_max",
        f"SELECT * FROM {NUMBERS} MATCH_RECOGNIZE (ORDER BY ts MEASURES MIN(x) AS lo, MAX(a.x) = double('NaN') AS hi, COUNT(x) AS n PATTERN (a+))",
        [(0.0, True, 4)],
    ),
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


GAPS = """SELECT * FROM VALUES (1, 'a', TIMESTAMP '2024-03-09 23:30:00'), (2, 'b', TIMESTAMP '2024-03-10 03:30:00'),
    (3, 'a', TIMESTAMP '2024-11-02 23:30:00'), (4, 'b', TIMESTAMP '2024-11-03 02:30:00'), (5, 'c', TIMESTAMP '2025-05-22 02:30:00') AS t(id, type, ts)"""
SUBTRACTED = {
    "MATCH_RECOGNIZE": """SELECT n, m FROM gaps MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(id) AS n, LAST(id) AS m
        AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) DEFINE b AS ts - a.ts {})""",
    "MAX": """SELECT n, m FROM gaps MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(id) AS n, LAST(id) AS m
        AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) DEFINE b AS MAX(b.ts) - MIN(a.ts) {})""",
    "PREV": """SELECT n, m FROM gaps MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(id) AS n, LAST(id) AS m
        AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) DEFINE b AS ts - PREV(ts) {})""",
    "MATCH PATTERN": """SELECT x.id AS n, y.id AS m FROM gaps MATCH PATTERN (SEQ(ANY x, ANY y) ORDER BY ts
        WHERE y.ts - x.ts {} AND y.id = x.id + 1 WITHIN 300 DAYS)""",
    "MATCH AUTOMATON": """SELECT n, m FROM gaps MATCH AUTOMATON (ORDER BY ts REGISTERS (t TIMESTAMP, n INT, m INT) START s FINAL f
        ARC s -> p WHEN TRUE SET t = ts, n = id ARC p -> f WHEN ts - t {} AND id = n + 1 SET m = id)""",
}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "+05:30"])
def test_timestamps_are_subtracted_as_spark_does(spark: SparkSession, zone: str) -> None:
    """By the clocks of the session's time zone, which change; an interval's days have 24 hours."""
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        spark.sql(GAPS).createOrReplaceTempView("gaps")
        joined = "SELECT x.id AS n, y.id AS m FROM gaps x JOIN gaps y ON y.id = x.id + 1 AND y.ts - x.ts {} ORDER BY 1"
        for limit in (
            "= INTERVAL 4 HOURS",
            "= INTERVAL '3' HOUR",
            "= INTERVAL 200 DAYS",
            "< INTERVAL '0 03:30' DAY TO MINUTE",
        ):
            wanted = spark.sql(joined.format(limit)).collect()
            assert wanted, limit
            for name, text in SUBTRACTED.items():
                assert sorted(spark.sql(text.format(limit)).collect()) == wanted, f"{name} {limit}"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


CLOCKS = """(SELECT * FROM VALUES ('A', TIMESTAMP '2024-03-09 12:00:00'), ('B', TIMESTAMP '2024-03-10 12:30:00'),
  ('A', TIMESTAMP '2024-11-02 12:00:00'), ('B', TIMESTAMP '2024-11-03 11:30:00') AS t(type, ts))"""
"""New York: 23.5 and 24.5 hours apart."""


@pytest.mark.parametrize(
    "length", ["INTERVAL 1 DAY", "INTERVAL 24 HOURS", "INTERVAL '1 00:00:00' DAY TO SECOND", "MAKE_DT_INTERVAL(1)"]
)
def test_a_window_of_a_day_has_24_hours(spark: SparkSession, length: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        pattern = f"MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WITHIN {length}"
        arcs = "START s FINAL f ARC s -> m WHEN type = 'A' ARC m -> f WHEN type = 'B'"
        for text in (
            f"SELECT month(a.ts) FROM {CLOCKS} {pattern})",
            f"SELECT COUNT(*) + 2 FROM {CLOCKS} {pattern})",
            f"SELECT n + 2 FROM {CLOCKS} {pattern} MEASURES COUNT(*) AS n)",
            f"SELECT m FROM {CLOCKS} MATCH_RECOGNIZE (ORDER BY ts MEASURES month(a.ts) AS m PATTERN (a b) WITHIN {length} DEFINE a AS type = 'A')",
            f"SELECT month(match_start) FROM {CLOCKS} MATCH AUTOMATON (ORDER BY ts {arcs} WITHIN {length})",
        ):
            assert [tuple(row) for row in spark.sql(text).collect()] == [(3,)], text
        ends = f"SELECT hour(lifetime_end) FROM {CLOCKS} MATCH AUTOMATON (ORDER BY ts {arcs} WITHIN {length})"
        assert spark.sql(ends).collect() == [(13,)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_clocks_that_skip_hours_do_not_change_windows(spark: SparkSession) -> None:
    """Berlin has no 02:30 on 31 March 2024; New York none on 26 April 1970, 115 days and 2.5 hours after the epoch."""
    between = "SEQ(A a, B b) ORDER BY ts"
    forms = (
        f"SELECT COUNT(*) FROM {{}} MATCH PATTERN ({between} WITHIN {{}})",
        f"SELECT COUNT(a.ts) FROM {{}} MATCH PATTERN ({between} SKIP TILL NEXT MATCH WITHIN {{}})",
        "SELECT 1 - COUNT(a.ts) FROM {} MATCH PATTERN (SEQ(A a, NOT B b) ORDER BY ts WITHIN {})",
        "SELECT COUNT(n) FROM {} MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a b) WITHIN {} DEFINE b AS type = 'B')",
        "SELECT COUNT(*) FROM {} MATCH AUTOMATON (ORDER BY ts START s FINAL f ARC s -> m WHEN type = 'A' ARC m -> f WHEN type = 'B' WITHIN {})",
        f"SELECT COUNT(a.ts) FROM {{}} MATCH PATTERN ({between} WHERE b.ts - a.ts < {{}})",
    )
    local = (
        "(SELECT * FROM VALUES ('A', TIMESTAMP_NTZ'2024-03-31 {}'), ('B', TIMESTAMP_NTZ'2024-03-31 {}') AS t(type, ts))"
    )
    days = "(SELECT * FROM VALUES ('A', TIMESTAMP'2023-06-01 00:00:00Z'), ('B', TIMESTAMP'2023-09-24 03:00:00Z') AS t(type, ts))"
    cases = (
        ("Europe/Berlin", local.format("02:30:00", "03:10:00"), "INTERVAL 10 MINUTES", 0),
        ("Europe/Berlin", local.format("02:50:00", "03:05:00"), "INTERVAL 20 MINUTES", 1),
        ("America/New_York", days, "INTERVAL '115 02:30:00' DAY TO SECOND", 0),
        ("America/New_York", days, "INTERVAL '115 03:00:01' DAY TO SECOND", 1),
    )
    try:
        for zone, rows, length, wanted in cases:
            spark.conf.set("spark.sql.session.timeZone", zone)
            for form in forms:
                assert spark.sql(form.format(rows, length)).collect() == [(wanted,)], (form, rows, length)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_windows_of_days_reach_over_the_shards_of_a_time_line(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        times = "TIMESTAMP '2024-10-15 00:30:00' + MAKE_DT_INTERVAL(0, 0, id * 30) AS ts"
        spark.range(24 * 2 * 30).selectExpr("id", "1 AS k", "'a' AS type", times).createOrReplaceTempView("halves")
        text = """SELECT COUNT(*) AS n FROM halves MATCH PATTERN (/*+ CEP_SHARDING({}), CEP_SHARD_LENGTH(INTERVAL 1 DAY), CEP_ENGINE(chain) */
            SEQ(a x, a y) PARTITION BY k ORDER BY ts WITHIN 1 DAY)"""
        counts = [spark.sql(text.format(sharding)).collect() for sharding in ("all", "off")]
        assert counts[0] == counts[1]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


CASED = "(SELECT * FROM VALUES (1, 'a', 1, 10), (2, 'a', 2, 20), (3, 'a', 3, 5) AS t(id, type, x, X))"


def test_columns_that_differ_in_case_only(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        for text, wanted in [
            (
                "MATCH_RECOGNIZE (ORDER BY id MEASURES a.X AS m, a.x AS n PATTERN (a b) DEFINE b AS b.X > a.X)",
                [(10, 1)],
            ),
            (
                "MATCH_RECOGNIZE (ORDER BY id MEASURES MAX(X) AS m, MAX(x) AS n PATTERN (a b) DEFINE b AS X > PREV(X))",
                [(20, 2)],
            ),
            ("MATCH PATTERN (SEQ(a a, a b) ORDER BY id WHERE b.X < a.X WITHIN 10)", [(10, 1), (20, 2)]),
            ("MATCH PATTERN (SEQ(a a, a b) ORDER BY id WHERE b.X < a.X + 3 WITHIN 10)", [(10, 1), (20, 2)]),
            ("MATCH PATTERN (SEQ(a a, a b) ORDER BY id WITHIN 10 MEASURES MAX(b.X) AS m, MAX(a.x) AS n)", [(20, 2)]),
            (
                "MATCH AUTOMATON (ORDER BY id REGISTERS (m INT, n INT) START s FINAL f ARC s -> p WHEN x > 1 SET m = X, n = x ARC p -> f WHEN X < m)",
                [(20, 2)],
            ),
        ]:
            shown = "m, n" if " AS m" in text or "m INT" in text else "a.X, a.x"
            assert sorted(spark.sql(f"SELECT {shown} FROM {CASED} {text}").collect()) == wanted, text
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")


COLLATED = (
    "(SELECT n, k COLLATE UTF8_LCASE AS k FROM VALUES (1, 'b'), (2, 'A'), (3, 'a'), (4, 'B'), (5, 'C') AS t(n, k))"
)


@pytest.mark.parametrize(
    "call", ["COUNT(DISTINCT k)", "MAX(k)", "LOWER(MIN(k))", "SIZE(ARRAY_AGG(DISTINCT k))", "COUNT(k)"]
)
def test_measures_compare_by_collation(spark: SparkSession, call: str) -> None:
    clause = f"MATCH_RECOGNIZE (ORDER BY n MEASURES {call} AS r PATTERN (a+) DEFINE a AS n > 0)"
    assert (
        spark.sql(f"SELECT r FROM {COLLATED} {clause}").collect()
        == spark.sql(f"SELECT {call} FROM {COLLATED}").collect()
    )


def test_conditions_that_a_collation_decides_are_refused(spark: SparkSession) -> None:
    for define in ("b.k = a.k", "b.k > LAST(a.k)", "MAX(b.k) = a.k"):
        text = f"SELECT * FROM {COLLATED} MATCH_RECOGNIZE (ORDER BY n PATTERN (a b) DEFINE b AS {define})"
        with pytest.raises(CepError, match=r"of the type string collate UTF8_LCASE"):
            spark.sql(text)


def test_time_zone_does_not_matter(spark: SparkSession) -> None:
    text = """SELECT CAST(k AS STRING), CAST(m AS STRING), CAST(n AS STRING) FROM
      VALUES (1, TIMESTAMP'2024-03-10 02:30:00', TIMESTAMP_NTZ'2024-03-10 02:30:00') AS t(ts, x, y)
      MATCH_RECOGNIZE (PARTITION BY x ORDER BY ts MEASURES LAST(x) AS m, LAST(y) AS n PATTERN (a)) AS r (k, m, n)"""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        assert spark.sql(text).collect() == [("2024-03-10 03:30:00", "2024-03-10 03:30:00", "2024-03-10 02:30:00")]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


CHARS = {
    """MATCH_RECOGNIZE (PARTITION BY k ORDER BY o MEASURES a.c = 'a' AS m, FIRST(c) = 'a' AS first, k = 'l' AS key, PREV(b.c) = 'a' AS before
        PATTERN (a b) DEFINE a AS c = 'a' AND k = 'l', b AS PREV(c) = 'a')""": [("l  ", True, True, True, True)],
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY o MEASURES LAST(c) = 'b' AS m ALL ROWS PER MATCH PATTERN (a b) DEFINE a AS c = 'a')": [
        ("l  ", 1, False, "A   ", "a    "),
        ("l  ", 2, True, "B   ", "b    "),
    ],
    "MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY o WHERE a.c = 'a' MEASURES COUNT(*) AS n)": [("l  ", 1)],
    """MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY o WHERE CASE WHEN a.c = 'a' THEN b.o > 1 END
        MEASURES COUNT(*) AS n, SUM(IF(b.c = 'b', 1, 0)) AS m)""": [("l  ", 1, 1)],
    """MATCH_RECOGNIZE (PARTITION BY k ORDER BY o MEASURES COUNT(*) AS n PATTERN (a b)
        DEFINE b AS CASE WHEN FIRST(a.c) IN ('a ', 'x') THEN o > a.o END)""": [("l  ", 2)],
    "MATCH AUTOMATON (PARTITION BY k ORDER BY o REGISTERS (r STRING) START s FINAL f ARC s -> f WHEN c = 'a' SET r = c)": [
        ("l  ", 1, 1, 1, None, "f", "a    ")
    ],
    r"""MATCH_RECOGNIZE (PARTITION BY k ORDER BY o MEASURES a.c = '\141' AS e, a.c = r'a' AS r, a.c = concat('', 'a') AS c,
        CASE LAST(b.c) WHEN 'a' THEN 1 WHEN 'b' THEN 2 END AS w PATTERN (a b)
        DEFINE b AS CASE FIRST(a.c) WHEN lower('A') THEN o > a.o END)""": [("l  ", True, True, True, 2)],
    r"MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY o WHERE CASE a.c WHEN '\141' THEN b.c <> 'a' 'b' END MEASURES COUNT(*) AS n)": [
        ("l  ", 1)
    ],
}


def test_values_of_char_are_compared_without_their_blanks(spark: SparkSession) -> None:
    """Also above a clause: Spark notes CHAR(n) in a column's metadata."""
    spark.sql("CREATE TABLE chars (o INT, type CHAR(4), k CHAR(3), c CHAR(5)) USING parquet")
    spark.sql("INSERT INTO chars VALUES (1, 'A', 'l', 'a'), (2, 'B', 'l', 'b')")
    try:
        for clause, rows in CHARS.items():
            assert_rows(spark.sql(f"SELECT * FROM chars {clause} WHERE k = 'l'").collect(), rows)
            assert spark.sql(f"SELECT * FROM chars {clause} WHERE k = 'm'").collect() == []
    finally:
        spark.sql("DROP TABLE chars")

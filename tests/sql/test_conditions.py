"""Who evaluates what: conditions that Spark computes, that an engine compares, and that Spark filters afterwards; none runs where it may not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType

from sparkcep.session.classic import rewritten
from tests.sql.cases import Case, check, parametrize

TICKS = """(SELECT * FROM VALUES (1, 'a', 5, '10'), (2, 'b', 7, 'x'), (3, 'a', 6, '30'), (4, 'b', 9, 'y'), (5, 'c', 1, NULL)
  AS t(ts, k, v, payload))"""


def row(define: str, pattern: str = "a", measures: str = "LAST(ts) AS t", source: str = TICKS) -> str:
    return (
        f"SELECT * FROM {source} MATCH_RECOGNIZE (ORDER BY ts MEASURES {measures} PATTERN ({pattern}) DEFINE {define})"
    )


ROW_CASES = [
    Case("bare_column", row("a AS v > 6"), [(2,), (4,)]),
    Case("qualified", row("a AS a.v > 6"), [(2,), (4,)]),
    Case("case", row("a AS CASE k WHEN 'a' THEN a.v = 6 ELSE v = 1 END"), [(3,), (5,)]),
    Case("null_does_not_hold", row("a AS payload <> 'x'"), [(1,), (3,), (4,)]),
    Case("lambda", row("a AS exists(array(v, ts), x -> x = a.ts AND x > 2)"), [(3,), (4,), (5,)]),
    Case(
        "field_of_a_lambdas_variable",
        row("b AS exists(array(named_struct('w', a.v + 2)), x -> x.w = b.v)", "a b"),
        [(2,)],
    ),
    Case(
        "lambda_named_as_a_variable", row("a AS size(filter(array(1, 2, 9), a -> a > v)) > 0"), [(1,), (2,), (3,), (5,)]
    ),
    Case("query_as_a_part", row("a AS (SELECT true) AND v > 6"), [(2,), (4,)]),
    Case("in_query", row("a AS v IN (SELECT price FROM ticks WHERE sym = 'B')"), [(1,), (2,), (3,)]),
    Case("not_in_query", row("a AS a.v NOT IN (SELECT price FROM ticks WHERE sym = 'B')"), [(4,), (5,)]),
    Case(
        "exists_correlated",
        row("a AS EXISTS (SELECT 1 FROM ticks z WHERE z.price = a.v AND z.sym = 'B')"),
        [(1,), (2,), (3,)],
    ),
    Case(
        "same_name_in_a_query",
        row(f"a AS EXISTS (SELECT 1 FROM {TICKS} z WHERE z.v = a.v + 1)"),
        [(1,), (3,)],
    ),
    Case(
        "same_table_in_a_query",
        row(
            "b AS (SELECT COUNT(*) FROM ticks WHERE ticks.price > b.price) = 8",
            "a b",
            source="(SELECT * FROM ticks WHERE sym = 'B') ticks",
        ),
        [(4,)],
    ),
    Case(
        "variable_that_is_a_table_in_a_query",
        row("a AS v = (SELECT MAX(a.price) FROM ticks a WHERE a.sym = 'B')"),
        [(2,)],
    ),
    Case(
        "field_of_a_column_named_as_the_table",
        row(
            "a AS a.e.ts IN (SELECT 3)", source="(SELECT struct(ts + 1 AS ts) AS e, ts FROM range(1, 6) AS r(ts)) AS e"
        ),
        [(2,)],
    ),
    Case("same_name_in_a_lambda", row("a AS exists(array(5, 9), v -> v = a.v)"), [(1,), (4,)]),
    Case(
        "same_name_in_a_lambda_of_rows", row("b AS exists(array(5, 6), v -> v = a.v AND b.v > v)", "a b"), [(2,), (4,)]
    ),
    Case(
        "same_name_in_a_query_in_an_aggregate",
        row("b AS b.v > a.v", "a b", f"max((SELECT MAX(z.v) FROM {TICKS} z WHERE z.v < b.v)) AS m"),
        [(6,), (7,)],
    ),
    Case(
        "query_beside_rows",
        row(f"b AS b.v - a.v >= (SELECT MAX(v) - 7 FROM {TICKS}) OR b.v < a.v", "a b"),
        [(2,), (4,)],
    ),
    Case(
        "query_of_another_row",
        row(f"b AS b.v - a.v > (SELECT MIN(z.v) - 5 FROM {TICKS} z WHERE z.v > a.v)", "a b"),
        [(2,), (4,)],
    ),
    Case("scalar_query", row("a AS v = (SELECT MAX(price) FROM ticks WHERE sym = 'B')"), [(2,)]),
    Case("query_and_order", row("a AS v IN (SELECT price FROM ticks), b AS b.v > PREV(b.v)", "a b"), [(2,), (4,)]),
    Case(
        "query_with_alias",
        row("a AS v IN (SELECT price FROM ticks WHERE sym = 'B')", source=TICKS + " AS i").replace(
            "BY ts", "BY i.ts DESC"
        ),
        [(3,), (2,), (1,)],
    ),
    Case("query_and_prev", row("a AS v IN (SELECT price FROM ticks WHERE sym = 'B') AND v > PREV(v)"), [(2,)]),
    Case("prev_of_query", row("a AS PREV(v IN (SELECT price FROM ticks WHERE sym = 'B'))"), [(2,), (3,), (4,)]),
    Case(
        "first_of_query",
        row("b AS FIRST(a.v = (SELECT MAX(price) FROM ticks WHERE sym = 'B')) AND b.v < a.v", "a b"),
        [(3,)],
    ),
    Case("function_in_sql", row("a AS twice(v) = 14"), [(2,)]),
    Case("python_udf", row("a AS plus_one(a.v) = 8 AND v > 0"), [(2,)]),
    Case("prev", row("a AS v > PREV(v)"), [(2,), (4,)]),
    Case("prev_of_variable", row("a AS a.v > PREV(a.v, 2)"), [(3,), (4,)]),
    Case("prev_zero", row("a AS PREV(v, 0) = 6"), [(3,)]),
    Case("next", row("a AS NEXT(v) > v + 1"), [(1,), (3,)]),
    Case("navigated_expression", row("a AS PREV(v * 10 + ts) = 51"), [(2,)]),
    Case("prev_of_last", row("a AS v > PREV(LAST(a.v))"), [(2,), (4,)]),
    Case("last_of_itself", row("a AS LAST(a.v) = 6 AND LAST(v) = 6"), [(3,)]),
    Case("outside_the_partition", row("a AS PREV(v) IS NULL OR NEXT(v) IS NULL"), [(1,), (5,)]),
    Case("classifier", row("a AS CLASSIFIER() = 'a' AND v = 6"), [(3,)]),
    Case("classifier_of_another", row("a AS v = 6, b AS CLASSIFIER() = 'a'", "a | b"), [(3,)]),
    Case("undefined_is_true", row("a AS v = 5", "a x", "LAST(x.v) AS t"), [(7,)]),
    Case("operators_bind", row("a AS v = 5 OR v = 7 AND ts = 9"), [(1,)]),
    Case("ansi_cast_behind_type", row("a AS k = 'a' AND CAST(payload AS INT) > 5"), [(1,), (3,)]),
    Case(
        "ansi_cast_in_measure",
        row("a AS k = 'a'", "a b?", "FIRST(ts) AS t, MAX(CAST(a.payload AS INT)) AS m"),
        [(1, 10), (3, 30)],
    ),
]

MATCH_DEPENDENT = [
    Case("first_of_another", row("b AS b.v > FIRST(a.v)", "a b"), [(2,), (4,)]),
    Case("aggregate", row("b AS SUM(b.v) < 14", "a b+"), [(3,), (5,)]),
    Case("or_not_in", row("b AS b.v > LAST(a.v) + 100 OR b.v NOT IN (6, 9)", "a b"), [(2,), (5,)]),
    Case("not_in_across", row("b AS b.v > LAST(a.v) AND b.v NOT IN (LAST(a.v) + 2, 8)", "a b"), [(4,)]),
]

EVENTS = """(SELECT * FROM VALUES
  (1, 'A', 1, 10, 1.50BD, '5', TIMESTAMP'2024-01-01 00:00:00'), (2, 'B', 1, 12, 10.0BD, 'oops', TIMESTAMP'2024-01-01 00:05:00'),
  (3, 'A', 2, 12, 12.00BD, '7', TIMESTAMP'2024-01-01 01:00:00'), (4, 'B', 2, NULL, NULL, NULL, TIMESTAMP'2024-01-01 01:30:00'),
  (5, 'B', 2, 11, 12BD, 'x', TIMESTAMP'2024-01-01 03:00:00'), (6, 'C', 2, 12, 0BD, 'n', TIMESTAMP'2024-01-01 04:00:00')
  AS t(ts, type, k, v, d, payload, at))"""


def pairs(where: str, pattern: str = "SEQ(A a, B b)", select: str = "a.ts, b.ts") -> str:
    return f"SELECT {select} FROM {EVENTS} MATCH PATTERN ({pattern} ORDER BY ts WHERE {where})"


EVENT_CASES = [
    Case("all", pairs("true"), [(1, 2), (1, 4), (1, 5), (3, 4), (3, 5)]),
    Case("none", pairs("1 > 2"), []),
    Case("local", pairs("a.v > 10 AND b.v = 11"), [(3, 5)]),
    Case("local_query", pairs("a.v IN (SELECT price FROM ticks WHERE sym = 'A' AND ts = 1)"), [(3, 4), (3, 5)]),
    Case(
        "same_name_in_a_query",
        pairs(f"EXISTS (SELECT 1 FROM {EVENTS} z WHERE z.v = a.v + 1)"),
        [(1, 2), (1, 4), (1, 5)],
    ),
    Case(
        "same_name_in_a_query_of_both",
        pairs(f"EXISTS (SELECT 1 FROM {EVENTS} z WHERE z.v = a.v + b.v - 11)"),
        [(1, 2), (1, 5), (3, 5)],
    ),
    Case(
        "field_of_a_column_named_as_the_table",
        pairs("a.e.ts = 3 AND b.e.ts > a.e.ts + 1").replace(
            EVENTS,
            "(SELECT struct(ts + 1 AS ts) AS e, ts, IF(ts < 4, 'A', 'B') AS type FROM range(1, 6) AS r(ts)) AS e",
        ),
        [(2, 4), (2, 5)],
    ),
    Case("equality", pairs("a.k = b.k"), [(1, 2), (3, 4), (3, 5)]),
    Case("inequality", pairs("a.v < b.v"), [(1, 2), (1, 5)]),
    Case("not_equal", pairs("a.v <> b.v"), [(1, 2), (1, 5), (3, 5)]),
    Case("null_safe", pairs("NOT (a.v <=> b.v)"), [(1, 2), (1, 4), (1, 5), (3, 4), (3, 5)]),
    Case("arithmetic", pairs("a.v + 2 = b.v * 1"), [(1, 2)]),
    Case("sum_over_both", pairs("a.v + b.v = 22"), [(1, 2)]),
    Case("mixed_widths", pairs("a.v + b.k * 2L > 13.5"), [(1, 4), (1, 5), (3, 4), (3, 5)]),
    Case("decimal_and_int", pairs("a.v = b.d"), [(1, 2), (3, 5)]),
    Case("decimal_scales", pairs("a.d = b.d"), [(3, 5)]),
    Case("decimal_arithmetic", pairs("a.d + b.d > 13.2"), [(1, 5), (3, 5)]),
    Case("int_and_string", pairs("a.k = CAST(b.k AS STRING)"), [(1, 2), (3, 4), (3, 5)]),
    Case("time_difference", pairs("b.at - a.at < INTERVAL 1 HOUR"), [(1, 2), (3, 4)]),
    Case("time_plus", pairs("b.at > a.at + INTERVAL '1:30' HOUR TO MINUTE"), [(1, 5), (3, 5)]),
    Case("time_exactly", pairs("b.at - a.at = INTERVAL 2 HOURS"), [(3, 5)]),
    Case("or", pairs("a.v = b.v OR a.k = 1 AND b.v = 12"), [(1, 2)]),
    Case("or_in_parentheses", pairs("(a.v = 12 OR b.v = 12) AND a.k = b.k"), [(1, 2), (3, 4), (3, 5)]),
    Case("not", pairs("NOT a.k = b.k"), [(1, 4), (1, 5)]),
    Case("not_of_null", pairs("NOT (a.v > b.v)"), [(1, 2), (1, 5)]),
    Case("between", pairs("b.v BETWEEN a.v AND a.v + 1"), [(1, 5)]),
    Case("not_between", pairs("b.v NOT BETWEEN a.v AND a.v + 1"), [(1, 2), (3, 5)]),
    Case("or_not_in", pairs("a.v > b.v OR b.v NOT IN (11, 13)"), [(1, 2), (3, 5)]),
    Case("or_not_between", pairs("a.v > b.v OR b.v NOT BETWEEN 10 AND 11"), [(1, 2), (3, 5)]),
    Case("or_not_like", pairs("a.v > b.v OR b.payload NOT LIKE 'x%'"), [(1, 2), (3, 5)]),
    Case("or_not", pairs("a.v > b.v OR NOT b.v IN (11, 13)"), [(1, 2), (3, 5)]),
    Case("is_null", pairs("b.v IS NULL"), [(1, 4), (3, 4)]),
    Case("is_null_over_both", pairs("(a.v + b.v) IS NULL"), [(1, 4), (3, 4)]),
    Case("is_not_null", pairs("b.payload IS NOT NULL AND a.k <= b.k"), [(1, 2), (1, 5), (3, 5)]),
    Case("residual_function", pairs("greatest(a.v, b.v) = 12"), [(1, 2), (3, 4), (3, 5)]),
    Case("residual_text", pairs("a.payload || b.payload LIKE '5%s'"), [(1, 2)]),
    Case("residual_in", pairs("b.v IN (a.v, a.v + 2)"), [(1, 2)]),
    Case("residual_case", pairs("CASE WHEN a.k = b.k THEN b.v = 11 ELSE b.v IS NULL END"), [(1, 4), (3, 5)]),
    Case("residual_udf", pairs("plus_one(a.v) = b.v"), [(1, 5)]),
    Case("residual_query", pairs("a.v + b.v IN (SELECT 22)"), [(1, 2)]),
    Case("three_variables", pairs("a.v + b.v > c.v + 10", "SEQ(A a, B b, C c)", "a.ts, b.ts, c.ts"), [(3, 5, 6)]),
    Case("plus_a_constant", pairs("a.v + 1 < b.v"), [(1, 2)]),
    Case("minus_a_constant", pairs("b.v - 1 <= a.v AND a.k < 3 + b.k"), [(1, 5), (3, 5)]),
    Case("constant_of_another_type", pairs("a.v + 1 < b.v * 1D AND a.v + 1 < b.v + 0L"), [(1, 2)]),
    Case("equivalence", pairs("[k]"), [(1, 2), (3, 4), (3, 5)]),
    Case("equivalence_null", pairs("[v]"), []),
    Case("equivalence_and_more", pairs("[k] AND a.v < b.v"), [(1, 2)]),
    Case("equivalence_literal", pairs("[k = 2]"), [(3, 4), (3, 5)]),
    Case(
        "equivalence_odd_literal",
        pairs("[type <> 'Z']").replace("[type <> 'Z']", "a.type <> 'Z'"),
        [(1, 2), (1, 4), (1, 5), (3, 4), (3, 5)],
    ),
    Case("constant_with_variable", pairs("a.v = b.v - 2 AND 1 = 1"), [(1, 2)]),
    Case("ansi_cast", pairs("CAST(a.payload AS INT) > 5"), [(3, 4), (3, 5)]),
    Case("ansi_cast_behind_a_test", pairs("b.payload = 'zz' AND CAST(b.payload AS INT) > 5"), []),
    Case("ansi_cast_across", pairs("CAST(a.payload AS INT) + 5 = b.v - 2"), [(1, 2)]),
    Case("ansi_cast_in_residual", pairs("greatest(CAST(a.payload AS INT), b.v) = 12"), [(1, 2)]),
    Case("negated_variable", pairs("n.v = a.v + 2", "SEQ(A a, NOT B n, C c)", "a.ts, c.ts"), [(3, 6)]),
    Case("any_type", pairs("x.v = 12 AND y.v = 12", "SEQ(ANY x, ANY y)", "x.ts, y.ts"), [(2, 3), (2, 6), (3, 6)]),
    Case("and", pairs("a.k = b.k", "AND(A a, B b)"), [(1, 2), (3, 4), (3, 5)]),
    Case("or_pattern", pairs("a.v > 10", "OR(A a, C c)", "a.ts, c.ts"), [(3, None), (None, 6)]),
    Case(
        "event_type_column",
        f"SELECT x.ts, y.ts FROM {EVENTS} MATCH PATTERN (SEQ('5' x, 'x' y) EVENT TYPE payload ORDER BY ts)",
        [(1, 5)],
    ),
    Case(
        "within_interval",
        pairs("true", "SEQ(A a, B b)").replace("ORDER BY ts WHERE true", "ORDER BY at WITHIN 30 minutes"),
        [(1, 2)],
    ),
    Case("within_events", pairs("true").replace("WHERE true", "WITHIN 3 EVENTS"), [(1, 2), (3, 4), (3, 5)]),
    Case(
        "within_short",
        pairs("true").replace("ORDER BY ts WHERE true", "ORDER BY at WITHIN INTERVAL '30:01' MINUTE TO SECOND"),
        [(1, 2), (3, 4)],
    ),
]


@pytest.fixture(scope="module", autouse=True)
def functions(spark: SparkSession) -> Iterator[None]:
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN x * 2")
    spark.udf.register("plus_one", lambda x: None if x is None else x + 1, IntegerType())
    yield
    spark.sql("DROP TEMPORARY FUNCTION twice")


@parametrize(ROW_CASES + MATCH_DEPENDENT)
def test_match_recognize(spark: SparkSession, case: Case) -> None:
    check(spark, case)


def test_a_column_read_in_a_query_is_not_explained(spark: SparkSession) -> None:
    query = row("a AS EXISTS (SELECT 1 FROM names WHERE sym = a.sym)", source="ticks")
    assert "input         ticks" in [line.plan for line in spark.sql(f"EXPLAIN PATTERN {query}").collect()]


@parametrize(EVENT_CASES)
def test_match_pattern(spark: SparkSession, case: Case) -> None:
    check(spark, case)


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("a.v BETWEEN b.v AND c.v", "a.v >= b.v AND a.v <= c.v"),
        ("NOT (a.v + 0 > b.v + 1 OR a.v > c.v + 5)", "a.v + 0 <= b.v + 1 AND a.v <= c.v + 5"),
        ("NOT (b.v <= 11 OR c.v * 1 <= 6)", "b.v > 11 AND c.v * 1 > 6"),
        (
            "(a.v > b.v + 5 AND a.v > c.v + 3) OR a.k = c.k + 5",
            "(a.v > b.v + 5 OR a.k = c.k + 5) AND (a.v > c.v + 3 OR a.k = c.k + 5)",
        ),
        (
            "NOT (greatest(a.v, b.v) > 11 OR greatest(a.v, c.v) < 12)",
            "greatest(a.v, b.v) <= 11 AND greatest(a.v, c.v) >= 12",
        ),
    ],
)
@pytest.mark.parametrize("strategy", ["", "SKIP TILL NEXT MATCH", "PARTITION CONTIGUITY"])
def test_one_that_is_absent(spark: SparkSession, condition: str, parts: str, strategy: str) -> None:
    """A condition over variables of which a match has one is the AND of its parts, as it is where a match has all."""
    whole, apart = (
        pairs(text, "SEQ(A a, OR(B b, C c))", "a.ts, b.ts, c.ts").replace("ORDER BY ts", f"ORDER BY ts {strategy}")
        for text in (condition, parts)
    )
    assert sorted(map(str, spark.sql(whole).collect())) == sorted(map(str, spark.sql(apart).collect()))


def test_constants_beside_one_that_is_absent(spark: SparkSession) -> None:
    """Each comparison has its own: that of ``b`` does not need the event of ``a``."""
    found = pairs("NOT (a.v + c.v <= 22 OR b.v + c.v <= 23)", "SEQ(OR(A a, B b), C c)", "a.ts, b.ts, c.ts")
    assert sorted(map(str, spark.sql(found).collect())) == [
        "Row(ts=3, ts=None, ts=6)",
        "Row(ts=None, ts=2, ts=6)",
    ]


def test_a_constant_overflows_as_in_spark(spark: SparkSession) -> None:
    """An error under ANSI; otherwise the sum wraps, and is below everything."""
    query = pairs("b.v < a.v + 2147483647")
    with pytest.raises(PySparkException, match="ARITHMETIC_OVERFLOW"):
        spark.sql(query).collect()
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    assert session.sql(query).collect() == []


TYPED = """SELECT *, v / 2D AS f, CAST(v AS DECIMAL(9, 2)) / 4 AS d, TIMESTAMP '2024-03-01' + MAKE_DT_INTERVAL(0, 0, 0, v * v) AS at
    FROM VALUES (1, 5), (2, 7), (3, NULL), (4, 9), (5, 1), (6, 2) AS t(n, v)"""
ENGINE_CONSTANTS = [
    "b.v - a.v > -2",
    "b.v - a.v = 2",
    "b.v - a.v < 2.5",
    "b.v + a.v > 1.1e1",
    "b.v + a.v < 99999999999",
    "(b.v > a.v) = TRUE",
    "b.v - a.v > NULL OR a.v > b.v",
    "b.f - a.f >= 1",
    "b.f - a.f < 1.5",
    "ABS(b.d - a.d) < 0.75",
    "b.at - a.at <= INTERVAL '24' SECOND",
    "b.at - a.at < INTERVAL 2 DAYS",
]


@pytest.mark.parametrize("zone", ["UTC", "Africa/Abidjan"])
@pytest.mark.parametrize("what", ["x.n, y.n", "COUNT(*)"])
def test_instants_are_the_engines_where_clocks_never_change(spark: SparkSession, what: str, zone: str) -> None:
    """The timestamps that the result carries are those that are subtracted; a zone with rules says what its clocks show."""
    clause = """MATCH PATTERN (SEQ(ANY x, ANY y) ORDER BY at WHERE y.at - x.at < INTERVAL 24 SECONDS WITHIN 1 HOUR)"""
    text = f"SELECT {what} FROM (SELECT * FROM ({TYPED}) WHERE v IS NOT NULL) {clause}"
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        joined = f"FROM ({TYPED}) x JOIN ({TYPED}) y ON y.at > x.at AND y.at - x.at < INTERVAL 24 SECONDS"
        assert sorted(spark.sql(text).collect()) == sorted(spark.sql(f"SELECT {what} {joined}").collect())
        assert ('"instants":[' in rewritten(spark, text)) == (zone == "UTC")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("condition", ENGINE_CONSTANTS)
def test_constants_are_the_engines(spark: SparkSession, condition: str) -> None:
    """They are no columns of the input, and mean what they mean to Spark."""
    spark.sql(TYPED).createOrReplaceTempView("typed")
    wanted = spark.sql(
        f"SELECT a.n AS m, b.n AS n FROM typed a JOIN typed b ON b.n = a.n + 1 AND ({condition}) ORDER BY 1"
    ).collect()
    clauses = [
        f"""SELECT m, n FROM typed MATCH_RECOGNIZE (ORDER BY n MEASURES FIRST(n) AS m, LAST(n) AS n AFTER MATCH SKIP TO NEXT ROW
        PATTERN (a b) DEFINE b AS {condition})""",
        f"""SELECT a.n AS m, b.n AS n FROM typed MATCH PATTERN (SEQ(ANY a, ANY b) ORDER BY n STRICT CONTIGUITY WHERE {condition})""",
        f"""SELECT a.n AS m, b.n AS n FROM typed MATCH PATTERN (SEQ(ANY a, ANY b) ORDER BY n WHERE b.n - a.n = 1 AND ({condition}) WITHIN 100)""",
    ]
    for text in clauses:
        assert sorted(spark.sql(text).collect()) == wanted, text
        assert '"is":"expression.Constant"' in rewritten(spark, text), text


MONTHS = "(SELECT n, MAKE_YM_INTERVAL(0, v) AS v FROM VALUES (1, 14), (2, -14), (3, NULL), (4, 3), (5, 14) AS t(n, v))"


@pytest.mark.parametrize("condition", ["b.v = a.v", "b.v < a.v", "a.v < b.v - INTERVAL '1' MONTH", "b.v IS NULL"])
def test_intervals_of_months_are_compared(spark: SparkSession, condition: str) -> None:
    wanted = spark.sql(
        f"SELECT a.n AS m, b.n AS n FROM {MONTHS} a JOIN {MONTHS} b ON b.n > a.n AND ({condition}) ORDER BY 1, 2"
    ).collect()
    near = [row for row in wanted if row.n == row.m + 1]
    any_of, next_of = (
        f"SELECT a.n AS m, b.n AS n FROM {MONTHS} MATCH PATTERN (SEQ(ANY a, ANY b) ORDER BY n {how} WHERE {condition})"
        for how in ("", "STRICT CONTIGUITY")
    )
    each = f"""SELECT a.n AS m, b[0].n AS n FROM {MONTHS} MATCH PATTERN (SEQ(ANY a, ANY+ b) ORDER BY n
        WHERE {condition.replace("b.v", "b[i].v")} AND COUNT(b.*) < 2)"""
    rows = f"""SELECT m, n FROM {MONTHS} MATCH_RECOGNIZE (ORDER BY n MEASURES FIRST(n) AS m, LAST(n) AS n
        AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) DEFINE b AS {condition})"""
    assert sorted(spark.sql(any_of).collect()) == wanted == sorted(spark.sql(each).collect())
    assert sorted(spark.sql(next_of).collect()) == near == sorted(spark.sql(rows).collect())


def test_a_comment_that_goes_on_in_the_next_line(spark: SparkSession) -> None:
    r"""To Spark a backslash at its end continues it."""
    clause = "MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a b+) DEFINE b AS price > PREV(price){})"
    found, plain = (
        spark.sql(f"SELECT n FROM ticks {clause.format(more)}") for more in (" -- x \\\n AND price > 10\n", "")
    )
    assert sorted(found.collect()) == sorted(plain.collect()) != []

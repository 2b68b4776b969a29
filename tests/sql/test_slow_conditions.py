"""DEFINE conditions on the slow path: Spark functions and aggregates of several rows of the match, end to end."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import SparkSession

from sparkcep.errors import CepError
from tests.sql.cases import Case, check, parametrize

HITS = """(SELECT * FROM VALUES ('p', 1, 'x', 1.0D, 1.10BD), ('p', 2, 'y', 3.0D, 2.5BD), ('p', 3, 'y', NULL, NULL), ('p', 4, 'z', 4.0D, 0.01BD),
  ('q', 1, 'a', 2D, 1BD), ('q', 2, 'b', 1D, 2BD) AS t(k, ts, s, v, d))"""


def hits(condition: str, pattern: str = "a b* c") -> str:
    """The last row of the match of each partition whose first row is a's and whose last is c's."""
    return f"""SELECT k, t FROM {HITS} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(ts) AS t PATTERN ({pattern})
      DEFINE a AS ts = 1, c AS {condition})"""


CASES = [
    Case("list_of_variables", hits("array_join(array_agg(CLASSIFIER()), '') = 'abc'", "a b*? c"), [("p", 3)]),
    Case("absent_row", hits("COALESCE(LAST(b.v), 0) < c.v", "a b*? c"), [("p", 2), ("q", 2)]),
    Case("absolute", hits("abs(c.v - FIRST(a.v)) < 1.5"), [("q", 2)]),
    Case(
        "decimals_apart", hits("abs(c.d - FIRST(a.d)) * 2 = 2.000 OR c.d - a.d - 0.0 < -1.08999"), [("p", 4), ("q", 2)]
    ),
    Case("average_of_decimals", hits("AVG(d) < 1.2034"), [("p", 4)]),
    Case("case", hits("CASE WHEN LAST(a.v) > 1.5 THEN c.s = 'b' ELSE c.s = 'y' END"), [("p", 3), ("q", 2)]),
    Case("like", hits("concat(LAST(a.s), c.s) LIKE 'x_'"), [("p", 4)]),
    Case("part_is_native", hits("c.v > 3 AND (LAST(a.v) = 2 OR concat(a.s, c.s) = 'xz')"), [("p", 4)]),
    Case("in_list", hits("upper(LAST(a.s)) || c.s IN ('Xy', 'Ab')"), [("p", 3), ("q", 2)]),
    Case("hoisted", hits("substr(LAST(a.s), 1, 1) < substr(c.s, 1, 1) AND a.v + c.v = 5"), [("p", 4)]),
    Case("navigation_of_null_function", hits("LAST(COALESCE(b.v, -1)) < 0"), [("p", 4)]),
    Case(
        "lambda",
        hits("exists(array_agg(v), x -> x > c.v) AND size(filter(collect_list(b.v), x -> x > a.v)) = 0"),
        [("q", 2)],
    ),
    Case("counts", hits("count_if(v > 1) = 1 AND bool_and(v > 0) AND any_value(s) < 'm'"), [("q", 2)]),
    Case("distinct", hits("COUNT(DISTINCT s) = 2 AND SUM(DISTINCT v) = 4"), [("p", 3)]),
    Case(
        "filter",
        hits("COUNT(*) FILTER (WHERE v > 1) = 1 AND SUM(v) FILTER (WHERE s <> 'x') >= 2", "a b*? c"),
        [("p", 2), ("q", 2)],
    ),
    Case("best", hits("max_by(s, v) = c.s AND min_by(b.s, b.v) = 'y'"), [("p", 4)]),
    Case("least_string", hits("MIN(s) || MAX(s) = 'xy' AND listagg(s, '+') LIKE 'x+y%'"), [("p", 3)]),
    Case("number_of_the_match", hits("concat(MATCH_NUMBER(), c.s) = '1b'"), [("q", 2)]),
    Case("set_and_deviation", hits("size(collect_set(s)) = 2 AND stddev(v) BETWEEN 1 AND 2"), [("p", 3)]),
]

AGGREGATES = [
    *(
        "stddev(a.v)",
        "stddev_pop(a.v)",
        "variance(a.v)",
        "var_pop(a.v)",
        "AVG(a.d)",
        "SUM(a.d)",
        "MIN(a.s)",
        "MAX(a.s)",
    ),
    *(
        "max_by(a.s, a.v)",
        "min_by(a.s, a.v)",
        "collect_list(a.s)",
        "percentile(a.v, 0.3)",
        "count_if(a.v > 0)",
    ),
    *(
        "bool_or(a.v > 5)",
        "every(a.v > -9)",
        "any_value(a.v)",
        "last_value(a.s)",
        "AVG(a.i)",
        "max_by(a.d, a.s)",
        "some(a.i = 3)",
    ),
]
GROUPED = [
    *(
        "median(a.v)",
        "COUNT(DISTINCT a.s)",
        "SUM(DISTINCT a.i % 3)",
        "AVG(DISTINCT a.d)",
        "SUM(DISTINCT a.d)",
        "AVG(DISTINCT a.i)",
    ),
    *(
        "AVG(a.d) FILTER (WHERE a.i % 2 = 0)",
        "MAX(a.s) FILTER (WHERE a.v > 0)",
        "median(DISTINCT a.i % 7)",
        "MIN(DISTINCT a.d)",
    ),
    "sort_array(collect_set(a.i % 4))",
]
"""Aggregates that no ordered window has."""


@pytest.mark.spark
@parametrize(CASES)
def test_conditions(spark: SparkSession, case: Case) -> None:
    check(spark, case)


@pytest.mark.spark
def test_aggregates_are_those_of_windows(spark: SparkSession) -> None:
    """For every prefix of a partition each aggregate equals Spark's over the same rows: the match takes all 40."""
    window = "OVER (ORDER BY i ROWS UNBOUNDED PRECEDING)"
    windows = ", ".join(f"{text.replace('a.', '')} {window} AS w{n}" for n, text in enumerate(AGGREGATES))
    groups = ", ".join(f"{text} AS g{n}" for n, text in enumerate(GROUPED))
    value, decimal = "IF(id % 5 = 3, NULL, sin(id) * 7)", "CAST(cos(id) * 50 AS DECIMAL(8, 3))"
    rows = f"(SELECT id AS i, {value} AS v, {decimal} AS d, substr(md5(CAST(id AS STRING)), 1, 2) AS s FROM range(40))"
    grouped = f"SELECT b.i, {groups} FROM {rows} a JOIN {rows} b ON a.i <= b.i GROUP BY b.i"
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW prefixes AS SELECT * FROM (SELECT *, {windows} FROM {rows}) JOIN ({grouped}) USING (i)"
    )
    conditions = [f"{text} <=> w{n}" for n, text in enumerate(AGGREGATES)]
    conditions += [f"{text} <=> g{n}" for n, text in enumerate(GROUPED)]
    clause = f"MATCH_RECOGNIZE (ORDER BY i MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS {' AND '.join(conditions)})"
    assert spark.sql(f"SELECT n FROM prefixes {clause}").collect() == [(40,)]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("most", "rising"), [("CAST(9e37 AS DECIMAL(38, 0))", 2), ("CAST(9e17 AS DECIMAL(38, 18))", 120)]
)
def test_a_sum_of_more_digits_than_decimals_have_is_an_error(spark: SparkSession, most: str, rising: int) -> None:
    """Also where later rows leave fewer, as SUM in Spark, and where each value has room in a word."""
    values = f"CAST({most} * IF(id < {rising}, 1, -1) AS {most[most.index('DEC') : -1]})"
    rows = f"(SELECT id AS ts, {values} AS x FROM range({2 * rising}))"
    for condition in ("SUM(b.x) > -5", "SUM(b.x) - 1 > -5"):
        with pytest.raises(PythonException, match="more than 38 digits"):
            spark.sql(
                f"SELECT * FROM {rows} MATCH_RECOGNIZE (ORDER BY ts PATTERN (b+) DEFINE b AS {condition})"
            ).collect()


@pytest.mark.parametrize(
    "kind", ["DECIMAL(38, 10)", "DECIMAL(38, 0)", "DECIMAL(28, 3)", "DECIMAL(20, 2)", "DECIMAL(38, 18)"]
)
@pytest.mark.parametrize("scale", ["1", "123456789012"])
def test_sums_of_wide_decimals(spark: SparkSession, kind: str, scale: str) -> None:
    """Running sums are those of windows, of few digits and of more than a word holds."""
    value = f"CAST(CAST(cos(id) * 50 AS DECIMAL(16, 8)) * {scale}BD AS {kind})"
    over = "OVER (ORDER BY id ROWS UNBOUNDED PRECEDING)"
    pair = "CONCAT(LAG(w) OVER (ORDER BY id), '/', w) AS p"
    rows = f"""(SELECT *, SUM(w) {over} AS s, AVG(w) {over} AS m, MAX(w) {over} AS h, {pair}
      FROM (SELECT id, IF(id % 5 = 3, NULL, {value}) AS w FROM range(30)))"""
    condition = """SUM(a.w) <=> s AND AVG(a.w) <=> m AND SUM(a.w) + 1 <=> s + 1 AND MAX(a.w) <=> h
      AND CAST(SUM(a.w) AS STRING) <=> CAST(s AS STRING) AND CAST(MAX(a.w) AS STRING) <=> CAST(h AS STRING) AND CONCAT(LAST(a.w, 1), '/', w) <=> p"""
    clause = "ORDER BY id MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS "
    found = spark.sql(f"SELECT n FROM {rows} MATCH_RECOGNIZE ({clause}{condition})").collect()
    assert found == [(30,)]
    measures = "AVG(w) AS r, FINAL AVG(w) AS f, AVG(DISTINCT w) FILTER (WHERE w > 0) AS d"
    kept = (
        f"(SELECT *, AVG(w) OVER () AS t, (SELECT AVG(DISTINCT w) FILTER (WHERE w > 0) FROM {rows}) AS e FROM {rows})"
    )
    clause = f"ORDER BY id MEASURES {measures} ALL ROWS PER MATCH PATTERN (a+)"
    found = spark.sql(
        f"SELECT BOOL_AND(r <=> m), BOOL_AND(f <=> t), MAX_BY(d, id) <=> MAX(e) FROM {kept} MATCH_RECOGNIZE ({clause})"
    ).collect()
    assert found == [(True, True, True)]


AVERAGES = {
    "AVG(x) IN (1, 2)": [1, 1],
    "AVG(x) > MATCH_NUMBER()": [2],
    "AVG(x) < COUNT(*) + 1": [3],
    "GREATEST(AVG(x), 1) > COUNT(*)": [2],
    "AVG(x) <=> MATCH_NUMBER()": [1, 1],
    "power(AVG(x), 2) < 5": [2],
    "isnan(AVG(x))": [],
    "power(AVG(x) FILTER (WHERE x > 1), 1) IS NULL": [1],
}


@pytest.mark.spark
@pytest.mark.parametrize("condition", AVERAGES)
def test_averages_inside_functions(spark: SparkSession, condition: str) -> None:
    clause = f"ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS {condition}"
    found = spark.sql(f"SELECT n FROM VALUES (1, 1), (2, 2), (3, 5) AS t(ts, x) MATCH_RECOGNIZE ({clause})").collect()
    assert [n for (n,) in found] == AVERAGES[condition]


@pytest.mark.spark
def test_explain_names_the_slow_path(spark: SparkSession) -> None:
    lines = [
        row.plan
        for row in spark.sql(f"EXPLAIN PATTERN {hits(CASES[0].sql.split('c AS ')[1].rstrip(')') + ')')}").collect()
    ]
    slow = [line for line in lines if "slow path" in line.lower()]
    assert len(slow) == 2 and "array_join" in slow[1] and "array_agg" in slow[0]
    fast = spark.sql(f"EXPLAIN PATTERN {hits('c.v > LAST(a.v) AND count_if(v > 1) = 1')}").collect()
    assert not any("slow path" in row.plan.lower() for row in fast)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("condition", "code", "place"),
    [
        ("soundex(LAST(a.s) || c.s) = 1", "MATCH_DEPENDENT_FUNCTION", "soundex(LAST(a.s) || c.s) = 1"),
        ("c.v > 1 AND corr(a.v, a.v) > 0", "MATCH_DEPENDENT_CONDITION", "corr(a.v, a.v) > 0"),
        ("concat(LAST(a.s), c.s)", "CONDITION", "concat(LAST(a.s), c.s)"),
        ("array_join(LAST(a.v), c.s) = 'x'", "EXPRESSION", "array_join(LAST(a.v), c.s) = 'x'"),
        ("LAST(a.v) RLIKE c.s", "MATCH_DEPENDENT_FUNCTION", "LAST(a.v) RLIKE c.s"),
    ],
)
def test_refused(spark: SparkSession, condition: str, code: str, place: str) -> None:
    text = hits(condition)
    with pytest.raises(CepError) as caught:
        spark.sql(text)
    assert caught.value.code.endswith(code)
    span = caught.value.span
    assert span is not None and text[span.start : span.end] == place


@pytest.mark.spark
def test_errors_name_the_condition_and_the_row(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match=r"DIVIDE_BY_ZERO.*the condition of c .*row 2 of its partition"):
        spark.sql(hits("1 / (LAST(a.v) - 2 * c.v) > 0 AND c.s = 'b'")).collect()

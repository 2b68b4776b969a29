"""MEASURES in MATCH PATTERN: aggregates over the matches, whichever way they are computed."""

from __future__ import annotations

import pandas as pd
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf

import sparkcep
from sparkcep.errors import CepError
from tests.corpus import event_cases
from tests.sql.cases import answers, answers_and_types, plain
from tests.sql.event_text import clause, events_table
from tests.sql.test_aseq import EVENTS, setting

pytestmark = pytest.mark.spark

CORPUS = [case for case in event_cases() if case.aggregates]


@pytest.fixture(scope="module", autouse=True)
def events(spark: SparkSession) -> None:
    spark.sql(EVENTS).createOrReplaceTempView("aseq_events")


def test_corpus(spark: SparkSession) -> None:
    queries = {}
    for case in CORPUS:
        texts = ", ".join(f"{text} AS `{text}`" for text in case.aggregates)
        queries[case.name] = f"SELECT * FROM {events_table(case)} {clause(case, f'MEASURES {texts}')}"
    assert answers(spark, queries) == {case.name: [dict(case.aggregates)] for case in CORPUS}


def measures(pattern: str, text: str, more: str = "PARTITION BY user ORDER BY ts WITHIN 30") -> str:
    return f"SELECT * FROM aseq_events MATCH PATTERN ({pattern} {more} MEASURES {text}) m"


PUSHED = {
    "every function": measures(
        "SEQ(A a, B b, C c)",
        "COUNT(*) AS n, COUNT(a.x) AS nx, COUNT(b.*) AS nb, SUM(a.x) AS sx, SUM(a.d) AS sd, AVG(b.x) AS m, MIN(c.s) lo, MAX(a.day) hi",
    ),
    "expressions": measures("SEQ(A a, B b)", "SUM(a.x) / COUNT(*) + 1 AS r, COALESCE(MAX(b.x), 0) AS hi"),
    "no partition": measures("SEQ(A a, NOT D, B b)", "COUNT(*) AS n, SUM(a.x) AS s", "ORDER BY ts WHERE [user]"),
    "nothing found": measures("SEQ(A a, E e)", "COUNT(*) AS n, SUM(a.x) AS s, CAST(COUNT(*) AS DECIMAL(38,0)) AS w", "ORDER BY ts"),
    "nothing found in partitions": measures("SEQ(A a, E e)", "COUNT(*) AS n"),
    "named key": measures("SEQ(A a, B b)", "COUNT(*) AS n", "PARTITION BY upper(user) AS u, day ORDER BY ts"),
    "expressions of one event": measures("SEQ(A a, B{1,2} b, C c)", "SUM(a.x + 1) AS s, AVG(b.x * 2) AS m, SUM(COALESCE(b.x, 7) - b.ts) AS t, COUNT(NULLIF(b.x, 3)) AS n, MAX(LENGTH(c.s)) AS l"),
    "decimal average": measures("SEQ(A a, B b)", "AVG(a.d) AS m"),
    "decimal average of a closure": measures("SEQ(A a, B{1,2} b)", "AVG(b.d) AS m, SUM(b.d) AS s"),
    "blanks and comments": measures("SEQ(A a, B b)", "MAX(concat(a.s, '<  >')) AS s, SUM(a.x -- the x\n + 1 -- more\n) AS t"),
    "wide": measures("SEQ(A a, B b)", "CAST(COUNT(*) AS DECIMAL(38,0)) AS n, CAST(SUM(b.x) AS DECIMAL(38,0)) AS s"),
}  # fmt: skip
FROM_MATCHES = {
    "other aggregates": measures("SEQ(A a, B b)", "sort_array(collect_list(a.x)) AS l, COUNT(DISTINCT b.x) AS d"),
    "expression inside": measures("SEQ(A a, B b)", "SUM(a.x * b.x) AS p, COUNT(*) AS n"),
    "condition between events": measures("SEQ(A a, B b)", "SUM(a.x) AS s", "PARTITION BY user ORDER BY ts WHERE a.x < b.x"),
    "closure's ends": measures("SEQ(A a, B{1,2} b, C c)", "MAX(b[LAST].x) AS l, SUM(b[1].x) AS f"),
}  # fmt: skip


def test_both_ways(spark: SparkSession) -> None:
    """A-Seq and the matches: the same rows, names and types."""
    queries = PUSHED | FROM_MATCHES
    found = answers_and_types(spark, queries)
    assert {name for name, query in queries.items() if "AggregateSpec" in sparkcep.rewrite(query, spark)} == set(PUSHED)
    with setting(spark, "sparkcep.rules.disable", "aggregate_pushdown"):
        assert not any("AggregateSpec" in sparkcep.rewrite(query, spark) for query in queries.values())
        assert answers_and_types(spark, queries) == found
    rows, _ = found
    assert [rows["nothing found"], rows["nothing found in partitions"]] == [[{"n": 0, "s": None, "w": 0}], []]


def test_every_element_of_every_closure_counts(spark: SparkSession) -> None:
    """One row per element and match says the same."""
    clause = "MATCH PATTERN (SEQ(A a, B{1,3} b, C c) PARTITION BY user ORDER BY ts WITHIN 25"
    found = spark.sql(
        f"""SELECT * FROM aseq_events {clause} MEASURES COUNT(b.*) AS n, COUNT(b.x) AS nx, SUM(b.x) AS s, AVG(b.x) AS m,
            MIN(b.x) AS lo, MAX(b.s) AS hi, SUM(b.f) AS f)"""
    )
    exploded = spark.sql(
        f"""SELECT user, COUNT(*) AS n, COUNT(e.x) AS nx, SUM(e.x) AS s, AVG(e.x) AS m, MIN(e.x) AS lo, MAX(e.s) AS hi, SUM(e.f) AS f
            FROM (SELECT user, explode(b) AS e FROM aseq_events {clause})) GROUP BY user"""
    )
    assert found.schema.simpleString() == exploded.schema.simpleString()
    assert sorted(map(plain, found.collect())) == sorted(map(plain, exploded.collect()))


def test_integer_sums_never_wrap(spark: SparkSession) -> None:
    """Over the matches too, and in both ANSI modes; DECIMAL(38,0) on request."""
    table = "(SELECT 'A' AS type, id AS ts, 5000000000000000000 AS x FROM range(2))"
    for pattern, disabled in (("A a", ""), ("A a", "aggregate_pushdown"), ("A+ a", "aggregate_pushdown")):
        clause = f"MATCH PATTERN ({pattern} ORDER BY ts MEASURES {{}} AS s)"
        with setting(spark, "sparkcep.rules.disable", disabled), setting(spark, "spark.sql.ansi.enabled", "false"):
            with pytest.raises(PySparkException, match=r"(?s)SUM\(a.x\) over the matches .* DECIMAL\(38,0\)"):
                spark.sql(f"SELECT * FROM {table} {clause.format('SUM(a.x)')}").collect()
            wide = spark.sql(f"SELECT * FROM {table} {clause.format('CAST(SUM(a.x) AS DECIMAL(38,0))')}").collect()
            assert int(wide[0][0]) == (4 if "+" in pattern else 2) * 5 * 10**18


REFUSED = {
    "COUNT(*) AS user": "has the name of a PARTITION BY column",
    "COUNT(*) AS n, SUM(a.x) AS N": "occurs twice",
    "1 AS one": "a measure aggregates over the matches",
    "SUM(a.nope) AS s": "no column nope",
    "SUM(z.x) AS s": "no variable z",
    "SUM(n.x) AS s": "n is negated",
    "LAST(a.x) AS s, COUNT(*) AS n": "LAST in the MEASURES",
    "SUM(b[i].x) AS s": "b\\[i\\] has no meaning",
    "SUM(a.x) + a.x AS s": "MISSING_AGGREGATION|not.*aggregate",
    "COUNT(*) OVER () + a.x AS s": "aggregate",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(spark: SparkSession, text: str) -> None:
    with pytest.raises(CepError, match=f"(?s){REFUSED[text]}"):
        spark.sql(measures("SEQ(A a, NOT D n, B{1,2} b, C c)", text)).collect()


def test_explain_says_which_way_and_why(spark: SparkSession) -> None:
    def report(query: str) -> str:
        return "\n".join(row[0] for row in spark.sql(f"EXPLAIN PATTERN {query}").collect())

    pushed = report(PUSHED["wide"])
    assert "aseq: A-Seq" in pushed
    assert "n: CAST(COUNT(*) AS DECIMAL(38,0)), instead of the matches" in pushed
    other = report(FROM_MATCHES["condition between events"])
    assert "chain:" in other
    assert "a.x < b.x compares events" in other


def test_it_is_a_table_like_any_other(spark: SparkSession) -> None:
    query = "SELECT user, n FROM aseq_events MATCH PATTERN (SEQ(A a, B b) PARTITION BY user ORDER BY ts MEASURES COUNT(*) AS n)"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW measured AS {query}")
    total = spark.sql("SELECT SUM(m.n), COUNT(*) FROM measured m JOIN (SELECT 'u1' AS user) USING (user)").collect()
    assert [tuple(row) for row in total] == [
        tuple(row) for row in spark.sql(f"SELECT SUM(n), COUNT(*) FROM ({query}) WHERE user = 'u1'").collect()
    ]
    assert "cep_match" in sparkcep.rewrite(query, spark)


OVER_ELEMENTS = (
    "ROUND(STDDEV(b.x), 9)",
    "ROUND(var_pop(b.f) + corr(b.x, b.ts), 9)",
    "MEDIAN(b.x)",
    "COUNT(DISTINCT b.x) * 100 + COUNT(DISTINCT a.s)",
    "SUM(DISTINCT b.x) - COUNT(b.x, b.ts)",
    "sort_array(collect_list(b.x))",
    "sort_array(collect_set(b.s || a.s))",
    "max_by(b.s, (b.x, b.ts, match_start))",
    "count_if(b.x > a.x)",
    "any(b.x > 58)",
    "SUM(b.x) FILTER (WHERE b.x > a.x AND match_end < 120)",
    "COUNT(*) FILTER (WHERE b.x > 3 /* or */ -- not\n)",
    "SUM(b.x - a.x * length(user))",
    "percentile_cont(0.25) WITHIN GROUP (ORDER BY b.x)",
    "MAX(b.x) FILTER (WHERE B.S = 's1' OR `b`.s = 's2')",
    "AVG(CAST(b.d AS DECIMAL(30, 10)))",
    "bit_xor(b.ts)",
)
CLOSURE = "MATCH PATTERN (SEQ(A a, B{1,3} b, C c) PARTITION BY user ORDER BY ts WITHIN 25"


def columns(texts: tuple[str, ...]) -> str:
    return ", ".join(f"{text} AS r{i}" for i, text in enumerate(texts))


def test_any_aggregate_over_elements(spark: SparkSession) -> None:
    """What Spark says of one row per element and match."""
    found = spark.sql(f"SELECT * FROM aseq_events {CLOSURE} MEASURES {columns(OVER_ELEMENTS)})")
    exploded = f"SELECT user, a, c, match_start, match_end, explode(b) AS b FROM aseq_events {CLOSURE})"
    wanted = spark.sql(f"SELECT user, {columns(OVER_ELEMENTS)} FROM ({exploded}) GROUP BY user")
    assert found.schema.simpleString() == wanted.schema.simpleString()
    assert sorted(map(plain, found.collect())) == sorted(map(plain, wanted.collect()))


def test_aggregates_over_elements_change_no_others(spark: SparkSession) -> None:
    """Those over matches, and over another closure."""
    pattern = "SEQ(A a, B{1,2} b, C? o, D{0,2} c)"
    texts = (
        "COUNT(*)",
        "SUM(COALESCE(a.x, 7)) + COUNT(a.x)",
        "SUM(b.x) * 1000 + COUNT(c.*) + COUNT(b[LAST].x)",
        "sort_array(collect_list(DISTINCT a.s))",
        "COUNT(DISTINCT o.s, a.s) + COUNT_IF(o.s IS NULL)",
        "SUM(a.x * 2) FILTER (WHERE a.x > 3) + COUNT(a.*) FILTER (WHERE a.x > 3)",
        "SUM(array_max(b.x) + size(c.s))",
        "MAX(match_end) - MIN(match_start)",
        "any_value(size(b)) IS NULL",
        "MAX(upper(a.s) || a.user)",
        "COUNT(DISTINCT b.x)",
        "ROUND(STDDEV(c.x), 9)",
        "ROUND(AVG(b.f) + AVG(a.f), 9)",
    )
    for more in ("PARTITION BY user ORDER BY ts WITHIN 12", "ORDER BY ts WITHIN 6"):
        found = spark.sql(measures(pattern, columns(texts), more)).collect()
        alone = [spark.sql(measures(pattern, f"{text} AS r", more)).collect() for text in texts]
        assert found
        for i in range(len(texts)):
            assert sorted(repr(row[f"r{i}"]) for row in found) == sorted(repr(row["r"]) for row in alone[i]), texts[i]
    nothing = measures("SEQ(A a, E+ e)", "COUNT(*) AS n, STDDEV(e.x) AS s, COUNT(DISTINCT e.x) AS d", "ORDER BY ts")
    assert [tuple(row) for row in spark.sql(nothing).collect()] == [(0, None, 0)]


def test_aggregates_over_elements_that_have_no_meaning(spark: SparkSession) -> None:
    def mean(values: pd.Series) -> float:
        return float(values.mean())

    spark.udf.register("elements_mean", pandas_udf(mean, "double"))
    wanted = {
        "STDDEV(b.x - b[1].x)": ("UNSUPPORTED_AGGREGATE", "with b\\[1\\]"),
        "SUM(b.x * c.x)": ("UNSUPPORTED_AGGREGATE", "with c.… beside it"),
        "elements_mean(b.x)": ("UNSUPPORTED_AGGREGATE", "which has no FILTER, over each event of a closure"),
        "COUNT(DISTINCT b.*)": ("UNSUPPORTED_AGGREGATE", "COUNT with DISTINCT or with other"),
        "STDDEV(b.day)": ("ANALYSIS_MEASURE", "DOUBLE"),
        "listagg(b.x, b.s)": ("ANALYSIS_MEASURE", "foldable"),
    }
    for text, (code, message) in wanted.items():
        query = measures(
            "SEQ(A a, B+ b, C+ c)", f"COUNT(*) AS n, {text} AS s", "PARTITION BY user ORDER BY ts WITHIN 9"
        )
        with pytest.raises(CepError, match=message) as caught:
            spark.sql(query)
        assert code in str(caught.value) and caught.value.span is not None
        assert caught.value.sql[caught.value.span.start : caught.value.span.end] == text


def test_averages_of_wide_decimals(spark: SparkSession) -> None:
    """Spark's own, of single events and over closures."""
    rows = "(SELECT id AS ts, CAST(cos(id) * 50 AS DECIMAL(38, 10)) AS w FROM range(9))"
    clause = "MATCH PATTERN (SEQ(ANY a, ANY{{1,2}} b) ORDER BY ts WITHIN 3{})"
    mean, matches = spark.sql(
        f"SELECT * FROM {rows} {clause.format(' MEASURES AVG(a.w) AS m, COUNT(*) AS n')}"
    ).collect()[0]
    assert matches == 22 and mean.as_tuple().exponent == -14
    found = spark.sql(f"SELECT * FROM {rows} {clause.format(' MEASURES AVG(b.w) AS m')}").collect()
    assert (
        found
        == spark.sql(f"SELECT AVG(e.w) AS m FROM (SELECT explode(b) AS e FROM {rows} {clause.format('')})").collect()
    )

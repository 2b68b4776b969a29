"""Variances and deviations in MATCH_RECOGNIZE are the engine's, value by value as Spark's own: equal to the last bit."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import sparkcep

ROWS = """(SELECT k, ts, CAST(v AS {type}) AS v FROM VALUES ('p', 1, 1.5), ('p', 2, 3.25), ('p', 3, NULL), ('p', 4, -0.7), ('p', 5, 12.1), ('q', 1, 2.2), ('r', 1, NULL),
  ('r', 2, 7.1), ('r', 3, 7.1) AS t(k, ts, v))"""
FUNCTIONS = ("stddev", "STD", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")
TYPES = ("DOUBLE", "FLOAT", "DECIMAL(12, 3)", "INT", "BIGINT")


def _calls(over: str = "", where: str = "", argument: str = "v") -> str:
    return ", ".join(f"{name}({argument}){where}{over} AS {name}_" for name in FUNCTIONS)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("where", ["", " FILTER (WHERE ts <> 2)"])
def test_running(spark: SparkSession, type_: str, where: str) -> None:
    rows = ROWS.format(type=type_)
    clause = (
        f"MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {_calls(where=where)} ALL ROWS PER MATCH PATTERN (a+))"
    )
    window = " OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    found = spark.sql(f"SELECT * EXCEPT (v) FROM {rows} {clause}").collect()
    assert sorted(found) == sorted(spark.sql(f"SELECT k, ts, {_calls(window, where)} FROM {rows}").collect())


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW"])
def test_of_matches(spark: SparkSession, skip: str) -> None:
    """Of the last three rows at most, as in a frame; of one variable; NaN among them."""
    rows = ROWS.format(type="DOUBLE").replace("3.25", "double('NaN')")
    clause = f"""MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS ts, {_calls(argument="v * ts")}, std(b.v) AS of_b AFTER MATCH SKIP {skip}
      PATTERN (a b{{0,2}}))"""
    window = " OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING)"
    behind = "stddev(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS of_b"
    expected = f"SELECT k, ts, {_calls(window, argument='v * ts')}, {behind} FROM {rows}"
    if skip == "PAST LAST ROW":
        expected = f"SELECT * FROM ({expected}) WHERE ts IN (1, 4)"
    found = spark.sql(f"SELECT * FROM {rows} {clause}").collect()
    assert str(sorted(found, key=str)) == str(sorted(spark.sql(expected).collect(), key=str))


def test_conditions(spark: SparkSession) -> None:
    """A row that is further from the mean of those before it than three deviations: the engine's search needs no list of them."""
    rows = "(SELECT id AS ts, id % 7 + IF(id % 50 = 49, 100, 0) AS v FROM range(200))"
    query = f"""SELECT * FROM {rows} MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(ts) AS since, far.ts AS at, stddev(x.v) AS s PATTERN (x{{5,}}? far)
      DEFINE far AS v > AVG(x.v) + 3 * STDDEV(x.v) AND round(VAR_POP(x.v), 1) < 5)"""
    near = "stddev(v) FILTER (WHERE ts % 50 < 49)"
    expected = f"SELECT min(ts), max(ts), {near} FROM {rows} GROUP BY ts div 50"
    assert sorted(spark.sql(query).collect()) == sorted(spark.sql(expected).collect())
    assert "SLOW" not in str(sparkcep.explain(query.replace("round(VAR_POP(x.v), 1)", "VAR_POP(x.v)"), spark))


def test_what_is_not_the_engines(spark: SparkSession) -> None:
    rows = ROWS.format(type="DOUBLE")
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {} PATTERN (a+))"
    for measures, expected in (
        ("stddev(DISTINCT v) AS s", "stddev(DISTINCT v)"),
        ("var_pop(v * MATCH_NUMBER()) AS s", "var_pop(v)"),
        ("stddev(CAST(v AS STRING)) AS s", "stddev(CAST(v AS STRING))"),
    ):
        found = spark.sql(f"SELECT k, round(s, 9) FROM {rows} {clause.format(measures)}").collect()
        assert sorted(found) == sorted(spark.sql(f"SELECT k, round({expected}, 9) FROM {rows} GROUP BY k").collect())


def test_a_mean_of_many_places_is_rounded_once(spark: SparkSession) -> None:
    """4950.495 … units of the 37th place, which two roundings would make 4951."""
    rows = "(SELECT id, CAST(IF(id < 50, 1E-33BD, 0BD) AS DECIMAL(38, 33)) AS v FROM range(102))"
    ((mean,),) = spark.sql(f"SELECT AVG(v) FROM {rows} WHERE id < 101").collect()
    clause = f"PATTERN (b{{101}} c) DEFINE c AS AVG(b.v) = CAST('{mean}' AS DECIMAL(38, 37))"
    found = spark.sql(f"SELECT * FROM {rows} MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n {clause})")
    assert (str(mean), found.collect()) == ("4.950E-34", [(102,)])


@pytest.mark.parametrize(
    "type_", ["DECIMAL(10, 2)", "DECIMAL(14, 0)", "DECIMAL(15, 2)", "DECIMAL(30, 5)", "DECIMAL(38, 18)"]
)
def test_means_of_decimals(spark: SparkSession, type_: str) -> None:
    """AVG in conditions has four digits more, rounded half up; of up to 14 places it is the engine's. A match for each row that it holds of."""
    values = ", ".join(f"({ts}, {value})" for ts, value in enumerate((1.25, -7.5, None, 3, 3, -11, 0.07, 9999, -1, 0)))
    rows = f"(SELECT ts, CAST(v AS {type_}) AS v FROM VALUES {values.replace('None', 'NULL')} AS t(ts, v))"
    mean = "avg(v) OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"
    for test, of_mean in (("AVG(u.v) < v + 1", f"{mean} < v + 1"), ("abs(AVG(u.v) - 1) > 2.3333", f"abs({mean} - 1) > 2.3333"),
                          ("AVG(u.v) IS NULL OR AVG(u.v) * 3 <= 0", f"{mean} IS NULL OR {mean} * 3 <= 0")):  # fmt: skip
        clause = f"MATCH_RECOGNIZE (ORDER BY ts MEASURES c.ts AS at AFTER MATCH SKIP TO NEXT ROW PATTERN (a b c) SUBSET u = (a, b, c) DEFINE c AS {test})"
        expected = f"SELECT ts AS at FROM (SELECT ts, {of_mean} AS held FROM {rows}) WHERE held AND ts > 1 ORDER BY at"
        assert spark.sql(f"SELECT * FROM {rows} {clause}").collect() == spark.sql(expected).collect(), test
    slow = "SLOW" in str(sparkcep.explain(f"SELECT * FROM {rows} {clause.replace('* 3', '')}", spark))
    assert slow == (type_ == "DECIMAL(38, 18)")

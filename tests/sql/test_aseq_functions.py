"""``aseq_count`` and its kin in plain Spark SQL: what MATCH PATTERN answers for the same events."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

import sparkcep
from sparkcep.errors import CepError
from tests.sql.cases import answers, assert_rows
from tests.sql.test_aseq import EVENTS, setting

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def events(spark: SparkSession) -> None:
    spark.sql(EVENTS).createOrReplaceTempView("aseq_events")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW aseq_timed AS SELECT *, TIMESTAMP'2020-01-01' + ts * INTERVAL 1 HOUR AS at FROM aseq_events"
    )


OF_A = "IF(type = 'A', x, NULL)"
CALLS = f"""aseq_count(at, type, 'SEQ(A a, !D, B b)', INTERVAL 40 HOURS) AS n,
    aseq_sum(ts, type, 'SEQ(A, B)', 30, {OF_A}) AS s, aseq_avg(ts, type, 'SEQ(A, B)', 30, {OF_A}) AS m,
    aseq_min(ts, type, 'SEQ(A, B)', 30, {OF_A}) AS lo, aseq_max(ts, type, 'AND(A, ANY(B, C) x)', NULL, s) AS hi,
    aseq_sum(ts, type, 'SEQ(A, B)', 30, IF(type = 'A', d, NULL)) AS d"""
CLAUSES = {
    "n": "SELECT user, COUNT(*) AS v FROM aseq_timed MATCH PATTERN (SEQ(A a, !D, B b) PARTITION BY user ORDER BY at WITHIN 40 hours) GROUP BY user",
    "smlod": """SELECT user, SUM(a.x) AS s, AVG(a.x) AS m, MIN(a.x) AS lo, SUM(a.d) AS d
        FROM aseq_timed MATCH PATTERN (SEQ(A a, B b) PARTITION BY user ORDER BY ts WITHIN 30) GROUP BY user""",
    "hi": "SELECT user, GREATEST(MAX(a.s), MAX(x.s)) AS hi FROM aseq_timed MATCH PATTERN (AND(A a, ANY(B, C) x) PARTITION BY user ORDER BY ts) GROUP BY user",
}


def test_equal_to_the_clause_beside_sparks_own_aggregates(spark: SparkSession) -> None:
    grouped = spark.sql(
        f"SELECT user, COUNT(*) AS c, SUM(x) AS total, {CALLS} FROM aseq_timed GROUP BY user HAVING COUNT(*) > 0"
    )
    kinds = dict(grouped.dtypes)
    assert [kinds[name] for name in ("n", "s", "m", "lo", "hi", "d")] == [
        "bigint",
        "bigint",
        "double",
        "int",
        "string",
        "decimal(20,2)",
    ]
    found = answers(
        spark, CLAUSES | {"plain": "SELECT user, COUNT(*) AS c, SUM(x) AS total FROM aseq_timed GROUP BY user"}
    )
    by_user: dict[str, dict[str, object]] = {}
    for row in [row for rows in found.values() for row in rows]:
        by_user.setdefault(str(row["user"]), {}).update(
            {"n" if k == "v" else k: v for k, v in row.items() if k != "user"}
        )
    for row in grouped.collect():
        values = row.asDict()
        expected = {"n": 0, "s": None, "m": None, "lo": None, "hi": None, "d": None} | by_user[values.pop("user")]
        assert {k: float(v) if k == "d" and v is not None else v for k, v in values.items()} == expected


def test_windows_and_empty_groups(spark: SparkSession) -> None:
    """OVER takes the grouped aggregate UDF; a group without rows counts 0."""
    over = spark.sql(
        "SELECT DISTINCT user, aseq_count(ts, type, 'SEQ(A, B)', 30) OVER (PARTITION BY user) AS n FROM aseq_timed"
    )
    grouped = spark.sql("SELECT user, aseq_count(ts, type, 'SEQ(A, B)', 30) FROM aseq_timed GROUP BY user")
    assert_rows(over.collect(), grouped.collect())
    nothing = spark.sql(
        "SELECT aseq_count(ts, type, 'A', NULL), aseq_sum(ts, type, 'A', NULL, x) FROM aseq_timed WHERE false"
    )
    assert_rows(nothing.collect(), [(0, None)])


def test_filter(spark: SparkSession) -> None:
    """An event that is filtered out is not there: not for ANY either, and its time may be NULL."""
    calls = "aseq_count(IF(x < 0, NULL, ts), type, 'SEQ(A, ANY b)', 30) filter(WHERE x >= 0) AS n, aseq_sum(ts, type, 'SEQ(A, !D, B)', 30, x) FILTER (WHERE x > 1) + 0 AS s"
    both = f"SELECT user, {calls}, COUNT(*) FILTER (WHERE x < 0) AS c FROM aseq_timed GROUP BY user"
    apart = """SELECT user, n, s, c FROM (SELECT user, aseq_count(ts, type, 'SEQ(A, ANY b)', 30) AS n FROM aseq_timed WHERE x >= 0 GROUP BY user)
        JOIN (SELECT user, aseq_sum(ts, type, 'SEQ(A, !D, B)', 30, x) AS s FROM aseq_timed WHERE x > 1 GROUP BY user) USING (user)
        JOIN (SELECT user, COUNT(*) AS c FROM aseq_timed WHERE x < 0 GROUP BY user) USING (user)"""
    rows = spark.sql(both).collect()
    assert_rows(rows, spark.sql(apart).collect())
    assert sum(row.n for row in rows) > 0
    nothing = spark.sql("SELECT aseq_count(ts, type, 'A', NULL) FILTER (WHERE x > 1000) FROM aseq_timed").collect()
    assert_rows(nothing, [(0,)])


def test_months_of_dates(spark: SparkSession) -> None:
    """The same day of the month, or its last day, as MATCH PATTERN counts from matches."""
    spark.sql("""CREATE OR REPLACE TEMP VIEW aseq_dates AS SELECT date_add(DATE'2023-12-20', CAST(id * 2 AS INT)) AS d,
        element_at(array('A', 'B'), CAST(pmod(hash(id), 2) AS INT) + 1) AS type FROM range(150)""")
    call = "aseq_count(d, type, 'SEQ(A, B)', INTERVAL {})"
    queries = {
        length: f"SELECT {call.format(length)} AS n FROM aseq_dates UNION ALL SELECT DISTINCT {call.format(length)} OVER () FROM aseq_dates"
        " UNION ALL SELECT COUNT(*) FROM aseq_dates MATCH PATTERN (SEQ(A a, B b) ORDER BY d WITHIN INTERVAL "
        + length
        + ")"
        for length in ("1 MONTH", "2 MONTHS", "'1-1' YEAR TO MONTH")
    }
    for rows in answers(spark, queries).values():
        assert len(rows) == 3
        assert len({row["n"] for row in rows}) == 1


def test_data_frames_new_sessions_and_the_rule_switched_off(spark: SparkSession) -> None:
    """Without the rewrite it is the grouped aggregate UDF, which Spark does not mix with its own aggregates."""
    frame = spark.table("aseq_timed").groupBy("user").agg(expr("aseq_count(ts, type, 'SEQ(A, B)', 30)"))
    query = "SELECT user, aseq_count(ts, type, 'SEQ(A, B)', 30) FROM aseq_timed GROUP BY user"
    assert "cep_aseq_count(COLLECT_LIST(STRUCT(ts, type))" in sparkcep.rewrite(query, spark)
    assert_rows(frame.collect(), spark.sql(query).collect())
    assert (
        spark.newSession().sql("SELECT aseq_count(id, 'A', 'SEQ(A x, A y)', NULL) FROM range(5)").collect()[0][0] == 10
    )
    with (
        setting(spark, "sparkcep.rules.disable", "aseq_functions"),
        pytest.raises(PySparkException, match="UDF_PLACEMENT"),
    ):
        spark.sql(f"{query.replace(' FROM', ', COUNT(*) FROM')}").collect()


ERRORS = {
    "aseq_count(ts, type, 'SEQ(A, ', 10)": "CEP_SYNTAX",
    "aseq_count(ts, type, 'SEQ(A, !D)', NULL)": "begins or ends with NOT",
    "aseq_count(ts, type, s, 10)": "are constants",
    "aseq_count(ts, type, 'A', INTERVAL 1 DAY)": "is within interval day",
    "aseq_count(at, type, 'A', INTERVAL 1 MONTH)": "INTERVAL 30 DAYS",
    "aseq_count(at, type, 'A', 10)": "is within int",
    "aseq_sum(ts, type, 'A', 10)": "takes 5 arguments, not 4",
    "aseq_sum(ts, type, 'A', 10, s)": "the value of aseq_sum is string",
    "aseq_count(s, type, 'A', NULL)": "the event time of aseq_count is string",
    "aseq_count(CAST(ts AS DECIMAL(10, 2)), type, 'A', 10)": r"is decimal\(10,2\)\nHint: cast it to BIGINT or DOUBLE",
    "aseq_count(day, type, 'A', INTERVAL -1 MONTH)": "must be positive",
    "aseq_count(ts, type, 'A', NULL) FILTER (WHERE x > 1) OVER (PARTITION BY user)": "aseq_count with FILTER and OVER",
    "aseq_count(DISTINCT ts, type, 'A', NULL)": "aseq_count with DISTINCT",
}


@pytest.mark.parametrize("call", ERRORS)
def test_errors(spark: SparkSession, call: str) -> None:
    with pytest.raises(CepError, match=ERRORS[call]):
        spark.sql(f"SELECT {call} FROM aseq_timed")


def test_errors_of_the_data(spark: SparkSession) -> None:
    pattern = f"SEQ({', '.join(f'T v{i}' for i in range(25))})"
    for call, message in (
        ("aseq_count(IF(id > 3, id, NULL), 'T', 'T', NULL)", "NULL_EVENT_TIME"),
        (f"aseq_count(id, 'T', '{pattern}', NULL)", r"(?s)aseq_count over the matches.*DECIMAL\(38,0\)"),
    ):
        with pytest.raises(PySparkException, match=message):
            spark.sql(f"SELECT {call} FROM range(80)").collect()


def test_explain(spark: SparkSession) -> None:
    lines = [
        row[0]
        for row in spark.sql("EXPLAIN PATTERN SELECT aseq_count(ts, type, 'A', 1), COUNT(*) FROM aseq_timed").collect()
    ]
    assert lines[0].startswith("aseq_functions: 1 call")

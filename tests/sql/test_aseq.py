"""Aggregates over MATCH PATTERN: answered by A-Seq, with the rows, names and types that the matches would give."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import comb

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from tests.sql.cases import plain

EVENTS = """SELECT concat('u', id % 7) AS user, element_at(array('A', 'B', 'C', 'D'), CAST(pmod(hash(id), 4) AS INT) + 1) AS type,
  CAST(id AS INT) AS ts, IF(id % 5 = 0, NULL, CAST(pmod(hash(id, 1), 100) AS INT) - 40) AS x, CAST(id / 3 AS DECIMAL(10, 2)) AS d,
  id * 0.5D AS f, date_add(DATE'2020-01-01', CAST(id % 3 AS INT)) AS day, concat('s', id % 11) AS s
FROM range(150)"""

WINDOW = "aseq_events MATCH PATTERN (SEQ(A a, B b, C c) PARTITION BY user ORDER BY ts WITHIN 30)"
NOT_D = "aseq_events MATCH PATTERN (SEQ(A a, NOT D n, B b) PARTITION BY user, day ORDER BY ts WHERE a.x > -30)"
ALL = "aseq_events MATCH PATTERN (SEQ(A a, B b) PARTITION BY lower(user) AS u ORDER BY ts WHERE [day])"

PUSHED = {
    "count": f"SELECT COUNT(*) FROM {WINDOW}",
    "count_of_nothing": "SELECT COUNT(*), SUM(a.x), MIN(a.s), AVG(a.x) FROM aseq_events MATCH PATTERN (SEQ(A a, E e) ORDER BY ts)",
    "no_rows_of_nothing": "SELECT user, COUNT(*) FROM aseq_events MATCH PATTERN (SEQ(A a, E e) PARTITION BY user ORDER BY ts) GROUP BY user",
    "all_functions": f"""SELECT user, COUNT(*) AS n, COUNT(1) AS one, COUNT(b.x), SUM(b.x), AVG(a.x), MIN(c.s) AS m, MAX(a.day), SUM(b.d),
        MIN(b.d), AVG(a.f), SUM(c.f), MAX(c.x) FROM {WINDOW} GROUP BY user""",
    "expressions": f"""SELECT user, SUM(a.x + 1), SUM(m.b.x * 2 - m.b.ts) AS s, AVG(a.x / 4), COUNT(NULLIF(b.x, 3)), MIN(LENGTH(c.s)), MAX(upper(a.s) || 'x'),
        SUM(IF(a.x > 0, a.x, 0)), MAX(-abs(a.x)), ROUND(SUM(CASE WHEN b.x <> 0 THEN 100 / b.x ELSE 0 END), 6), MIN(year(c.day)), SUM(CAST(substr(a.s, 2) AS INT)),
        SUM(a.d * 2), MAX(b.x IN (1, 2) OR b.s IS NULL), MAX(GREATEST(a.x % 7, a.ts + 1)) FROM {WINDOW} m GROUP BY user""",
    "decimal_average": f"""SELECT user, AVG(a.d), ROUND(AVG(b.d), 3), AVG(-CAST(a.ts AS DECIMAL(18, 9))), AVG(CAST(c.x AS DECIMAL(18, 0))),
        AVG(b.d / 1000), AVG(IF(a.d < 0, a.d, NULL)) FROM {WINDOW} GROUP BY user""",
    "having_order_limit": f"SELECT user, COUNT(*) AS n FROM {WINDOW} GROUP BY user HAVING SUM(a.x) > -1000 ORDER BY n DESC, user LIMIT 3",
    "function_of_key": f"SELECT upper(m.user) u, 1 + COUNT(*) * 2, ROUND(AVG(m.a.x), 2) FROM {WINDOW} m GROUP BY upper(m.user) ORDER BY 1",
    "coarser_group": f"SELECT year(day) y, COUNT(*), COUNT(DISTINCT user, day), MAX(day) FROM {NOT_D} GROUP BY year(day)",
    "wide": f"SELECT CAST(COUNT(*) AS DECIMAL(38,0)) AS n, CAST(SUM(a.x) AS DECIMAL(38, 0)) FROM {NOT_D}",
    "where_on_keys": f"SELECT user, day, COUNT(*) FROM {NOT_D} WHERE day > DATE'2020-01-01' GROUP BY user, day",
    "no_group_by": f"SELECT AVG(b.x), MAX(a.f) FROM {NOT_D}",
    "key_expression_and_equivalence": f"SELECT u, COUNT(*), MIN(b.day) FROM {ALL} GROUP BY u",
    "subquery": f"SELECT t.n FROM (SELECT user, COUNT(*) n FROM {WINDOW} GROUP BY user) t WHERE t.n > 3",
    "joined": f"SELECT t.n, u FROM (SELECT user, COUNT(*) n FROM {WINDOW} GROUP BY user) t JOIN (SELECT 'u1' AS u) ON u = t.user",
    "cte": f"WITH e AS (SELECT * FROM aseq_events WHERE user < 'u4'), q AS (SELECT user, SUM(a.x) FROM {WINDOW.replace('aseq_events', 'e')} GROUP BY 1) SELECT * FROM q",
    "union": f"SELECT COUNT(*), MIN(a.f) FROM {WINDOW} UNION ALL SELECT COUNT(*), SUM(b.f) FROM {NOT_D}",
    "join": f"SELECT COUNT(*), MAX(u) FROM {WINDOW} m JOIN (SELECT 'u1' AS u) ON u = m.user",
    "left_joins_of_groups": f"""SELECT upper(t.name) AS who, COUNT(*) AS n, SUM(a.x), COUNT(DISTINCT user) FROM {WINDOW} m
        LEFT JOIN (SELECT concat('u', id) AS u, concat('p', id % 2) AS name FROM range(5)) t ON t.u = m.user
        CROSS JOIN (SELECT id FROM range(2)) r WHERE r.id < 5 GROUP BY upper(t.name) HAVING COUNT(*) > 0 ORDER BY who""",
    "events_window": f"SELECT COUNT(*) FROM {WINDOW.replace('WITHIN 30', 'WITHIN 9 EVENTS')}",
    "open_ends": "SELECT COUNT(*), SUM(a.x) FROM aseq_events MATCH PATTERN (SEQ(!D m, A a, B b, !C n) PARTITION BY user ORDER BY ts WITHIN 40)",
    "and": "SELECT user, COUNT(*), SUM(b.x) FROM aseq_events MATCH PATTERN (AND(A a, B b, C c) PARTITION BY user ORDER BY ts WITHIN 40) GROUP BY user",
    "or": "SELECT COUNT(*), SUM(a.x), MAX(b.x) FROM aseq_events MATCH PATTERN (SEQ(OR(A a, B b), C c) PARTITION BY user ORDER BY ts)",
    "kleene": """SELECT user, COUNT(*), SUM(a.x), MIN(c.s) FROM aseq_events MATCH PATTERN (SEQ(A a, B+ b, !D n, C c)
        PARTITION BY user ORDER BY ts WHERE b[i].x > -30 WITHIN 40) GROUP BY user""",
    "neighbours": """SELECT user, COUNT(*), SUM(a.x), MAX(c.s) FROM aseq_events MATCH PATTERN (SEQ(A a, B+ b, C c)
        PARTITION BY user ORDER BY ts WHERE b[i].x > b[i-1].x AND b[i].f - 2 < b[i-1].f * 3 WITHIN 60) GROUP BY user""",
    "distances": """SELECT user, COUNT(*), SUM(a.x) FROM aseq_events MATCH PATTERN (SEQ(A a, B+ b, C c) PARTITION BY user ORDER BY ts
        WHERE ABS(b[i].ts - b[i-1].ts) < 9 AND (b[i].s <> b[i-1].s OR b[i].f * b[i-1].f > 2) AND c.x > -30 WITHIN 60) GROUP BY user""",
    "optional": """SELECT COUNT(*), COUNT(b.x), SUM(b.x), SUM(b.x + 1) FROM aseq_events MATCH PATTERN (SEQ(A{1,2} a, B? b, C* c)
        PARTITION BY user ORDER BY ts WITHIN 25)""",
    "interval": """SELECT COUNT(*) FROM (SELECT *, TIMESTAMP'2020-01-01' + ts * INTERVAL 1 HOUR AS at FROM aseq_events)
        MATCH PATTERN (SEQ(A a, B b) PARTITION BY user ORDER BY at WITHIN 12 hours)""",
    "months_of_dates": """SELECT COUNT(*), MAX(a.d) FROM (SELECT *, DATE'2024-01-20' + CAST(ts * 3 AS INT) AS at FROM aseq_events)
        MATCH PATTERN (SEQ(!D n, A a, B b, !C c) ORDER BY at WITHIN INTERVAL '0-1' YEAR TO MONTH)""",
}

FROM_MATCHES = {
    "group_by_event": f"SELECT a.s, COUNT(*) FROM {WINDOW} GROUP BY a.s",
    "condition_on_event": f"SELECT COUNT(*) FROM {WINDOW} WHERE a.x > 5",
    "other_aggregate": f"SELECT user, COUNT(*), sort_array(collect_list(user)) FROM {WINDOW} GROUP BY user",
    "aggregate_unknown_to_sqlglot": f"SELECT bitmap_count(bitmap_construct_agg(1)), COUNT(*) FROM {WINDOW}",
    "distinct": f"SELECT COUNT(DISTINCT a.x), SUM(DISTINCT a.x) FROM {WINDOW}",
    "filter": f"SELECT COUNT(*) FILTER (WHERE a.x > 0), SUM(a.x) FROM {WINDOW}",
    "count_of_key": f"SELECT COUNT(user), SUM(CAST(substr(user, 2) AS INT)) FROM {WINDOW}",
    "expression_of_two_events": f"SELECT SUM(a.x + b.x) FROM {WINDOW}",
    "expression_that_may_fail_anywhere": f"SELECT SUM(a.x + hash(a.s)) FROM {WINDOW}",
    "expression_of_an_event_that_may_be_missing": f"SELECT SUM(COALESCE(o.x, 1)) FROM {WINDOW.replace('B b', 'B? o, B b')}",
    "match_start": f"SELECT MIN(match_start), COUNT(*) FROM {WINDOW}",
    "comparison": f"SELECT COUNT(*) FROM {WINDOW.replace('WITHIN', 'WHERE a.x < b.x WITHIN')}",
    "right_join": f"SELECT COUNT(*) FROM {WINDOW} m RIGHT JOIN (SELECT 'u1' AS u) ON u = m.user",
    "sum_of_another_table": f"SELECT COUNT(*), SUM(n) FROM {WINDOW} m JOIN (SELECT 'u1' AS u, 1 AS n) ON u = m.user",
    "table_with_a_variables_name": f"SELECT COUNT(*), SUM(a.x), MAX(b.x + 1) FROM {WINDOW} m JOIN (SELECT 'u1' AS u, 100 AS x) b ON u = m.user",
    "join_by_an_event": f"SELECT COUNT(*) FROM {WINDOW} m JOIN (SELECT 's1' AS u) ON u = m.a.s",
    "plain": f"SELECT user FROM {WINDOW}",
    "window_function": f"SELECT user, SUM(COUNT(*)) OVER (ORDER BY user) FROM {WINDOW} GROUP BY user",
    "average_of_many_digits": f"SELECT AVG(CAST(a.d AS DECIMAL(19, 2))), COUNT(*) FROM {WINDOW}",
    "months": """SELECT COUNT(*) FROM (SELECT *, TIMESTAMP'2020-01-01' + ts * INTERVAL 9 HOURS AS at FROM aseq_events)
        MATCH PATTERN (SEQ(A a, B b) PARTITION BY user ORDER BY at WITHIN INTERVAL 1 MONTH)""",
    "closures_as_arrays": """SELECT COUNT(b.x), SUM(size(b)), MAX(b.x) FROM aseq_events
        MATCH PATTERN (SEQ(A a, B+ b) PARTITION BY user ORDER BY ts WITHIN 25)""",
    "not_a_number_as_a_decimal": f"SELECT COUNT(*), COUNT(CAST(SQRT(CAST(a.x AS DOUBLE)) AS DECIMAL(10, 2))) FROM {WINDOW}",
    "negated_decimals_of_38_digits": f"SELECT MIN(-CAST(a.x AS DECIMAL(38))) FROM {WINDOW}",
    "select_distinct": f"SELECT DISTINCT COUNT(*) FROM {WINDOW} GROUP BY user",
}


@pytest.fixture(scope="module", autouse=True)
def events(spark: SparkSession) -> None:
    spark.sql(EVENTS).createOrReplaceTempView("aseq_events")


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


def same_both_ways(spark: SparkSession, query: str) -> str:
    """The rewritten SQL; its rows, column names and types are those of the query over matches."""
    pushed = spark.sql(query)
    rows, schema = pushed.collect(), pushed.schema.simpleString()
    with setting(spark, "sparkcep.rules.disable", "aggregate_pushdown"):
        matches = spark.sql(query)
        assert "AggregateSpec" not in sparkcep.rewrite(query, spark)
        expected = matches.collect()
    assert schema == matches.schema.simpleString()
    assert sorted(map(plain, rows), key=repr) == sorted(map(plain, expected), key=repr)
    return sparkcep.rewrite(query, spark)


@pytest.mark.parametrize("name", PUSHED)
def test_pushed_down(spark: SparkSession, name: str) -> None:
    assert "AggregateSpec" in same_both_ways(spark, PUSHED[name])


@pytest.mark.parametrize("name", FROM_MATCHES)
def test_answered_from_matches(spark: SparkSession, name: str) -> None:
    assert "AggregateSpec" not in same_both_ways(spark, FROM_MATCHES[name])


FAILING = """(SELECT * FROM VALUES (1, 'A', 1, 'x', 2147483647), (2, 'A', 0, '7', {a}), (3, 'B', 0, '8', 2147483647), (4, 'B', 2, '9', 5)
    AS t(ts, type, y, s, i) {where}) MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WITHIN 2)"""


def test_an_expression_fails_where_it_fails_in_a_match(spark: SparkSession) -> None:
    """(2, 3) is the only match: what fails in event 1 or 4 fails nowhere, what fails in 2 or 3 is an error both ways."""
    events = FAILING.format(a=3, where="WHERE ts < 4")
    calls = "SUM(a.i + 1), AVG(1 / (a.y + 1)), MAX(CAST(a.s AS INT)), SUM(COALESCE(b.y, b.i + 1)), COUNT(b.y + 1)"
    failing = ["COUNT(-(b.i + 1))", "MAX(1 + CAST(CONCAT('s', a.s) AS INT)), AVG(1 / a.y)"]
    assert "AggregateSpec" in same_both_ways(spark, f"SELECT {calls} FROM {events}")
    for call in failing:
        with pytest.raises(PySparkException, match="has no value for an event of a match"):
            spark.sql(f"SELECT {call} FROM {events}").collect()
    with setting(spark, "sparkcep.rules.disable", "aggregate_pushdown"), pytest.raises(PySparkException):
        spark.sql(f"SELECT {failing[0]} FROM {events}").collect()
    with setting(spark, "spark.sql.ansi.enabled", "false"):
        assert "AggregateSpec" in same_both_ways(spark, f"SELECT {', '.join([calls, *failing])} FROM {events}")


def test_a_condition_between_neighbours_fails_where_a_match_lacks_its_answer(spark: SparkSession) -> None:
    """Of events 2 to 4 only 2 and 3 are so far apart that their distance is no INT; without event 5 nothing matches."""
    query = """SELECT COUNT(*) FROM (SELECT * FROM VALUES (1, 'A', 0), (2, 'B', 2147483647), (3, 'B', -9), (4, 'B', -8), (5, 'C', 0)
        AS t(ts, type, i) WHERE ts <> {}) MATCH PATTERN (SEQ(A a, B+ b, C c) ORDER BY ts WHERE b[i].i - b[i-1].i < 5)"""
    assert spark.sql(query.format(5)).collect() == [(0,)]
    assert "AggregateSpec" in same_both_ways(spark, query.format(2))
    for rules in ("", "aggregate_pushdown"):
        with setting(spark, "sparkcep.rules.disable", rules), pytest.raises(PySparkException, match="overflow"):
            spark.sql(query.format(0)).collect()


LONG = f"SEQ({', '.join(f'T v{i}' for i in range(24))})"
MANY = f"(SELECT 'T' AS type, id AS ts, id % 2 AS k FROM range(150)) MATCH PATTERN ({LONG} PARTITION BY k ORDER BY ts)"


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_counts_that_no_one_could_list(spark: SparkSession, ansi: str) -> None:
    """C(75, 24) matches a partition: past BIGINT, exact as DECIMAL, whatever ANSI mode says."""
    with setting(spark, "spark.sql.ansi.enabled", ansi):
        wide = spark.sql(f"SELECT CAST(COUNT(*) AS DECIMAL(38,0)) FROM {MANY}").collect()
        assert wide[0][0] == 2 * comb(75, 24)
        with pytest.raises(PySparkException, match=r"COUNT\(\*\) over the matches"):
            spark.sql(f"SELECT COUNT(*) FROM {MANY}").collect()


def test_the_sum_of_partitions_overflows_too(spark: SparkSession) -> None:
    """C(67, 28) fits BIGINT, two of them do not: an error in both modes, never a wrapped number."""
    pattern = f"SEQ({', '.join(f'T v{i}' for i in range(28))})"
    rows = f"(SELECT 'T' AS type, id AS ts, id % 2 AS k FROM range(134)) MATCH PATTERN ({pattern} PARTITION BY k ORDER BY ts)"
    with setting(spark, "spark.sql.ansi.enabled", "false"):
        assert spark.sql(f"SELECT COUNT(*) FROM {rows} WHERE k = 0").collect()[0][0] == comb(67, 28)
        with pytest.raises(PySparkException, match="AGGREGATE_OVERFLOW"):
            spark.sql(f"SELECT COUNT(*) FROM {rows}").collect()


def test_null_event_time(spark: SparkSession) -> None:
    query = "SELECT COUNT(*) FROM (SELECT 'A' AS type, CAST(NULL AS INT) AS ts) MATCH PATTERN (A a ORDER BY ts)"
    with pytest.raises(PySparkException, match="NULL_EVENT_TIME"):
        spark.sql(query).collect()
    with setting(spark, "sparkcep.nullEventTime", "drop"):
        assert spark.sql(query).collect()[0][0] == 0


def test_explain_says_which_way_and_why(spark: SparkSession) -> None:
    def report(query: str) -> str:
        return "\n".join(row[0] for row in spark.sql(f"EXPLAIN PATTERN {query}").collect())

    assert "aseq: A-Seq" in report(PUSHED["count"])
    other = report(FROM_MATCHES["group_by_event"])
    assert "chain:" in other
    assert "a.s is neither a PARTITION BY column" in other

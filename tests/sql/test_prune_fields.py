"""What the statement does not use of a clause's result is not sent, and what it uses in any way is there."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sparkcep.session.config import DISABLED_RULES
from tests.sql.cases import assert_rows

pytestmark = pytest.mark.spark

WIDE = "(SELECT sym, ts, price, price + 1 AS `a b`, named_struct('x', ts) AS s, sym || 1 AS other, ts % 2 AS odd FROM ticks)"
ROWS = f"{WIDE} MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts, odd MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH PATTERN (a b+) DEFINE b AS price > PREV(price))"

PAIRS = "(SELECT * FROM ticks) MATCH PATTERN (SEQ(ANY a, ANY b) PARTITION BY sym ORDER BY ts WITHIN 2)"

STATEMENTS = [
    f"WITH q AS (SELECT 1 AS one) FROM {PAIRS}",
    f"WITH q AS (SELECT 1 AS one) FROM {ROWS}",
    f"FROM {PAIRS} ORDER BY (SELECT 1), match_start",
    f"SELECT x FROM ({PAIRS}) AS m (x, s, e, p, q)",
    f"SELECT x, n FROM ({ROWS} CROSS JOIN (SELECT 1 AS one)) AS m (x, t, o, n, p, q, r, y, z)",
    f"WITH m (x, s, e, p, q) AS (FROM {PAIRS}) SELECT q.price FROM m",
    f"SELECT m.sym FROM (SELECT 1 AS one), LATERAL (FROM {PAIRS}) AS m (sym, s, e, p, q)",
    f"SELECT 'x' AS sym, 1 AS n UNION ALL SELECT sym, b.price FROM {PAIRS}",
    f"FROM {PAIRS} SELECT a.price",
    f"SELECT n FROM {ROWS}",
    f"SELECT COUNT(*), SUM(price), MAX(m.s.x) FROM {ROWS} m WHERE OTHER > 'A'",
    f"SELECT n, `a b` FROM {ROWS} m ORDER BY m.ts DESC, odd",
    f"SELECT * FROM {ROWS}",
    f"SELECT m.* FROM {ROWS} m",
    f"SELECT * EXCEPT (price) FROM {ROWS}",
    f"SELECT hash(*) FROM {ROWS}",
    f"SELECT y.w, y.q FROM {ROWS} AS y (k, t, o, num, q, w, e, r)",
    f"WITH m AS (SELECT price, s FROM {ROWS}) SELECT s.x, SUM(price) FROM m GROUP BY ALL",
    f"SELECT sym, u.price FROM {ROWS} JOIN (SELECT sym, price FROM ticks) u USING (sym)",
    f"FROM {ROWS} |> SELECT price, other",
    f"SELECT ts FROM ticks | JOIN {ROWS} AS m ON ticks.ts = m.ts",
    f"FROM {ROWS} |> AGGREGATE COUNT(*) GROUP BY odd",
    f"SELECT (SELECT MAX(t.price) FROM ticks t WHERE t.ts = m.odd) FROM {ROWS} m",
    f"SELECT IDENTIFIER('price') FROM {ROWS}",
    f"SELECT * FROM (SELECT sym, price FROM {ROWS}) PIVOT (SUM(price) FOR sym IN ('A', 'B'))",
    f"SELECT n FROM {ROWS} LATERAL VIEW explode(array(price)) e AS each WHERE each > 5",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_rows_are_the_same_without_the_rule(spark: SparkSession, statement: str) -> None:
    found = spark.sql(statement)
    spark.conf.set(DISABLED_RULES, "prune_fields")
    try:
        wanted = spark.sql(statement)
    finally:
        spark.conf.unset(DISABLED_RULES)
    assert found.schema == wanted.schema
    assert_rows(found.collect(), wanted.collect())


def test_no_column_at_all(spark: SparkSession) -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY sym, ts ALL ROWS PER MATCH {} PATTERN (a b?) DEFINE b AS price > a.price)"
    for rows in ("", "WITH UNMATCHED ROWS"):
        (found,) = spark.sql(f"SELECT COUNT(*) FROM ticks {clause.format(rows)}").collect()
        assert found[0] == spark.table("ticks").count()
        assert len(spark.sql(f"SELECT 1 FROM ticks {clause.format(rows)}").collect()) == found[0]


def sent(spark: SparkSession, statement: str) -> str:
    """What the engine gives."""
    plan = spark.sql(statement)._jdf.queryExecution().analyzed().toString()
    return next(line for line in plan.splitlines() if "Generate" in line)


def test_other_columns_are_not_sent(spark: SparkSession) -> None:
    assert "other" not in sent(spark, f"SELECT price FROM {ROWS} WHERE odd = 1")
    assert all(name in sent(spark, f"SELECT * FROM {ROWS}") for name in ("other", "odd", "a b"))

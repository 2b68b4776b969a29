"""Columns of a query around the clause, where they decide the matches: equal to a loop over the rows around that writes them as literals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import Row, SparkSession

from tests.sql.cases import answers

TABLE = (
    """VALUES ('A', 9, 'x'), ('A', 9, 'x'), ('B', 5, NULL), (NULL, CAST(NULL AS INT), 'z') AS lv(sym, level, item)"""
)
CLAUSES = {
    "match_dependent": "ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES COUNT(*) AS n, sum(b.price - {level}) AS s "
    "PATTERN (a b+) DEFINE b AS price < a.price AND sum(b.price - {level}) < 6 AND FIRST(b.price + {level}) > 0)",
    "measures": "ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(b.price) - {level} AS d, "
    "stddev_pop(b.price * {level}) AS s, max_by(b.ts, b.price + {level}) AS mb, LAST(b.price + {level}, 1) AS p PATTERN (a b*) DEFINE b AS price < PREV(price))",
    "all_rows": "ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES CLASSIFIER() AS c, RUNNING count(a.price - {level}) AS n "
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a | b+) DEFINE a AS price = {level}, b AS b.price > {level} AND sym = {sym})",
    "empty_matches": "ticks MATCH_RECOGNIZE (ORDER BY sym, ts MEASURES MATCH_NUMBER() AS m, count(a.ts) AS k, {level} AS x "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN (a*) DEFINE a AS price >= {level})",
    "no_columns": "ticks MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS price = {level})",
    "condition_with_a_query": "ticks t MATCH_RECOGNIZE (PARTITION BY t.sym ORDER BY t.ts MEASURES a.ts AS at PATTERN (a) "
    "DEFINE a AS price = (SELECT max(z.price) FROM ticks z WHERE z.sym = {sym} AND z.price <= {level}))",
    "input": "(SELECT * FROM ticks t WHERE t.sym = {sym} AND t.price > {level}) MATCH_RECOGNIZE (ORDER BY ts "
    "MEASURES FIRST(ts) AS f, LAST(ts) AS l PATTERN (a b+) DEFINE b AS price < PREV(price) + {level})",
    "events": "clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts "
    "WHERE v.amount + b.amount > {level} * 4 AND b.amount > {level} AND coalesce(v.item, '') || 'x' = b.item || {item})",
    "closures": "clicks MATCH PATTERN (SEQ(View v, ANY+ b, NOT Buy c) PARTITION BY user ORDER BY ts "
    "WHERE b[i].amount > {level} AND c.amount < {level} * 3 AND b[i].amount > b[i-1].amount - {level} WITHIN 20)",
    "closure_aggregates": "clicks MATCH PATTERN (SEQ(View+ v, Buy b) PARTITION BY user ORDER BY ts WHERE COUNT(v.*) < {level} "
    "AND SUM(v[..i-1].amount) < {level} + 20 AND b.amount < MAX(v.amount) + {level} AND 1 < {level} WITHIN 20)",
    "automaton": "clicks MATCH AUTOMATON (PARTITION BY user ORDER BY ts REGISTERS (total INT DEFAULT 0) START s FINAL f "
    "ARC s -> m WHEN amount > {level} SET total = amount + {level} ARC m -> f WHEN item = {item})",
}  # fmt: skip
COLUMNS = ("sym", "level", "item")


SIMPLE = (
    "ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES FIRST(ts) AS f, LAST(ts) AS l "
    "PATTERN (a b+) DEFINE a AS price > {level}, b AS price < PREV(price))"
)
FORMS = {
    "count": "SELECT n.*, (SELECT count(*) FROM {clause}) AS c FROM lv n",
    "maximum": "SELECT n.*, (SELECT max(f) FROM {clause} m WHERE m.sym = n.sym) AS c FROM lv n WHERE n.level > 5",
    "exists": "SELECT n.* FROM lv n WHERE (n.item IS NULL OR NOT EXISTS (SELECT 1 FROM {clause}))",
    "in": "SELECT n.* FROM lv n WHERE n.sym IN (SELECT sym FROM {clause}) AND n.level BETWEEN 1 AND 20",
    "outer_join": "SELECT n.level, m.f FROM lv n LEFT JOIN LATERAL (SELECT * FROM {clause} ORDER BY f DESC LIMIT 1) m",
    "joined": "SELECT k.name, m.f FROM names k LEFT JOIN lv n ON k.sym = n.sym AND n.level > 4, LATERAL (SELECT * FROM (SELECT * FROM {clause})) m "
    "WHERE m.sym = 'B'",
    "table_expression": "WITH lv AS (SELECT sym, level + 1 AS level FROM lv), z AS (SELECT * FROM lv) "
    "SELECT n.level, m.f FROM z AS n, LATERAL (SELECT * FROM {clause}) m",
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[list[Row]]:
    spark.sql(f"CREATE OR REPLACE TEMP VIEW lv AS SELECT * FROM {TABLE}")
    yield spark.table("lv").collect()


def with_literals(clause: str, row: Row | tuple[object, ...]) -> str:
    values = zip(("sym", "level", "item"), row, ("STRING", "INT", "STRING"), strict=True)
    return clause.format(**{name: f"CAST({'NULL' if v is None else repr(v)} AS {kind})" for name, v, kind in values})


def with_columns(clause: str) -> str:
    return clause.format(sym="n.sym", level="n.level", item="n.item")


@pytest.mark.spark
def test_as_a_loop(spark: SparkSession, rows: list[Row]) -> None:
    distinct = list(dict.fromkeys(map(tuple, rows)))
    queries = {
        f"{name} {i}": f"SELECT * FROM {with_literals(clause, row)}"
        for name, clause in CLAUSES.items()
        for i, row in enumerate(distinct)
    }
    lateral = {
        name: f"SELECT n.*, struct(m.*) AS m FROM lv n, LATERAL (SELECT * FROM {with_columns(clause)}) m"
        for name, clause in CLAUSES.items()
    }
    loop, found = answers(spark, queries), answers(spark, lateral)
    for name in CLAUSES:
        expected = [(*row, match) for row in rows for match in loop[f"{name} {distinct.index(tuple(row))}"]]
        actual = [(each["sym"], each["level"], each["item"], each["m"]) for each in found[name]]
        assert sorted(map(repr, actual)) == sorted(map(repr, expected)), name
        assert expected, name


@pytest.mark.spark
def test_forms(spark: SparkSession, rows: list[Row]) -> None:
    """Every place of a correlated subquery; the same statements, with a loop in the place of the clause."""
    values = [*rows, *((r.sym, None if r.level is None else r.level + 1, None) for r in rows), (None, None, None)]
    distinct = sorted({(row[1],) for row in values}, key=repr)
    clause = SIMPLE
    parts = [
        f"SELECT *, CAST({'NULL' if level is None else level} AS INT) AS k FROM {with_literals(clause, (None, level, None))}"
        for (level,) in distinct
    ]
    spark.sql(" UNION ALL ".join(parts)).cache().createOrReplaceTempView("looped")
    by_loop = "(SELECT * EXCEPT (k) FROM looped WHERE k <=> n.level)"
    expected = answers(spark, {name: form.format(clause=by_loop) for name, form in FORMS.items()})
    assert answers(spark, {name: form.format(clause=with_columns(clause)) for name, form in FORMS.items()}) == expected
    assert all(expected.values())


def test_a_struct_of_the_subquerys_table_with_the_name_of_a_variable(spark: SparkSession) -> None:
    events = "(SELECT * FROM VALUES ('A', 7), ('B', 8) AS t(type, ts))"
    side = "(SELECT named_struct('ts', -1) AS b, 3 AS k)"
    both = f"EXISTS (SELECT 1 FROM {side} WHERE k < a.ts AND k < b.ts)"
    found = spark.sql(f"SELECT a.ts, b.ts FROM {events} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE {both})")
    assert found.collect() == [(7, 8)]

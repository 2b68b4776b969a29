"""What the rewriter has Spark analyse: a view of many joins takes it longer than all else that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sql_functions.catalog import ClassicDescribe

CLAUSES = {
    "adjacent rows": "MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(b.price) AS p PATTERN (a b+) DEFINE b AS price < PREV(price))",
    "the match": "MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a b+) DEFINE b AS price + 1 < a.price AND n > 1)",
    "events": """MATCH PATTERN (SEQ(ANY a, ANY b) EVENT TYPE sym PARTITION BY sym ORDER BY ts
        WHERE a.price < b.price AND a.n + 1 > b.n WITHIN 5)""",
    "events of a time line": "MATCH PATTERN (SEQ(ANY a, ANY b) EVENT TYPE sym ORDER BY ts WHERE a.price < b.price WITHIN 5)",
    "counts": "MATCH PATTERN (SEQ(ANY a, ANY b) EVENT TYPE sym PARTITION BY sym ORDER BY ts WITHIN 5 MEASURES COUNT(*) AS c)",
    "automata": "MATCH AUTOMATON (PARTITION BY sym ORDER BY ts START s FINAL f ARC s -> f WHEN price + 1 > n WITHIN 5)",
}


@pytest.fixture
def counted(spark: SparkSession) -> Iterator[None]:
    spark.sql("""CREATE TEMP VIEW counted AS SELECT t.sym, t.ts, t.price, c.n
        FROM ticks t JOIN (SELECT sym, COUNT(*) AS n FROM ticks GROUP BY sym) c USING (sym)""")
    yield
    spark.catalog.dropTempView("counted")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that Spark analyses for the rewriter, as they come."""
    queries: list[str] = []
    analysed = ClassicDescribe._analysed

    def recorded(describe: ClassicDescribe, query: str) -> Any:
        queries.append(query)
        return analysed(describe, query)

    monkeypatch.setattr(ClassicDescribe, "_analysed", recorded)
    return queries


@pytest.mark.parametrize("name", CLAUSES)
def test_an_input_is_analysed_once_for_its_columns(
    spark: SparkSession, asked: list[str], counted: None, name: str
) -> None:
    spark.sql(f"SELECT * FROM counted {CLAUSES[name]}")
    assert [query for query in asked if "counted" in query] == ["SELECT * FROM counted\n"]


def test_a_question_brings_the_ctes_along_that_it_names(spark: SparkSession, asked: list[str]) -> None:
    rows, match = (CLAUSES[name].replace("n > 1", "TRUE") for name in ("adjacent rows", "the match"))
    text = f"""WITH zero AS (SELECT * FROM ticks), `one` AS (SELECT * FROM zero {rows}), two (s, m) AS (SELECT * FROM (SELECT *, p AS price, 1 AS ts
        FROM one) {match}), three AS (SELECT * FROM Zero {rows}) SELECT * FROM two JOIN three ON s = sym"""
    assert spark.sql(text).columns == ["s", "m", "sym", "p"]
    assert asked
    for name in ("zero", "one", "two", "three"):
        brought = [query for query in asked if f"{name} AS" in query.replace("`", "")]
        assert all(f"from {name}" in query.lower() for query in brought), name
    assert not any("two (" in query for query in asked)

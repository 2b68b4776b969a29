"""EXPLAIN ANALYZE PATTERN end to end: the lines a user reads, and why nothing matched."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepUnsupportedError
from sparkcep.explanation import Count
from sparkcep.explanation.drawing import Line

FALL = """SELECT * FROM ticks MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY ts MEASURES COUNT(*) AS n PATTERN (strt down{2,} up)
  DEFINE down AS price < PREV(price) AND price > 8, up AS price > PREV(price))"""
FALL_COUNTS = """\
== counts of MATCH_RECOGNIZE in line 1 ==
engine input  12 rows in 2 partitions
conditions    down: price < PREV(price)  12 tried,  5 taken
              down: price > 8             5 tried,  3 taken
              up: price > PREV(price)    12 tried,  5 taken
states        strt                       12 tried, 12 taken
              down#1                     10 tried,  3 taken
              down#2                      3 tried,  1 taken
              up                          1 tried,  1 taken
              match                       1 rows complete a match
matches       1"""

NEXT = (
    """SELECT * FROM (SELECT *, IF(price > 9, 'High', 'Low') AS type FROM ticks) MATCH PATTERN (SEQ(High a, High b)"""
)
BUY = "WITH c AS (SELECT * FROM clicks) SELECT * FROM c MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts {})"
WHY = [
    (BUY.format("WHERE b.amount > 40 WITHIN 3"), "v: WITHIN: 2 tried, none taken"),
    (BUY.format("WHERE b.amount > 1000"), "no event for b"),
    (BUY.format("WHERE v.amount > b.amount"), "v.amount > b.amount: 4 tried, none taken"),
    (BUY.format("WHERE concat(v.item, b.item) LIKE '%q%'"), "concat(v.item, b.item) LIKE '%q%': 4 tried, none taken"),
    (
        BUY.format("SKIP TILL NEXT MATCH WHERE v.amount > b.amount"),
        "v.amount > b.amount: 3 partial matches without it, none with it",
    ),
    (
        BUY.format("").replace("* FROM c M", "COUNT(*) FROM c M").replace("Buy b", "Bought b"),
        "no partial match of v, b",
    ),
    (
        BUY.format("").replace("FROM clicks", "FROM clicks WHERE user = 'u9'"),
        "no row comes to the engine: see the conditions",
    ),
    (FALL.replace("price > 8", "price > 1000"), "down#1: 10 tried, none taken"),
    (FALL.replace("price > PREV(price))", "price > 2 * LAST(down.price))"), "up: 1 tried, none taken"),
]


SEVERAL = [
    "partial bought: v 3 partial matches",
    "bought: v, b 4 partial matches",
    "never: v 3 partial matches",
    "never: v, s 0 partial matches",
    "never: v, s, b 0 partial matches",
    "matches bought 4",
    "never 0",
]


def counts(spark: SparkSession, query: str) -> list[str]:
    lines = [row.plan for row in spark.sql(f"EXPLAIN ANALYZE PATTERN {query}").collect()]
    return lines[next(i for i, line in enumerate(lines) if line.startswith("== counts")) :]


def test_the_lines(spark: SparkSession) -> None:
    assert "\n".join(counts(spark, FALL)) == FALL_COUNTS


@pytest.mark.parametrize(("query", "why"), WHY, ids=[why for _, why in WHY])
def test_why_nothing_matched(spark: SparkSession, query: str, why: str) -> None:
    assert counts(spark, query)[-1] == f"why nothing   {why}"


def test_counts_as_data_and_on_the_automaton(spark: SparkSession) -> None:
    query = FALL.replace("price > 8", "price > 1000")
    found = sparkcep.explain_analyze(query, spark)
    assert str(found).splitlines() == [row.plan for row in spark.sql(f"EXPLAIN ANALYZE PATTERN {query}").collect()]
    (clause,) = found.clauses
    assert clause.counts[0] == Count("input", "", 12, 2)
    assert Count("condition", "down: price > 1000", 5, 0) in clause.counts
    assert clause.reason == Count("state", "down#1", 10, 0)
    assert (clause.why, clause.matches) == ("down#1: 10 tried, none taken", 0)
    page = found._repr_html_()
    assert "nothing matched: down#1: 10 tried, none taken" in page
    assert Line("10 → 0", "stopped", bold=True) in clause.automaton.lines["down#1"]
    assert re.search(r'<span class="s2 s3" tabindex="0">price &lt; PREV\(price\) AND price &gt; 1000</span>', page)


def test_counts_of_an_automaton_and_of_a_sequence_are_drawn(spark: SparkSession) -> None:
    arcs = "ARC s -> m WHEN type = 'View' ARC m -> f NAMED bought WHEN type = 'Buy' AND amount > 1000"
    clause = f"MATCH AUTOMATON (PARTITION BY user ORDER BY ts START s FINAL f {arcs})"
    both = BUY.format("WHERE b.amount > 40 WITHIN 3").replace(
        "FROM clicks", f"FROM clicks WHERE 0 = (SELECT COUNT(*) FROM clicks {clause})"
    )
    automaton, sequence = sparkcep.explain_analyze(both, spark).clauses
    assert automaton.reason is not None
    assert (automaton.reason.section, automaton.reason.item, automaton.reason.taken) == ("arc", "m -> f (bought)", 0)
    assert [line.fate for line in automaton.automaton.lines[2]] == ["stopped"]
    assert [edge.target for edge in sequence.automaton.edges] == ["b", "b, v", "match"]
    assert [line.text for line in sequence.automaton.lines[1]] == ["2 → 0", "order: 2 → 2", "WITHIN: 2 → 0"]


def test_several_patterns_are_counted_by_name(spark: SparkSession) -> None:
    query = """SELECT * FROM clicks MATCH PATTERNS (bought AS SEQ(View v, Buy b), never AS SEQ(View v, Sold s, Buy b)
        PARTITION BY user ORDER BY ts MEASURES COUNT(*) AS n)"""
    lines = counts(spark, query)
    found = lines[next(i for i, line in enumerate(lines) if line.startswith("partial")) :]
    assert [" ".join(line.split()) for line in found] == SEVERAL
    targets = [edge.target for edge in sparkcep.explain(query, spark).automata[0].edges]
    assert targets == [
        "bought: v",
        "bought: b",
        "match of bought",
        "never: v",
        "never: s",
        "never: b",
        "match of never",
    ]


TIES = {
    "rows": (FALL.replace("ORDER BY ts", "ORDER BY ts DIV 2 DESC"), "ticks GROUP BY sym, ts DIV 2"),
    "events of the types": (
        f"{NEXT} PARTITION BY sym ORDER BY ts DIV 2 SKIP TILL NEXT MATCH)",
        "ticks WHERE price > 9 GROUP BY sym, ts DIV 2",
    ),
    "neighbours in a partition": (
        f"{NEXT} PARTITION BY sym ORDER BY ts DIV 2 PARTITION CONTIGUITY)",
        "ticks GROUP BY sym, ts DIV 2",
    ),
    "neighbours": (f"{NEXT} PARTITION BY sym ORDER BY ts DIV 2 STRICT CONTIGUITY)", "ticks GROUP BY ts DIV 2"),
    "an automaton's": (
        "SELECT * FROM ticks MATCH AUTOMATON (PARTITION BY sym ORDER BY ts DIV 2 START s FINAL f ARC s -> f WHEN price > 9)",
        "ticks GROUP BY sym, ts DIV 2",
    ),
}


@pytest.mark.parametrize("name", TIES)
def test_ties_are_noticed(spark: SparkSession, name: str) -> None:
    query, rows = TIES[name]
    line = next(line for line in counts(spark, query) if line.startswith("notice"))
    (tied,) = spark.sql(f"SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM {rows}) WHERE n > 1").first()
    assert (
        line
        == f"notice        {tied} rows tie with another in ORDER BY ts DIV 2, so the answer may change from run to run"
    )
    order = next(row.plan for row in spark.sql(f"EXPLAIN PATTERN {query}").collect() if row.plan.startswith("order"))
    assert order.endswith("(rows that tie fall as the sort leaves them)")


def test_ties_that_do_not_matter(spark: SparkSession) -> None:
    query = f"{NEXT} PARTITION BY sym ORDER BY ts DIV 2)"
    assert not any(line.startswith("notice") for line in counts(spark, query))


def test_two_clauses_are_counted_apart(spark: SparkSession) -> None:
    query = BUY.format("").replace("FROM clicks", f"FROM clicks WHERE user IN (SELECT 'u1' FROM ({FALL}) x)")
    lines = counts(spark, query)
    titles = [line for line in lines if line.startswith("==")]
    assert titles == ["== counts of MATCH_RECOGNIZE in line 1 ==", "== counts of MATCH PATTERN in line 3 =="]
    assert [line for line in lines if line.startswith("matches")] == ["matches       1", "matches       3"]


def test_parameters(spark: SparkSession) -> None:
    query = BUY.format("WHERE b.amount > :least")
    rows = spark.sql(f"EXPLAIN ANALYZE PATTERN {query}", args={"least": 40}).collect()
    assert rows[-1].plan == "matches       2"


def test_a_statement_without_a_clause(spark: SparkSession) -> None:
    with pytest.raises(CepUnsupportedError, match="CEP_UNSUPPORTED_EXPLAIN_ANALYZE"):
        spark.sql("EXPLAIN ANALYZE PATTERN SELECT 1")

"""sqlglot's dialect: statements with clauses survive being parsed and printed, and tools see the tables behind a clause."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.optimizer.pushdown_predicates import pushdown_predicates
from sqlglot.optimizer.scope import traverse_scope

from rewrites.dialect import find_sites
from sparkcep.plugins.sqlglot_dialect import PatternMatch, SparkCep

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "sql_examples").glob("*.sql"))
RISES = (
    "MATCH_RECOGNIZE (PARTITION BY a ORDER BY ts MEASURES COUNT(up.*) AS n PATTERN (up{3,}) DEFINE up AS x > PREV(x))"
)
PAIRS = "MATCH PATTERN (SEQ(View v, Buy+ b[]) PARTITION BY u ORDER BY ts WHERE b[i].x > b[i-1].x WITHIN 1 hour)"
CARTS = "MATCH AUTOMATON (ORDER BY ts START s FINAL f ARC s -> f WHEN kind = ')' -- a comment with (\n)"
WINDOW = "(ORDER BY ts MEASURES COUNT(*) AS n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (v b{2,}) DEFINE v AS x = 1)"

SAME = [
    *(
        f"SELECT * FROM t {clause}"
        for clause in (RISES, PAIRS, CARTS, "MATCH PATTERN rising", "MATCH PATTERNS shop.all")
    ),
    f"SELECT m.n FROM s.t AS e {RISES} AS m WHERE m.n > 2 GROUP BY m.n ORDER BY m.n LIMIT 3",
    f"SELECT * FROM (SELECT * FROM t WHERE x > 1) {PAIRS} AS m JOIN b ON m.x = b.x",
    f"SELECT * FROM a JOIN t {PAIRS} AS m ON m.x = a.x",
    f"SELECT * FROM t {PAIRS} AS m {RISES} AS n",
    f"SELECT * FROM (t {PAIRS} AS m JOIN b ON m.x = b.x)",
    f"WITH w AS (SELECT * FROM t {RISES}) SELECT * FROM w AS match JOIN pattern AS p ON TRUE",
    f"CREATE OR REPLACE VIEW rises AS SELECT * FROM t {RISES}",
    f"INSERT INTO found SELECT * FROM t {CARTS}",
    f"SELECT x FROM (SELECT * FROM t {PAIRS}) AS virtual_table LIMIT 10",
    f"SELECT ts, n OVER w, SUM(x) OVER {WINDOW} FROM t WINDOW w AS {WINDOW}, v AS (ORDER BY pattern)",
    "SELECT match, pattern FROM match AS pattern JOIN t AS match ON match_recognize > 1",
]


def printed(sql: str) -> str:
    return sqlglot.parse_one(sql, read="sparkcep").sql("sparkcep")


@pytest.mark.parametrize("sql", SAME)
def test_a_statement_is_printed_as_it_was(sql: str) -> None:
    assert printed(sql) == sql


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_clauses_of_an_example_are_kept(path: Path) -> None:
    """Formatted, then formatted again: each clause as written, the rest as sqlglot formats it."""
    sql = path.read_text()
    once = sqlglot.transpile(sql, read="sparkcep", write="sparkcep", pretty=True)[0]
    assert bodies(once) == bodies(sql)
    assert sqlglot.transpile(once, read="sparkcep", write="sparkcep", pretty=True)[0] == once


def bodies(sql: str) -> list[tuple[str, str]]:
    return [(site.kind, sql[site.body.start : site.body.end]) for site in find_sites(sql)]


def test_the_tables_behind_a_clause_are_seen() -> None:
    tree = sqlglot.parse_one(f"SELECT * FROM s.t {PAIRS} AS m, (SELECT * FROM u) {RISES}", read="sparkcep")
    tables = [
        source.sql()
        for scope in traverse_scope(tree)
        for source in scope.sources.values()
        if isinstance(source, exp.Table)
    ]
    assert tables == ["s.t", "u"]


def test_a_filter_of_the_input_goes_before_the_clause() -> None:
    """What row level security does: a condition at the SELECT that reads the table, or a subquery in the table's place."""
    tree = sqlglot.parse_one(f"SELECT * FROM t {PAIRS} AS m WHERE m.x > 1", read="sparkcep")
    match = tree.find(PatternMatch)
    assert match is not None
    match.this.where("tenant = 7", copy=False)
    assert tree.sql("sparkcep") == f"SELECT * FROM (SELECT * FROM t WHERE tenant = 7) {PAIRS} AS m WHERE m.x > 1"


def test_a_filter_of_the_matches_stays_behind_the_clause() -> None:
    sql = f"SELECT m.x FROM (SELECT x, y FROM t) {PAIRS} AS m WHERE m.x > 1"
    assert pushdown_predicates(sqlglot.parse_one(sql, read="sparkcep"), dialect=SparkCep).sql("sparkcep") == sql


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM t MATCH PATTERN (SEQ(A a)", r"Expecting \)"),
        ("SELECT * FROM t MATCH PATTERN (SEQ(A a) WHERE a.x IN (SELECT x FROM secret))", "A subquery inside a pattern clause"),
        ("SELECT * FROM t WHERE x MATCH PATTERN (SEQ(A a))", "Invalid expression"),
    ],
)  # fmt: skip
def test_what_is_refused(sql: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        printed(sql)

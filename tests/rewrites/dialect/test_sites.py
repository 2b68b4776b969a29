"""Which words are clauses, where their table begins, and what surrounds them."""

from __future__ import annotations

import time

import pytest

from rewrites.dialect import explain_prefix, find_sites, placeholders
from rewrites.dialect.clause import Site
from sparkcep.errors import CepUnsupportedError, Span

M = "MATCH_RECOGNIZE (PATTERN (A))"
P = "MATCH PATTERN (A a ORDER BY ts)"

NO_CLAUSE = [
    "",
    "SELECT 1",
    "SELECT match FROM t",
    "SELECT pattern FROM match pattern",
    "SELECT match pattern FROM t",
    "SELECT a, match pattern FROM t",
    "SELECT seq, match, pattern, match_recognize FROM match_recognize",
    "SELECT * FROM a, match pattern WHERE x",
    "SELECT * FROM a JOIN match pattern ON a.x = pattern.x",
    "SELECT * FROM db.match pattern",
    "SELECT match.pattern FROM match",
    "SELECT * FROM t match_recognize",
    "SELECT * FROM t match_recognize WHERE match_recognize.a = 1",
    "SELECT * FROM t match_recognize JOIN u ON TRUE",
    "SELECT * FROM t AS match_recognize (a, b)",
    "SELECT * FROM t match_recognize (a, b)",
    "SELECT * FROM match_recognize(1)",
    "SELECT * FROM t, match_recognize(1, x)",
    "SELECT * FROM t JOIN match_recognize(1) ON TRUE",
    "SELECT * FROM t, LATERAL match_recognize(t.x)",
    "SELECT * FROM (t match_recognize)",
    "SELECT * FROM f(t, match_recognize(x)), (t match_recognize (a, b))",
    "SELECT (x, match_recognize(x)), (match_recognize(y)) FROM (TABLE t)",
    "SELECT match_recognize(x) FROM t",
    "SELECT a + match_recognize(x), b FROM t WHERE match_recognize(y) AND NOT match_recognize(z)",
    "SELECT * FROM t WHERE a IN (SELECT match_recognize(x) FROM u) ORDER BY match_recognize(y)",
    "SELECT CASE WHEN match_recognize(x) THEN 1 END FROM t",
    f"SELECT '* FROM t {M}' FROM t",
    f'SELECT "FROM t {M}" FROM t',
    f"SELECT 1 -- FROM t {M}",
    f"SELECT /* FROM t {M} */ 1",
    f"SELECT /*+ FROM t {M} */ 1",
    f"SELECT `FROM t {M}` FROM t",
    f"SELECT ' FROM t {M}",
    f"SELECT /* FROM t {M}",
    f"SELECT ` FROM t {M}",
    "SELECT ' unterminated",
    "SELECT `match` FROM t `MATCH` ",
    "SHOW TABLES LIKE 'pattern*'",
    "DESCRIBE pattern",
    "DESCRIBE TABLE pattern x",
    "CREATE TABLE pattern (match INT)",
    "DROP TABLE pattern",
    "SELECT sum(x) OVER (PARTITION BY pattern ORDER BY pattern(y)) FROM t",
    "SELECT extract(YEAR FROM ts), trim(BOTH FROM match_recognize(x)) FROM t",
    "CACHE TABLE x AS SELECT 'MATCH_RECOGNIZE (PATTERN'",
    "SELECT x IS DISTINCT FROM match_recognize(y) FROM t",
    "SET match=pattern",
    "SELECT * FROM t |> WHERE match_recognize(x)",
]


@pytest.mark.parametrize("sql", NO_CLAUSE)
def test_no_clause(sql: str) -> None:
    assert find_sites(sql) == ()


INPUTS = [
    "t",
    "db.t",
    "cat.db.t",
    "`weird, name`.`FROM`",
    "db.from",
    "t AS x",
    "t x",
    "(SELECT * FROM u WHERE a = 1 GROUP BY b) x",
    "(VALUES (1, 2), (3, 4)) AS v(a, b)",
    "VALUES_TABLE",
    "range(10)",
    "f(TABLE(SELECT a FROM b))",
    "t TABLESAMPLE (10 PERCENT)",
    "t TABLESAMPLE (5 ROWS) REPEATABLE (1) AS x",
    "t VERSION AS OF 1",
    "t TIMESTAMP AS OF '2024-01-01'",
    "(a JOIN b ON a.x = b.x)",
    "IDENTIFIER('t')",
    "${table}",
    "STREAM(t)",
    "STREAM t WATERMARK ts DELAY OF INTERVAL 1 MINUTE",
    "STREAM t CHANGES FROM VERSION 1 WATERMARK ts DELAY OF INTERVAL 1 MINUTE",
    "STREAM t CHANGES FROM TIMESTAMP '2026-01-01' WITH (computeUpdates = 'true')",
    "t CHANGES FROM VERSION 1 EXCLUSIVE TO VERSION 2 AS x",
    "changes",
    "IDENTIFIER(:name) x",
    f"t {M}",
    f"t {M} AS m",
    "match",
    "t match",
    "pattern AS match",
    "t /* FROM x, */ y",
    "t PIVOT (sum(a) FOR b IN (1, 2))",
]
AROUND = [
    "SELECT * FROM {}",
    "SELECT a, b FROM {} WHERE c > 1",
    "SELECT * FROM x, {}",
    "SELECT * FROM x, y AS z, {} , w",
    "SELECT * FROM x JOIN {} ON TRUE",
    "SELECT * FROM x LEFT OUTER JOIN {} USING (id)",
    "SELECT * FROM ({}) z",
    "SELECT * FROM x, (({} JOIN y ON TRUE))",
    "SELECT * FROM x LEFT ANTI JOIN ({} z) ON TRUE",
    "SELECT * FROM x JOIN y ON x.a = y.a AND x.b IN (1, 2), {}",
    "INSERT INTO x SELECT * FROM {}",
    "CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM {} ORDER BY 1",
    "CREATE TABLE x USING parquet AS SELECT * FROM {}",
    "MERGE INTO x USING {} ON x.a = y.a WHEN MATCHED THEN DELETE",
    "SELECT (SELECT max(a) FROM {}) FROM x",
    "SELECT * FROM x WHERE a IN (SELECT b FROM {})",
    "SELECT * FROM (SELECT * FROM {}) z",
    "FROM {} SELECT *",
    "SELECT * FROM {} UNION ALL SELECT * FROM x",
    "EXPLAIN EXTENDED SELECT * FROM {}",
    "FROM {} |> WHERE x",
    "SELECT a IS DISTINCT FROM b, c FROM {}",
]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("table", INPUTS)
@pytest.mark.parametrize("clause", [M, P])
def test_the_input_is_the_table_before_the_clause(table: str, around: str, clause: str) -> None:
    sql = around.format(f"{table} {clause}")
    site = find_sites(sql)[-1]
    assert _text(sql, site.input) == table
    assert _text(sql, site.span) == f"{table} {clause}"
    assert _text(sql, site.keyword) == clause[: clause.index("(")].strip()
    assert _text(sql, site.body) == clause[clause.index("(") + 1 : -1]


def test_every_input_with_every_surrounding_has_one_site_or_two() -> None:
    for table in INPUTS:
        for around in AROUND:
            sql = around.format(f"{table} {P}")
            assert len(find_sites(sql)) == 1 + table.count("MATCH_RECOGNIZE ("), sql


@pytest.mark.parametrize(
    ("behind", "alias"),
    [
        ("", None),
        (" AS m", "m"),
        (" m", "m"),
        (" `my m`", "my m"),
        (" m (a, b)", "m"),
        (" AS match", "match"),
        (" WHERE x", None),
        (" JOIN u ON TRUE", None),
        (" left join u", None),
        (", u", None),
        (" UNION ALL SELECT 1", None),
        (" LATERAL VIEW explode(x) e", None),
        (" PIVOT (sum(a) FOR b IN (1))", None),
        (";", None),
        (f" {P}", None),
        (f" {M}", None),
        (f" pattern {P}", "pattern"),
    ],
)
def test_alias(behind: str, alias: str | None) -> None:
    site = find_sites(f"SELECT * FROM t {M}{behind}")[0]
    assert (site.alias.value if site.alias else None) == alias


def test_nested_clauses_come_in_the_order_of_their_keywords() -> None:
    sql = f"SELECT * FROM (SELECT * FROM a {P}) {M} JOIN (SELECT * FROM b {M} AS x {P}) ON TRUE"
    assert [_text(sql, site.input)[:12] for site in find_sites(sql)] == ["a", "(SELECT * FR", "b", f"b {M}"[:12]]


def test_a_clause_in_a_condition_of_another_is_found() -> None:
    sql = f"SELECT * FROM a MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS EXISTS (SELECT 1 FROM b {P}))"
    assert [site.kind for site in find_sites(sql)] == ["MATCH_RECOGNIZE", "MATCH PATTERN"]


SCOPES = [
    (f"SELECT * FROM t {M}", []),
    (f"WITH a AS (SELECT 1) SELECT * FROM a {M}", [["a AS (SELECT 1)"]]),
    (
        f"WITH a AS (SELECT 1), b (x, y) AS (SELECT 2) SELECT * FROM a {M}",
        [["a AS (SELECT 1)", "b (x, y) AS (SELECT 2)"]],
    ),
    (f"WITH a AS (SELECT 1), b AS (SELECT * FROM a {M}), c AS (SELECT 3) SELECT * FROM b", [["a AS (SELECT 1)"]]),
    (f"WITH a AS (SELECT * FROM t {M}) SELECT * FROM a", []),
    (
        f"WITH a AS (SELECT 1) SELECT * FROM (WITH b AS (SELECT 2) SELECT * FROM b {M}) x",
        [["a AS (SELECT 1)"], ["b AS (SELECT 2)"]],
    ),
    (
        f"WITH a AS (WITH b AS (SELECT 2) SELECT * FROM b) SELECT * FROM a {M}",
        [["a AS (WITH b AS (SELECT 2) SELECT * FROM b)"]],
    ),
    (f"SELECT * FROM (WITH b AS (SELECT 2) SELECT * FROM b) x, t {M}", []),
    (f"CREATE VIEW v AS WITH a AS (SELECT 1) SELECT 1 UNION ALL SELECT * FROM t {M}", [["a AS (SELECT 1)"]]),
    (f"INSERT INTO x WITH a (SELECT 1) SELECT * FROM a {M}", [["a (SELECT 1)"]]),
    (f"CREATE TABLE x WITH ('k' = 'v') AS SELECT * FROM t {M}", []),
    (f"WITH recursive AS (SELECT 1) SELECT * FROM recursive {M}", [["recursive AS (SELECT 1)"]]),
]


@pytest.mark.parametrize(("sql", "scopes"), SCOPES)
def test_scopes(sql: str, scopes: list[list[str]]) -> None:
    site = find_sites(sql)[0]
    assert [[_text(sql, span) for span in scope] for scope in site.scopes] == scopes
    assert site.recursive == (False,) * len(scopes)


def test_recursive_scope() -> None:
    sql = f"WITH RECURSIVE a (n) MAX RECURSION LEVEL 10 AS (SELECT 1) SELECT * FROM a {M}"
    site = find_sites(sql)[0]
    assert [_text(sql, span) for span in site.scopes[0]] == ["a (n) MAX RECURSION LEVEL 10 AS (SELECT 1)"]
    assert site.recursive == (True,)


@pytest.mark.parametrize(
    ("sql", "lateral"),
    [
        (f"SELECT * FROM t, LATERAL (SELECT * FROM u {M}) x", True),
        (f"SELECT * FROM t, LATERAL u {M} x", True),
        (f"SELECT * FROM t JOIN LATERAL (SELECT * FROM (SELECT * FROM u {M})) x", True),
        (f"SELECT * FROM t, (SELECT * FROM u {M}) x", False),
    ],
)
def test_lateral(sql: str, lateral: bool) -> None:
    assert find_sites(sql)[0].lateral is lateral


def test_keywords_in_any_case_and_across_comments_and_lines() -> None:
    sql = "select * from t match\n-- c\n/* d */ Pattern (A a order by ts)"
    assert _text(sql, _only(sql).keyword) == "match\n-- c\n/* d */ Pattern"
    assert _only(sql).kind == "MATCH PATTERN"


REFUSED = [
    "SELECT * FROM t MATCH PATTERN name",
    "SELECT * FROM t MATCH_RECOGNIZE name WHERE x",
    "SELECT * FROM t MATCH AUTOMATON name",
    "CREATE PATTERN p AS (SEQ(A, B) ORDER BY ts)",
    "CREATE OR REPLACE PATTERN p AS (SEQ(A, B) ORDER BY ts)",
    "DROP PATTERN p",
    "DROP PATTERN IF EXISTS p",
    "SHOW PATTERNS",
    "DESCRIBE PATTERN p",
    "ALTER PATTERN p DROP ARC a",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_refused_by_name(sql: str) -> None:
    with pytest.raises(CepUnsupportedError) as caught:
        find_sites(sql)
    assert caught.value.span
    assert caught.value.hint


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("EXPLAIN PATTERN SELECT 1", ("explain", "SELECT 1")),
        (" /* c */ explain -- x\n analyze pattern  SELECT 1", ("analyze", "SELECT 1")),
        ("EXPLAIN SELECT pattern", None),
        ("EXPLAIN ANALYZE SELECT 1", None),
        ("SELECT 'EXPLAIN PATTERN x'", None),
        ("EXPLAIN PATTERNS", None),
        ("EXPLAIN PATTERN", None),
    ],
)
def test_explain_prefix(sql: str, expected: tuple[str, str] | None) -> None:
    found = explain_prefix(sql)
    assert (found and (found.mode, sql[found.rest_offset :])) == expected


def test_placeholders_are_not_quantifiers() -> None:
    sql = "SELECT ? FROM t MATCH_RECOGNIZE (PATTERN (A? B??) DEFINE B AS x > ?) WHERE y = ? AND '?' = `?`"
    assert [span.start for span in placeholders(sql)] == [7, sql.index("x > ?") + 4, sql.index("y = ?") + 4]


def test_a_long_statement_without_the_words_costs_next_to_nothing() -> None:
    sql = "SELECT " + ", ".join(f"column_{i} + 'text'" for i in range(500)) + " FROM t"
    assert len(sql) > 10_000
    best = min(_seconds(sql) for _ in range(20))
    assert best < 0.001


def _seconds(sql: str) -> float:
    start = time.perf_counter()
    assert find_sites(sql) == ()
    return time.perf_counter() - start


def _only(sql: str) -> Site:
    (site,) = find_sites(sql)
    return site


def _text(sql: str, span: Span) -> str:
    return sql[span.start : span.end]

"""Where a clause may stand: every form of statement, for both clauses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from tests.sql.cases import EVENT, EVENT_ANSWER, ROW, ROW_ANSWER, Case, assert_rows, check, parametrize

E = "user, match_start, match_end, v.item, b.item"
STARTS = [(sym, s) for sym, s, _, _ in ROW_ANSWER]
SPANS = [row[:3] for row in EVENT_ANSWER]

ROW_CASES = [
    Case("plain", f"SELECT * FROM ticks {ROW}", ROW_ANSWER),
    Case("lower_case", f"select * from ticks {ROW.lower().replace('strt', 'STRT')}", ROW_ANSWER),
    Case("alias", f"SELECT r.sym, r.s FROM ticks {ROW} AS r", STARTS),
    Case("bare_alias", f"SELECT r.sym, r.s FROM ticks {ROW} r WHERE r.s > 1", STARTS[1:]),
    Case("alias_with_columns", f"SELECT r.k, r.b FROM ticks {ROW} AS r (k, b, c, d)", STARTS),
    Case(
        "input_alias",
        f"SELECT r.sym, r.s FROM ticks t {ROW.replace('BY sym', 'BY t.sym').replace('BY ts', 'BY t.ts')} r",
        STARTS,
    ),
    Case("comments", f"SELECT * FROM /* ticks */ ticks -- here\n{ROW} -- there\nWHERE s > 1 /* x */", ROW_ANSWER[1:]),
    Case("cte", f"WITH c AS (SELECT * FROM ticks WHERE sym = 'A') SELECT * FROM c {ROW}", ROW_ANSWER[:2]),
    Case(
        "two_ctes",
        f"WITH c AS (SELECT * FROM ticks), d AS (SELECT * FROM c WHERE sym = 'B') SELECT * FROM d {ROW}",
        ROW_ANSWER[2:],
    ),
    Case(
        "nested_with",
        f"WITH c AS (WITH d AS (SELECT * FROM ticks WHERE sym = 'B') SELECT * FROM d {ROW}) SELECT * FROM c",
        ROW_ANSWER[2:],
    ),
    Case(
        "cte_shadows_table",
        f"WITH ticks AS (SELECT * FROM ticks WHERE sym = 'B') SELECT * FROM ticks {ROW}",
        ROW_ANSWER[2:],
    ),
    Case("cte_columns", f"WITH c (sym, ts, price) AS (SELECT * FROM ticks) SELECT * FROM c {ROW}", ROW_ANSWER),
    Case(
        "clause_in_cte",
        f"WITH m AS (SELECT * FROM ticks {ROW}) SELECT a.sym, b.s FROM m a JOIN m b USING (sym)",
        [("A", 1), ("A", 1), ("A", 6), ("A", 6), ("B", 2)],
    ),
    Case("subquery_around", f"SELECT sym, s FROM (SELECT * FROM ticks {ROW}) x", STARTS),
    Case("subquery_input", f"SELECT sym, s FROM (SELECT * FROM ticks WHERE sym = 'A') {ROW}", STARTS[:2]),
    Case("subquery_input_alias", f"SELECT sym, s FROM (SELECT * FROM ticks WHERE sym = 'A') AS i {ROW}", STARTS[:2]),
    Case(
        "values_input",
        "SELECT * FROM VALUES (1, 5), (2, 6) AS v(ts, x) MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(x) AS l PATTERN (a b))",
        [(6,)],
    ),
    Case(
        "join_left",
        f"SELECT name, s FROM ticks {ROW} r JOIN names n ON r.sym = n.sym",
        [("Alpha", 1), ("Alpha", 6), ("Beta", 2)],
    ),
    Case(
        "join_right",
        f"SELECT name, s FROM names n JOIN ticks {ROW} r ON r.sym = n.sym",
        [("Alpha", 1), ("Alpha", 6), ("Beta", 2)],
    ),
    Case(
        "in_parentheses",
        f"SELECT n.name, r.s, x.e FROM names n JOIN (ticks {ROW} r) ON r.sym = n.sym, ((ticks {ROW} JOIN names k USING (sym))) x WHERE x.name = n.name AND x.s > 1",
        [("Alpha", 1, 8), ("Alpha", 6, 8), ("Beta", 2, 4)],
    ),
    Case(
        "left_join",
        f"SELECT name, s FROM names n LEFT JOIN ticks {ROW} r USING (sym) WHERE s IS NULL",
        [("Gamma", None)],
    ),
    Case(
        "join_both", f"SELECT a.s, b.s FROM ticks {ROW} a JOIN ticks {ROW} b ON a.sym = b.sym AND a.s < b.s", [(1, 6)]
    ),
    Case(
        "comma_left",
        f"SELECT name, s FROM ticks {ROW} r, names n WHERE r.sym = n.sym AND s > 1",
        [("Alpha", 6), ("Beta", 2)],
    ),
    Case(
        "comma_right",
        f"SELECT name, s FROM names n, ticks {ROW} r WHERE r.sym = n.sym AND s > 1",
        [("Alpha", 6), ("Beta", 2)],
    ),
    Case(
        "union", f"SELECT s FROM ticks {ROW} UNION ALL SELECT e FROM ticks {ROW}", [(1,), (6,), (2,), (5,), (8,), (4,)]
    ),
    Case("except", f"SELECT sym FROM names EXCEPT SELECT sym FROM ticks {ROW}", [("C",)]),
    Case(
        "exists",
        f"SELECT sym FROM names n WHERE EXISTS (SELECT 1 FROM ticks {ROW} r WHERE r.sym = n.sym)",
        [("A",), ("B",)],
    ),
    Case("in_query", f"SELECT sym FROM names WHERE sym NOT IN (SELECT sym FROM ticks {ROW})", [("C",)]),
    Case("scalar_query", f"SELECT (SELECT MAX(e) FROM ticks {ROW}) AS last", [(8,)]),
    Case(
        "group_by", f"SELECT sym, COUNT(*), MAX(e - s) FROM ticks {ROW} GROUP BY sym HAVING COUNT(*) > 1", [("A", 2, 4)]
    ),
    Case(
        "window_over",
        f"SELECT sym, s, LAG(e) OVER (PARTITION BY sym ORDER BY s) FROM ticks {ROW}",
        [("A", 1, None), ("A", 6, 5), ("B", 2, None)],
    ),
    Case("order_limit", f"SELECT sym, s FROM ticks {ROW} ORDER BY s DESC LIMIT 1", [("A", 6)]),
    Case(
        "lateral_view",
        f"SELECT sym, x FROM ticks {ROW} LATERAL VIEW explode(array(s, e)) z AS x WHERE sym = 'B'",
        [("B", 2), ("B", 4)],
    ),
    Case(
        "chained",
        f"SELECT * FROM ticks {ROW} MATCH_RECOGNIZE (PARTITION BY sym ORDER BY s MEASURES COUNT(*) AS n PATTERN (x+))",
        [("A", 2), ("B", 1)],
    ),
    Case(
        "nested",
        f"SELECT * FROM (SELECT * FROM ticks {ROW} WHERE s > 1) MATCH_RECOGNIZE (ORDER BY s MEASURES COUNT(*) AS n PATTERN (x+))",
        [(2,)],
    ),
    Case(
        "row_over_event",
        f"SELECT * FROM clicks {EVENT} MATCH_RECOGNIZE (ORDER BY match_start, user MEASURES LAST(b.amount) AS n PATTERN (x+))",
        [(8,)],
    ),
    Case("from_first", f"FROM ticks {ROW} SELECT sym, s", STARTS),
    Case("pipe", f"FROM ticks {ROW} |> WHERE s > 1 |> SELECT sym", [("A",), ("B",)]),
    Case(
        "tablesample",
        "SELECT * FROM ticks TABLESAMPLE (100 PERCENT) MATCH_RECOGNIZE (ORDER BY sym, ts MEASURES COUNT(*) AS n PATTERN (x+))",
        [(12,)],
    ),
    Case(
        "table_function",
        "SELECT * FROM range(3) MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(id) AS n PATTERN (x+))",
        [(2,)],
    ),
    Case(
        "lateral",
        f"SELECT n.sym, x.s FROM names n, LATERAL (SELECT s FROM ticks {ROW} r WHERE r.sym = n.sym) x",
        STARTS,
    ),
]

EVENT_CASES = [
    Case("plain", f"SELECT {E} FROM clicks {EVENT}", EVENT_ANSWER),
    Case(
        "star",
        f"SELECT * FROM clicks {EVENT} WHERE user = 'u2'",
        [("u2", 1, 2, ("u2", "View", 1, "x", 7), ("u2", "Buy", 2, "z", 8))],
    ),
    Case("alias", f"SELECT m.user, m.match_start, m.match_end FROM clicks {EVENT} AS m", SPANS),
    Case("alias_fields", f"SELECT m.user, m.v.ts, m.b.ts FROM clicks {EVENT} m WHERE m.b.amount > 8", SPANS[:1]),
    Case("no_column", f"SELECT COUNT(*), COUNT(1) FROM clicks {EVENT} m WHERE m.v.ts < 100", [(len(SPANS),) * 2]),
    Case("only_the_end", f"SELECT MAX(match_end) FROM clicks {EVENT}", [(max(row[2] for row in SPANS),)]),
    Case("whole_event", f"SELECT v FROM clicks {EVENT} WHERE user = 'u2'", [(("u2", "View", 1, "x", 7),)]),
    Case("fields_of_an_event", f"SELECT b.* FROM clicks {EVENT} WHERE user = 'u2'", [("u2", "Buy", 2, "z", 8)]),
    Case(
        "a_cte_by_its_name_in_a_string",
        f"WITH c AS (SELECT * FROM ticks), d AS (SELECT * FROM IDENTIFIER('c')) SELECT s FROM d {ROW} WHERE sym = 'B'",
        [(2,)],
    ),
    Case("name_in_a_string", f"SELECT IDENTIFIER('match_end') FROM clicks {EVENT} WHERE user = 'u2'", [(2,)]),
    Case(
        "pipe_that_adds",
        f"FROM clicks {EVENT} |> WHERE user = 'u2' |> EXTEND v.amount AS x",
        [("u2", 1, 2, ("u2", "View", 1, "x", 7), ("u2", "Buy", 2, "z", 8), 7)],
    ),
    Case(
        "one_of_two",
        "SELECT b.item, r FROM clicks MATCH PATTERN (SEQ(View v, OR(Buy b, Rent r)) PARTITION BY user ORDER BY ts WITHIN 5)"
        " WHERE user = 'u2'",
        [("z", None)],
    ),
    Case(
        "alias_with_columns", f"SELECT k, x, y, z.item, w.item FROM clicks {EVENT} AS m (k, x, y, z, w)", EVENT_ANSWER
    ),
    Case(
        "input_alias",
        "SELECT user, v.ts FROM clicks c MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY c.user ORDER BY c.ts WITHIN 5)",
        [("u1", 1), ("u2", 1)],
    ),
    Case("cte", f"WITH c AS (SELECT * FROM clicks WHERE user = 'u2') SELECT {E} FROM c {EVENT}", EVENT_ANSWER[1:]),
    Case(
        "two_ctes",
        f"WITH c AS (SELECT * FROM clicks), d AS (SELECT * FROM c WHERE user = 'u2') SELECT {E} FROM d {EVENT}",
        EVENT_ANSWER[1:],
    ),
    Case(
        "nested_with",
        f"WITH c AS (WITH d AS (SELECT * FROM clicks) SELECT * FROM d {EVENT}) SELECT {E} FROM c",
        EVENT_ANSWER,
    ),
    Case(
        "cte_shadows_table",
        f"WITH clicks AS (SELECT * FROM clicks WHERE user = 'u2') SELECT {E} FROM clicks {EVENT}",
        EVENT_ANSWER[1:],
    ),
    Case(
        "clause_in_cte",
        f"WITH m AS (SELECT * FROM clicks {EVENT}) SELECT x.user, y.b.item FROM m x JOIN m y USING (user)",
        [("u1", "x"), ("u2", "z")],
    ),
    Case("subquery_around", f"SELECT user, v.item FROM (SELECT * FROM clicks {EVENT})", [("u1", "x"), ("u2", "x")]),
    Case("subquery_input", f"SELECT {E} FROM (SELECT * FROM clicks WHERE user <> 'u1') {EVENT}", EVENT_ANSWER[1:]),
    Case(
        "join_left",
        f"SELECT name, v.ts, b.ts FROM clicks {EVENT} m JOIN users u ON m.user = u.user",
        [("Ann", 1, 3), ("Bob", 1, 2)],
    ),
    Case(
        "join_right",
        f"SELECT name, v.ts, b.ts FROM users u JOIN clicks {EVENT} m ON m.user = u.user",
        [("Ann", 1, 3), ("Bob", 1, 2)],
    ),
    Case(
        "join_both",
        f"SELECT x.user, y.user FROM clicks {EVENT} x JOIN clicks {EVENT} y ON x.user < y.user",
        [("u1", "u2")],
    ),
    Case(
        "join_clauses",
        f"SELECT m.user, r.sym FROM clicks {EVENT} m JOIN ticks {ROW} r ON r.s = m.match_start",
        [("u1", "A"), ("u2", "A")],
    ),
    Case(
        "comma",
        f"SELECT name, b.item FROM users u, clicks {EVENT} m WHERE m.user = u.user",
        [("Ann", "x"), ("Bob", "z")],
    ),
    Case(
        "union",
        f"SELECT b.item FROM clicks {EVENT} UNION ALL SELECT v.item FROM clicks {EVENT}",
        [("x",), ("z",), ("x",), ("x",)],
    ),
    Case(
        "exists",
        f"SELECT user FROM users u WHERE EXISTS (SELECT 1 FROM clicks {EVENT} m WHERE m.user = u.user)",
        [("u1",), ("u2",)],
    ),
    Case("in_query", f"SELECT user FROM users WHERE user NOT IN (SELECT user FROM clicks {EVENT})", [("u3",)]),
    Case("scalar_query", f"SELECT (SELECT SUM(b.amount) FROM clicks {EVENT}) AS total", [(38,)]),
    Case("count", f"SELECT COUNT(*) FROM clicks {EVENT}", [(2,)]),
    Case("group_by", f"SELECT v.item, SUM(b.amount) FROM clicks {EVENT} GROUP BY v.item", [("x", 38)]),
    Case(
        "event_over_event",
        f"""SELECT first.user, second.user FROM (SELECT 'M' AS type, user, match_end FROM clicks {EVENT})
         MATCH PATTERN (SEQ(M first, M second) ORDER BY match_end)""",
        [("u2", "u1")],
    ),
    Case(
        "event_over_row",
        f"""SELECT x.sym, x.s, y.s FROM (SELECT 'M' AS type, * FROM ticks {ROW})
         MATCH PATTERN (SEQ(M x, M y) PARTITION BY sym ORDER BY s)""",
        [("A", 1, 6)],
    ),
    Case(
        "an_alias_like_a_variable_that_is_no_column",
        "SELECT v.n FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WHERE v.item = 'x' MEASURES COUNT(*) AS n) v WHERE v.user = 'u1'",
        [(2,)],
    ),
    Case(
        "an_alias_like_a_variable_of_matches_that_are_made",
        "SELECT v.n FROM clicks MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WHERE v.ts + 1 < b.ts MEASURES COUNT(*) AS n) v WHERE v.user = 'u1'",
        [(3,)],
    ),
    Case("pipe", f"FROM clicks {EVENT} |> SELECT user, v.item", [("u1", "x"), ("u2", "x")]),
    Case("struct_star", f"SELECT b.* FROM clicks {EVENT} WHERE user = 'u2'", [("u2", "Buy", 2, "z", 8)]),
    Case(
        "whole_struct",
        f"SELECT to_json(b) FROM clicks {EVENT} WHERE user = 'u2'",
        [('{"user":"u2","type":"Buy","ts":2,"item":"z","amount":8}',)],
    ),
]


@parametrize(ROW_CASES)
def test_match_recognize(spark: SparkSession, case: Case) -> None:
    check(spark, case)


@parametrize(EVENT_CASES)
def test_match_pattern(spark: SparkSession, case: Case) -> None:
    check(spark, case)


QUERIES = {
    "row": (f"SELECT * FROM ticks {ROW}", ROW_ANSWER),
    "event": (f"SELECT {E} FROM clicks {EVENT}", EVENT_ANSWER),
}


@pytest.fixture(params=QUERIES)
def query(request: pytest.FixtureRequest) -> tuple[str, list]:
    return QUERIES[request.param]


@pytest.fixture
def drop(spark: SparkSession) -> Iterator[None]:
    yield
    for statement in ("DROP VIEW IF EXISTS made", "DROP VIEW IF EXISTS global_temp.made", "DROP TABLE IF EXISTS kept"):
        spark.sql(statement)


def test_temp_view(spark: SparkSession, query: tuple[str, list], drop: None) -> None:
    text, answer = query
    names = "a, b, c, d" if len(answer[0]) == 4 else "a, b, c, d, e"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW made ({names}) AS {text}")
    assert_rows(spark.sql("SELECT * FROM made").collect(), answer)
    assert [row.col_name for row in spark.sql("DESCRIBE made").collect()] == names.split(", ")
    assert_rows(spark.table("made").selectExpr("count(*)").collect(), [(len(answer),)])


LAST_X = "MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(b.x) AS l PATTERN (a b) DEFINE b AS x > a.x)"


@pytest.mark.parametrize(
    ("written", "since", "clause"),
    [
        ("(1, 1F), (2, 2F)", "(1, 16777216D), (2, 16777217D)", LAST_X),
        ("(1, DATE'2020-01-01'), (2, DATE'2020-01-02')", "(1, TIMESTAMP'2020-01-01 01:00:00'), (2, TIMESTAMP'2020-01-01 02:00:00')", LAST_X),
        ("(1, 1), (2, 2)", "(1, 3000000000), (2, 4000000000)", LAST_X),
        ("(1, 1BD), (2, 2BD)", "(1, 1.25BD), (2, 1.75BD)", LAST_X),
        ("(1, 1), (2, 2)", "(1.5D, 1), (2.5D, 2)", LAST_X),
        ("(1, 1), (2, 2)", "(1, 1.5D), (2, 2.5D)", "MATCH AUTOMATON (ORDER BY ts REGISTERS (p INT) START s FINAL f ARC s -> m SET p = x ARC m -> f WHEN x > p)"),
    ],
)  # fmt: skip
def test_a_view_whose_input_has_wider_values_since(
    spark: SparkSession, written: str, since: str, clause: str, drop: None
) -> None:
    for rows in (written, since):
        spark.sql(f"CREATE OR REPLACE TEMP VIEW changing AS SELECT * FROM VALUES {rows} AS t(ts, x)")
        if rows == written:
            spark.sql(f"CREATE OR REPLACE TEMP VIEW made AS SELECT * FROM changing {clause}")
            assert spark.table("made").count() == 1
    with pytest.raises(PythonException, match="CEP_DATA_INPUT_TYPE"):
        spark.table("made").collect()


def test_global_temp_view_in_another_session(spark: SparkSession, drop: None) -> None:
    spark.sql(f"""CREATE GLOBAL TEMP VIEW made AS SELECT * FROM
        VALUES (1, 5), (2, 3), (3, 4) AS t(ts, price)
        MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(price) AS p PATTERN (a b) DEFINE b AS price < PREV(price))""")
    assert_rows(spark.newSession().sql("SELECT * FROM global_temp.made").collect(), [(3,)])


def test_create_table_and_insert(spark: SparkSession, query: tuple[str, list], drop: None) -> None:
    text, answer = query
    text = text.replace("v.item, b.item", "v.item AS i, b.item AS j")
    spark.sql(f"CREATE TABLE kept USING parquet AS {text}")
    assert_rows(spark.table("kept").collect(), answer)
    spark.sql(f"INSERT INTO kept {text}")
    assert_rows(spark.table("kept").collect(), [*answer, *answer])
    spark.sql(f"INSERT OVERWRITE kept {text} LIMIT 0")
    assert_rows(spark.table("kept").collect(), [])


@pytest.mark.parametrize("mode", ["", "EXTENDED", "FORMATTED", "CODEGEN", "COST"])
def test_explain(spark: SparkSession, query: tuple[str, list], mode: str) -> None:
    plan = spark.sql(f"EXPLAIN {mode} {query[0]}").collect()[0][0]
    assert mode == "CODEGEN" or "cep_match" in plan or "Python" in plan


def test_describe_query(spark: SparkSession) -> None:
    described = spark.sql(f"DESCRIBE QUERY SELECT * FROM clicks {EVENT}").collect()
    event = "struct<user:string,type:string,ts:int,item:string,amount:int>"
    types = [("user", "string"), ("match_start", "int"), ("match_end", "int"), ("v", event), ("b", event)]
    assert [row[:2] for row in described] == types


def test_one_shuffle(spark: SparkSession) -> None:
    """Neighbours, row numbers and the matcher share one exchange and one sort (architecture, fact 6)."""
    plan = spark.sql(f"EXPLAIN SELECT * FROM ticks DISTRIBUTE BY rand()").collect()[0][0]
    assert plan.count("Exchange") == 1
    for text, _ in QUERIES.values():
        plan = spark.sql(f"EXPLAIN {text}").collect()[0][0]
        assert plan.count("Exchange") <= 1
        assert plan.count("Sort [") <= 1

"""MATCH AUTOMATON from text to rows: the corpus, types, the places where a clause may stand, what EXPLAIN says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepLimitError
from tests.corpus import AutomatonCase, automaton_cases
from tests.sql.cases import Case, answers, assert_rows, check, parametrize
from tests.sql.test_corpus import literal

CASES = {str(case): case for case in automaton_cases() if not case.error}
DOUBLE_BUY = """MATCH AUTOMATON (
  PARTITION BY user ORDER BY ts REGISTERS (item_seen STRING, total INT DEFAULT 0) START s FINAL f
  ARC s -> m WHEN type = 'View' SET item_seen = item, total = amount
  ARC m -> m WHEN type <> 'Buy'
  ARC m -> f WHEN type = 'Buy' AND item = item_seen SET total = total + amount
  WITHIN 6)"""
ANSWER = [("u1", 1, 3, 3, 7, "f", "x", 40), ("u1", 4, 9, 9, 10, "f", "y", 55)]


def query(case: AutomatonCase) -> str:
    """The case as a statement; an event's id is found by its place."""
    names = list(dict.fromkeys(name for event in case.events for name in event))
    rows = ", ".join(f"({', '.join(literal(event.get(name)) for name in names)})" for event in case.events)
    table = f"SELECT * FROM VALUES {rows} AS t({', '.join(names)})"
    partition = f"PARTITION BY {', '.join(case.partition)}" if case.partition else ""
    registers = (
        f"REGISTERS ({case.registers}, first_id STRING, last_id STRING)"
        if case.registers
        else "REGISTERS (first_id STRING, last_id STRING)"
    )
    within = f"WITHIN {case.within}" if case.within is not None else ""
    arcs = " ".join(f"ARC {_marked(arc)}" for arc in case.arcs)
    shown = [part.split()[0] for part in case.registers.split(",") if part]
    return f"""SELECT {", ".join(["first_id", "last_id", "final_state", *shown, "lifetime_start", "lifetime_end"])}
      FROM ({table}) MATCH AUTOMATON ({partition} ORDER BY {", ".join(case.order)} {registers} START {case.start} FINAL {", ".join(case.final)} {arcs} {within})"""


def _marked(arc: str) -> str:
    """An arc that keeps the ids of the first and the last event; no arc of the corpus is left ignorable by it."""
    if "ON EPSILON" in arc or "ON WINDOW END" in arc:
        return arc
    marks = "first_id = COALESCE(first_id, id), last_id = id"
    valid = arc.find(" VALID")
    head, tail = (arc, "") if valid < 0 else (arc[:valid], arc[valid:])
    return f"{head}{', ' if ' SET ' in head else ' SET '}{marks}{tail}"


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Iterator[dict[str, list[dict[str, object]]]]:
    """The answers of all cases, in one statement."""
    yield answers(spark, {name: query(case) for name, case in CASES.items()})


@pytest.mark.spark
@pytest.mark.parametrize("name", CASES)
def test_corpus(found: dict[str, list[dict[str, object]]], name: str) -> None:
    case = CASES[name]
    assert case.matches is not None
    lines = [tuple(row.values()) for row in found[name]]
    assert_rows([line[:-2] for line in lines], case.matches)
    if case.lifetimes:
        assert sorted(tuple(map(float, line[-2:])) for line in lines) == sorted(
            tuple(map(float, pair)) for pair in case.lifetimes
        )


TYPES = """SELECT * FROM VALUES
  (1, 'A', CAST(5 AS TINYINT), 1.50BD, CAST(12345678901234567890.5 AS DECIMAL(30,1)), DATE '2024-02-28', TIMESTAMP '2024-02-28 10:00:00', TRUE, CAST(2.5 AS FLOAT), X'01', 'é', ARRAY(1), INTERVAL '1' HOUR),
  (2, 'B', CAST(7 AS TINYINT), 2.25BD, CAST(1.5 AS DECIMAL(30,1)), DATE '2024-03-01', TIMESTAMP '2024-03-01 10:00:00', FALSE, CAST(0.5 AS FLOAT), X'02', 'z', ARRAY(2), INTERVAL '2' HOUR)
  AS v(id, type, t, d, wide, day, at, flag, f, b, s, a, i)"""


def types_of(name: str, kind: str, assigned: str, default: str = "", when: str = "TRUE") -> str:
    return f"""SELECT {name} FROM ({TYPES}) MATCH AUTOMATON (ORDER BY id REGISTERS ({name} {kind}{default}) START s FINAL f
      ARC s -> m WHEN type = 'A' SET {name} = {assigned}
      ARC m -> f WHEN {when} SET {name} = {name})"""


@pytest.mark.spark
def test_registers_of_every_type(spark: SparkSession) -> None:
    queries = {
        "tinyint": types_of("r", "TINYINT", "t + CAST(1 AS TINYINT)", when="r < t"),
        "smallint": types_of("r", "SMALLINT", "t", when="r + 1 < t"),
        "bigint": types_of("r", "BIGINT", "r + t", " DEFAULT 1000000000000", "r > t * 2"),
        "float": types_of("r", "FLOAT", "f", when="r > f"),
        "double": types_of("r", "DOUBLE", "r * f / 2 - d", " DEFAULT 8", "-r < 0"),
        "decimal": types_of("r", "DECIMAL(10,2)", "r + d", " DEFAULT 1", "r > d"),
        "int to decimal": types_of("r", "DECIMAL(12,2)", "t", when="r < t"),
        "wide decimal": types_of("r", "DECIMAL(30,1)", "wide + r", " DEFAULT 1", "r > wide"),
        "boolean": types_of("r", "BOOLEAN", "flag", when="r AND NOT flag"),
        "boolean condition": types_of("r", "BOOLEAN", "r IS NULL", when="r"),
        "date": types_of("r", "DATE", "day", " DEFAULT DATE '2020-01-01'", "r < day"),
        "timestamp": types_of("r", "TIMESTAMP", "at", when="at - r > INTERVAL 1 DAY"),
        "string": types_of("r", "STRING", "s", " DEFAULT 'q'", "r > s"),
        "computed string": types_of("r", "STRING", "upper(concat(r, s))", " DEFAULT 'q'", "r < s"),
        "binary": types_of("r", "BINARY", "b", when="r < b"),
        "array": types_of("r", "ARRAY<INT>", "concat(r, ARRAY(3))", " DEFAULT ARRAY(1)", "size(r) = 2"),
        "struct": types_of(
            "r",
            "STRUCT<x: INT, y: STRUCT<z: INT>>",
            "named_struct('x', id, 'y', named_struct('z', CAST(t AS INT)))",
            when="r.x + 1 = id AND r.y.z < t",
        ),
        "struct default": types_of(
            "r",
            "STRUCT<x: INT, at: TIMESTAMP>",
            "named_struct('x', r.x + t, 'at', at)",
            " DEFAULT named_struct('x', 1, 'at', TIMESTAMP '2024-02-28 10:00:00')",
            "r.x = 6 AND r.at < at",
        ),
        "structs default": types_of(
            "r", "ARRAY<STRUCT<x: INT>>", "r", " DEFAULT array(named_struct('x', 1))", "r[0].x = 1"
        ),
        "interval": types_of("r", "INTERVAL HOUR", "i"),
        "null": types_of("r", "INT", "NULL", " DEFAULT 1", "r IS NULL"),
    }
    values = {name: [value for row in rows for value in row.values()] for name, rows in answers(spark, queries).items()}
    assert values == {
        "tinyint": [6],
        "smallint": [5],
        "bigint": [1000000000005],
        "float": [2.5],
        "double": [8.5],
        "decimal": [2.5],
        "int to decimal": [5.0],
        "wide decimal": [12345678901234567891.5],
        "boolean": [True],
        "boolean condition": [True],
        "date": ["2024-02-28"],
        "timestamp": ["2024-02-28T10:00:00.000Z"],
        "string": ["é"],
        "computed string": ["QÉ"],
        "binary": ["AQ=="],
        "array": [[1, 3]],
        "struct": [{"x": 1, "y": {"z": 5}}],
        "struct default": [{"x": 6, "at": "2024-02-28T10:00:00.000Z"}],
        "structs default": [[{"x": 1}]],
        "interval": ["INTERVAL '01' HOUR"],
        "null": [None],
    }


@pytest.mark.spark
@parametrize(
    [
        Case("table", f"SELECT * FROM clicks {DOUBLE_BUY}", ANSWER),
        Case(
            "subqueries that read no register",
            """SELECT match_start, r FROM ticks MATCH AUTOMATON (PARTITION BY sym ORDER BY ts REGISTERS (r INT) START s FINAL f
               ARC s -> m WHEN (SELECT true) AND price > 11 SET r = (SELECT max(price) FROM ticks)
               ARC m -> f WHEN price < (SELECT 0) + r AND r > ((SELECT min(price) FROM ticks)))""",
            [(1, 13), (5, 13), (6, 13)],
        ),
        Case(
            "an empty array",
            """SELECT r FROM ticks MATCH AUTOMATON (PARTITION BY sym ORDER BY ts REGISTERS (r ARRAY<INT> DEFAULT array()) START s FINAL f
               ARC s -> f WHEN price = 13 SET r = array(price) ARC s -> f WHEN price = 9 ARC s -> f WHEN price = 10 SET r = array())""",
            [([13],), ([],), ([],), ([],)],
        ),
        Case("alias", f"SELECT m.user, m.total FROM clicks {DOUBLE_BUY} AS m WHERE m.total > 50", [("u1", 55)]),
        Case("key filter", f"SELECT total FROM clicks {DOUBLE_BUY} m WHERE m.user = 'u2'", []),
        Case("cte", f"WITH c AS (SELECT * FROM clicks WHERE user = 'u1') SELECT count(*) FROM c {DOUBLE_BUY}", [(2,)]),
        Case(
            "join",
            f"SELECT u.name, m.total FROM users u JOIN clicks {DOUBLE_BUY} m ON u.user = m.user",
            [("Ann", 40), ("Ann", 55)],
        ),
        Case(
            "parameters",
            """SELECT n FROM clicks MATCH AUTOMATON (PARTITION BY user ORDER BY ts REGISTERS (n INT DEFAULT 0) START s FINAL f
               ARC s -> f WHEN amount > :low AND n < :most SET n = n + :step)""",
            [(3,), (3,)],
            {"low": 20, "most": 5, "step": 3},
        ),
        Case(
            "inside another clause",
            f"""SELECT n FROM clicks {DOUBLE_BUY} a MATCH AUTOMATON (ORDER BY match_start REGISTERS (n INT DEFAULT 0) START s FINAL f
                ARC s -> m SET n = total ARC m -> f SET n = n + a.total)""",
            [(95,)],
        ),
        Case(
            "times and intervals",
            """SELECT match_start, lifetime_start, lifetime_end, final_state FROM (SELECT user, type, TIMESTAMP '2024-01-01' + MAKE_DT_INTERVAL(0, ts) AS at FROM clicks)
               MATCH AUTOMATON (PARTITION BY user ORDER BY at START s FINAL bought, nothing
                 ARC s -> v WHEN type = 'View' ARC v -> v WHEN type <> 'Buy' ARC v -> bought WHEN type = 'Buy'
                 ARC v -> nothing ON WINDOW END VALID FROM TIMESTAMP '2024-01-01' + INTERVAL '2' HOUR TO TIMESTAMP '2024-01-02'
                 WITHIN INTERVAL 3 HOURS)
               WHERE user = 'u1'""",
            [],
        ),
    ]
)
def test_statements(spark: SparkSession, case: Case) -> None:
    if case.name == "times and intervals":
        rows = [tuple(map(str, row)) for row in spark.sql(case.sql).collect()]
        assert sorted(rows) == [
            ("2024-01-01 01:00:00", "2024-01-01 03:00:00", "2024-01-01 04:00:00", "bought"),
            ("2024-01-01 04:00:00", "2024-01-01 04:00:00", "2024-01-01 07:00:00", "nothing"),
        ]
        return
    check(spark, case)


@pytest.mark.spark
def test_views_and_dataframes(spark: SparkSession) -> None:
    spark.sql(f"CREATE OR REPLACE TEMP VIEW double_buys AS SELECT * FROM clicks {DOUBLE_BUY}")
    assert_rows(spark.sql("SELECT * FROM double_buys").collect(), ANSWER)
    body = DOUBLE_BUY[DOUBLE_BUY.index("(") + 1 : -1]
    assert_rows(sparkcep.match_automaton(spark.table("clicks"), body).collect(), ANSWER)
    assert spark.table("double_buys").dtypes == [
        ("user", "string"), ("match_start", "int"), ("match_end", "int"), ("lifetime_start", "int"), ("lifetime_end", "int"),
        ("final_state", "string"), ("item_seen", "string"), ("total", "int"),
    ]  # fmt: skip


@pytest.mark.spark
def test_without_within_nothing_ends(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT match_end, lifetime_end FROM clicks MATCH AUTOMATON (ORDER BY ts, user START s FINAL f ARC s -> f WHEN type = 'Cart')"
    )
    assert_rows(rows.collect(), [(2, None)])


@pytest.mark.spark
def test_runs_without_bound(spark: SparkSession) -> None:
    spark.conf.set("sparkcep.maxPartialMatches", "100")
    try:
        text = "SELECT count(*) FROM range(1000) MATCH AUTOMATON (ORDER BY id REGISTERS (n BIGINT) START s FINAL f ARC s -> m SET n = id ARC m -> m ARC m -> f WHEN n < 0)"
        with pytest.raises(Exception, match=r"CEP_LIMIT_RUNS.*100 runs are alive.*in the state m"):
            spark.sql(text).collect()
    finally:
        spark.conf.unset("sparkcep.maxPartialMatches")
    assert CepLimitError.kind == "CEP_LIMIT"


@pytest.mark.spark
def test_explain(spark: SparkSession) -> None:
    plan = [row[0] for row in spark.sql(f"EXPLAIN PATTERN SELECT * FROM clicks {DOUBLE_BUY}").collect()]
    assert "registers     item_seen STRING" in plan
    assert "              total INT DEFAULT 0" in plan
    assert any("m -> m: ignorable" in line for line in plan)
    assert any(line.startswith("              m → m (type <> 'Buy'), f (") for line in plan)
    drawn = sparkcep.explain(f"SELECT * FROM clicks {DOUBLE_BUY}", spark).automata[0].edges
    assert [(edge.source, edge.target) for edge in drawn] == [
        ("start", "s"),
        ("s", "m"),
        ("m", "m"),
        ("m", "f"),
        ("f", "match"),
    ]


@pytest.mark.spark
def test_explain_analyze_says_why_nothing(spark: SparkSession) -> None:
    text = DOUBLE_BUY.replace("item = item_seen", "item <> item_seen AND user = 'u1'")
    lines = [row[0] for row in spark.sql(f"EXPLAIN ANALYZE PATTERN SELECT * FROM clicks {text}").collect()]
    counts = lines[lines.index("== counts of MATCH AUTOMATON in line 1 ==") :]
    assert any("s -> m" in line and "7 tried, 3 taken" in line for line in counts)
    assert counts[-1] == "why nothing   m -> f: 4 tried, none taken"


@pytest.mark.spark
@pytest.mark.parametrize(
    "condition",
    ["COALESCE({v} = {r}, FALSE)", "{v} || {r} = {r} || {v}", "GREATEST({v}, {r}) = {v}", "{t} || {q} > {q}"],
)
def test_slow_conditions_read_binaries_and_strings_as_what_they_are(spark: SparkSession, condition: str) -> None:
    rows = "(SELECT * FROM VALUES (1, X'00', 'z'), (2, X'FF', 'y'), (3, X'', 'x'), (4, X'', 'w'), (5, NULL, 'v') AS t(n, v, t))"
    own = condition.format(v="v", r="r", t="t", q="q")
    clause = f"""MATCH AUTOMATON (ORDER BY n REGISTERS (r BINARY, q STRING, m INT, k INT) START s FINAL f
        ARC s -> p WHEN TRUE SET r = v, q = t, m = n ARC p -> f WHEN {own} SET k = n)"""
    joined = f"{rows} a JOIN {rows} b ON b.n = a.n + 1 AND ({condition.format(v='b.v', r='a.v', t='b.t', q='a.t')})"
    wanted = spark.sql(f"SELECT a.n AS m, b.n AS k FROM {joined} ORDER BY 1").collect()
    assert sorted(spark.sql(f"SELECT m, k FROM {rows} {clause}").collect()) == wanted

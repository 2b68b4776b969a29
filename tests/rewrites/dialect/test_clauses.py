"""Clause text → clause data: every part with its place. Bodies as other systems document them are accepted."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sqlglot import exp

from rewrites.dialect import KleenePrefix, KleeneRef, MatchSequenceNumber, Navigation, find_sites, parse_clause
from rewrites.dialect.clause import MatchPatternClause, MatchRecognizeClause
from sparkcep.errors import CepError, Span

FULL_ROW = """SELECT * FROM t MATCH_RECOGNIZE (
  PARTITION BY symbol, upper(`my col`)
  ORDER BY ts DESC NULLS LAST, id ASC, x
  MEASURES A.price AS p, FINAL LAST(B.price, 1) - 2 lastp, COUNT(*) AS `n n`, RUNNING A.x AS r, FINAL (LAST(A.x)) AS f
  ALL ROWS PER MATCH OMIT EMPTY MATCHES
  AFTER MATCH SKIP TO FIRST B
  INITIAL PATTERN (A B+? {- C -})
  WITHIN INTERVAL '1' HOUR
  SUBSET U = (A, B), W = (C)
  DEFINE A AS price BETWEEN 1 AND 2, B AS price > PREV(price) AND pattern.define = 1
) AS m"""

FULL_EVENT = """SELECT * FROM t MATCH PATTERN (
  SEQ(Kindle k, !Case x, Stylus+ b[])
  EVENT TYPE `kind`
  PARTITION BY user_id, date(ts) AS day
  ORDER BY ts, id
  SKIP TILL NEXT MATCH
  WHERE [user_id] AND [kind = 'x'] AND b[i].price > b[i-1].price AND k.x BETWEEN 1 AND 2
    AND (k.a = 1 OR k.b = 2) AND (k.c AND (k.d AND [y]))
  WITHIN 12 hours
  COMPRESSED MATCHES
  MEASURES COUNT(*) AS n, SUM(b[..i-1].price) s
  EMIT CHANGES
) m"""


def test_every_part_of_match_recognize() -> None:
    sql, clause = FULL_ROW, _row(FULL_ROW)
    assert [_text(sql, item.expr) for item in clause.partition_by] == ["symbol", "upper(`my col`)"]
    assert [(_text(sql, item), item.descending) for item in clause.order_by] == [
        ("ts DESC NULLS LAST", True),
        ("id ASC", False),
        ("x", False),
    ]
    assert [(_text(sql, m.expr), m.name.value, m.running) for m in clause.measures] == [
        ("A.price", "p", None),
        ("FINAL LAST(B.price, 1) - 2", "lastp", None),
        ("COUNT(*)", "n n", None),
        ("A.x", "r", True),
        ("(LAST(A.x))", "f", False),
    ]
    assert clause.rows_per_match == "all_omit_empty"
    assert _text(sql, clause.rows_per_match_span) == "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    assert clause.skip
    assert clause.skip.variable
    assert (clause.skip.to, clause.skip.variable.value) == ("first", "B")
    assert _text(sql, clause.initial) == "INITIAL"
    assert str(clause.pattern) == "A B+? {- C -}"
    assert _text(sql, clause.pattern_span) == "A B+? {- C -}"
    assert _text(sql, clause.within) == "INTERVAL '1' HOUR"
    assert [(s.name.value, [v.value for v in s.variables]) for s in clause.subsets] == [("U", ["A", "B"]), ("W", ["C"])]
    assert [(d.variable.value, _text(sql, d.condition)) for d in clause.defines] == [
        ("A", "price BETWEEN 1 AND 2"),
        ("B", "price > PREV(price) AND pattern.define = 1"),
    ]


def test_every_part_of_match_pattern() -> None:
    sql, clause = FULL_EVENT, _event(FULL_EVENT)
    ((name, pattern, span),) = clause.patterns
    assert name is None
    assert str(pattern) == "SEQ(Kindle k, NOT Case x, Stylus+ b)"
    assert _text(sql, span) == "SEQ(Kindle k, !Case x, Stylus+ b[])"
    assert clause.event_type
    assert clause.event_type.value == "kind"
    assert [(_text(sql, i.expr), i.name and i.name.value) for i in clause.partition_by] == [
        ("user_id", None),
        ("date(ts)", "day"),
    ]
    assert [_text(sql, item) for item in clause.order_by] == ["ts", "id"]
    assert (clause.strategy, _text(sql, clause.strategy_span)) == ("next", "SKIP TILL NEXT MATCH")
    assert [_text(sql, conjunct) for conjunct in clause.conjuncts] == [
        "b[i].price > b[i-1].price",
        "k.x BETWEEN 1 AND 2",
        "(k.a = 1 OR k.b = 2)",
        "k.c",
        "k.d",
    ]
    assert [(e.attribute.value, e.value and _text(sql, e.value)) for e in clause.equivalences] == [
        ("user_id", None),
        ("kind", "'x'"),
        ("y", None),
    ]
    assert clause.within
    assert isinstance(clause.within.length and clause.within.length.node, exp.Interval)
    assert _text(sql, clause.within.length) == "12 hours"
    assert (clause.matches, _text(sql, clause.matches_span)) == ("compressed", "COMPRESSED MATCHES")
    assert [(_text(sql, m.expr), m.name.value) for m in clause.measures] == [
        ("COUNT(*)", "n"),
        ("SUM(b[..i-1].price)", "s"),
    ]
    assert _text(sql, clause.emit_changes) == "EMIT CHANGES"


def test_defaults() -> None:
    row, event = _row(_r("PATTERN (A)")), _event(_e("A a ORDER BY ts"))
    assert (row.rows_per_match, row.skip, row.initial, row.within) == ("one", None, None, None)
    assert (event.strategy, event.matches, event.within, event.where) == ("any", "all", None, None)


ACCEPTED_ROWS = [
    # Oracle
    "PARTITION BY symbol ORDER BY tstamp MEASURES STRT.tstamp AS start_tstamp, LAST(DOWN.tstamp) AS bottom_tstamp "
    "ONE ROW PER MATCH AFTER MATCH SKIP TO LAST UP PATTERN (STRT DOWN+ UP+) "
    "DEFINE DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price)",
    "PARTITION BY symbol ORDER BY tstamp MEASURES FIRST(STRT.tstamp) AS s, RUNNING LAST(UP.tstamp) AS r, "
    "CLASSIFIER() AS c, MATCH_NUMBER() AS mn ALL ROWS PER MATCH WITH UNMATCHED ROWS "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN (STRT (A|B)+) "
    "SUBSET stdn = (STRT, A) DEFINE A AS price < 1",
    # Snowflake
    "PARTITION BY company ORDER BY price_date MEASURES MATCH_NUMBER() AS match_number, "
    "FIRST(price_date) AS start_date, COUNT(*) AS rows_in_sequence, "
    "COUNT(row_with_price_decrease.*) AS num_decreases, MATCH_SEQUENCE_NUMBER() AS msq "
    "ONE ROW PER MATCH AFTER MATCH SKIP TO LAST row_with_price_increase "
    "PATTERN (row_before_decrease row_with_price_decrease+ row_with_price_increase+) "
    "DEFINE row_with_price_decrease AS price < LAG(price), row_with_price_increase AS price > LAG(price)",
    "ORDER BY d ALL ROWS PER MATCH SHOW EMPTY MATCHES AFTER MATCH SKIP TO NEXT ROW PATTERN (A*) DEFINE A AS TRUE",
    # Trino
    "PARTITION BY custkey ORDER BY orderdate MEASURES FINAL LAST(A.totalprice) AS starting_price, "
    "LAST(U.totalprice) AS top ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C+ D+) SUBSET U = (C, D) "
    "DEFINE B AS totalprice < PREV(totalprice), C AS totalprice > PREV(totalprice) AND totalprice <= A.totalprice",
    "MEASURES array_agg(A.x) AS xs, avg(B.y) FILTER (WHERE B.y > 0) AS a "
    "PATTERN (PERMUTE(A, B)) DEFINE A AS CLASSIFIER() = 'A'",
    # Flink
    "PARTITION BY symbol ORDER BY rowtime MEASURES C.rowtime AS dropTime, A.price - C.price AS dropDiff "
    "ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) WITHIN INTERVAL '1' HOUR "
    "DEFINE B AS B.price > A.price - 10, C AS C.price < A.price - 10",
    "ORDER BY rowtime MEASURES FIRST(A.rowtime) AS s, AVG(A.price) AS p AFTER MATCH SKIP TO FIRST B PATTERN (A+ B) "
    "DEFINE A AS AVG(A.price) < 15",
    # sub-clauses behind PATTERN in any order
    "PATTERN (A B) DEFINE A AS TRUE SUBSET U = (A, B)",
    "PATTERN (A B) SUBSET U = (A, B) WITHIN INTERVAL 1 DAY DEFINE A AS TRUE",
    "PATTERN (A B) WITHIN 5 minutes",
    "PATTERN (A B) WITHIN :p",
    "SEEK PATTERN (A)",
    # words that are keywords elsewhere
    "PARTITION BY `pattern` ORDER BY t.define MEASURES A.pattern AS measures, x AS subset, "
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY A.x) AS p PATTERN (initial seek) "
    "DEFINE initial AS initial.after > 1, seek AS TRUE",
    "MEASURES CASE WHEN A.x THEN 1 END c, A.x::int d, sum(A.x) e, arr[0] f, A.y IS NULL AS g PATTERN (A)",
]


@pytest.mark.parametrize("body", ACCEPTED_ROWS)
def test_match_recognize_as_others_write_it(body: str) -> None:
    assert isinstance(_row(_r(body)), MatchRecognizeClause)


ACCEPTED_EVENTS = [
    "SEQ('SHELF-READING' x, !('COUNTER-READING' y), 'EXIT-READING' z) ORDER BY ts WHERE [tag_id] WITHIN 12 hours",
    "SEQ(Stock+ a[], Stock b) ORDER BY ts WHERE skip_till_next_match(a[], b) { [symbol] and a[1].volume > 1000 "
    "and a[i].price > avg(a[..i-1].price) and b.volume < 0.8 * a[a.LEN].volume } WITHIN 1 hour",
    "SEQ(A a, B b) ORDER BY ts PARTITION CONTIGUITY",
    "SEQ(A a, B b) PARTITION BY x ORDER BY ts STRICT CONTIGUITY WHERE a.x = b.x NON OVERLAPPING MATCHES",
    "SEQ(A a, B b) ORDER BY ts SKIP TILL ANY MATCH WHERE skip_till_any_match(a, b) { a.x = b.x }",
    "SEQ(A a, B b) ORDER BY n WITHIN 100",
    "SEQ(A a, B b) ORDER BY n WITHIN 100 EVENTS ALL MATCHES",
    "SEQ(A a, B b) ORDER BY n WITHIN INTERVAL '1 day 2 hours'",
    "SEQ(A a, B b) ORDER BY n WITHIN ?",
    "A ORDER BY ts",
]


@pytest.mark.parametrize("body", ACCEPTED_EVENTS)
def test_match_pattern_as_the_papers_write_it(body: str) -> None:
    assert isinstance(_event(_e(body)), MatchPatternClause)


@pytest.mark.parametrize(
    ("words", "strategy"),
    [
        ("STRICT/**/CONTIGUITY", "strict_contiguity"),
        ("partition -- all\n contiguity", "partition_contiguity"),
        ("SKIP/**/TILL/**/NEXT/**/MATCH", "next"),
    ],
)
def test_comments_between_the_words_of_a_strategy(words: str, strategy: str) -> None:
    found = _event(_e(f"A a ORDER BY ts {words}"))
    assert isinstance(found, MatchPatternClause)
    assert found.strategy == strategy


@pytest.mark.parametrize(
    ("where", "conjuncts"),
    [
        ("a.x = 1 AND b.y = 2", ["a.x = 1", "b.y = 2"]),
        ("a.x BETWEEN 1 AND 2 AND b.y NOT BETWEEN b.z AND 3", ["a.x BETWEEN 1 AND 2", "b.y NOT BETWEEN b.z AND 3"]),
        ("a.x = 1 OR a.y = 2 AND b.z = 3", ["a.x = 1 OR a.y = 2 AND b.z = 3"]),
        ("CASE WHEN a.x AND b.x THEN 1 END = 1 AND b.y", ["CASE WHEN a.x AND b.x THEN 1 END = 1", "b.y"]),
        ("f(a.x AND b.x) AND NOT b.y", ["f(a.x AND b.x)", "NOT b.y"]),
        ("(a.x AND b.y)", ["a.x", "b.y"]),
        ("((a.x) AND (b.y AND b.z))", ["(a.x)", "b.y", "b.z"]),
        ("(a.x = 1)", ["(a.x = 1)"]),
        ("(a.x OR a.y) AND (b.x OR b.y)", ["(a.x OR a.y)", "(b.x OR b.y)"]),
        ("(a.x) = (b.y)", ["(a.x) = (b.y)"]),
        ("NOT (a.x AND b.y)", ["NOT (a.x AND b.y)"]),
        ("EXISTS (SELECT 1 FROM u WHERE u.x = a.x AND u.y = b.y) AND a.z", None),
        ("a.and = 1 AND b.between = 2", ["a.and = 1", "b.between = 2"]),
    ],
)
def test_where_is_split_at_its_top_level_and(where: str, conjuncts: list[str] | None) -> None:
    sql = _e(f"SEQ(A a, B b) ORDER BY ts WHERE {where}")
    found = [_text(sql, conjunct) for conjunct in _event(sql).conjuncts]
    assert found == (conjuncts or where.rsplit(" AND ", 1))


def test_kleene_references() -> None:
    sql = _e(
        "SEQ(A a, B+ b[]) ORDER BY ts WHERE b[i].x > b[i-1].x AND b[FIRST].x < b[b.LEN].x AND b[1].y = avg(b[..i-1].y)"
    )
    nodes = [node for conjunct in _event(sql).conjuncts for node in conjunct.node.find_all(KleeneRef, KleenePrefix)]
    found = {(n.this.name, n.index_value, n.offset) for n in nodes if isinstance(n, KleeneRef)}
    assert found == {("b", "i", 0), ("b", "i", -1), ("b", "first", 0), ("b", "last", 0), ("b", 1, 0)}
    assert sum(isinstance(node, KleenePrefix) for node in nodes) == 1


def test_brackets_are_array_access_in_match_recognize() -> None:
    (measure,) = _row(_r("MEASURES A.tags[0] AS t PATTERN (A)")).measures
    assert isinstance(measure.expr.node, exp.Bracket)


def test_navigation_keeps_all_its_arguments() -> None:
    (measure,) = _row(_r("MEASURES PREV(RUNNING LAST(A.x, 1), 2) AS p PATTERN (A)")).measures
    outer, inner = measure.expr.node, measure.expr.node.this
    assert isinstance(outer, Navigation)
    assert isinstance(inner, Navigation)
    assert (outer.function, outer.args["offset"].name, outer.running) == ("PREV", "2", None)
    assert (inner.function, inner.args["offset"].name, inner.running) == ("LAST", "1", True)


def test_a_clause_inside_a_condition_of_another_is_its_table() -> None:
    inner = "u MATCH_RECOGNIZE (PATTERN (C) DEFINE C AS x IN (SELECT y FROM v MATCH PATTERN (A ORDER BY b) m))"
    sql = _r(f"PATTERN (A B) DEFINE B AS EXISTS (SELECT 1 FROM {inner} AS i WHERE i.x = A.x)")
    outer, *nested = find_sites(sql)
    assert len(nested) == 2
    (define,) = parse_clause(sql, outer).defines  # type: ignore[union-attr]
    assert isinstance(define.condition.node, exp.Exists)
    assert _text(sql, define.condition) == f"EXISTS (SELECT 1 FROM {inner} AS i WHERE i.x = A.x)"
    assert all(parse_clause(sql, site) for site in nested)


def test_match_sequence_number_is_not_match_number() -> None:
    (measure,) = _row(_r("MEASURES MATCH_SEQUENCE_NUMBER() AS n PATTERN (A)")).measures
    assert isinstance(measure.expr.node, MatchSequenceNumber)


@pytest.mark.parametrize(
    "sql", [FULL_ROW, FULL_EVENT, *map("SELECT * FROM t MATCH_RECOGNIZE ({})".format, ACCEPTED_ROWS)]
)
def test_a_mutilated_clause_raises_nothing_but_cep_errors(sql: str) -> None:
    rng = random.Random(sql)
    for _ in range(60):
        text = _mutilated(sql, rng)
        try:
            for site in find_sites(text):
                parse_clause(text, site)
        except CepError as error:
            assert error.span is None or 0 <= error.span.start <= len(text) + 1, text
            assert error.sql == text


def _mutilated(sql: str, rng: random.Random) -> str:
    words = sql.split(" ")
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(words))
        words[i : i + 1] = rng.choice(
            [
                [],
                [
                    words[i],
                    rng.choice(
                        ["(", ")", ",", "[", "]", "{", "}", "'", ".", "AND", "AS", "+", "?", "|", "i", "PATTERN"]
                    ),
                ],
                [rng.choice(words)],
            ]
        )
    return " ".join(words)


def _r(body: str) -> str:
    return f"SELECT * FROM t MATCH_RECOGNIZE ({body})"


def _e(body: str) -> str:
    return f"SELECT * FROM t MATCH PATTERN ({body})"


def _row(sql: str) -> MatchRecognizeClause:
    clause = parse_clause(sql, find_sites(sql)[-1])
    assert isinstance(clause, MatchRecognizeClause)
    return clause


def _event(sql: str) -> MatchPatternClause:
    clause = parse_clause(sql, find_sites(sql)[-1])
    assert isinstance(clause, MatchPatternClause)
    return clause


def _text(sql: str, part: Any) -> str:
    span = part if isinstance(part, Span) else part.span
    return sql[span.start : span.end]

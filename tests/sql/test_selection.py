"""Selection strategies and outputs of MATCH PATTERN, through the whole way: corpus cases as SQL, and what is refused."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import CepUnsupportedError
from tests.corpus import EventCase, event_cases
from tests.reference.text import event_pattern
from tests.sql.test_corpus import literal

STRATEGIES = {
    "any": "SKIP TILL ANY MATCH",
    "next": "SKIP TILL NEXT MATCH",
    "partition_contiguity": "PARTITION CONTIGUITY",
    "strict_contiguity": "STRICT CONTIGUITY",
}
NAMES = (
    "next: rising closure ignores what does not rise",
    "next: a condition on the whole closure holds the run until it is true",
    "next: at least two",
    "next: AND stands for its orders",
    "contiguity: partition: events of other partitions lie between",
    "contiguity: strict: events of other partitions break it",
    "contiguity: strict: neighbours of unequal partitions are no match",
    "contiguity: strict without partitions",
    "contiguity: [attr] partitions like PARTITION BY",
    "contiguity: negation between neighbours is always true",
    "non_overlapping: ends first",
    "non_overlapping: in each partition",
    "non_overlapping: under next",
)
CASES = [case for case in event_cases() if case.name in NAMES]


def test_every_case_is_there() -> None:
    assert len(CASES) == len(NAMES)


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=str)
def test_matches(spark: SparkSession, case: EventCase) -> None:
    rows = spark.sql(query(case)).collect()
    found = [tuple(tuple(value) if isinstance(value, list) else value for value in row) for row in rows]
    assert sorted(found, key=repr) == sorted(case.matches or (), key=repr)


def query(case: EventCase) -> str:
    """The case as a statement: for each variable the ids of its events."""
    variables = list(event_pattern(case.pattern).items)  # type: ignore[union-attr]
    names = [element.variable for element in variables if hasattr(element, "variable")]
    within = [f"WITHIN {case.within}"] if case.within is not None else []
    return f"""
        SELECT {", ".join(f"{name}.id" for name in names)} FROM ({table(case)}) AS t MATCH PATTERN (
          {case.pattern}
          {"PARTITION BY " + ", ".join(case.partition) if case.partition else ""} ORDER BY {", ".join(case.order)}
          {STRATEGIES[case.strategy]}
          {"WHERE " + " AND ".join(case.where) if case.where else ""} {" ".join(within)}
          {"NON OVERLAPPING MATCHES" if case.non_overlapping else ""})"""


def table(case: EventCase) -> str:
    """The events as a query."""
    names = list(dict.fromkeys(name for event in case.events for name in event))
    lines = ", ".join(f"({', '.join(literal(event.get(name)) for name in names)})" for event in case.events)
    return f"SELECT * FROM VALUES {lines} AS t({', '.join(names)})"


EVENTS = """(SELECT * FROM VALUES
  (1, 'A', 5), (2, 'A', 7), (3, 'B', 1), (4, 'A', 6), (5, 'A', 8), (6, 'B', 3) AS t(ts, type, x)) AS t"""


@pytest.mark.spark
def test_compressed_matches_expand_to_all_matches(spark: SparkSession) -> None:
    clause = "MATCH PATTERN (SEQ(A+ a, B b) ORDER BY ts SKIP TILL NEXT MATCH WHERE a[i].x > a[i-1].x {} MATCHES)"
    every = spark.sql(f"SELECT a, b FROM {EVENTS} {clause.format('ALL')} AS m").collect()
    compressed = spark.sql(f"SELECT * FROM {EVENTS} {clause.format('COMPRESSED')} AS m")
    assert compressed.columns == ["match_end", "buffer"]
    expanded = spark.sql(
        f"SELECT m.match_end, x.* FROM {EVENTS} {clause.format('COMPRESSED')} AS m, LATERAL cep_expand(m.buffer) AS x"
    )
    assert expanded.columns == ["match_end", "a", "b"]
    rows = expanded.collect()
    assert sorted(map(repr, (row[1:] for row in rows))) == sorted(repr(tuple(row)) for row in every)
    assert {row.match_end for row in rows} == {3, 6}
    assert len(rows) > compressed.count() == 2


@pytest.mark.spark
def test_buffers_of_events_with_months_expand(spark: SparkSession) -> None:
    months = "NAMED_STRUCT('a', ARRAY(MAKE_YM_INTERVAL(0, x)), 'b', MAKE_INTERVAL(0, x)) AS `two ``s`, MAKE_YM_INTERVAL(1, x) AS m"
    clause = "MATCH PATTERN (SEQ(A+ `a ``v`, B b) ORDER BY ts {} MATCHES) AS m"
    rows = f"(SELECT ts, type, {months} FROM {EVENTS})"
    every, compressed = f"{rows} {clause.format('ALL')}", f"{rows} {clause.format('COMPRESSED')}"
    shown = (
        "CAST({0}`a ``v` AS STRING), CAST({0}b AS STRING), {0}b.m + INTERVAL '1' YEAR > INTERVAL '2-2' YEAR TO MONTH"
    )
    found = spark.sql(f"SELECT {shown.format('x.')} FROM {compressed}, LATERAL cep_expand(m.buffer) AS x").collect()
    assert sorted(map(tuple, found)) == sorted(
        map(tuple, spark.sql(f"SELECT {shown.format('')} FROM {every}").collect())
    )
    assert len(found) > 10


@pytest.mark.spark
@pytest.mark.parametrize(
    "clause",
    [
        "SEQ(A+ a, B b) ORDER BY ts {}",
        "OR(SEQ(A a, B b), SEQ(B b2, A* a2)) ORDER BY ts SKIP TILL NEXT MATCH {}",
        "SEQ(A a, NOT B n, A? a2, B b) ORDER BY ts SKIP TILL NEXT MATCH {}",
    ],
)
def test_any_clause_compresses(spark: SparkSession, clause: str) -> None:
    pattern = clause.replace("{}", "")
    every = spark.sql(
        f"SELECT * EXCEPT (match_start, match_end) FROM {EVENTS} MATCH PATTERN ({pattern}) AS m"
    ).collect()
    compressed = spark.sql(
        f"SELECT m.match_end, x.* FROM {EVENTS} MATCH PATTERN ({clause.format('COMPRESSED MATCHES')}) AS m, LATERAL cep_expand(m.buffer) x"
    ).collect()
    assert sorted(repr(tuple(row[1:])) for row in compressed) == sorted(repr(tuple(row)) for row in every)
    assert len(every) > 1


@pytest.mark.spark
@pytest.mark.parametrize(
    ("clause", "code"),
    [
        ("SEQ(A a, B b) ORDER BY ts SKIP TILL NEXT MATCH WHERE a.x + b.x IN (SELECT 8)", "CONDITION"),
        ("SEQ(A a, B b) ORDER BY ts WHERE xxhash64(a.x, b.x) > 2 NON OVERLAPPING MATCHES", "MATCH_DEPENDENT_FUNCTION"),
        ("AND(A+ a, B b) ORDER BY ts SKIP TILL NEXT MATCH", "KLEENE_IN_AND"),
    ],
)
def test_refused_by_name(spark: SparkSession, clause: str, code: str) -> None:
    with pytest.raises(CepUnsupportedError) as raised:
        spark.sql(f"SELECT * FROM {EVENTS} MATCH PATTERN ({clause}) AS m")
    assert raised.value.code == f"CEP_UNSUPPORTED_{code}"


@pytest.mark.spark
def test_explain_shows_the_formulas(spark: SparkSession) -> None:
    rows = spark.sql(
        f"EXPLAIN PATTERN SELECT * FROM {EVENTS} MATCH PATTERN (SEQ(A+ a, B b) ORDER BY ts SKIP TILL NEXT MATCH "
        "WHERE a[i].x > a[i-1].x WITHIN 5) AS m"
    ).collect()
    text = "\n".join(row[0] for row in rows)
    assert "nfa_b" in text
    assert "a[i] -take-> a[i]: a[i] is A AND a[i].x > a[i-1].x AND time < a[1].time + WITHIN" in text
    assert "a[i] -ignore-> a[i]: NOT (a[i] is A AND a[i].x > a[i-1].x) AND time < a[1].time + WITHIN" in text

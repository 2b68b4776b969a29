"""EMIT CHANGES: a row whenever the aggregate over the matches alive changes, whichever way it is computed."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepError
from tests.corpus import EventCase, event_cases
from tests.reference.aggregates import changes
from tests.reference.corpus import event_query
from tests.sql.cases import answers, answers_and_types, plain
from tests.sql.event_text import clause, events_table
from tests.sql.test_aseq import EVENTS, setting

pytestmark = pytest.mark.spark

OFF = "aggregate_pushdown"


@pytest.fixture(scope="module", autouse=True)
def events(spark: SparkSession) -> None:
    spark.sql(EVENTS).createOrReplaceTempView("aseq_events")


def paper(text: str) -> str:
    values = ", ".join(f"('{kind}', {ts})" for kind, ts in (word.split("@") for word in text.split()))
    return f"(SELECT * FROM VALUES {values} AS t(type, ts))"


E10 = paper("A@1 B@2 C@3 A@4 C@5 B@6 D@7 C@8 A@9 D@10")
"""A-Seq, Figure 6."""
E11 = paper("A@1 B@2 C@3 A@4 B@5 D@6 C@7 A@8 D@9 E@10")
"""A-Seq, Figure 10."""


def emitting(table: str, body: str) -> str:
    return f"SELECT * FROM {table} MATCH PATTERN ({body} EMIT CHANGES)"


@pytest.mark.parametrize("disabled", ["", OFF])
def test_e10(spark: SparkSession, disabled: str) -> None:
    with setting(spark, "sparkcep.rules.disable", disabled):
        rows = spark.sql(emitting(E10, "SEQ(A, B, C, D) ORDER BY ts WITHIN 7 MEASURES COUNT(*) AS n"))
        assert rows.schema.simpleString() == "struct<emit_time:int,n:bigint>"
        assert sorted(map(plain, rows.collect())) == [(7, 2), (8, 0), (10, 1)]


def test_e11(spark: SparkSession) -> None:
    rows = spark.sql(emitting(E11, "SEQ(A, B, C, D, E) ORDER BY ts WITHIN 9 MEASURES COUNT(*) AS n")).collect()
    assert list(map(plain, rows)) == [(10, 1)]


def random_case(choose: random.Random, number: int) -> EventCase:
    """A stream with ties, a pattern, perhaps a window."""
    patterns = [
        "SEQ(A a, B b)",
        "SEQ(A a, NOT C, B b)",
        "AND(A a, B b)",
        "SEQ(A a, OR(B b, C c), A d)",
        "SEQ(A a, B{1,2} b)",
    ]
    events = tuple(
        {"id": f"e{i}", "type": choose.choice("ABC"), "ts": choose.randrange(14), "x": choose.choice([None, 1, 2, -3])}
        for i in range(choose.randrange(4, 10))
    )
    return EventCase(
        f"random {number}", choose.choice(patterns), events, within=choose.choice([None, 3, 5, 8]), aggregates={"COUNT(*)": 0}
    )  # fmt: skip


def test_equal_to_brute_force(spark: SparkSession) -> None:
    """The corpus and random streams: one measure a query, both ways."""
    choose = random.Random(7)
    cases = [case for case in event_cases() if case.changes] + [random_case(choose, i) for i in range(4)]
    queries, expected = {}, {}
    for i, case in enumerate(cases):
        text = (
            next(iter(case.aggregates), "COUNT(*)")
            if case.changes
            else ["COUNT(*)", "SUM(a.x)", "MIN(a.x)", "AVG(a.x)"][i % 4]
        )
        name, _, rest = text.partition("(")
        variable, _, column = rest.strip(")").partition(".")
        wanted = ("count", None, None) if variable == "*" else (name.lower(), variable, column)
        queries[case.name] = f"SELECT * FROM {events_table(case)} {clause(case, f'MEASURES {text} AS v EMIT CHANGES')}"
        found = case.changes or changes(event_query(case), case.events, wanted)
        expected[case.name] = sorted([{"emit_time": time, "v": value} for time, value in found], key=repr)
    for disabled in ("", OFF):
        with setting(spark, "sparkcep.rules.disable", disabled):
            found = answers(spark, queries)
            assert {name: sorted(rows, key=repr) for name, rows in found.items()} == expected


def measures(pattern: str, more: str, text: str) -> str:
    return emitting("aseq_events", f"{pattern} {more} MEASURES {text}")


BOTH = {
    "partitions": measures("SEQ(A a, B b)", "PARTITION BY user ORDER BY ts WITHIN 30", "COUNT(*) AS n, SUM(a.x) AS s, MAX(b.f) AS hi"),
    "expressions": measures("SEQ(A a, B b)", "PARTITION BY user AS u ORDER BY ts WITHIN 20", "AVG(a.x) AS m, COALESCE(MIN(b.x), 100) + 1 AS lo, CAST(SUM(a.x) AS DECIMAL(38,0)) AS s"),
    "expressions of one event": measures("SEQ(A a, B b)", "PARTITION BY user ORDER BY ts WITHIN 30", "SUM(COALESCE(a.x, 1)) AS s, MIN(b.x - 1) AS lo"),
    "events": measures("SEQ(A a, NOT D, C c)", "ORDER BY ts WITHIN 12 EVENTS", "COUNT(*) AS n, COUNT(c.x) AS k"),
    "intervals": emitting("(SELECT *, TIMESTAMP'2020-01-01' + ts * INTERVAL 1 HOUR AS at FROM aseq_events)",
        "SEQ(A a, B b) PARTITION BY user ORDER BY at WITHIN 24 hours MEASURES COUNT(*) AS n"),
    "closures": measures("SEQ(A{1,2} a, B b)", "PARTITION BY user ORDER BY ts WITHIN 15", "AVG(a.x) AS m, AVG(a.d) AS d, SUM(a.d) AS s"),
    "open ends": measures("SEQ(NOT D m, A a, B b, NOT C n)", "PARTITION BY user ORDER BY ts WITHIN 20", "COUNT(*) AS n, SUM(a.x) AS s"),
    "equivalence": measures("SEQ(A a, B b)", "PARTITION BY user ORDER BY ts WHERE [day] AND a.x > -30 WITHIN 40",
        "COUNT(*) AS n, SUM(a.x) AS s, MIN(b.s) AS lo"),
    "classes of all": measures("SEQ(A a, NOT C n, B b)", "ORDER BY ts WHERE [x] AND [day]", "COUNT(*) AS n, AVG(a.f) AS m"),
    "open ends of classes": measures("SEQ(A a, B b, NOT C n)", "PARTITION BY day ORDER BY ts WHERE [user] WITHIN 40", "COUNT(*) AS n"),
}  # fmt: skip
FROM_MATCHES = {
    "comparison": measures("SEQ(A a, B b)", "PARTITION BY user ORDER BY ts WHERE a.x < b.x WITHIN 40", "COUNT(*) AS n"),
}


def test_both_ways(spark: SparkSession) -> None:
    queries = BOTH | FROM_MATCHES
    found = answers_and_types(spark, queries)
    assert {name for name, query in queries.items() if "AggregateSpec" in sparkcep.rewrite(query, spark)} == set(BOTH)
    with setting(spark, "sparkcep.rules.disable", OFF):
        assert answers_and_types(spark, queries) == found
    assert all(found[0].values())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("A a ORDER BY ts MEASURES collect_list(a.x) AS l", "EMIT CHANGES of this measure"),
        ("A a ORDER BY ts MEASURES COUNT(*) AS emit_time", "the result column emit_time"),
        ("A a ORDER BY ts WHERE [day] WITHIN 3 EVENTS MEASURES COUNT(*) AS n", "counts events apart"),
        ("A a PARTITION BY ts AS emit_time ORDER BY ts MEASURES COUNT(*) AS n", "has the name of the result column"),
    ],
)
def test_refusals(spark: SparkSession, body: str, message: str) -> None:
    with pytest.raises(CepError, match=message):
        spark.sql(emitting("aseq_events", body))

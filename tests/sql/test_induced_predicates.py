"""induced_predicates: events that no match can have are not sent; the matches are those that all events give."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import sparkcep
from rewrites.rules import induced_predicates
from rewrites.rules.induced_predicates import NAME
from tests.sql.cases import answers
from tests.sql.test_aseq import setting

pytestmark = pytest.mark.spark

EVENTS = """SELECT id, CAST(id AS INT) AS ts, element_at(array('A', 'B', 'C', 'D'), CAST(pmod(hash(id), 4) AS INT) + 1) AS type, CAST(id % 3 AS INT) AS k,
  IF(id % 13 = 0, NULL, CAST(pmod(hash(id, 1), 100) AS INT)) AS x, CAST(pmod(hash(id, 2), 40) AS INT) AS y,
  CASE id % 17 WHEN 0 THEN DOUBLE('NaN') WHEN 1 THEN -0.0D ELSE pmod(hash(id, 3), 50) * 0.25D END AS f, DATE'2024-01-01' + CAST(pmod(hash(id, 4), 9) AS INT) AS day,
  concat('s', pmod(hash(id, 5), 30)) AS s, IF(id IN (0, 499), 9223372036854775000, id) AS big FROM range({})"""
FORM = "SELECT a.id AS a, b.id AS b FROM bounded MATCH PATTERN ({} ORDER BY ts WHERE {} WITHIN {})"
AB, ABC = "SEQ(A a, B b)", "SEQ(A a, B b, C c)"
APPLIES = {
    "more than selected ones": FORM.format(AB, "a.x > 80 AND b.x > a.x", 30),
    "less, NaN and zeros": FORM.format(AB, "a.f < 3 AND b.f < a.f", 30),
    "the same day": FORM.format(AB, "a.day < DATE'2024-01-04' AND b.day = a.day", 60),
    "text": FORM.format(AB, "a.s > 's5' AND b.s > a.s", 60),
    "a distance": FORM.format(AB, "b.x - a.x > 70", 40),
    "a sum": FORM.format(ABC, "a.x + b.x > c.x + 120", 15),
    "what BIGINT does not hold": FORM.format("SEQ(ANY a, ANY b, ANY c)", "a.big + b.big > c.big + 100", 3),
    "none of one type": FORM.format("SEQ(A a, Z b)", "b.x > a.x + 10", 30),
    "elements": "SELECT a.id AS a, size(b) AS b FROM bounded MATCH PATTERN (SEQ(A a, B+ b, C c) ORDER BY ts WHERE a.x > 70 AND b[i].x > a.x WITHIN 20)",
    "either": "SELECT a.id AS a, b.id AS b, c.id AS c FROM bounded MATCH PATTERN (SEQ(A a, OR(B b, C c)) ORDER BY ts WHERE a.x > 70 AND b.x > a.x AND c.y > a.x WITHIN 15)",
    "a negation": FORM.format("SEQ(A a, NOT C c, B b)", "a.x > 60 AND b.x > a.x AND c.x > a.x", 30),
    "some partitions": """SELECT k, a.id AS a, b.id AS b FROM bounded MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts
        WHERE a.x > 80 AND b.x > a.x WITHIN 60) WHERE k = 1 OR k = 2""",
    "numbers of events": "SELECT a.id AS a, b.id AS b FROM bounded MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE b.x > a.x + 50 WITHIN 9 EVENTS)",
    "a count": "SELECT COUNT(*) AS n, MAX(b.id) AS b FROM bounded MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE a.x > 60 AND b.x > a.x WITHIN 30)",
}
STAYS = {
    "nothing selects": FORM.format(AB, "b.x > a.x", 30),
    "near ones": FORM.format(AB, "b.x < a.x + 5", 30),
    "the next event": FORM.format(AB + " /**/", "a.x > 80 AND b.x > a.x", 30).replace(
        "ORDER BY ts", "ORDER BY ts SKIP TILL NEXT MATCH"
    ),
    "an element before": "SELECT a.id FROM bounded MATCH PATTERN (SEQ(A a, B+ b) ORDER BY ts WHERE a.x > 70 AND b[i].x > b[i-1].x + 50 WITHIN 20)",
    "a negated one": FORM.format("SEQ(A a, NOT C c, B b)", "c.x > 80 AND a.x < c.x", 30),
    "up to a negated one": FORM.format("SEQ(A a, NOT C c, B b)", "a.x > 60 AND b.x BETWEEN a.x AND c.x", 30),
    "up to an element before": """SELECT a.id AS a, size(b) AS b FROM bounded MATCH PATTERN (SEQ(A a, B+ b) ORDER BY ts
        WHERE a.x > 60 AND b[i].x BETWEEN a.x AND b[i-1].x WITHIN 20)""",
    "fractions": FORM.format(AB, "b.f > a.f + 10", 30),
    "rows at random": FORM.format(AB, "b.x > a.x + 50", 30).replace(
        "bounded", "(SELECT * FROM bounded WHERE rand() < 0.5)"
    ),
    "a join": FORM.format(AB, "b.x > a.x + 50", 30).replace(
        "bounded", "(SELECT * FROM bounded JOIN (SELECT DISTINCT k FROM bounded) USING (k))"
    ),
    "the table's name": FORM.format(AB, "b.x > a.x + 50", 30).replace("ORDER BY ts", "ORDER BY bounded.ts"),
}


@pytest.fixture(scope="module", autouse=True)
def bounded(spark: SparkSession) -> Iterator[None]:
    spark.sql(EVENTS.format(500)).createOrReplaceTempView("bounded")
    least, induced_predicates.LEAST_BYTES = induced_predicates.LEAST_BYTES, 0
    yield
    induced_predicates.LEAST_BYTES = least
    spark.catalog.dropTempView("bounded")


def applies(spark: SparkSession, query: str) -> bool:
    return "__cep_b0" in sparkcep.rewrite(query, spark)


def test_the_same_matches(spark: SparkSession) -> None:
    assert [name for name, query in APPLIES.items() if not applies(spark, query)] == []
    found = answers(spark, APPLIES)
    with setting(spark, "sparkcep.rules.disable", NAME):
        assert not any(applies(spark, query) for query in APPLIES.values())
        assert answers(spark, APPLIES) == found
    assert [name for name, rows in found.items() if not rows] == ["none of one type"]


def test_explained(spark: SparkSession) -> None:
    lines = [row[0] for row in spark.sql(f"EXPLAIN PATTERN {APPLIES['a sum']}").collect()]
    assert any("a, b, c: Spark, on each event, by the least and greatest of the others" in line for line in lines)


@pytest.mark.parametrize("name", STAYS)
def test_where_it_does_not_apply(spark: SparkSession, name: str) -> None:
    assert not applies(spark, STAYS[name])


def test_without_ansi(spark: SparkSession) -> None:
    """Sums that wrap around are no bounds; values as they are still bound."""
    with setting(spark, "spark.sql.ansi.enabled", "false"):
        assert not applies(spark, APPLIES["a sum"])
        assert applies(spark, APPLIES["more than selected ones"])


def test_a_small_input_is_read_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(induced_predicates, "LEAST_BYTES", 4 << 20)
    assert not applies(spark, APPLIES["a sum"] + " ")

"""WHERE on PARTITION BY columns reaches the input: where it does, where it must not, and the answer stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import sparkcep
from tests.sql.cases import assert_rows

EVENT = "MATCH PATTERN (SEQ(A a, B b) PARTITION BY user, day ORDER BY ts)"
ROW = "MATCH_RECOGNIZE (PARTITION BY user, day ORDER BY ts MEASURES LAST(x) AS last_x ALL ROWS PER MATCH PATTERN (s e))"
READ = {
    "event": (f"SELECT user, a.x FROM visits {EVENT} WHERE user = 'u1' AND a.x > 1", ["(user) = 'u1'"]),
    "row": (f"SELECT user, last_x FROM visits {ROW} v WHERE v.user IN ('u1', 'u3') AND last_x > 0", ["(user) IN ('u1', 'u3')"]),
    "aggregate": (f"SELECT user, COUNT(*) FROM visits {EVENT} WHERE day >= '2024-01-02' GROUP BY user", ["(day) >= '2024-01-02'"]),
    "not in": (f"SELECT b.x FROM visits {EVENT} WHERE (user NOT IN ('u1') AND NOT user LIKE '%3')", ["(user) NOT IN ('u1')", "NOT (user) LIKE '%3'"]),
    "either": (f"SELECT b.x FROM visits {EVENT} WHERE user = 'u1' OR day = DATE '2024-01-02'", ["(user) = 'u1' OR (day) = DATE '2024-01-02'"]),
    "null": (f"SELECT b.x FROM visits {EVENT} WHERE user IS NOT NULL AND day BETWEEN '2024-01-01' AND '2024-01-02'", ["(user) IS NOT NULL", "(day) BETWEEN '2024-01-01' AND '2024-01-02'"]),
    "null safe": (f"SELECT b.x FROM visits {EVENT} WHERE (user <=> NULL)", ["(user) <=> NULL"]),
    "joined": (f"SELECT m.b.x FROM visits {EVENT} m JOIN visits o ON m.user = o.user AND o.x = m.a.x WHERE m.user = 'u1' AND o.user = 'u1'", ["(user) = 'u1'"]),
}  # fmt: skip
NOT_READ = {
    "another column": f"SELECT b.x FROM visits {EVENT} WHERE match_end > 3 AND a.user = 'u1'",
    "a cast that may fail": f"SELECT b.x FROM visits {EVENT} WHERE try_cast(user AS INT) = 7",
    "a function": f"SELECT b.x FROM visits {EVENT} WHERE upper(user) = 'U1'",
    "two columns": f"SELECT b.x FROM visits {EVENT} WHERE user < CAST(day AS STRING)",
    "outside": f"SELECT n FROM (SELECT user AS u, b.x AS n FROM visits {EVENT}) WHERE u = 'u1'",
    "whose": f"SELECT m.b.x FROM visits {EVENT} m JOIN (SELECT 'u1' AS other) o WHERE other = 'u1'",
    "strict contiguity": f"SELECT b.x FROM visits {EVENT[:-1]} STRICT CONTIGUITY) WHERE user = 'u1'",
}


@pytest.fixture(scope="module")
def visits(spark: SparkSession) -> Iterator[SparkSession]:
    session = spark.newSession()
    rows = [(u, f"2024-01-0{d}", t, "AABB"[(t + d) % 4], t) for u in ("u1", "u2", "u3", None) for d in (1, 2, 3) for t in range(6)]  # fmt: skip
    frame = session.createDataFrame(rows, "user STRING, day STRING, ts INT, type STRING, x INT")
    frame.selectExpr("user", "CAST(day AS DATE) AS day", "ts", "type", "x").createOrReplaceTempView("visits")
    yield session


@pytest.mark.parametrize(("query", "read"), READ.values(), ids=READ)
def test_the_input_is_filtered(visits: SparkSession, query: str, read: list[str]) -> None:
    rewritten = sparkcep.rewrite(query, visits)
    assert [test for test in read if test not in rewritten] == []
    filtered = visits.sql(query).collect()
    visits.conf.set("sparkcep.rules.disable", "key_filters")
    try:
        whole = visits.sql(query).collect()
    finally:
        visits.conf.unset("sparkcep.rules.disable")
    assert whole
    assert_rows(filtered, whole)


@pytest.mark.parametrize("query", [query for name, query in NOT_READ.items()], ids=NOT_READ)
def test_the_input_stays_whole(visits: SparkSession, query: str) -> None:
    explained = visits.sql(f"EXPLAIN PATTERN {query}").collect()
    assert not any("the others are not read" in row[0] for row in explained)


def test_other_partitions_are_not_read(visits: SparkSession) -> None:
    """A row of another partition that would end the query is not met."""
    rows = "(SELECT *, IF(user = 'u2', raise_error('read'), x) AS y FROM visits)"
    query = f"SELECT b.x FROM {rows} {EVENT[:-1]} WHERE a.y < b.y) WHERE user = 'u1'"
    assert visits.sql(query).collect()
    explained = visits.sql(f"EXPLAIN PATTERN {query}").collect()
    assert any("only where (user) = 'u1': the others are not read" in row[0] for row in explained)

"""keys_in_order: the rows that a window function would number, without it; where it does not apply the window stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import sparkcep
from rewrites.rules.keys_in_order import NAME
from tests.sql.cases import answers
from tests.sql.test_aseq import setting

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("adaptive")]

EVENTS = """SELECT IF(id % 11 = 0, NULL, concat('u', id % 7)) AS user, CAST(id % 3 AS INT) AS k, DATE'2024-01-01' + CAST(id % 2 AS INT) AS day,
  id % 5 * 0.5D AS f, element_at(array('A', 'B', 'C', 'D'), CAST(pmod(hash(id), 4) AS INT) + 1) AS type, CAST(id DIV 2 AS INT) AS ts,
  CAST(pmod(hash(id, 1), 100) AS INT) AS x FROM range({})"""
APPLIES = {
    "keys": "SELECT user, k, a.ts AS s, b.ts AS e FROM keyed MATCH PATTERN (SEQ(A a, B b) PARTITION BY user, k ORDER BY ts WHERE a.x < b.x WITHIN 40)",
    "a date": "SELECT day, match_start, match_end FROM keyed MATCH PATTERN (SEQ(A a, NOT C c, B b) PARTITION BY day ORDER BY ts WITHIN 20)",
    "an expression": "SELECT u, a.ts AS s FROM keyed MATCH PATTERN (SEQ(A a, D d) PARTITION BY upper(user) AS u ORDER BY ts WITHIN 30)",
    "an attribute": "SELECT a.ts AS s, b.ts AS e FROM keyed MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WHERE [user] AND a.x < b.x WITHIN 40)",
    "a count": "SELECT user, COUNT(*) AS n, SUM(a.x) AS s FROM keyed MATCH PATTERN (SEQ(A a, NOT C c, B b) PARTITION BY user ORDER BY ts WITHIN 30) GROUP BY user",
    "the next match": """SELECT k, a.ts AS s, size(b) AS n FROM keyed MATCH PATTERN (SEQ(A a, ANY+ b, D d) PARTITION BY k, user ORDER BY ts
        SKIP TILL NEXT MATCH WHERE b[i].x > b[i-1].x WITHIN 60)""",
    "no key": "SELECT a.ts AS s, b.ts AS e FROM keyed MATCH PATTERN (SEQ(A a, B b) ORDER BY ts SKIP TILL NEXT MATCH WHERE a.x < b.x WITHIN 5)",
    "a count over all": "SELECT COUNT(*) AS n, SUM(a.x) AS s FROM (SELECT * FROM keyed WHERE x > 20) MATCH PATTERN (/*+ CEP_SHARDING(off) */ SEQ(A a, B b) ORDER BY ts WITHIN 9)",
    "a timestamp": """SELECT a.ts AS s, b.t AS e FROM (SELECT *, TIMESTAMP'2024-01-01' + make_dt_interval(0, ts) AS t FROM keyed)
        MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY t WHERE a.x < b.x WITHIN 40 HOURS)""",
    "an automaton": """SELECT * FROM keyed MATCH AUTOMATON (PARTITION BY user, k ORDER BY ts REGISTERS (r INT) START s FINAL f
        ARC s -> m WHEN type = 'A' SET r = x ARC m -> f WHEN x > r AND type = 'B' WITHIN 30)""",
    "an automaton over all": """SELECT * FROM keyed MATCH AUTOMATON (ORDER BY ts START s FINAL f ARC s -> m WHEN x < 5 ARC m -> f WHEN x > 90)""",
    "rows": """SELECT * FROM keyed MATCH_RECOGNIZE (PARTITION BY user, k ORDER BY ts, x DESC MEASURES MATCH_NUMBER() AS n, LAST(x) AS l
        ALL ROWS PER MATCH PATTERN (a b+) DEFINE b AS x > 9 AND b.x > a.x)""",
    "rows over all": """SELECT * FROM keyed MATCH_RECOGNIZE (ORDER BY ts, x MEASURES FIRST(ts) AS s, COUNT(*) AS n
        PATTERN (a b+) DEFINE b AS x > PREV(x) OR type = 'D')""",
    "nothing but the order": "SELECT * FROM keyed MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a+))",
}
STAYS = {
    "DOUBLE": "SELECT f FROM keyed MATCH PATTERN (SEQ(A a, B b) PARTITION BY f ORDER BY ts WITHIN 20)",
    "a collation": "SELECT c FROM (SELECT *, user COLLATE UTF8_LCASE AS c FROM keyed) MATCH PATTERN (SEQ(A a, B b) PARTITION BY c ORDER BY ts WITHIN 20)",
    "ranks": "SELECT k FROM keyed MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 9 EVENTS)",
    "neighbours": "SELECT k FROM keyed MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts PARTITION CONTIGUITY WITHIN 20)",
    "an order by texts": "SELECT * FROM keyed MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, user MEASURES 1 AS o PATTERN (a))",
    "an order by an expression": "SELECT * FROM keyed MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts + 0 MEASURES 1 AS o PATTERN (a))",
    "a window": "SELECT COUNT(*) OVER w AS n FROM keyed WINDOW w AS (PARTITION BY k ORDER BY ts ROWS BETWEEN CURRENT ROW AND 9 FOLLOWING PATTERN (a b) DEFINE b AS x > 9)",
    "a function that workers lack": """SELECT * FROM keyed MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES 1 AS o PATTERN (a)
        DEFINE a AS user LIKE PREV(user) || '%')""",
    "rows in partitions": "SELECT k FROM (SELECT k, type, ts FROM keyed GROUP BY ALL) MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 20)",
}


@pytest.fixture(scope="module", autouse=True)
def keyed(spark: SparkSession) -> Iterator[None]:
    spark.sql(EVENTS.format(400)).createOrReplaceTempView("keyed")
    yield
    spark.catalog.dropTempView("keyed")


def test_the_same_matches(spark: SparkSession) -> None:
    """Without the window; in batches of some rows too, as partitions then span them."""
    assert not any("ROW_NUMBER" in sparkcep.rewrite(query, spark) for query in APPLIES.values())
    explained = [row[0] for row in spark.sql(f"EXPLAIN PATTERN {APPLIES['keys']}").collect()]
    assert any(line.startswith("keys ") for line in explained)
    with setting(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", "3"):
        found = answers(spark, APPLIES)
    with setting(spark, "sparkcep.rules.disable", NAME):
        assert all("ROW_NUMBER" in sparkcep.rewrite(query, spark) for query in APPLIES.values())
        assert answers(spark, APPLIES) == found
    assert all(found.values())


@pytest.mark.parametrize("name", STAYS)
def test_what_needs_the_window_has_it(spark: SparkSession, name: str) -> None:
    assert "ROW_NUMBER" in sparkcep.rewrite(STAYS[name], spark)


def test_without_hints(spark: SparkSession) -> None:
    """What a partition or a shard needs is in one task where a setting lets Spark ignore hints."""
    line = "SELECT a.ts AS s, b.ts AS e FROM keyed MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE a.x < b.x WITHIN 5)"
    queries = {"line": line, **APPLIES}
    found = answers(spark, queries)
    assert "REPARTITION" in sparkcep.rewrite(line, spark)
    with setting(spark, "spark.sql.optimizer.disableHints", "true"):
        assert answers(spark, queries) == found
        assert "REPARTITION" not in sparkcep.rewrite(line, spark)


def test_a_view_keeps_its_hints(spark: SparkSession) -> None:
    """It is read with the settings that it was made with, whatever the session has by then."""
    line = (
        "SELECT a.ts AS s, b.ts AS e FROM scattered MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE a.x < b.x WITHIN 5)"
    )
    spark.sql(f"CREATE TABLE scattered USING parquet AS SELECT * FROM ({EVENTS.format(4000)}) DISTRIBUTE BY hash(ts)")
    assert "REPARTITION" in sparkcep.rewrite(line, spark)
    spark.sql(f"CREATE VIEW pairs AS {line}")
    found = answers(spark, {"pairs": "SELECT * FROM pairs"})
    assert found == answers(spark, {"pairs": line})
    with setting(spark, "spark.sql.optimizer.disableHints", "true"):
        assert answers(spark, {"pairs": "SELECT * FROM pairs"}) == found
    spark.sql("DROP VIEW pairs")
    spark.sql("DROP TABLE scattered")


def test_what_an_input_tells(spark: SparkSession) -> None:
    """Any rows that come as they are read; not those that a cache or buckets hold distributed by the keys."""
    query = "SELECT k, a.ts AS s, b.ts AS e FROM {} MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WHERE a.x < b.x WITHIN 40)"
    found = answers(spark, {"": query.format("keyed")})[""]
    rows = spark.table("keyed").collect()
    spark.createDataFrame(rows).createOrReplaceTempView("local_rows")
    spark.createDataFrame(spark.sparkContext.parallelize(rows)).createOrReplaceTempView("rdd_rows")
    listed = (
        "SELECT type, one.* FROM (SELECT type, ARRAY(STRUCT(k, ts, x)) AS l FROM keyed) LATERAL VIEW EXPLODE(l) AS one"
    )
    spark.sql(listed).createOrReplaceTempView("listed")
    spark.sql("CACHE TABLE kept AS SELECT * FROM keyed")
    spark.sql("CACHE TABLE placed AS SELECT * FROM keyed DISTRIBUTE BY k SORT BY k, ts")
    spark.sql("CREATE TABLE written USING csv AS SELECT k, type, ts, x FROM keyed")
    spark.sql("CREATE TABLE bucketed USING parquet CLUSTERED BY (k) INTO 3 BUCKETS AS SELECT * FROM keyed")
    try:
        for name in ("local_rows", "rdd_rows", "listed", "kept", "written"):
            assert "ROW_NUMBER" not in sparkcep.rewrite(query.format(name), spark), name
            assert answers(spark, {"": query.format(name)})[""] == found, name
        for name in ("placed", "bucketed"):
            assert "ROW_NUMBER" in sparkcep.rewrite(query.format(name), spark), name
            assert answers(spark, {"": query.format(name)})[""] == found, name
    finally:
        for name in ("written", "bucketed", "kept", "placed"):
            spark.sql(f"{'UNCACHE' if name in ('kept', 'placed') else 'DROP'} TABLE {name}")


def test_a_view_leaves_the_number_of_tasks_to_spark(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE growing USING parquet AS {EVENTS.format(400)}")
    query = "SELECT k, a.ts AS s FROM growing MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 40)"
    spark.sql(f"CREATE TEMPORARY VIEW passing AS {query}")
    assert "REPARTITION_BY_NUM" not in spark.table("passing")._jdf.queryExecution().toString()
    assert "REPARTITION_BY_NUM" in spark.sql(query)._jdf.queryExecution().toString()
    spark.catalog.dropTempView("passing")
    spark.sql(f"CREATE VIEW grown AS {query}")
    text = spark.sql("SHOW CREATE TABLE grown").collect()[0][0]
    assert "DISTRIBUTE BY" in text and "REPARTITION" not in text
    assert "REPARTITION" in sparkcep.rewrite(query, spark)
    assert answers(spark, {"": "SELECT * FROM grown"}) == answers(spark, {"": query})
    spark.sql("DROP VIEW grown")
    spark.sql("DROP TABLE growing")

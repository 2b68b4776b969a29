"""Both clauses through Spark Connect; asserts what it sees and prints ``connect ok``."""

from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepAnalysisError, CepUnsupportedError

spark = (
    SparkSession.builder.remote("local[2]")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
assert sparkcep.install(spark) is spark
sparkcep.install(spark)
spark.sql(
    "CREATE OR REPLACE TEMP VIEW t AS SELECT * FROM VALUES ('A', 1, 5), ('B', 2, 7), ('A', 3, 6), ('B', 4, 9) AS t(type, ts, x)"
).collect()


def rows(sql: str, *args: object, **values: object) -> list:
    return sorted(tuple(row) for row in spark.sql(sql, *args, **values).collect())


ROW = "MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS t PATTERN (a b) DEFINE b AS x > PREV(x) + {})"
EVENT = "MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WHERE b.x - a.x > {} WITHIN {})"
assert rows(f"SELECT * FROM t {ROW.format(0)}") == [(2,), (4,)]
assert rows(f"SELECT a.ts, b.ts FROM t {EVENT.format(2, 9)}") == [(1, 4), (3, 4)]
assert rows(f"SELECT ?, m.t FROM t {ROW.format('?')} m", ["out", 2]) == [("out", 4)]
assert rows(f"SELECT :o, a.ts FROM t {EVENT.format(':d', ':w')}", {"o": "out", "d": 2, "w": 3}) == [("out", 3)]
assert rows(f"SELECT COUNT(*) FROM t {EVENT.format(2, 9)}") == [(2,)]
COUNT = "aseq_count(ts, type, 'SEQ(A, B)', {})"
assert rows(f"SELECT {COUNT.format(9)}, SUM(x) FROM t") == [(3, 27)]
assert rows(f"SELECT DISTINCT {COUNT.format('NULL')} OVER (PARTITION BY 1) FROM t") == [(3,)]
summed = "aseq_sum(ts, type, 'SEQ(A, B)', NULL, IF(type = 'A', x, NULL)), aseq_max(ts, type, 'A', NULL, x)"
assert rows(f"SELECT {summed} FROM t WHERE ts < 5") == [(16, 6)]
NEXT = "MATCH PATTERN (SEQ(A+ a, B b) ORDER BY ts SKIP TILL NEXT MATCH {} MATCHES) AS m"
every = [([1], 2), ([1, 3], 4), ([3], 4)]
assert rows(f"SELECT a.ts, b.ts FROM t {NEXT.format('ALL')}") == every
assert rows(f"SELECT x.a.ts, x.b.ts FROM t {NEXT.format('COMPRESSED')}, LATERAL cep_expand(m.buffer) AS x") == every
spark.sql(f"CREATE OR REPLACE TEMP VIEW found AS SELECT * FROM t {ROW.format(0)}").collect()
assert rows("SELECT t FROM found WHERE t > 2") == [(4,)]
assert rows("SELECT 1") == [(1,)]

frame = spark.table("t").where("ts > 1")
assert rows("SELECT * FROM {df} " + ROW.format("{more}"), None, df=frame, more=0) == [(4,)]
found = sparkcep.match_recognize(frame, "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a{2} b)")
pairs = sparkcep.match(frame, "SEQ(A a, B b) ORDER BY ts WHERE b.x > :x", {"x": 6})
spark.sql("DROP VIEW t").collect()
spark.sql(
    "CREATE TEMP VIEW t AS SELECT * FROM VALUES ('A', 1, 5), ('B', 2, 7), ('A', 3, 6), ('B', 4, 9) AS t(type, ts, x)"
).collect()
assert [tuple(row) for row in found.collect()] == [(3,)]
assert [tuple(row) for row in found.where("n > 1").collect()] == [(3,)]
assert [tuple(row) for row in pairs.select("a.ts", "b.ts").collect()] == [(3, 4)]

for sql, kind in (
    (f"SELECT * FROM t {ROW.format('nope.x')}", CepAnalysisError),
    ("SELECT * FROM t MATCH PATTERN (SEQ(A a) ORDER BY ts DESC)", CepAnalysisError),
    ("SELECT * FROM t MATCH PATTERN (SEQ(A a, B b) ORDER BY ts COMPRESSED MATCHES)", CepUnsupportedError),
    ("SELECT * FROM t MATCH AUTOMATON (START s FINAL s)", CepUnsupportedError),
):
    try:
        spark.sql(sql).collect()
    except kind as error:
        assert str(error)
    else:
        raise AssertionError(sql)
sparkcep.uninstall(spark)
try:
    spark.sql(f"SELECT * FROM t {ROW.format(0)}").collect()
except Exception as error:
    assert type(error).__name__ == "ParseException", error
print("connect ok")
spark.stop()

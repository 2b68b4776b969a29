"""Both clauses through Spark Connect; asserts what it sees and prints ``connect ok``."""

import datetime
import tempfile

import pandas
from IPython.core.interactiveshell import InteractiveShell
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf

import sparkcep
import sparkcep.notebook.magic as magics
from sparkcep.errors import CepAnalysisError, CepSyntaxError, CepUnsupportedError
from sparkcep.progress import Progress, follow, following
from sparkcep.streaming.monitor import StreamMonitor
from sparkcep.streaming.state_store import PROVIDER, ROCKSDB
from tests.spark_setup import SETTINGS

folder = tempfile.mkdtemp()
settings = SETTINGS | {"spark.connect.progress.reportInterval": "20ms", "spark.python.daemon.module": "sparkcep.daemon"}
spark = SparkSession.builder.remote("local[2]").config(map=settings).getOrCreate()
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
dated = "(SELECT DATE'2024-01-31' + CAST(ts AS INT) * 10 AS d, * FROM t WHERE ts < 5)"
monthly = "aseq_count(d, type, 'SEQ(A, B)', INTERVAL '0-1' YEAR TO MONTH) FILTER (WHERE {})"
assert rows(f"SELECT {monthly.format('true')}, {monthly.format('ts <> 3')} FROM {dated}") == [(2, 1)]
NEXT = "MATCH PATTERN (SEQ(A+ a, B b) ORDER BY ts SKIP TILL NEXT MATCH {} MATCHES) AS m"
every = [([1], 2), ([1, 3], 4), ([3], 4)]
assert rows(f"SELECT a.ts, b.ts FROM t {NEXT.format('ALL')}") == every
assert rows(f"SELECT x.a.ts, x.b.ts FROM t {NEXT.format('COMPRESSED')}, LATERAL cep_expand(m.buffer) AS x") == every
LOOP = "MATCH PATTERN (SEQ(A a, B b)+ r ORDER BY ts WHERE b.x > a.x)"
assert rows(f"SELECT match_start, size(r) FROM t {LOOP}") == [(1, 1), (1, 1), (1, 2), (3, 1)]
outer = f"(SELECT 'B' AS type) AS o, LATERAL (SELECT * FROM t {ROW.format(0)} AS r WHERE o.type = 'B')"
assert rows(f"SELECT * FROM {outer}") == [("B", 2), ("B", 4)]
spark.sql(f"CREATE OR REPLACE TEMP VIEW found AS SELECT * FROM t {ROW.format(0)}").collect()
assert rows("SELECT t FROM found WHERE t > 2") == [(4,)]
assert rows("SELECT 1") == [(1,)]
follow.AFTER, looks = 0.0, list[Progress | None]()
with following(spark, looks.append):
    many = "(SELECT id AS ts, id % 9 AS k, IF(id % 2 = 0, 'A', 'B') AS type FROM range(0, 90000, 1, 4))"
    assert rows(f"SELECT COUNT(*) FROM {many} MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 10)") == [
        (44996,)
    ]
assert looks[-1] is None and all(look.tasks for look in looks[:-1])
AUTOMATON = (
    "ORDER BY ts REGISTERS (top INT) START s FINAL f ARC s -> m WHEN type = 'A' SET top = x ARC m -> f WHEN x > top"
)
assert rows(f"SELECT match_start, match_end, top FROM t MATCH AUTOMATON ({AUTOMATON})") == [(1, 2, 5), (3, 4, 6)]
FRAME = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (a b) DEFINE b AS x > PREV(x)"
windowed = rows(f"SELECT ts, n OVER w FROM t WINDOW w AS (ORDER BY ts MEASURES COUNT(*) AS n {FRAME})")
assert windowed == [(1, 2), (2, None), (3, 2), (4, None)]


@pandas_udf("string")
def path(values: pandas.Series) -> str:
    """A grouped aggregate."""
    return "-".join(map(str, values))


spark.udf.register("path", path)
assert rows(f"SELECT * FROM t {ROW.format(0).replace('LAST(ts) AS t', 'path(x) AS p, path(b.ts) AS b')}") == [
    ("5-7", "2"),
    ("6-9", "4"),
]

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


assert rows("SHOW PATTERNS") == []
spark.sql("CREATE PATTERN pairs AS (SEQ(A a, B b) ORDER BY ts WHERE b.x > :least) COMMENT 'of A and B'")
spark.sql("CREATE PATTERN IF NOT EXISTS pairs AS (A a)")
spark.sql("CREATE PATTERN first AS (A a)")
assert [tuple(row)[:2] for row in spark.sql("SHOW PATTERNS").collect()] == [
    ("first", "MATCH PATTERN"),
    ("pairs", "MATCH PATTERN"),
]
assert rows("SELECT a.ts, b.ts FROM t MATCH PATTERN pairs AS m", {"least": 8}) == [(1, 4), (3, 4)]
assert rows("SELECT a.ts, b.ts FROM t MATCH PATTERN (SEQ(PATTERN first, B b) ORDER BY ts WITHIN 2)") == [(1, 2), (3, 4)]
spark.sql(
    "ALTER PATTERN pairs REPLACE AS (SEQ(A a, B b) ORDER BY ts WITHIN 2) EFFECTIVE FROM ?",
    [datetime.datetime(2020, 1, 1)],
)
assert rows("SELECT a.ts, b.ts FROM t MATCH PATTERN pairs") == [(1, 2), (3, 4)]
assert ("Body", "SEQ(A a, B b) ORDER BY ts WITHIN 2") in rows("DESCRIBE PATTERN pairs")
spark.sql("DROP PATTERN pairs")
assert len(rows("SHOW PATTERNS")) == 1


def lines(sql: str) -> list[str]:
    return [row.plan for row in spark.sql(sql).collect()]


pairs_query = f"SELECT a.ts FROM t {EVENT.format(2, 9)}"
assert "pattern       SEQ(A a, B b), SKIP TILL ANY MATCH" in lines(f"EXPLAIN PATTERN {pairs_query}")
assert "pattern       a b" in lines(f"EXPLAIN PATTERN SELECT * FROM t {ROW.format(0)}")
spark.conf.set("sparkcep.explain.rows", "3")
assert any("in the first 3 rows: b 1, a 2" in line for line in lines(f"EXPLAIN PATTERN {pairs_query}"))
counted = lines(f"EXPLAIN ANALYZE PATTERN SELECT * FROM t {ROW.format(0)}")
assert "engine input  4 rows in 1 partitions" in counted, counted
assert counted[-1] == "matches       2", counted
assert str(sparkcep.explain_analyze(f"SELECT * FROM t {ROW.format(0)}")).splitlines() == counted
explained = sparkcep.explain(pairs_query)
assert "SKIP TILL ANY MATCH" in str(explained)
assert "<figure" in explained._repr_html_()

shown: list[object] = []
magics.display = shown.append
shell = InteractiveShell.instance()
shell.user_ns["spark"] = spark
shell.run_line_magic("load_ext", "sparkcep")
for arguments in ("--explain", "--analyze", "--plot found"):
    shell.run_cell_magic("sql", arguments, pairs_query)
automaton, report, result, plot = shown
assert "<figure" in automaton._repr_html_()
assert str(report).endswith("matches       2")
assert str(result).startswith("2 rows, ")
assert str(plot) == "time line of 2 matches"
assert plot._repr_png_().startswith(b"\x89PNG")
assert sorted(row.ts for row in shell.user_ns["found"].collect()) == [1, 3]

spark.readStream.format("rate").load().createOrReplaceTempView("rates")
spark.sql("CREATE TABLE clicks (k STRING, type STRING, at TIMESTAMP) USING parquet")
spark.sql("""INSERT INTO clicks SELECT id % 3, if(id % 2 = 0, 'A', 'B'), TIMESTAMP '2026-01-01 00:00:00' + make_dt_interval(0, 0, 0, id)
    FROM range(60)""")
spark.sql("INSERT INTO clicks VALUES ('0', 'Z', TIMESTAMP '2026-01-01 01:00:00')")
MATCHES = "SELECT k, a.at AS since, b.at AS until FROM {} MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY at WITHIN INTERVAL 4 SECONDS)"
spark.sql("CREATE TEMP VIEW moving AS SELECT * FROM STREAM clicks WATERMARK at DELAY OF INTERVAL 1 SECOND")
try:
    spark.sql(MATCHES.format("moving"))
except CepAnalysisError as error:
    assert error.code == "CEP_ANALYSIS_STREAM_STATE_STORE", error
else:
    raise AssertionError("a state store without timers")
spark.conf.set(PROVIDER, ROCKSDB)
spark.conf.set("sparkcep.stream.buckets", "1")
STREAM = "clicks WATERMARK at DELAY OF INTERVAL 1 SECOND"
direct = spark.sql(MATCHES.format(f"STREAM {STREAM}").replace("4 SECONDS", ":w SECONDS"), {"w": 4})
assert direct.isStreaming
spark.sql(f"CREATE OR REPLACE TEMP VIEW pairs AS {MATCHES.format('moving')}")
wanted = rows(MATCHES.format("clicks"))
assert len(wanted) > 20, wanted
direct.createOrReplaceTempView("frames")
for name, matches in {"read": spark.readStream.table("frames"), "table": spark.table("pairs")}.items():
    query = matches.writeStream.format("memory").queryName(name).option("checkpointLocation", f"{folder}/{name}")
    query = query.trigger(availableNow=True).start()
    query.awaitTermination()
    assert rows(f"SELECT * FROM {name}") == wanted, name
batches = StreamMonitor(query).batches()
assert (sum(one.events for one in batches), sum(one.matches for one in batches)) == (61, len(wanted)), batches
assert any("keeps events until" in line for line in lines(f"EXPLAIN PATTERN {MATCHES.format('moving')}"))
DEFINED = "SELECT * FROM (SELECT *, CAST(x AS DECIMAL(10, 2)) AS p FROM t WHERE ts < 5) MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS t PATTERN (a b) DEFINE b AS {})"
for condition, ends in {
    "array_join(array_agg(CLASSIFIER()), '') = 'ab'": [2, 4],
    "p / a.p > 1.45": [4],
    "ROUND(p / a.p, 1) + COALESCE(LAST(b.x, 1), 1) > 2.4": [4],
    "LOWER(type || a.type) = 'ba' AND x % a.x <= 3": [2, 4],
}.items():
    assert rows(DEFINED.format(condition)) == [(end,) for end in ends], condition
BETWEEN = "MATCH PATTERN (SEQ(A a, B b) ORDER BY ts {} WHERE CASE WHEN b.x > a.x THEN CAST(b.x AS DECIMAL(5, 0)) / a.x END > 1.45)"
assert rows(f"SELECT a.ts, b.ts FROM t {BETWEEN.format('SKIP TILL NEXT MATCH')}") == [(1, 4), (3, 4)]
assert rows(f"SELECT a.ts, b.ts FROM t {BETWEEN.format('')}") == [(1, 4), (3, 4)]
for sql, kind in (
    (f"SELECT * FROM t {ROW.format('nope.x')}", CepAnalysisError),
    ("SELECT * FROM t MATCH PATTERN (SEQ(A a) ORDER BY ts DESC)", CepAnalysisError),
    ("SELECT * FROM t MATCH PATTERN (SEQ(A a, NOT SEQ(NOT A c, A d), B b) ORDER BY ts)", CepUnsupportedError),
    ("SELECT * FROM t MATCH PATTERN pairs", CepAnalysisError),
    ("SELECT * FROM t MATCH AUTOMATON (START s FINAL s)", CepSyntaxError),
    (DEFINED.format("EXISTS(array_agg(x), e -> e > 6)"), CepUnsupportedError),
    ("SELECT * FROM rates MATCH_RECOGNIZE (ORDER BY timestamp PATTERN (a b))", CepAnalysisError),
    (f"CREATE VIEW lasting AS {MATCHES.format('moving')}", CepUnsupportedError),
    (f"EXECUTE IMMEDIATE 'SELECT * FROM t {ROW.format(0)}'", CepUnsupportedError),
    (f"CREATE OR REPLACE VIEW lasting AS SELECT * FROM t {ROW.format(0)}", CepUnsupportedError),
    (f"CREATE GLOBAL TEMPORARY VIEW lasting AS SELECT * FROM t {ROW.format(0)}", CepUnsupportedError),
    (f"CREATE VIEW lasting AS SELECT {COUNT.format(9)} AS n FROM t", CepUnsupportedError),
):
    try:
        spark.sql(sql).collect()
    except kind as error:
        assert str(error)
    else:
        raise AssertionError(sql)
months = "(SELECT *, MAKE_YM_INTERVAL(0, x) AS m FROM t)"
try:
    rows(f"SELECT x.a.ts FROM {months} {NEXT.format('COMPRESSED')}, LATERAL cep_expand(m.buffer) AS x")
except Exception as error:
    assert "[CEP_UNSUPPORTED_CONNECT] cep_expand over Spark Connect" in str(error), error
else:
    raise AssertionError("months for Python")
sparkcep.uninstall(spark)
try:
    spark.sql(f"SELECT * FROM t {ROW.format(0)}").collect()
except Exception as error:
    assert type(error).__name__ == "ParseException", error
print("connect ok")
spark.stop()

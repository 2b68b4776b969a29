"""install, uninstall and install again on a session that was there before sparkcep; prints one JSON line of what was seen."""

import json

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

import sparkcep

CLAUSE = (
    "SELECT * FROM VALUES (1, 5), (2, 3) AS t(ts, x) MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(x) AS x PATTERN (a b))"
)
WRONG = "SELECT (1 FROM"


def rows(session: SparkSession, sql: str = CLAUSE) -> list:
    return [tuple(row) for row in session.sql(sql).collect()]


def refusal(session: SparkSession, sql: str) -> list[str]:
    try:
        session.sql(sql).collect()
    except Exception as error:
        return [type(error).__name__, str(error).split("\n\nJVM")[0]]
    return ["none", ""]


builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
spark = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
seen = {"before": refusal(spark, WRONG), "before_clause": refusal(spark, CLAUSE)[0]}
older = spark.newSession()
older.sql("SELECT 1").collect()

assert sparkcep.install(spark) is spark
assert sparkcep.install(spark) is spark
seen["installed"] = rows(spark)
seen["error"] = refusal(spark, WRONG)
seen["ordinary"] = rows(spark, "SELECT 1 AS one")
seen["older_session"] = refusal(older, CLAUSE)[0]
seen["older_session_installed"] = rows(sparkcep.install(older))
younger = spark.newSession()
seen["new_session"] = rows(younger)
seen["new_session_again"] = rows(sparkcep.install(spark.newSession()))

sparkcep.uninstall(spark)
seen["uninstalled"] = refusal(spark, CLAUSE)[0]
seen["uninstalled_ordinary"] = rows(spark, "SELECT 1 AS one")
seen["new_after_uninstall"] = refusal(spark.newSession(), CLAUSE)[0]
seen["younger_stays"] = rows(younger)
sparkcep.install(spark)
seen["again"] = rows(spark)
seen["new_again"] = rows(spark.newSession())
assert issubclass(ParseException, Exception)
print(json.dumps(seen))
spark.stop()

second = builder.getOrCreate()
print(json.dumps({"after_stop": refusal(second, CLAUSE)[0], "second_context": rows(sparkcep.install(second))}))
second.stop()

"""``metastore.py make|read DIRECTORY``: permanent views over clauses, and named patterns, in a Hive metastore: made in one process, read in another.

Prints two JSON lines of what was seen: of the views, and of the patterns, which ``read`` also changes and drops.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepAnalysisError

EVENTS = "SELECT * FROM VALUES ('A', 1, 1.5BD), ('B', 2, 2.5BD), ('A', 3, 0.5BD), ('B', 4, 0.5BD) AS t(type, ts, x)"
MADE = (
    f"CREATE TABLE events USING parquet AS {EVENTS} WHERE ts < 4",
    """CREATE VIEW falls AS SELECT s, p FROM events
        MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(ts) AS s, LAST(x) AS p PATTERN (u d) DEFINE d AS x < PREV(x))""",
    "CREATE VIEW pairs (k, l) COMMENT 'pairs' AS SELECT a, b.x FROM events MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WITHIN 5)",
    "CREATE PATTERN pairs AS (SEQ(A a, B b) ORDER BY ts) COMMENT 'of A and B'",
)
MATCHES = "SELECT * FROM t MATCH PATTERN pairs"


def views(session: SparkSession) -> dict[str, object]:
    return {
        name: {
            "types": [[row.col_name, row.data_type] for row in session.sql(f"DESCRIBE {name}").collect()],
            "rows": [json.loads(row.j) for row in session.sql(f"SELECT to_json(struct(*)) AS j FROM {name}").collect()],
        }
        for name in ("falls", "pairs")
    }


def patterns(session: SparkSession) -> dict[str, object]:
    session.sql(f"CREATE TEMP VIEW t AS {EVENTS}")
    stored = session.sql("DESCRIBE EXTENDED sparkcep_patterns").where("col_name = 'Location'").first()
    return {
        "shown": [[row.name, row.clause, row.comment] for row in session.sql("SHOW PATTERNS").collect()],
        "pairs": session.sql(MATCHES).count(),
        "location": str(stored.data_type).removeprefix(f"file:{directory}/"),
    }


def changed(session: SparkSession) -> dict[str, object]:
    session.sql("ALTER PATTERN pairs REPLACE AS (SEQ(B b, A a) ORDER BY ts)")
    altered = session.sql(MATCHES).count()
    session.sql("DROP PATTERN pairs")
    try:
        session.sql(MATCHES)
    except CepAnalysisError as error:
        return {"altered": altered, "dropped": error.code}
    return {"altered": altered}


mode, directory = sys.argv[1], Path(sys.argv[2])
spark = sparkcep.session(
    "metastore",
    "local[2]",
    **{
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={directory}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory}",
    },
)
if mode == "make":
    for statement in MADE:
        spark.sql(statement)
session = spark.newSession() if mode == "make" else spark
print(json.dumps(views(session)))
print(json.dumps(patterns(session) | (changed(session) if mode == "read" else {})))
spark.stop()

"""``named_patterns.py make|read DIRECTORY``: patterns in a Hive metastore, made in one process and used, changed and dropped in another."""

import json
import sys
from pathlib import Path

import sparkcep
from sparkcep.errors import CepAnalysisError

mode, directory = sys.argv[1], Path(sys.argv[2])
spark = sparkcep.session(
    "patterns",
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
spark.sql("CREATE TEMP VIEW t AS SELECT * FROM VALUES ('A', 1), ('B', 2), ('A', 3), ('B', 4) AS t(type, ts)")
seen: dict[str, object] = {}
if mode == "make":
    spark.sql("CREATE PATTERN pairs AS (SEQ(A a, B b) ORDER BY ts) COMMENT 'of A and B'")
session = spark.newSession() if mode == "make" else spark
session.sql(
    "CREATE OR REPLACE TEMP VIEW t AS SELECT * FROM VALUES ('A', 1), ('B', 2), ('A', 3), ('B', 4) AS t(type, ts)"
)
seen["shown"] = [[row.name, row.clause, row.comment] for row in session.sql("SHOW PATTERNS").collect()]
seen["pairs"] = session.sql("SELECT * FROM t MATCH PATTERN pairs").count()
seen["location"] = str(
    session.sql("DESCRIBE EXTENDED sparkcep_patterns").where("col_name = 'Location'").first().data_type
).removeprefix(f"file:{directory}/")
if mode == "read":
    session.sql("ALTER PATTERN pairs REPLACE AS (SEQ(B b, A a) ORDER BY ts)")
    seen["altered"] = session.sql("SELECT * FROM t MATCH PATTERN pairs").count()
    session.sql("DROP PATTERN pairs")
    try:
        session.sql("SELECT * FROM t MATCH PATTERN pairs")
    except CepAnalysisError as error:
        seen["dropped"] = error.code
print(json.dumps(seen))
spark.stop()

"""``permanent_view.py make|read DIRECTORY``: permanent views over clauses, made in one process and read in another."""

import json
import sys
from pathlib import Path

import sparkcep

mode, directory = sys.argv[1], Path(sys.argv[2])
spark = sparkcep.session(
    "views",
    "local[1]",
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
    spark.sql(
        "CREATE TABLE events USING parquet AS SELECT * FROM VALUES ('A', 1, 1.5BD), ('B', 2, 2.5BD), ('A', 3, 0.5BD) AS t(type, ts, x)"
    )
    spark.sql("""CREATE VIEW falls AS SELECT s, p FROM events
        MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(ts) AS s, LAST(x) AS p PATTERN (u d) DEFINE d AS x < PREV(x))""")
    spark.sql(
        "CREATE VIEW pairs (k, l) COMMENT 'pairs' AS SELECT a, b.x FROM events MATCH PATTERN (SEQ(A a, B b) ORDER BY ts WITHIN 5)"
    )
session = spark.newSession() if mode == "make" else spark
seen = {
    name: {
        "types": [[row.col_name, row.data_type] for row in session.sql(f"DESCRIBE {name}").collect()],
        "rows": [json.loads(row.j) for row in session.sql(f"SELECT to_json(struct(*)) AS j FROM {name}").collect()],
    }
    for name in ("falls", "pairs")
}
print(json.dumps(seen))
spark.stop()

"""Flink SQL, batch mode, parallelism 2, object reuse, a mini cluster in this process. It reads CSV: PyFlink's wheel has no Parquet format."""

from __future__ import annotations

from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment
from serve import Answer, serve

TABLE = """CREATE TABLE events (key INT, ts BIGINT, type STRING, price BIGINT, rowtime AS TO_TIMESTAMP_LTZ(ts * 1000, 3),
WATERMARK FOR rowtime AS rowtime) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv')"""


def main() -> None:
    """Ask for as long as there is input."""
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.get_config().set("parallelism.default", "2").set("pipeline.object-reuse", "true")

    def prepare(request: dict[str, Any]) -> Answer:
        tables.execute_sql("DROP TABLE IF EXISTS events")
        tables.execute_sql(TABLE.format(request["csv"]))
        return lambda: list(list(tables.execute_sql(request["text"]).collect())[-1])

    serve(prepare)


if __name__ == "__main__":
    main()

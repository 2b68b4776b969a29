"""A folder as a warehouse: tables in it, their metastore (embedded Derby, which serves one process at a time) beside them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

CATALOG = {"spark.sql.catalogImplementation": "hive"}
_CONNECTION_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"


def storage(warehouse: Path | None) -> dict[str, str]:
    """Spark's settings for tables in ``warehouse``; None leaves them to Spark (hive-site.xml, the working directory)."""
    if warehouse is None:
        return {}
    folder = warehouse.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    metastore = folder / ".metastore"
    return {
        "spark.sql.warehouse.dir": str(folder),
        _CONNECTION_URL: f"jdbc:derby:;databaseName={metastore};create=true",
        **CATALOG,
    }


def keep_log(spark: SparkSession, warehouse: Path | None) -> None:
    """Let Derby write its log into ``warehouse``, not into the working directory."""
    if warehouse is not None:
        spark._jvm.System.setProperty("derby.stream.error.file", str(warehouse.resolve() / ".derby.log"))

"""Spark SQL on two cores, with sparkcep in the session (``peer_spark.py sparkcep``) or without."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from serve import Answer, serve

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main() -> None:
    """Settings are Spark's defaults."""
    if sys.argv[1:] == ["sparkcep"]:
        import scan

        spark = scan.session("comparison")
    else:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.showConsoleProgress", "false")
        spark = builder.appName("comparison").getOrCreate()
        spark.sparkContext.setLogLevel("OFF")

    def prepare(request: dict[str, Any]) -> Answer:
        spark.read.parquet(request["parquet"]).createOrReplaceTempView("events")
        return lambda: list(spark.sql(request["text"]).collect()[0])

    serve(prepare)


if __name__ == "__main__":
    main()

"""The Spark session of a test run: one, local, small, with sparkcep in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sparkcep

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
    "spark.default.parallelism": "2",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A classic session; its warehouse is a temporary directory."""
    warehouse: Path = tmp_path_factory.mktemp("warehouse")
    session = sparkcep.session("sparkcep tests", "local[2]", **SETTINGS, **{"spark.sql.warehouse.dir": str(warehouse)})
    yield session
    session.stop()

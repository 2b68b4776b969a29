"""The small tables that the end-to-end tests read."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.sql.tables import TABLES


@pytest.fixture(scope="session", autouse=True)
def tables(request: pytest.FixtureRequest) -> None:
    """The views of ``tests.sql.tables`` in the shared session; of plans, which are not parsed and analysed in every statement as texts are."""
    spark: SparkSession = request.getfixturevalue("spark")
    for name, query in TABLES.items():
        spark.sql(query).createOrReplaceTempView(name)

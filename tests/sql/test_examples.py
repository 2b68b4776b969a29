"""The examples, on real flights and on the papers' streams, give the rows in ``expected/``: those were computed with neither sparkcep nor Spark."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli import split_statements

EXAMPLES = Path(__file__).resolve().parents[2] / "sql_examples"


@pytest.fixture(scope="module")
def examples(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("data", str(EXAMPLES / "data"))
    for path in sorted((EXAMPLES / "setup").glob("*.sql")):
        for statement in split_statements(path.read_text()):
            session.sql(statement)
    return session


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.sql")), ids=lambda path: path.stem)
def test_example(examples: SparkSession, path: Path) -> None:
    (statement,) = split_statements(path.read_text())
    result = examples.sql(statement)
    header, *expected = csv.reader((EXAMPLES / "expected" / f"{path.stem}.csv").open(newline=""))
    assert result.columns == header
    rows = result.selectExpr(*(f"CAST(`{name}` AS STRING)" for name in header)).collect()
    assert [["" if value is None else value for value in row] for row in rows] == expected

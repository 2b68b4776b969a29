"""The examples, on real flights and on the papers' streams, give the rows in ``expected/``: those were computed with neither sparkcep nor Spark."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli import split_statements
from tests.spark_setup import GENERATED

EXAMPLES = Path(__file__).resolve().parents[2] / "sql_examples"


@pytest.fixture(scope="module")
def examples(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("data", str(EXAMPLES / "data"))
    for name, value in GENERATED.items():
        session.conf.set(name, value)
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


@pytest.mark.spark
def test_head_and_shoulders_in_real_prices(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Google's daily closing prices of 2004 to 2008 in cents, which come with matplotlib."""
    import numpy as np
    from matplotlib import get_data_path

    monkeypatch.syspath_prepend(EXAMPLES / "expected")
    from automata import shoulders

    days = np.load(Path(get_data_path()) / "sample_data" / "goog.npz")["price_data"]
    ticks = [{"at": day["date"].item(), "price": round(float(day["adj_close"]) * 100)} for day in days]
    expected = [tuple(row.values()) for row in shoulders("GOOG", ticks)]
    rows = [("GOOG", tick["at"], tick["price"]) for tick in ticks]
    (statement,) = split_statements((EXAMPLES / "head_and_shoulders.sql").read_text())
    spark.createDataFrame(rows, "stock STRING, at DATE, price BIGINT").createOrReplaceTempView("goog")
    found = [tuple(row) for row in spark.sql(statement.replace("FROM stocks", "FROM goog")).collect()]
    assert found == expected
    assert len(found) > 10

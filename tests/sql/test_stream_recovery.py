"""A stream that is killed goes on from its checkpoint: no row is lost, none is there twice."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.stream_kill import QUERIES, make, play, rows


def test_killed_in_a_turn_and_after_the_sink(spark: SparkSession, tmp_path: Path) -> None:
    """One query: a Python worker is killed in a bucket's turn, and the driver after it has written another micro-batch."""
    make(tmp_path / "in", files=3, rows=60, keys=6)
    points = "worker:0,after:2"
    starts = play(tmp_path / "run", tmp_path / "in", "rows", "overwrite", points)
    assert starts == 2
    assert {mark.suffix for mark in tmp_path.glob("run/killed.*")} == {".worker", ".after"}
    *found, names, kinds = zip(*rows(tmp_path / "run"), strict=True)
    spark.read.parquet(str(tmp_path / "in")).createOrReplaceTempView("still")
    wanted = spark.sql(QUERIES["rows"].format("still")).collect()
    spark.catalog.dropTempView("still")
    assert len(wanted) > 10
    assert sorted(zip(*found, strict=True)) == sorted(tuple(row) for row in wanted)
    assert len(set(names)) == len(wanted)
    assert set(kinds) == {"insert"}

"""The example queries as streams: the same matches as in batch.

Rows arrive shuffled by up to half an hour, under a watermark of one hour; files are micro-batches. Watermarks are on sched_dep or dep of ``flights``,
on event_time of ``flight_events``, on the one time of the other tables. At the end come rows that close what is open (greedy matches without
WITHIN): one cancelled flight for each carrier; elsewhere a row that has nothing but its time. Each statement is tried as it is; then its clause
alone, whose matches the rest of the statement reads from a table.

    python benchmarks/stream_flights.py [--since DATE] [--rows N] [--size N] [--only NAME …] [--all]

``--rows 0``: all that follow; ``--all``: also the examples over the other tables. With the flights of July (the default) every query has matches.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections import Counter
from datetime import timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, max_by, struct

import sparkcep
from sparkcep.cli import split_statements
from sparkcep.errors import CepError

EXAMPLES = Path(__file__).resolve().parents[1] / "sql_examples"
DELAYS = ("dep_delay", "arr_delay", "delay")
DELAY = timedelta(hours=1)
SHUFFLED = timedelta(minutes=30)
FLIGHTS = (("flights", "sched_dep"), ("flights", "dep"), ("flight_events", "event_time"))
OTHERS = (
    ("logins", "ts"),
    ("shop_clicks", "ts"),
    ("purchases", "ts"),
    ("readings", "read_at"),
    ("medicine", "taken_at"),
    ("shipments", "at"),
    ("stocks", "at"),
    ("trades", "at"),
)
SPARK = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "2g",
}
CLAUSE = re.compile(r"MATCH_RECOGNIZE|MATCH PATTERN|MATCH AUTOMATON")


def main() -> None:
    """A table: a line for each query."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="2013-07-01")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    spark = sparkcep.session("stream_flights", "local[2]", **SPARK)
    spark.conf.set("data", str(EXAMPLES / "data"))
    for script in sorted((EXAMPLES / "setup").glob("*.sql")):
        for statement in split_statements(script.read_text()):
            spark.sql(statement)
    folder = Path(tempfile.mkdtemp(prefix="stream_flights"))
    for table, column in FLIGHTS:
        frame = spark.table(table).where(f"{column} >= TIMESTAMP '{options.since}'")
        arrive(frame, folder / f"{table}.{column}", column, options.rows, options.size)
    for table, column in OTHERS:
        frame = spark.table(table).withColumn(column, col(column).cast("timestamp"))
        arrive(frame, folder / f"{table}.{column}", column, 0, options.size)
    print(
        "| query | watermark | matches | equal | rows | equal | s | as a whole |\n|---|---|---|---|---|---|---|---|",
        flush=True,
    )
    for path in sorted(EXAMPLES.glob("*.sql")):
        (text,) = split_statements(path.read_text())
        table, column = watermarked(text)
        wanted = path.stem in options.only or (not options.only and (options.all or (table, column) in FLIGHTS))
        if wanted:
            print(f"| {path.stem} | {line(spark, folder, path.stem, text)} |", flush=True)


def watermarked(text: str) -> tuple[str, str]:
    """The table of a query, and the time by which it reads it."""
    return next(
        (table, column)
        for table, column in (*reversed(FLIGHTS), *OTHERS)
        if re.search(rf"\b{table}\b", text) and (column != "dep" or "ORDER BY dep\n" in text)
    )


def arrive(table: DataFrame, folder: Path, column: str, rows: int, size: int) -> None:
    """The table's first rows by ``column`` (0: all) in the order of their arrival, a file for each micro-batch, and the rows that close them."""
    frame: Any = pl.from_arrow(table.orderBy(column).toArrow())
    frame = frame.head(rows) if rows else frame
    late = frame.select(pl.int_range(int(SHUFFLED.total_seconds())).sample(frame.height, with_replacement=True, seed=7))
    order = frame.select(pl.col(column) + pl.duration(seconds=late.to_series()))
    arrival = frame.with_columns(order.to_series().alias("_at")).sort("_at", maintain_order=True).drop("_at")
    parts = [arrival.slice(i, size) for i in range(0, frame.height, size)]
    end = frame[column].max() + timedelta(days=10)
    keys = ["carrier"] if "carrier" in frame.columns else []
    last = frame.group_by(keys, maintain_order=True).last().select(frame.columns) if keys else frame.tail(1)
    empty = [name for name in frame.columns if (name in DELAYS if keys else name != column)]
    for after in (end, end + 2 * DELAY):
        part = last.with_columns(
            pl.lit(after).cast(frame.schema[column]).alias(column),
            *(pl.lit(None).cast(frame.schema[name]).alias(name) for name in empty),
        )
        parts.append(part if after == end else part.head(1))
    folder.mkdir()
    for i, part in enumerate(parts):
        part.write_parquet(folder / f"{i:04}.parquet")
        os.utime(folder / f"{i:04}.parquet", (1_000_000 + i, 1_000_000 + i))  # Spark reads the oldest first


def line(spark: SparkSession, folder: Path, name: str, text: str) -> str:
    """What became of a query: the cells of its line."""
    began = time.perf_counter()
    before, source, clause, after = cut(text)
    table, column = watermarked(text)
    files = str(folder / f"{table}.{column}")
    still = spark.read.parquet(files)
    still.createOrReplaceTempView(table)
    matches = f"{before[0]} SELECT * FROM {source} {clause}"
    wanted, answer = spark.sql(matches), spark.sql(text)
    moving = spark.readStream.schema(still.schema).option("maxFilesPerTrigger", 1).parquet(files)
    moving.withWatermark(column, f"{int(DELAY.total_seconds())} seconds").createOrReplaceTempView(table)
    whole = refusal(spark, text, folder / f"{name}.whole")
    try:
        late = emitted(spark.sql(matches), folder / name)
    except (CepError, PySparkException) as error:
        what = "FAILED" if isinstance(error, StreamingQueryException) else "refused"
        return f"{column} | | {what} | | | {time.perf_counter() - began:.0f} | {said(error)}"
    found = latest(spark.read.parquet(str(folder / name / "out")))
    same = difference(found.select(*(f"`{name}`" for name in wanted.columns)), wanted)
    same += f", {late} late" if late else ""
    found.createOrReplaceTempView("matches")
    still.createOrReplaceTempView(table)  # for the rest's WITH
    rest = spark.sql(f"{before[0]} {before[1]} FROM matches {after}")
    rows = answer.count()
    equal = "yes" if rest.collect() == answer.collect() else "NO"
    seconds = time.perf_counter() - began
    return f"{column} | {found.count():,} | {same} | {rows} | {equal} | {seconds:.0f} | {whole}"


def latest(found: DataFrame) -> DataFrame:
    """The rows without those that later ones update."""
    if found.where("_change_type = 'update_postimage'").isEmpty():
        return found
    written = found.select("*", col("_metadata.file_modification_time").alias("_written"))
    last = written.groupBy("match_id").agg(max_by(struct(*found.columns), "_written").alias("last"))
    return last.select("last.*")


def cut(text: str) -> tuple[tuple[str, str], str, str, str]:
    """A statement: the WITH and the SELECT before the clause's FROM, its source, the clause itself, what follows."""
    keyword = CLAUSE.search(text)
    assert keyword is not None
    low = re.sub(r"\)\s+AS \w+$", ")", text[: keyword.start()].rstrip())
    opening = _opening(low) if low.endswith(")") else low.rindex(" ") + 1
    bracket = text.index("(", keyword.start())
    depths = accumulate({"(": 1, ")": -1}.get(letter, 0) for letter in text[bracket:])
    end = bracket + list(depths).index(0)
    select = text[:opening].rstrip().removesuffix("FROM")
    head = re.search(r"^SELECT", select, re.MULTILINE)
    assert head is not None
    return (
        (select[: head.start()], select[head.start() :]),
        low[opening:],
        text[keyword.start() : end + 1],
        text[end + 1 :],
    )


def _opening(text: str) -> int:
    """Where the bracket opens that ``text`` ends with."""
    depth = 0
    for place in reversed(range(len(text))):
        depth += {")": 1, "(": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError(text)


def refusal(spark: SparkSession, text: str, folder: Path) -> str:
    """What is said to the statement as a streaming query."""
    try:
        query = spark.sql(text).writeStream.format("noop").option("checkpointLocation", str(folder)).start()
    except (CepError, PySparkException) as error:
        return said(error)
    query.stop()
    return "runs"


def emitted(frame: DataFrame, folder: Path) -> int:
    """Write all matches of a stream; how many rows were late."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.option("path", str(folder / "out")).trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(counts["late"] or 0 for one in query.recentProgress for counts in one["observedMetrics"].values())


def difference(found: DataFrame, wanted: DataFrame) -> str:
    """Whether the rows are the same, else how many are missing and how many too many."""
    one, other = (Counter(str(row) for row in frame.collect()) for frame in (found, wanted))
    missing, extra = (other - one).total(), (one - other).total()
    return "yes" if not missing + extra else f"NO: {missing} missing, {extra} too many"


def said(error: Exception) -> str:
    """The code, and the first line of the message."""
    text = str(error).strip().splitlines()[0]
    return re.sub(r"^\[(\w[\w.]*)\] ", r"\1: ", text)[:100].replace("|", "/")


if __name__ == "__main__":
    main()

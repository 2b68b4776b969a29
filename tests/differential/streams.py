"""Random statements over a stream against the same statements over all of its rows at once: the rows are the same.

The rows arrive out of order; some streams are stopped on the way and started again.

    python -m tests.differential.streams [--seed N] [--statements N]

prints what differs, and how often what was refused. A row that a speculative stream has taken back was never there.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

import sparkcep
from sparkcep.errors import CepError
from tests.differential.run import arguments, code, finish, settings
from tests.differential.statements import EVENTS, STATEMENTS, events_statement
from tests.spark_setup import SETTINGS
from tests.sql.arrivals import put

SCHEMA = "o BIGINT, ts TIMESTAMP, type STRING, k INT, x INT, y INT, f DOUBLE, s STRING"
WITHINS = ("WITHIN 3 SECONDS", "WITHIN 5 SECONDS", "WITHIN 8 SECONDS")
COUNT, FILES = 120, 4
DELAY = 8
"""Seconds: how far rows arrive out of order."""
LAST = (COUNT, 10_000, "Z", 99, 0, 0, 0.0, "")
"""The row that lets the watermark pass all others: alone in its window and its partition."""
File = list[tuple[Any, ...]]
SPECULATIVE = {"sparkcep.stream.mode": "speculative", "sparkcep.stream.sigma": "1 minute"}
OF_STREAMS = ("match_id", "_change_type")


def arrival(spark: SparkSession, random: Random) -> list[File]:
    """The rows in the files in which they come; the view ``still`` has all of them."""
    rows = [tuple(row) for row in spark.sql(EVENTS.format(0, COUNT)).collect()]
    rows.sort(key=lambda row: row[1] + random.randrange(DELAY))
    size = COUNT // FILES
    files = [*(rows[at : at + size] for at in range(0, COUNT, size)), [LAST]]
    frame = spark.createDataFrame(
        [(o, datetime.fromtimestamp(ts, UTC), *more) for file in files for o, ts, *more in file], SCHEMA
    )
    frame.createOrReplaceTempView("still")
    return files


def statement(random: Random) -> str:
    """One that the last row decides."""
    made = random.choice(STATEMENTS)
    if made is events_statement:
        return events_statement(random, WITHINS, summed=0)
    return made(random, WITHINS, keys=("k", "k, y"))


def told(row: Row) -> str | None:
    """A row as text, without the columns of streams; none of the last one's partition, nor the count of no matches."""
    values = {name: value for name, value in row.asDict(recursive=True).items() if name not in OF_STREAMS}
    return None if values.get("k") == LAST[3] or (values.get("n") == 0 and "emit_time" not in values) else str(values)


def emitted(spark: SparkSession, sql: str, runs: Iterable[list[File]], folder: str) -> Counter[str]:
    """The rows that hold when the stream has ended: those that it has not taken back, and of what changes the last. ``runs``: the files that come
    before each start of the stream, which goes on where it was."""
    current: dict[str, Counter[str]] = {}

    def follow(batch: DataFrame, _: int) -> None:
        # what is deleted, before what is inserted
        for row in sorted(batch.collect(), key=lambda row: row["_change_type"]):
            rows = current.setdefault(row["match_id"], Counter())
            if row["_change_type"] == "update_postimage":
                rows.clear()
            rows[told(row) or ""] += -1 if row["_change_type"] == "delete" else 1

    source = Path(folder, "in")
    source.parent.mkdir()
    for files in runs:
        for file in files:
            put(source, SCHEMA, file)
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
        stream.withWatermark("ts", f"{DELAY} seconds").createOrReplaceTempView("moving")
        query = spark.sql(sql).writeStream.foreachBatch(follow).option("checkpointLocation", f"{folder}/check")
        query.trigger(availableNow=True).start().awaitTermination()
    held = Counter[str]()
    for rows in current.values():
        held.update({row: count for row, count in rows.items() if count and row})
    return held


def compared(spark: SparkSession, sql: str, mode: dict[str, str], runs: list[list[File]], folder: str) -> str:
    """Whether the stream ends with what the batch says."""
    still = spark.sql(sql.replace("events", "still", 1))
    try:
        wanted = Counter(text for row in still.collect() if (text := told(row)) is not None)
    except PySparkException as error:
        return f"no answer at once: {code(error)}"
    with settings(spark, mode):
        shown = sql if "SELECT *" in sql else sql.replace("SELECT ", f"SELECT {', '.join(OF_STREAMS)}, ", 1)
        got = emitted(spark, shown.replace("events", "moving", 1), runs, folder)
    if got == wanted:
        return "the same rows" if wanted else "no rows"
    print(
        f"DIFFERS: {sql}\n  {mode} {[len(files) for files in runs]}\n  at once {wanted - got}\n  stream {got - wanted}",
        flush=True,
    )
    return "differs"


def main() -> None:
    """Print what differs; the exit code says whether anything does."""
    options = arguments(__doc__, 100)
    spark = sparkcep.session("streams", "local[2]", **SETTINGS)
    random = Random(options.seed)
    counts = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        files = arrival(spark, random)
        for number in range(options.statements):
            sql, mode = statement(random), random.choice([{}, {}, SPECULATIVE])
            at = random.choice([0, 0, 1, 2, 3])
            runs = [files[:at], files[at:]] if at else [files]
            try:
                counts[compared(spark, sql, mode, runs, f"{folder}/{number}")] += 1
            except CepError as error:
                counts[f"refused: {error.code}"] += 1
            except PySparkException as error:
                counts["fails"] += 1
                print(f"FAILS: {sql}\n  {mode}\n  {str(error)[:600]}", flush=True)
    finish(counts)


if __name__ == "__main__":
    main()

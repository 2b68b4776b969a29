"""``make stream``: payments that are generated as time goes by, a pattern over them, and its matches in a table.

In: nothing. Out: a line for each micro-batch and the matches found, on the terminal; the stream's chart, ``stream.png``, in the current folder.

    python sql_examples/stream.py [--seconds N] [--rate EVENTS_A_SECOND] [--picture FILE]
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import click

import sparkcep
from sparkcep.cli import QUIET, print_table
from sparkcep.streaming.monitor import StreamMonitor, follow

PAYMENTS = """SELECT timestamp AS at, PMOD(XXHASH64(value), 500) AS card, ROUND(EXP(7 * RAND(1)), 2) AS amount,
    ELEMENT_AT(ARRAY('Oslo', 'Lyon', 'Graz'), CAST(1 + 3 * RAND(2) AS INT)) AS city FROM ticks"""
QUERY = """SELECT m.card, t.at AS tried, b.at AS taken, t.amount AS first, b.amount AS then, t.city AS here, b.city AS there
FROM payments MATCH PATTERN (
  SEQ(ANY t, ANY b) PARTITION BY card ORDER BY at
  WHERE t.amount < 2 AND b.amount > 900 AND t.city <> b.city
  WITHIN INTERVAL 5 SECONDS
) AS m"""
SHOWN = 10
"""Matches that are printed; all are in the table."""


@click.command()
@click.option("--seconds", default=60.0, show_default=True)
@click.option("--rate", default=5_000, show_default=True, help="payments a second")
@click.option("--picture", default="stream.png", show_default=True, type=click.Path(path_type=Path))
def main(seconds: float, rate: int, picture: Path) -> None:
    """Run the stream for so many seconds, and say what it found."""
    folder = Path(tempfile.mkdtemp(prefix="sparkcep-stream-"))
    settings = {**QUIET, "spark.sql.warehouse.dir": str(folder), "spark.sql.shuffle.partitions": "2"}
    spark = sparkcep.session("sparkcep stream", "local[2]", **settings)
    spark.sparkContext.setLogLevel("OFF")
    try:
        click.echo(
            f"{rate} payments a second; a small one, and within five seconds a large one elsewhere:\n\n{QUERY}\n"
        )
        query = start(spark, rate, folder)
        until = time.monotonic() + seconds
        follow(query, lambda wait: _slept(wait) >= until, click.echo)
        StreamMonitor(query).figure().savefig(picture)
        query.stop()
        report(spark, picture)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def start(spark: Any, rate: int, folder: Path) -> Any:
    """The running query: generated payments, through the pattern, into the table ``found``."""
    ticks = spark.readStream.format("rate").option("rowsPerSecond", rate).load()
    ticks.createOrReplaceTempView("ticks")
    spark.sql(PAYMENTS).withWatermark("at", "1 second").createOrReplaceTempView("payments")
    writer = spark.sql(QUERY).writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    return writer.toTable("found")


def report(spark: Any, picture: Path) -> None:
    """Print some matches, and where the chart is."""
    found = spark.table("found")
    rows = found.orderBy("taken", "card").limit(SHOWN).collect()
    click.echo("")
    print_table(found.columns, rows)
    click.echo(f"{found.count():,} matches ({len(rows)} shown); the chart of the stream: {picture}")


def _slept(seconds: float) -> float:
    """The time after a sleep."""
    time.sleep(seconds)
    return time.monotonic()


if __name__ == "__main__":
    main()

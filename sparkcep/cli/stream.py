"""``sparkcep stream run``: a query over a stream, from a file of SQL into a sink, until SIGTERM or SIGINT.

What it has not finished when it is stopped is rolled back by Spark, and done again from the checkpoint by the next run.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.cli.settings import FOLDER, QUIET, settings
from sparkcep.cli.signals import stop_on_signals
from sparkcep.cli.statements import message, run_statement, split_statements
from sparkcep.errors import CepAnalysisError, CepError
from sparkcep.session import session
from sparkcep.session.warehouse import keep_log, storage
from sparkcep.sources import register_sources
from sparkcep.streaming import sinks
from sparkcep.streaming.listener import heard
from sparkcep.streaming.monitor import follow

SILENT = {"spark.log.level": "FATAL"}
"""What ends a query is printed once, at the end."""
SHUFFLE = "spark.sql.shuffle.partitions"
HINT = "read a table as STREAM name, or a view of one, and give it a time: WATERMARK at DELAY OF INTERVAL 1 MINUTE"


@click.group()
def stream() -> None:
    """Queries over streams."""


@stream.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--checkpoint", required=True, metavar="DIR", help="Where the query keeps how far it is: one for each query."
)
@click.option("--sink", "to", required=True, metavar="SINK", help=f"Where its rows go: {sinks.SHAPES}.")
@click.option(
    "--trigger",
    "when",
    default="default",
    show_default=True,
    help="When a micro-batch starts: default (rows are there), an interval ('10 seconds'), available-now (what is there, then the end).",
)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the sink; repeatable.")
@click.option("--master", default="local[*]", show_default=True, help="The Spark master.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting; repeatable.")
@click.option("--warehouse", type=FOLDER, help="The folder of the tables and of their metastore.")
def run(
    file: Path,
    checkpoint: str,
    to: str,
    when: str,
    options: tuple[str, ...],
    master: str,
    conf: tuple[str, ...],
    warehouse: Path | None,
) -> None:
    """Run the query over a stream at the end of FILE, until SIGTERM or SIGINT.

    The statements before it set the scene: SET, CREATE TABLE … USING, CREATE TEMP VIEW …. Each micro-batch prints a line to standard error. Another
    run with the same checkpoint goes on where this one stops; no match is lost, and in tables and files none is there twice.
    """
    try:
        sink, trigger = sinks.sink(to), sinks.trigger(when)
        sink_options = settings(options, "--option")
        told_to_stop = stop_on_signals()
        spark = session("sparkcep stream", master, **{**QUIET, **SILENT, **storage(warehouse), **settings(conf)})
    except CepError as error:
        raise click.ClickException(str(error)) from None
    try:
        keep_log(spark, warehouse)
        register_sources(spark)
        if SHUFFLE not in settings(conf):
            spark.conf.set(SHUFFLE, spark.sparkContext.defaultParallelism)
        frame = last_frame(spark, file, told_to_stop)
        if frame is not None:
            query = sinks.start(frame, sink, checkpoint, trigger, sink_options)
            _say(f"sparkcep stream is running: {file} → {sink}, checkpoint {checkpoint}")
            _say(_followed(query, told_to_stop))
    except (CepError, PySparkException, Py4JError) as error:
        if not told_to_stop.is_set():  # a signal to the whole process group ends Spark too: the query is rolled back
            raise click.ClickException(message(error)) from None
    finally:
        with suppress(Py4JError, OSError):
            heard(spark.sparkContext)
            spark.stop()


def last_frame(spark: SparkSession, file: Path, told_to_stop: threading.Event) -> DataFrame | None:
    """The query at the end of ``file``, after the statements before it were run; None if told to stop meanwhile.

    Raises CepAnalysisError if it reads no stream.
    """
    statements = list(split_statements(file.read_text()))
    if not statements:
        raise CepAnalysisError(f"{file} has no statement", code="STREAM_RUN", hint="end it with a query over a stream")
    for statement in statements[:-1]:
        if told_to_stop.is_set():
            return None
        run_statement(spark, statement, rows=20)
    frame = spark.sql(statements[-1])
    if not frame.isStreaming:
        raise CepAnalysisError(f"the last statement of {file} reads no stream", code="STREAM_RUN", hint=HINT)
    return frame


def _followed(query: Any, told_to_stop: threading.Event) -> str:
    """Print each micro-batch until the query ends or is told to; what there is to say then. Raises what ends the query."""
    matches = 0

    def report(one: Any) -> None:
        nonlocal matches
        matches += one.matches
        _say(str(one))

    try:
        count = follow(query, told_to_stop.wait, report)
    finally:
        with suppress(Py4JError, OSError):
            query.stop()
    ended = "has stopped" if told_to_stop.is_set() else "has come to the end of its input"
    return f"sparkcep stream {ended}: {count} micro-batches, {matches:,} matches"


_say = partial(click.echo, err=True)

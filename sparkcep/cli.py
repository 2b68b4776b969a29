"""The shell commands: ``sparkcep sql`` runs SQL with pattern clauses, ``sparkcep thriftserver`` serves it to BI tools."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import sparkcep
from rewrites.dialect.tokens import tokenize
from sparkcep import thriftserver as thrift
from sparkcep.errors import CepError
from sparkcep.session import session

QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "8",
}
"""Settings for a short-lived local session; ``--conf`` overrides them."""

PLAIN_WIDTH = 140
"""The line width if the output is not a terminal."""


@click.group()
@click.version_option(package_name="sparkcep")
def main() -> None:
    """Pattern matching on Spark SQL."""


@main.command()
@click.option("-e", "--execute", "text", help="The SQL to run; several statements are separated by semicolons.")
@click.option(
    "-f", "--file", "path", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A file of SQL."
)
@click.option("--master", default="local[*]", show_default=True, help="The Spark master.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting; repeatable.")
@click.option("--rows", default=100, show_default=True, help="Rows shown of each result.")
@click.option("--rewritten", is_flag=True, help="Show the SQL that Spark gets, without running it.")
def sql(text: str | None, path: Path | None, master: str, conf: tuple[str, ...], rows: int, rewritten: bool) -> None:
    """Run SQL statements and print their results as tables."""
    if (text is None) == (path is None):
        raise click.UsageError("give the SQL with -e or a file with -f")
    statements = list(split_statements(text if text is not None else path.read_text()))  # type: ignore[union-attr]
    spark = session("sparkcep sql", master, **{**QUIET, **_settings(conf)})
    try:
        for statement in statements:
            run_statement(spark, statement, rows, rewritten)
    except (CepError, PySparkException) as error:
        raise click.ClickException(str(error)) from None
    finally:
        spark.stop()


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=10000, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free one.")
@click.option("--master", default="local[*]", show_default=True, help="The Spark master.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark or Hive (hive.…); repeatable.")
@click.option(
    "--warehouse",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the tables and of their metastore.",
)
@click.option("--insecure", is_flag=True, help="Serve the network without authentication.")
def thriftserver(
    host: str, port: int, master: str, conf: tuple[str, ...], warehouse: Path | None, insecure: bool
) -> None:
    """Serve SQL with pattern clauses to BI tools: Spark's Thrift server, until SIGTERM or SIGINT."""
    try:
        server = thrift.start(host, port, master, _settings(conf), warehouse, insecure=insecure)
    except CepError as error:
        raise click.ClickException(str(error)) from None
    except Py4JJavaError as error:
        raise click.ClickException(f"the Thrift server did not start: {thrift.start_error(error)}") from None
    told_to_stop = thrift.stop_on_signals()
    click.echo(f"sparkcep thriftserver is ready: jdbc:hive2://{host}:{server.port}")
    alive = server.wait(told_to_stop)
    server.stop()
    if not alive:
        raise click.ClickException("Spark's JVM has ended")
    click.echo("sparkcep thriftserver has stopped")


def split_statements(text: str) -> Iterator[str]:
    """The statements of a script, without their semicolons; semicolons in strings, comments and quoted names do not separate."""
    start = 0
    for token in tokenize(text).items:
        if token.key == ";":
            yield from _not_empty(text[start : token.span.start])
            start = token.span.end
    yield from _not_empty(text[start:])


def run_statement(spark: SparkSession, statement: str, rows: int, rewritten: bool = False) -> None:
    """Run one statement; print its first rows as a table, the number of rows and the elapsed time."""
    if rewritten:
        click.echo(sparkcep.rewrite(statement, spark))
        return
    started = time.perf_counter()
    result = spark.sql(statement)
    if not result.columns:
        return
    found = result.limit(rows + 1).collect()
    seconds = time.perf_counter() - started
    print_table(result.columns, found[:rows])
    more = " shown, there are more" if len(found) > rows else ""
    click.echo(f"{min(len(found), rows)} rows{more}, {seconds:.2f} s\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows as a table; NULL is distinguishable from the string 'NULL'."""
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*("[dim]NULL[/dim]" if value is None else escape(str(value)) for value in row))
    Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH).print(table)


def _not_empty(statement: str) -> Iterator[str]:
    if tokenize(statement).items:
        yield statement.strip()


def _settings(conf: tuple[str, ...]) -> dict[str, str]:
    pairs = [setting.partition("=") for setting in conf]
    wrong = next((key for key, equals, _ in pairs if not equals), None)
    if wrong is not None:
        raise click.UsageError(f"--conf {wrong} is not KEY=VALUE")
    return {key: value for key, _, value in pairs}

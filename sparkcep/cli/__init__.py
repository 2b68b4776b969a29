"""The shell commands: ``sparkcep sql`` runs SQL with pattern clauses, ``sparkcep thriftserver`` serves it to BI tools, ``sparkcep stream run`` runs
it over streams, ``sparkcep precompile`` compiles the kernels."""

from __future__ import annotations

from pathlib import Path

import click
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from sparkcep import __version__
from sparkcep import thriftserver as thrift
from sparkcep.cli.precompile import precompile
from sparkcep.cli.settings import FOLDER, QUIET, settings
from sparkcep.cli.signals import stop_on_signals
from sparkcep.cli.statements import message, print_table, run_statement, split_statements
from sparkcep.cli.stream import stream
from sparkcep.errors import CepError
from sparkcep.session import session
from sparkcep.session.warehouse import keep_log, storage
from sparkcep.sources import register_sources

__all__ = ["QUIET", "main", "print_table", "run_statement", "split_statements"]


@click.group()
@click.version_option(__version__)
def main() -> None:
    """Pattern matching on Spark SQL."""


main.add_command(stream)
main.add_command(precompile)


@main.command()
@click.option("-e", "--execute", "text", help="The SQL to run; several statements are separated by semicolons.")
@click.option(
    "-f", "--file", "path", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A file of SQL."
)
@click.option("--master", default="local[*]", show_default=True, help="The Spark master.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting; repeatable.")
@click.option("--warehouse", type=FOLDER, help="The folder of the tables and of their metastore.")
@click.option("--rows", default=100, show_default=True, help="Rows shown of each result.")
@click.option("--rewritten", is_flag=True, help="Show the SQL that Spark gets, without running it.")
def sql(
    text: str | None,
    path: Path | None,
    master: str,
    conf: tuple[str, ...],
    warehouse: Path | None,
    rows: int,
    rewritten: bool,
) -> None:
    """Run SQL statements and print their results as tables."""
    if (text is None) == (path is None):
        raise click.UsageError("give the SQL with -e or a file with -f")
    statements = list(split_statements(text if text is not None else path.read_text()))  # type: ignore[union-attr]
    spark = session("sparkcep sql", master, **{**QUIET, **storage(warehouse), **settings(conf)})
    try:
        keep_log(spark, warehouse)
        register_sources(spark)
        for statement in statements:
            run_statement(spark, statement, rows, rewritten)
    except (CepError, PySparkException) as error:
        raise click.ClickException(message(error)) from None
    finally:
        spark.stop()


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=10000, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free one.")
@click.option("--master", default="local[*]", show_default=True, help="The Spark master.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark or Hive (hive.…); repeatable.")
@click.option("--warehouse", type=FOLDER, help="The folder of the tables and of their metastore.")
@click.option("--insecure", is_flag=True, help="Serve the network without authentication.")
def thriftserver(
    host: str, port: int, master: str, conf: tuple[str, ...], warehouse: Path | None, insecure: bool
) -> None:
    """Serve SQL with pattern clauses to BI tools: Spark's Thrift server, until SIGTERM or SIGINT."""
    try:
        server = thrift.start(host, port, master, settings(conf), warehouse, insecure=insecure)
    except CepError as error:
        raise click.ClickException(str(error)) from None
    except Py4JJavaError as error:
        raise click.ClickException(f"the Thrift server did not start: {thrift.start_error(error)}") from None
    told_to_stop = stop_on_signals()
    click.echo(f"sparkcep thriftserver is ready: jdbc:hive2://{host}:{server.port}")
    alive = server.wait(told_to_stop)
    server.stop()
    if not alive:
        raise click.ClickException("Spark's JVM has ended")
    click.echo("sparkcep thriftserver has stopped")

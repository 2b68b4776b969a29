"""Scripts of SQL on the command line: split into statements, run, and printed."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click
from pyspark.sql import SparkSession
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import sparkcep
from rewrites.dialect.tokens import tokenize
from sparkcep.errors import CepError
from sparkcep.progress import following
from sparkcep.progress.terminal import on_terminal

PLAIN_WIDTH = 140
"""The line width if the output is not a terminal."""
_SPARKS_PREFIX = re.compile(r".*?(?=\[CEP_)", re.DOTALL)
_SPARKS_SUFFIX = re.compile(r"\n\s*(at |\n|JVM stacktrace|SQLSTATE).*|( SQLSTATE: \w+)?\Z", re.DOTALL)


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
    with following(spark, on_terminal()):
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


def message(error: Exception) -> str:
    """An error, without Spark's and Python's stack traces around a CepError of a worker."""
    text = str(error)
    if isinstance(error, CepError) or "[CEP_" not in text:
        return text
    return _SPARKS_SUFFIX.sub("", _SPARKS_PREFIX.sub("", text, count=1), count=1)


def _not_empty(statement: str) -> Iterator[str]:
    if tokenize(statement).items:
        yield statement.strip()

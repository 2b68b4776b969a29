"""``make demo``: every example, on real flights and on the papers' streams: its question, its answer, its time.

In: ``*.sql`` beside this file, and ``setup/*.sql``. Out: tables on the terminal, and the SQL that Spark got in ``rewritten/``.
"""

from __future__ import annotations

import time
from pathlib import Path

import click
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.cli import QUIET, print_table, split_statements
from sparkcep.progress import following
from sparkcep.progress.terminal import on_terminal

HERE = Path(__file__).resolve().parent
REWRITTEN = HERE / "rewritten"
SHOWN = 12
"""Rows of each answer that are printed; all of them are computed."""


def main() -> None:
    """Run the examples in the order of their names."""
    started = time.perf_counter()
    spark = sparkcep.session("sparkcep demo", "local[2]", **QUIET)
    spark.sparkContext.setLogLevel("ERROR")
    click.echo(f"Spark {spark.version} is up after {time.perf_counter() - started:.1f} s")
    load_data(spark)
    REWRITTEN.mkdir(exist_ok=True)
    examples = sorted(HERE.glob("*.sql"))
    for number, path in enumerate(examples, 1):
        run_example(spark, path, f"{number}/{len(examples)}")
    click.echo(f"{len(examples)} questions answered. The SQL that Spark got for each is in {REWRITTEN}/")
    spark.stop()


def load_data(spark: SparkSession) -> None:
    """Run the setup scripts: they make the views that the examples read."""
    spark.conf.set("data", str(HERE / "data"))
    for path in sorted((HERE / "setup").glob("*.sql")):
        for statement in split_statements(path.read_text()):
            spark.sql(statement)


def run_example(spark: SparkSession, path: Path, number: str) -> None:
    """Print the question, run the query, print the answer; keep the rewritten SQL."""
    text = path.read_text()
    (statement,) = split_statements(text)
    click.secho(f"\n[{number}] {path.name}", bold=True)
    click.echo(question(text))
    started = time.perf_counter()
    with following(spark, on_terminal()):
        result = spark.sql(statement)
        rows = result.collect()
    seconds = time.perf_counter() - started
    print_table(result.columns, rows[:SHOWN])
    more = f" ({SHOWN} shown)" if len(rows) > SHOWN else ""
    rewritten = REWRITTEN / path.name
    rewritten.write_text(sparkcep.rewrite(statement, spark) + "\n")
    click.echo(f"{len(rows)} rows{more}, {seconds:.2f} s; rewritten SQL: {rewritten.relative_to(HERE.parent)}")


def question(text: str) -> str:
    """The ``-- question:`` paragraph at the head of an example."""
    lines = text.split("--\n", 1)[0].splitlines()
    return " ".join(
        line.removeprefix("--").strip().removeprefix("question: ") for line in lines if line.startswith("--")
    )


if __name__ == "__main__":
    main()

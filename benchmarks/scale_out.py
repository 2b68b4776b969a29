"""MATCH PATTERN without PARTITION BY: its time line cut into shards, against one task, on one core and on two.

In: ``--events``. Out: a table of seconds and ratios. Each number of cores is a Spark process of its own (``--cores`` runs one); in it the cut
query and the whole one take turns over the same Parquet file. The answers of both must be equal before any time is taken.

* ``light``: one time line, events of three types at rates 1 : 10 : 30, SEQ of two that must be equal, WITHIN 2,000 events: the cost is Spark's.
* ``wide``: the same WITHIN a fifth of the time line, where most events are sent to two shards.
* ``line``: SEQ of three, each within 40 of the one before, WITHIN 2,000 events.
* ``heavy``: the same WITHIN 5,000 events, and products, which only pairs of events can answer: the cost is the engine's.
* ``skew``: ``heavy``'s pattern over the same events, nine of ten with one key, PARTITION BY that key.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
import polars as pl
from scan import cached, draws, run, surroundings, take_turns

QUERY = "SELECT COUNT(*) AS found, SUM({last}.ts - a.ts) AS lasted FROM events MATCH PATTERN (/*+ CEP_SHARDING({sharding}) */ {pattern})"
TWO = "SEQ(A a, B b) ORDER BY ts WHERE a.v = b.v WITHIN {window}"
THREE = """SEQ(A a, B b, C c) ORDER BY ts
  WHERE a.v < b.v AND b.v < c.v AND b.v - a.v < 40 AND c.v - b.v < 40 WITHIN {window}"""
PAIRS = """SEQ(A a, B b, C c) {by} ORDER BY ts
  WHERE a.v * b.v BETWEEN 100000000 AND 100400000 AND b.v * c.v BETWEEN 100000000 AND 100400000 WITHIN {window}"""


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern (``window``: of so many events, or of a share of them), and the setting that cuts its time line."""

    pattern: str
    window: float
    last: str = "c"
    by: str = ""
    sharding: str = "auto"

    def query(self, sharding: str, events: int) -> str:
        """The query with this setting."""
        window = int(self.window * events if self.window < 1 else self.window)
        return QUERY.format(last=self.last, sharding=sharding, pattern=self.pattern.format(window=window, by=self.by))


CASES = {
    "light": Case(TWO, 2_000, "b"),
    "wide": Case(TWO, 0.2, "b"),
    "line": Case(THREE, 2_000),
    "heavy": Case(PAIRS, 5_000),
    "skew": Case(PAIRS, 5_000, by="PARTITION BY key", sharding="all"),
}


@click.command()
@click.option("--events", default=1_000_000, show_default=True)
@click.option("--repetitions", default=5, show_default=True)
@click.option("--warmups", default=2, show_default=True)
@click.option("--cores", type=int, help="Measure on so many cores only, and print JSON.")
def main(events: int, repetitions: int, warmups: int, cores: int | None) -> None:
    """Measure on one core and on two, and print the table."""
    if cores is not None:
        click.echo(json.dumps(measure(events, repetitions, warmups, cores)))
        return
    click.echo(surroundings())
    arguments = [f"--events={events}", f"--repetitions={repetitions}", f"--warmups={warmups}"]
    found = {count: _in_a_process([*arguments, f"--cores={count}"]) for count in (1, 2)}
    click.echo(f"{events:,} events; medians in seconds\n")
    click.echo(
        "| case | matches | 1 core: whole / cut | 2 cores: whole / cut | whole to cut, 2 cores | cut: 1 core to 2 |"
    )
    click.echo("|---|---|---|---|---|---|")
    for case in CASES:
        one, two = found[1][case], found[2][case]
        click.echo(
            f"| {case} | {one['found']:,} | {one['whole']:.2f} / {one['cut']:.2f} | {two['whole']:.2f} / {two['cut']:.2f} "
            f"| {two['whole'] / two['cut']:.2f} | {one['cut'] / two['cut']:.2f} |"
        )


def measure(events: int, repetitions: int, warmups: int, cores: int) -> dict[str, dict[str, float]]:
    """For each case the number of matches and the median seconds of the whole and of the cut query."""
    import sparkcep

    spark = sparkcep.session("scale out", f"local[{cores}]", **{"spark.ui.showConsoleProgress": "false"})
    spark.sparkContext.setLogLevel("OFF")
    path = cached(f"scale-out-{events}", lambda: _events(events))
    spark.read.parquet(str(path)).createOrReplaceTempView("events")
    results = {}
    for name_of_case, case in CASES.items():
        texts = {"whole": case.query("off", events), "cut": case.query(case.sharding, events)}
        answers = {name: tuple(run(spark, text)[0]) for name, text in texts.items()}
        if answers["whole"] != answers["cut"]:
            raise SystemExit(f"{name_of_case}: {answers}")
        calls = {name: lambda text=text: run(spark, text) for name, text in texts.items()}
        seconds = take_turns(calls, repetitions, warmups)
        results[name_of_case] = {name: median(values) for name, values in seconds.items()} | {
            "found": answers["cut"][0]
        }
    spark.stop()
    return results


def _in_a_process(arguments: list[str]) -> dict[str, dict[str, float]]:
    answer = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(answer.stderr or answer.stdout)
    found: dict[str, dict[str, float]] = json.loads(answer.stdout.splitlines()[-1])
    return found


def _events(count: int) -> pl.DataFrame:
    kind = draws(count, 41)
    key = draws(count, 10, seed=2)
    return pl.DataFrame(
        {
            "ts": pl.int_range(count, eager=True),
            "type": pl.select(
                pl.when(kind < 1).then(pl.lit("A")).when(kind < 11).then(pl.lit("B")).otherwise(pl.lit("C"))
            ).to_series(),
            "key": pl.select(pl.when(key < 9).then(0).otherwise(draws(count, 1000, seed=3))).to_series(),
            "v": draws(count, 20_000, seed=4),
        }
    )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()

"""MATCH PATTERN without PARTITION BY: its time line cut into shards, against one task, on one core and on two.

In: ``--events``. Out: a table of seconds and ratios. Each number of cores is a Spark process of its own (``--cores`` runs one); in it the cut
query and the whole one take turns over the same Parquet file. The answers of both must be equal before any time is taken.

* ``line``: one time line, events of three types at rates 1 : 10 : 30, SEQ of three WITHIN a window of 2,000 events.
* ``skew``: the same events, nine of ten with one key, PARTITION BY that key.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import click
import polars as pl
from scan import cached, draws, run, surroundings, take_turns

WINDOW = 2_000
PATTERN = f"""SEQ(A a, B b, C c) {{by}} ORDER BY ts
  WHERE a.v < b.v AND b.v < c.v AND b.v - a.v < 40 AND c.v - b.v < 40 WITHIN {WINDOW}"""
QUERY = "SELECT COUNT(*) AS found, SUM(c.ts - a.ts) AS lasted FROM events MATCH PATTERN (/*+ CEP_SHARDING({sharding}) */ {pattern})"
CASES = {"line": ("", "auto"), "skew": ("PARTITION BY key", "all")}
"""PARTITION BY, and the setting that cuts."""


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
    for case, (by, sharding) in CASES.items():
        pattern = PATTERN.format(by=by)
        texts = {
            "whole": QUERY.format(sharding="off", pattern=pattern),
            "cut": QUERY.format(sharding=sharding, pattern=pattern),
        }
        answers = {name: tuple(run(spark, text)[0]) for name, text in texts.items()}
        if answers["whole"] != answers["cut"]:
            raise SystemExit(f"{case}: {answers}")
        calls = {name: lambda text=text: run(spark, text) for name, text in texts.items()}
        seconds = take_turns(calls, repetitions, warmups)
        results[case] = {name: median(values) for name, values in seconds.items()} | {"found": answers["cut"][0]}
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

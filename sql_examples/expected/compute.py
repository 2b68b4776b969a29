"""The rows each example must return, computed without sparkcep and without Spark.

In: ``../data``. Out: ``<example>.csv`` beside this file, one for each ``../<example>.sql``: a header
with the column names, then the rows in the order of the query. ``values`` documents the format.

    python sql_examples/expected/compute.py
"""

from __future__ import annotations

import csv
from pathlib import Path

import automata
import event_patterns
import papers
import polars as pl
import row_patterns
from values import Row, text

HERE = Path(__file__).parent
FLIGHTS = HERE.parent / "data" / "flights.parquet"

EXAMPLES = (
    event_patterns.knock_on_delay,
    event_patterns.left_on_time_arrived_late,
    event_patterns.rebooking_after_cancellation,
    event_patterns.delay_snowball,
    event_patterns.meltdown_days,
    row_patterns.on_time_streak,
    row_patterns.delay_builds_then_recovers,
    row_patterns.delay_wave,
    row_patterns.airport_recovery,
    row_patterns.bad_spells_of_one_flight,
    row_patterns.late_three_days_running,
    automata.delay_beyond_allowance,
)


def main() -> None:
    """Compute every example, write its rows, print their number."""
    flights = pl.read_parquet(FLIGHTS).with_columns(pl.col(pl.Datetime).dt.replace_time_zone(None))
    for example in EXAMPLES:
        answer(example.__name__, example(flights))
    for paper_example in (*papers.EXAMPLES, *automata.EXAMPLES):
        answer(paper_example.__name__, paper_example())


def answer(name: str, rows: list[Row]) -> None:
    """Keep the rows of an example."""
    write(HERE / f"{name}.csv", rows)
    print(f"{len(rows):5} {name}")


def write(path: Path, rows: list[Row]) -> None:
    """Write the rows; an example that finds nothing is an error."""
    if not rows:
        raise ValueError(f"{path.stem} has no rows")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([text(value) for value in row.values()] for row in rows)


if __name__ == "__main__":
    main()

"""The answers of the MATCH_RECOGNIZE examples, by regular expressions.

In: the flights. Out: one function for each example, named like it, that returns its rows in order. Each row of a
partition becomes a letter that says which conditions hold on it, and ``re`` searches the word. Its preferences are
Perl's, and so are those of the standard; the search goes on after the match, as SKIP PAST LAST ROW does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import polars as pl
from values import Row, mean

ONE_DAY = timedelta(days=1)


def on_time_streak(flights: pl.DataFrame) -> list[Row]:
    """The longest run of departures at most 15 minutes late, for each carrier."""

    def letter(rows: list[Row], i: int) -> str:
        return "o" if _at_most(rows[i]["dep_delay"], 15) else "-"

    best: dict[str, list[Row]] = {}
    for streak in _matches(flights, ["carrier"], ["sched_dep", "flight"], letter, "o+"):
        carrier = streak[0]["carrier"]
        if len(streak) > len(best.get(carrier, [])):
            best[carrier] = streak
    rows = [
        {
            "carrier": carrier,
            "departures": len(streak),
            "first_departure": streak[0]["sched_dep"],
            "last_departure": streak[-1]["sched_dep"],
            "mean_delay": mean(sum(row["dep_delay"] for row in streak), len(streak)),
        }
        for carrier, streak in best.items()
    ]
    return sorted(rows, key=lambda row: (-row["departures"], row["carrier"]))


def delay_builds_then_recovers(flights: pl.DataFrame) -> list[Row]:
    """Three or more departures of an aircraft, each over 10 minutes worse; then one that is not late."""

    def letter(rows: list[Row], i: int) -> str:
        if i == 0 or rows[i]["dep"] - rows[i - 1]["dep"] >= ONE_DAY:
            return "-"
        worse = rows[i]["dep_delay"] > rows[i - 1]["dep_delay"] + 10
        recovered = rows[i]["dep_delay"] <= 0
        return {(False, False): "-", (True, False): "w", (False, True): "r", (True, True): "b"}[worse, recovered]

    flown = flights.filter(pl.col("dep").is_not_null())
    rows = [
        {
            "tailnum": match[0]["tailnum"],
            "first_departure": match[0]["dep"],
            "worse_departures": len(match) - 2,
            "peak_delay": match[-2]["dep_delay"],
            "peak_destination": match[-2]["dest"],
            "recovered_at": match[-1]["dep"],
            "minutes_made_good": match[-2]["dep_delay"] - match[-1]["dep_delay"],
        }
        for match in _matches(flown, ["tailnum"], ["dep"], letter, ".[wb]{3,}[rb]")
    ]
    return sorted(rows, key=lambda row: (-row["peak_delay"], row["tailnum"], row["first_departure"]))


def delay_wave(flights: pl.DataFrame) -> list[Row]:
    """Four or more rising daily means of a carrier, then three or more falling ones."""

    def letter(rows: list[Row], i: int) -> str:
        if i == 0 or rows[i]["mean_delay"] == rows[i - 1]["mean_delay"]:
            return "-"
        return "r" if rows[i]["mean_delay"] > rows[i - 1]["mean_delay"] else "f"

    rows = [
        {
            "carrier": wave[0]["carrier"],
            "first_day": wave[0]["flight_date"],
            "peak_day": max(wave, key=lambda row: row["mean_delay"])["flight_date"],
            "last_day": wave[-1]["flight_date"],
            "days": len(wave),
            "start_delay": wave[0]["mean_delay"],
            "peak_delay": max(row["mean_delay"] for row in wave),
            "end_delay": wave[-1]["mean_delay"],
        }
        for wave in _matches(_daily(flights), ["carrier"], ["flight_date"], letter, ".r{4,}f{3,}")
    ]
    return sorted(rows, key=lambda row: (-row["peak_delay"], row["carrier"], row["first_day"]))


def airport_recovery(flights: pl.DataFrame) -> list[Row]:
    """An hour with half of the departures cancelled, up to the next two normal hours in a row."""

    def letter(rows: list[Row], i: int) -> str:
        hour = rows[i]
        if hour["scheduled"] >= 5 and hour["cancelled"] * 2 >= hour["scheduled"]:
            return "s"
        return "n" if hour["cancelled"] == 0 and hour["very_late"] * 5 <= hour["scheduled"] else "-"

    rows = [
        {
            "airport": match[0]["airport"],
            "stopped_at": match[0]["hour_start"],
            "normal_at": match[-2]["hour_start"],
            "hours_to_recover": len(match) - 2,
            "cancelled_flights": sum(hour["cancelled"] for hour in match),
        }
        for match in _matches(_hourly(flights), ["airport"], ["hour_start"], letter, "s.*?n{2}")
    ]
    return sorted(rows, key=lambda row: (row["airport"], row["stopped_at"]))


def bad_spells_of_one_flight(flights: pl.DataFrame) -> list[Row]:
    """The days of flight HA 51 that lie in a bad spell, each with what is known up to that day."""
    verdicts = {"l": "late", "c": "cancelled", "g": "good"}

    def letter(rows: list[Row], i: int) -> str:
        if rows[i]["dep"] is None:
            return "c"
        return "l" if rows[i]["dep_delay"] > 20 else "g"

    days = flights.filter(pl.col("carrier") == "HA", pl.col("flight") == 51)
    result = []
    for spell, match in enumerate(_matches(days, ["carrier"], ["flight_date"], letter, "[lc]{2,}g"), 1):
        worst = None
        for nth, row in enumerate(match, 1):
            kind = letter(match, nth - 1)
            if kind == "l":
                worst = max(worst or 0, row["dep_delay"])
            result.append(
                {
                    "spell": spell,
                    "flight_date": row["flight_date"],
                    "day_of_spell": nth,
                    "verdict": verdicts[kind],
                    "dep_delay": row["dep_delay"],
                    "worst_so_far": worst,
                }
            )
    return result


def late_three_days_running(flights: pl.DataFrame) -> list[Row]:
    """Windows of three consecutive days on which a flight left over an hour late, counted by flight."""
    keys = ["carrier", "flight", "origin", "dest"]

    def letter(rows: list[Row], i: int) -> str:
        if rows[i]["dep_delay"] is None or rows[i]["dep_delay"] <= 60:
            return "-"
        next_day = i > 0 and rows[i]["flight_date"] == rows[i - 1]["flight_date"] + ONE_DAY
        return "a" if next_day else "l"

    # A match is three rows long whatever it takes, so a lookahead finds the overlapping ones.
    windows: dict[tuple[Any, ...], list[list[Row]]] = {}
    for window in _matches(flights, keys, ["flight_date"], letter, "(?=([la]a{2}))"):
        windows.setdefault(tuple(window[0][key] for key in keys), []).append(window)
    rows = [
        dict(zip(keys, flight, strict=True))
        | {
            "windows": len(found),
            "first_time": found[0][0]["flight_date"],
            "worst_delay": max(row["dep_delay"] for window in found for row in window),
        }
        for flight, found in windows.items()
    ]
    return sorted(rows, key=lambda row: (-row["windows"], -row["worst_delay"], *(row[key] for key in keys)))[:20]


def _matches(
    frame: pl.DataFrame,
    keys: list[str],
    order: list[str],
    letter: Callable[[list[Row], int], str],
    pattern: str,
) -> Iterator[list[Row]]:
    """The rows of every match, partition by partition; group 1 of the expression, if it has one, is the match."""
    for part in frame.sort(*keys, *order).partition_by(keys, maintain_order=True):
        rows = part.to_dicts()
        word = "".join(letter(rows, i) for i in range(len(rows)))
        for found in re.finditer(pattern, word):
            start, end = found.span(found.re.groups)
            yield rows[start:end]


def _daily(flights: pl.DataFrame) -> pl.DataFrame:
    flown = flights.filter(pl.col("dep").is_not_null())
    totals = flown.group_by("carrier", "flight_date").agg(pl.col("dep_delay").sum().alias("total"), pl.len().alias("n"))
    means = [mean(row["total"], row["n"]) for row in totals.iter_rows(named=True)]
    return totals.with_columns(pl.Series("mean_delay", means, dtype=pl.Decimal(6, 1)))


def _hourly(flights: pl.DataFrame) -> pl.DataFrame:
    return flights.group_by(
        pl.col("origin").alias("airport"), pl.col("sched_dep").dt.truncate("1h").alias("hour_start")
    ).agg(
        pl.len().cast(pl.Int64).alias("scheduled"),
        pl.col("dep").is_null().sum().cast(pl.Int64).alias("cancelled"),
        (pl.col("dep_delay") > 60).sum().cast(pl.Int64).alias("very_late"),
    )


def _at_most(value: int | None, limit: int) -> bool:
    return value is not None and value <= limit

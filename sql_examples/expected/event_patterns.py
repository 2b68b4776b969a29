"""The answers of the MATCH PATTERN examples, by joins.

In: the flights. Out: one function for each example, named like it, that returns its rows in order. Every pair of events
with equal partition columns is built, then filtered by order (strictly later), window (strictly shorter) and condition.
"""

from __future__ import annotations

from datetime import timedelta

import polars as pl
from values import Row, mean


def knock_on_delay(flights: pl.DataFrame) -> list[Row]:
    """Late arrival, then late departure of the aircraft: counted by airport of arrival."""
    a = _arrivals(flights).filter(pl.col("delay") > 60)
    d = _departures(flights).filter(pl.col("delay") > 60)
    pairs = _pairs(a, d, ["aircraft"], timedelta(hours=12))
    counted = pairs.group_by("airport").agg(
        pl.len().alias("knock_ons"), pl.col("delay_2").sum().alias("total"), pl.col("delay_2").len().alias("n")
    )
    rows = counted.sort(["knock_ons", "airport"], descending=[True, False]).head(15).to_dicts()
    return [
        {
            "airport": row["airport"],
            "knock_ons": row["knock_ons"],
            "mean_departure_delay": mean(row["total"], row["n"]),
        }
        for row in rows
    ]


def left_on_time_arrived_late(flights: pl.DataFrame) -> list[Row]:
    """Departure and arrival of one flight: not late, then two hours late."""
    d = _departures(flights).filter(pl.col("delay") <= 0)
    a = _arrivals(flights).filter(pl.col("delay") >= 120)
    pairs = _pairs(d, a, ["aircraft"], timedelta(hours=24)).filter(
        pl.col("flight") == pl.col("flight_2"),
        pl.col("dest") == pl.col("dest_2"),
        pl.col("flight_date") == pl.col("flight_date_2"),
    )
    rows = pairs.select(
        "carrier",
        "flight",
        pl.col("airport").alias("from_airport"),
        pl.col("airport_2").alias("to_airport"),
        pl.col("event_time").alias("left_at"),
        pl.col("event_time_2").alias("arrived_at"),
        (pl.col("delay_2") - pl.col("delay")).alias("minutes_lost"),
    )
    order = ["minutes_lost", "left_at", "carrier", "flight"]
    return rows.sort(order, descending=[True, False, False, False]).to_dicts()


def rebooking_after_cancellation(flights: pl.DataFrame) -> list[Row]:
    """Cancellation, then departure by the same carrier to the same destination: counted by carrier."""
    pairs = _pairs(_cancellations(flights), _departures(flights), ["carrier", "dest"], timedelta(hours=3))
    counted = pairs.group_by("carrier").agg(pl.len().alias("ways_to_rebook"))
    return counted.sort(["ways_to_rebook", "carrier"], descending=[True, False]).to_dicts()


def delay_snowball(flights: pl.DataFrame) -> list[Row]:
    """Three departures of an aircraft, each an hour later against its schedule than the one before."""
    d = _departures(flights).filter(pl.col("delay") > 0)
    window = timedelta(hours=18)
    pairs = _pairs(d, d, ["aircraft"], window).filter(pl.col("delay_2") >= pl.col("delay") + 60)
    triples = _followed_by(pairs, d, ["aircraft"], "_3").filter(
        pl.col("event_time_2") < pl.col("event_time_3"),
        pl.col("event_time_3") - pl.col("event_time") < window,
        pl.col("delay_3") >= pl.col("delay_2") + 60,
    )
    order = ["delay_3", "aircraft", "event_time", "event_time_2"]
    rows = triples.sort(order, descending=[True, False, False, False]).select(
        "aircraft",
        pl.col("event_time").alias("first_left_at"),
        pl.col("event_time_3").alias("last_left_at"),
        pl.col("delay").alias("first_delay"),
        pl.col("delay_2").alias("second_delay"),
        pl.col("delay_3").alias("third_delay"),
        pl.col("dest_3").alias("last_destination"),
    )
    return rows.to_dicts()


def meltdown_days(flights: pl.DataFrame) -> list[Row]:
    """Two departures three hours late, then a cancellation: counted by day, carrier and airport."""
    late = _departures(flights).filter(pl.col("delay") >= 180)
    window = timedelta(hours=2)
    keys = ["carrier", "airport"]
    pairs = _pairs(late, late, keys, window).filter(
        pl.col("aircraft") != pl.col("aircraft_2"), pl.col("dest") != pl.col("dest_2")
    )
    triples = _followed_by(pairs, _cancellations(flights), keys, "_3").filter(
        pl.col("event_time_2") < pl.col("event_time_3"), pl.col("event_time_3") - pl.col("event_time") < window
    )
    counted = triples.group_by(pl.col("flight_date_3").alias("day"), *keys).agg(
        pl.col("flight_3").n_unique().alias("cancelled_flights"), pl.len().alias("combinations")
    )
    order = ["cancelled_flights", "combinations", "day", *keys]
    return counted.sort(order, descending=[True, True, False, False, False]).head(20).to_dicts()


def _departures(flights: pl.DataFrame) -> pl.DataFrame:
    return _events(flights, "dep", "origin", pl.col("dep_delay"))


def _arrivals(flights: pl.DataFrame) -> pl.DataFrame:
    return _events(flights, "arr", "dest", pl.col("arr_delay"))


def _cancellations(flights: pl.DataFrame) -> pl.DataFrame:
    return _events(flights.filter(pl.col("dep").is_null()), "sched_dep", "origin", pl.lit(None, pl.Int32))


def _events(flights: pl.DataFrame, time: str, airport: str, delay: pl.Expr) -> pl.DataFrame:
    """The rows of one event type, with the columns of the view ``flight_events``."""
    return flights.filter(pl.col(time).is_not_null()).select(
        pl.col(time).alias("event_time"),
        pl.col(airport).alias("airport"),
        delay.alias("delay"),
        pl.col("tailnum").alias("aircraft"),
        "carrier",
        "flight",
        "dest",
        "flight_date",
    )


def _pairs(first: pl.DataFrame, second: pl.DataFrame, keys: list[str], window: timedelta) -> pl.DataFrame:
    """Every pair with equal keys in which ``second`` is strictly later, by less than the window."""
    gap = pl.col("event_time_2") - pl.col("event_time")
    return _followed_by(first, second, keys, "_2").filter(gap > timedelta(0), gap < window)


def _followed_by(matches: pl.DataFrame, events: pl.DataFrame, keys: list[str], suffix: str) -> pl.DataFrame:
    renamed = events.rename({name: name + suffix for name in events.columns if name not in keys})
    return matches.join(renamed, on=keys, how="inner", nulls_equal=True)

"""The answers of the MATCH AUTOMATON examples, by strings of ticks and loops over later events: no automaton is simulated.

In: the flights, and the generated streams in ``../data``. Out: one function for each example, named like it, that returns its rows in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import polars as pl
from papers import DATA
from values import Row

Event = dict[str, Any]


def v_patterns_after_a_drop() -> list[Row]:
    """A drop, then D+U+D+U+ with as many D as U, in ticks that follow each other."""
    rows = []
    for symbol, ticks in _by("trades", "symbol", "at"):
        signs = _signs(ticks)
        for i in range(1, len(ticks)):
            if ticks[i]["price"] - ticks[i - 1]["price"] > -2:
                continue
            for j in range(i + 4, len(ticks)):
                part = signs[i + 1 : j + 1]
                near = ticks[j]["at"] - ticks[i]["at"] < timedelta(hours=1)
                if near and re.fullmatch("D+U+D+U+", part) and part.count("D") == part.count("U"):
                    rows.append({"symbol": symbol, "dropped_at": ticks[i]["at"], "done_at": ticks[j]["at"], "vs": 2})
    return sorted(rows, key=lambda row: tuple(row.values()))


def v_patterns_until_recovery() -> list[Row]:
    """A drop, then ticks without a pause up to the first uptick to the price before: V-patterns are turns from up to down, and the last one."""
    rows = []
    for stock, ticks in _by("stocks", "stock", "at"):
        signs = _signs(ticks)
        for i in range(1, len(ticks)):
            before = ticks[i - 1]["price"]
            if ticks[i]["price"] > before - 40:
                continue
            later = range(i + 1, len(ticks))
            back = next((j for j in later if signs[j] == "U" and ticks[j]["price"] >= before), None)
            near = back is not None and ticks[back]["at"] - ticks[i]["at"] < timedelta(hours=4)
            if back is None or not near or "=" in signs[i + 1 : back + 1]:
                continue
            turns = len(re.findall("UD", signs[i + 1 : back + 1])) + 1
            rows.append(
                {
                    "stock": stock,
                    "dropped_at": ticks[i]["at"],
                    "back_at": ticks[back]["at"],
                    "before_drop": before,
                    "vs": turns,
                }
            )
    return sorted(rows, key=lambda row: (row["stock"], row["dropped_at"]))


def head_and_shoulders() -> list[Row]:
    """Of all stocks."""
    rows = [row for stock, ticks in _by("stocks", "stock", "at") for row in shoulders(stock, ticks)]
    return sorted(rows, key=lambda row: (row["stock"], row["started_at"]))


def shoulders(stock: str, ticks: list[Row]) -> Iterator[Row]:
    """U+D+U+D+U+D+ from each tick on, then what holds of the turning points."""
    signs, prices = _signs(ticks), [tick["price"] for tick in ticks]
    for i in range(len(ticks)):
        legs = re.match("(U+)(D+)(U+)(D+)(U+)(D+)", signs[i + 1 :])
        if legs is None:
            continue
        turns = [i + legs.end(leg) for leg in range(1, 6)]
        shoulder, low, head, second_low, other = (prices[turn] for turn in turns)
        fall = next((j for j in range(turns[4] + 1, i + legs.end(6) + 1) if prices[j] < prices[i]), None)
        shaped = head > shoulder and head > other and min(low, second_low) > prices[i]
        if fall is not None and shaped:
            yield {
                "stock": stock,
                "started_at": ticks[i]["at"],
                "fell_at": ticks[fall]["at"],
                "start_price": prices[i],
                "shoulder": shoulder,
                "head": head,
            }


def uncertain_readings() -> list[Row]:
    """Every shelf and later exit of a tag: their probabilities, times those that what lies between did not happen."""
    certain = {"SHELF-READING": 0.9, "COUNTER-READING": 0.8, "EXIT-READING": 0.95}
    rows = []
    for tag, events in _by("readings", "tag_id", "read_at"):
        for i, shelf in enumerate(events):
            probability = certain[shelf["event_type"]]
            for event in events[i + 1 :] if shelf["event_type"] == "SHELF-READING" else []:
                if event["read_at"] - shelf["read_at"] >= timedelta(hours=12):
                    break
                p = certain[event["event_type"]]
                if event["event_type"] == "EXIT-READING" and probability * p < 0.5:
                    likely = Decimal(repr(probability * p)).quantize(Decimal("0.000001"), ROUND_HALF_UP)
                    rows.append(
                        {"tag_id": tag, "on_shelf_at": shelf["read_at"], "left_at": event["read_at"], "likely": likely}
                    )
                probability *= 1 - p
                if probability < 0.01:
                    break
    return sorted(rows, key=lambda row: (row["likely"], row["tag_id"], row["on_shelf_at"], row["left_at"]))


def missing_counter_readings() -> list[Row]:
    """A tag's exit right behind its shelf."""
    rows = []
    for tag, events in _by("readings", "tag_id", "read_at"):
        for shelf, gone in zip(events, events[1:], strict=False):
            kinds = shelf["event_type"], gone["event_type"]
            between = gone["read_at"] - shelf["read_at"]
            if kinds == ("SHELF-READING", "EXIT-READING") and between < timedelta(hours=12):
                at = (shelf["read_at"] + between / 2).replace(second=0, microsecond=0)
                rows.append(
                    {"event_type": "COUNTER-READING", "tag_id": tag, "from_shelf": shelf["shelf_id"], "read_at": at}
                )
    return sorted(rows, key=lambda row: (row["read_at"], row["tag_id"]))


def delay_beyond_allowance(flights: pl.DataFrame) -> list[Row]:
    """From each late departure on: sums of delays while all are late."""
    left = flights.filter(pl.col("dep").is_not_null() & pl.col("tailnum").is_not_null())
    rows = []
    for (aircraft,), part in left.sort("dep", "carrier", "flight").group_by("tailnum", maintain_order=True):
        departures = part.select("dep", "dep_delay").rows()
        for i, (first, _) in enumerate(departures):
            total = 0
            for legs, (at, delay) in enumerate(departures[i:], 1):
                if delay <= 0 or at - first >= timedelta(hours=36):
                    break
                total += delay
                if legs >= 4 and total > 200 + 60 * legs:
                    rows.append(
                        {"aircraft": aircraft, "first_left_at": first, "last_left_at": at, "legs": legs, "total": total}
                    )
    return sorted(rows, key=lambda row: (-row["total"], row["aircraft"], row["first_left_at"]))[:25]


def _signs(ticks: list[Event]) -> str:
    """``U``, ``D`` or ``=`` for each tick against the one before; ``=`` for the first."""
    prices = [tick["price"] for tick in ticks]
    pairs = zip(prices, prices[1:], strict=False)
    return "=" + "".join("U" if new > old else "D" if new < old else "=" for old, new in pairs)


def _by(name: str, key: str, time: str) -> Iterator[tuple[Any, list[Event]]]:
    """The events of each key in time order."""
    events = pl.read_parquet(DATA / f"{name}.parquet").sort(time)
    for (value,), part in events.group_by(key, maintain_order=True):
        yield value, part.to_dicts()


EXAMPLES = (
    v_patterns_after_a_drop,
    v_patterns_until_recovery,
    head_and_shoulders,
    uncertain_readings,
    missing_counter_readings,
)

"""Generate the small event streams of the papers' example queries: ``readings``, ``medicine``, ``shipments``, ``stocks``,
``trades``.

In: nothing; every number comes from one seeded generator. Out: a parquet file each, with the shape that the papers describe.

* ``readings`` (SASE, section 2): an item is read at shelves; then it is bought (counter, exit), carried out without the counter, or moved.
* ``medicine`` (SASE, section 2): who took how much of what, and when.
* ``shipments`` (SASE+, Query 2): alerts of contaminated sites, and shipments from site to site.
* ``stocks`` (lazy NFA, sections 2 to 8): ticks of stocks whose rates differ much, each with its last prices and the region of its company.
* ``trades`` (SASE+, Query 3 and section 6): two stocks that rise more often than they fall, with the volume of each trade.

    python sql_examples/data/prepare_papers.py
"""

from __future__ import annotations

import random
from collections import deque
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

HERE = Path(__file__).parent
DAY = datetime(2024, 3, 4)
SHELVES, ITEMS = 12, 300
SITES = [f"S{i}" for i in range(1, 13)]
MINUTES_BETWEEN = {"A": 30, "B": 2, "C": 8, "D": 15, "E": 6}
"""Mean minutes between two ticks of a stock."""
REGIONS = {"A": "NACompany", "B": "EuCompany", "C": "AfrCompany", "D": "AsiaCompany", "E": "EuCompany"}
HISTORY = 5
"""Prices that a tick carries, its own last."""


def main() -> None:
    """Write the files."""
    for name, make in MAKERS.items():
        rows = make(random.Random(name))
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(HERE / f"{name}.parquet")
        print(f"{len(rows):5} {name}")


def readings(source: random.Random) -> list[dict[str, Any]]:
    """Readings of 300 items in one day, by time."""
    rows = []
    for tag in range(1, ITEMS + 1):
        time = DAY + timedelta(minutes=source.randrange(8 * 60, 20 * 60), seconds=source.randrange(60))
        home = source.randrange(1, SHELVES + 1)
        steps = [("SHELF-READING", home)]
        if source.random() < 0.2:
            steps.append(("SHELF-READING", source.randrange(1, SHELVES + 1)))
            steps += [("SHELF-READING", home)] * (source.random() < 0.5)
        if source.random() < 0.6:
            steps += [("COUNTER-READING", None)] * (source.random() < 0.9) + [("EXIT-READING", None)]
        for kind, shelf in steps:
            rows.append({"event_type": kind, "tag_id": tag, "shelf_id": shelf, "read_at": time})
            time += timedelta(minutes=source.randrange(1, 40), seconds=source.randrange(60))
    return sorted(rows, key=lambda row: (row["read_at"], row["tag_id"]))


def medicine(source: random.Random) -> list[dict[str, Any]]:
    """Three days of five patients, by time."""
    rows = []
    for name in ("John", "Mary", "Ann", "Paul", "Eve"):
        for drug, dose in (("Antibiotics", 400), ("Aspirin", 100)):
            time = DAY + timedelta(minutes=source.randrange(60))
            while time < DAY + timedelta(days=3):
                amount = dose + 50 * source.randrange(5)
                row = {"event_type": "MEDICINE-TAKEN", "name": name, "medicine": drug, "amount": amount}
                rows.append(row | {"taken_at": time})
                time += timedelta(minutes=source.randrange(150, 420))
    return sorted(rows, key=lambda row: (row["taken_at"], row["name"], row["medicine"]))


def shipments(source: random.Random) -> list[dict[str, Any]]:
    """One day of shipments between twelve sites, and four alerts; one event a second at most."""
    rows = []
    for minute in source.sample(range(24 * 60), 160):
        start, end = source.sample(SITES, 2)
        rows.append(
            {"event_type": "Shipment", "kind": None, "site": None, "from_site": start, "to_site": end, "at": minute}
        )
    for minute in source.sample(range(2 * 60, 20 * 60), 6):
        kind = source.choice(["contaminated", "contaminated", "late"])
        row = {"event_type": "Alert", "kind": kind, "site": source.choice(SITES), "from_site": None, "to_site": None}
        rows.append(row | {"at": minute})
    for row in rows:
        row["at"] = DAY + timedelta(minutes=row["at"], seconds=30 * (row["event_type"] == "Alert"))
    return sorted(rows, key=lambda row: row["at"])


def stocks(source: random.Random) -> list[dict[str, Any]]:
    """A trading day of five stocks, by time; prices are cents, ``lot`` is a size class. No two ticks have one time."""
    rows = []
    for stock, mean in MINUTES_BETWEEN.items():
        price, history = 10_000 + source.randrange(-200, 200), deque(maxlen=HISTORY)
        history.extend(price + source.randrange(-50, 50) for _ in range(HISTORY))
        time = DAY + timedelta(hours=9, minutes=30)
        while (time := time + timedelta(seconds=source.expovariate(1 / (60 * mean)))) < DAY + timedelta(hours=16):
            price += source.randrange(-60, 61)
            history.append(price)
            row = {"stock": stock, "region": REGIONS[stock], "at": time.replace(microsecond=0), "price": price}
            rows.append(row | {"lot": source.randrange(1, 4), "history": [float(value) for value in history]})
    rows.sort(key=lambda row: (row["at"], row["stock"]))
    return [row for i, row in enumerate(rows) if i == 0 or row["at"] != rows[i - 1]["at"]]


def trades(source: random.Random) -> list[dict[str, Any]]:
    """Five hours of trades, about one a minute: the price rises with probability 0.55, else falls or stays."""
    rows, prices, time = [], {"GOOG": 180, "ORCL": 40}, DAY + timedelta(hours=10)
    while (time := time + timedelta(seconds=source.randrange(20, 100))) < DAY + timedelta(hours=15):
        symbol, chance = source.choice(list(prices)), source.random()
        prices[symbol] += source.randrange(1, 4) if chance < 0.55 else -source.randrange(1, 4) if chance > 0.775 else 0
        row = {"type": "Stock", "symbol": symbol, "at": time, "price": prices[symbol]}
        rows.append(row | {"volume": source.randrange(600, 1025)})
    return rows


MAKERS = {"readings": readings, "medicine": medicine, "shipments": shipments, "stocks": stocks, "trades": trades}
"""File → what makes its rows."""


if __name__ == "__main__":
    main()

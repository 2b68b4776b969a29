"""Three small streams after the applications in section 1 of "Complex Event Analytics" (A-Seq): made up, the same at every run.

Out: ``logins.parquet`` (ip, action, value, password, ts), ``shop_clicks.parquet`` (user_id, product, ts), ``purchases.parquet`` (card,
category, amount, ts) beside this file. Times are UTC, to the second.

    python sql_examples/data/prepare_applications.py
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

HERE = Path(__file__).parent
DAY = datetime(2024, 3, 1, tzinfo=UTC)
WORDS = ("sesame", "tulip", "granite", "harbour", "violet")

Row = dict[str, Any]


def logins(choose: Random) -> Iterator[Row]:
    """400 attempts to log in from 40 addresses, three of which guess: user name, password, submit, seconds apart."""
    for _ in range(400):
        address = choose.choice([*range(40), 3, 3, 3, 17, 17, 29])
        at = DAY + timedelta(seconds=choose.randrange(6 * 3600))
        password = choose.choice(WORDS)
        right = choose.random() < (0.1 if address in (3, 17, 29) else 0.9)
        typed = password if right else choose.choice([word for word in WORDS if word != password])
        for action, value in (("TypeUsername", None), ("TypePassword", typed), ("ClickSubmit", None)):
            stored = password if action == "TypeUsername" else None
            yield {"ip": f"10.0.0.{address}", "action": action, "value": value, "password": stored, "ts": at}
            at += timedelta(seconds=choose.choice([1, 2, 3, 8]))


def shop_clicks(choose: Random) -> Iterator[Row]:
    """3000 clicks of 120 users on one day."""
    products = ["Kindle", "KindleCase", "Stylus", "Book", "Lamp"]
    for _ in range(3000):
        at = DAY + timedelta(seconds=choose.randrange(24 * 3600))
        yield {"user_id": choose.randrange(120), "product": choose.choice(products), "ts": at}


def purchases(choose: Random) -> Iterator[Row]:
    """2000 purchases with 60 cards on one day; two cards empty themselves within minutes."""
    for _ in range(2000):
        at = DAY + timedelta(seconds=choose.randrange(24 * 3600))
        yield _purchase(choose, choose.randrange(60), at, 400)
    for card, hour in ((7, 3), (42, 15)):
        for second in range(0, 540, 60):
            yield _purchase(choose, card, DAY + timedelta(hours=hour, seconds=second), 3000)


def _purchase(choose: Random, card: int, at: datetime, most: int) -> Row:
    cents = choose.randrange(most * 20, most * 100)
    category = choose.choice(["GiftCard", "Electronics", "Groceries"] if most < 1000 else ["GiftCard", "Electronics"])
    return {"card": f"card-{card:02}", "category": category, "amount": Decimal(cents) / 100, "ts": at}


def main() -> None:
    """Write the three files."""
    for name, stream in (("logins", logins), ("shop_clicks", shop_clicks), ("purchases", purchases)):
        rows = pl.DataFrame(list(stream(Random(name)))).sort("ts", maintain_order=True)
        if "amount" in rows.columns:
            rows = rows.with_columns(pl.col("amount").cast(pl.Decimal(9, 2)))
        rows.with_columns(pl.col("ts").dt.cast_time_unit("us")).write_parquet(HERE / f"{name}.parquet")
        print(f"{len(rows):5} {name}")


if __name__ == "__main__":
    main()

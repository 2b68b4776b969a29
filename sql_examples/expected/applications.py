"""The answers of the examples after the A-Seq paper's applications: every combination of events is tried.

In: ``../data``. Out: ``<example>.csv`` beside this file.

    python sql_examples/expected/applications.py
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from values import Row

DATA = Path(__file__).resolve().parent.parent / "data"


def wrong_password() -> list[Row]:
    """User name, a password that is not the stored one, submit: counted by address."""
    found: Counter[str] = Counter()
    for ip, events in _by("logins", "ip").items():
        names, typed, submits = (
            _of(events, "action", kind) for kind in ("TypeUsername", "TypePassword", "ClickSubmit")
        )
        found[ip] = sum(
            u["ts"] < p["ts"] < s["ts"] < u["ts"] + timedelta(seconds=10) and p["value"] != u["password"]
            for u, p, s in product(names, typed, submits)
        )
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return [{"ip": ip, "wrong_passwords": count} for ip, count in ordered if count >= 3]


def kindle_bundles() -> list[Row]:
    """Kindle, case, stylus of one user within an hour."""
    counts = []
    for events in _by("shop_clicks", "user_id").values():
        kindles, cases, pens = (_of(events, "product", kind) for kind in ("Kindle", "KindleCase", "Stylus"))
        hour = timedelta(hours=1)
        counts.append(sum(a["ts"] < b["ts"] < c["ts"] < a["ts"] + hour for a, b, c in product(kindles, cases, pens)))
    found = [count for count in counts if count]
    return [{"users": len(found), "bundles": sum(found), "most_of_one_user": max(found)}]


def card_fraud() -> list[Row]:
    """Pairs of gift card and electronics alive at every purchase of a card, and their total."""
    rows = []
    window = timedelta(minutes=10)
    for card, events in _by("purchases", "card").items():
        gifts, electronics = (_of(events, "category", kind) for kind in ("GiftCard", "Electronics"))
        pairs = [(g, e) for g, e in product(gifts, electronics) if g["ts"] < e["ts"] < g["ts"] + window]
        alarms = []
        for now in sorted({event["ts"] for event in events}):
            alive = [(g, e) for g, e in pairs if e["ts"] <= now < g["ts"] + window]
            total = sum(g["amount"] + e["amount"] for g, e in alive)
            if len(alive) >= 3 and total > 10_000:
                alarms.append((now, len(alive), total))
        if alarms:
            rows.append(
                {
                    "card": card,
                    "block_at": alarms[0][0].replace(tzinfo=None),
                    "most_pairs": max(pairs for _, pairs, _ in alarms),
                    "highest_total": max(total for _, _, total in alarms),
                }
            )
    return sorted(rows, key=lambda row: row["block_at"])


EXAMPLES = (wrong_password, kindle_bundles, card_fraud)


def _by(stream: str, column: str) -> dict[Any, list[Row]]:
    parts: dict[Any, list[Row]] = defaultdict(list)
    for row in pl.read_parquet(DATA / f"{stream}.parquet").to_dicts():
        parts[row[column]].append(row)
    return parts


def _of(events: list[Row], column: str, kind: str) -> list[Row]:
    return [event for event in events if event[column] == kind]


def main() -> None:
    """Compute the three examples and write their rows."""
    from compute import write

    for example in EXAMPLES:
        rows = example()
        write(Path(__file__).parent / f"{example.__name__}.csv", rows)
        print(f"{len(rows):5} {example.__name__}")


if __name__ == "__main__":
    main()

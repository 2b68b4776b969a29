"""The answers of the papers' example queries, by nested loops over small streams.

In: the generated streams in ``../data``. Out: one function for each example, named like it, that returns its rows in order. Every choice of
events is tried (``itertools``), then kept if order, window (strictly shorter) and conditions hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import combinations, product
from math import sqrt
from pathlib import Path
from typing import Any

import polars as pl
from values import Row

DATA = Path(__file__).parent.parent / "data"
Event = dict[str, Any]


def shoplifting() -> list[Row]:
    """Shelf, exit, and no counter in between."""
    last: dict[tuple[datetime, int], datetime] = {}
    for events in _by("readings", "tag_id").values():
        for x, z in _pairs(_of(events, "SHELF-READING"), _of(events, "EXIT-READING"), "read_at", timedelta(hours=12)):
            if not any(x["read_at"] < y["read_at"] < z["read_at"] for y in _of(events, "COUNTER-READING")):
                key = (z["read_at"], z["tag_id"])
                last[key] = max(last.get(key, x["read_at"]), x["read_at"])
    return [{"tag_id": tag, "last_on_shelf": last[left, tag], "left_at": left} for left, tag in sorted(last)]


def misplaced_inventory() -> list[Row]:
    """Two shelves, then for an hour after the first reading neither a counter nor the first shelf."""
    rows, hour = [], timedelta(hours=1)
    for events in _by("readings", "tag_id").values():
        shelves = _of(events, "SHELF-READING")
        for x, y in _pairs(shelves, shelves, "read_at", hour):
            later = [
                z
                for z in [*shelves, *_of(events, "COUNTER-READING")]
                if y["read_at"] < z["read_at"] < x["read_at"] + hour and z["shelf_id"] in (None, x["shelf_id"])
            ]
            if x["shelf_id"] != y["shelf_id"] and not later:
                rows.append((y["read_at"], y["tag_id"], x["shelf_id"], y["shelf_id"]))
    return [{"tag_id": tag, "belongs_to": home, "found_on": on, "found_at": at} for at, tag, home, on in sorted(rows)]


def medication_overdose() -> list[Row]:
    """Two doses of John's."""
    doses = [e for e in _stream("medicine") if (e["name"], e["medicine"]) == ("John", "Antibiotics")]
    pairs = _pairs(doses, doses, "taken_at", timedelta(hours=4))
    found = [(x["taken_at"], y["taken_at"], x["amount"] + y["amount"]) for x, y in pairs]
    return [{"first_at": x, "second_at": y, "total": total} for x, y, total in sorted(found) if total > 1000]


def food_contamination() -> list[Row]:
    """Chains that grow by every shipment from where the last one went."""
    events = _stream("shipments")
    rows = []
    for alert in (event for event in events if event["kind"] == "contaminated"):
        end = alert["at"] + timedelta(hours=3)
        shipments = [e for e in _of(events, "Shipment") if alert["at"] < e["at"] < end]
        chains = [[s] for s in shipments if s["from_site"] == alert["site"]]
        while chains:
            chain = chains.pop()
            route = " > ".join([alert["site"], *(s["to_site"] for s in chain)])
            rows.append((alert["at"], chain[-1]["at"], route, alert["site"]))
            last = chain[-1]
            chains += [[*chain, s] for s in shipments if s["at"] > last["at"] and s["from_site"] == last["to_site"]]
    return [
        {"site": site, "alert_at": at, "chain": chain, "last_shipment_at": last}
        for at, last, chain, site in sorted(rows)
    ]


def shoplifting_next() -> list[Row]:
    """Each shelf reading, and the first exit behind it."""
    rows = []
    for events in _by("readings", "tag_id").values():
        for a in _of(events, "SHELF-READING"):
            behind = [e for e in events if a["read_at"] < e["read_at"] < a["read_at"] + timedelta(hours=12)]
            exits = _of(behind, "EXIT-READING")
            if exits and not any(e["read_at"] < exits[0]["read_at"] for e in _of(behind, "COUNTER-READING")):
                rows.append((exits[0]["read_at"], a["tag_id"], a["read_at"]))
    return [{"tag_id": tag, "on_shelf_at": shelf, "left_at": left} for left, tag, shelf in sorted(rows)]


def stock_trend() -> list[Row]:
    """The closures that are open, event by event: each takes what exceeds its mean, and is a match where the volume drops."""
    rows = []
    for trades in _by("trades", "symbol").values():
        closures: list[list[Event]] = []
        for event in trades:
            closures = [a for a in closures if event["at"] - a[0]["at"] < timedelta(hours=1)]
            rows += [(event, a) for a in closures if 10 * event["volume"] < 8 * a[-1]["volume"]]
            grown = [a + [event] * (event["price"] * len(a) > sum(e["price"] for e in a)) for a in closures]
            closures = grown + [[event]] * (event["volume"] > 1000)
    rows.sort(key=lambda row: (row[0]["at"], row[1][0]["at"], len(row[1])))
    return [
        {
            "symbol": b["symbol"],
            "started_at": a[0]["at"],
            "dropped_at": b["at"],
            "trades": len(a),
            "first_price": a[0]["price"],
            "last_price": a[-1]["price"],
            "last_volume": a[-1]["volume"],
            "dropped_to": b["volume"],
        }
        for b, a in rows
    ]


def stocks_01_sequence() -> list[Row]:
    """A, B, C in this order, all high."""
    found = _sequences("ABC", timedelta(hours=1), lambda e: e["price"] > {"A": 9950, "B": 9800, "C": 9700}[e["stock"]])
    return _times(found, ("a_at", "b_at", "c_at"))


def stocks_02_conjunction() -> list[Row]:
    """A, B, C in any order."""
    found = [
        match
        for match in _any_order("ABC", timedelta(minutes=5))
        if max(match[0]["price"], match[2]["price"]) < match[1]["price"]
    ]
    rows = _times(found, ("a_at", "b_at", "c_at"))
    return [row | {"match_start": min(row.values()), "match_end": max(row.values())} for row in rows]


def stocks_03_partial_sequence() -> list[Row]:
    """A before B, C before D, E anywhere."""
    counts: Counter[int] = Counter()
    lowest: dict[int, int] = {}
    for a, b, c, d, e in _any_order("ABCDE", timedelta(minutes=10)):
        if a["at"] < b["at"] and c["at"] < d["at"]:
            hour = min(a["at"], c["at"], e["at"]).hour
            counts[hour] += 1
            lowest[hour] = min(lowest.get(hour, b["price"]), b["price"])
    return [{"hour": hour, "matches": counts[hour], "lowest_b": lowest[hour]} for hour in sorted(counts)]


def stocks_04_negation() -> list[Row]:
    """A, C, D without a B between A and C that is dearer than C."""
    found = [
        (a, c, d)
        for a, c, d in _sequences("ACD", timedelta(hours=1))
        if not any(a["at"] < b["at"] < c["at"] and b["price"] > c["price"] for b in _stock("B"))
    ]
    return _times(found, ("a_at", "c_at", "d_at"))


def stocks_05_iteration() -> list[Row]:
    """Every set of one B or more between A and C."""
    rows = []
    for a, c in _sequences("AC", timedelta(minutes=6)):
        between = len(_between("B", a, c))
        if between:
            rows.append({"a_at": a["at"], "c_at": c["at"], "matches": 2**between - 1, "longest": between})
    return sorted(rows, key=lambda row: (row["a_at"], row["c_at"]))


def stocks_06_aggregation() -> list[Row]:
    """Every set of two Bs or more whose mean price is high."""
    rows = []
    for a, c in _sequences("AC", timedelta(minutes=9)):
        for prices in ([b["price"] for b in chosen] for chosen in _sets(_between("B", a, c), 2)):
            if sum(prices) > 9900 * len(prices):
                rows.append({"a_at": a["at"], "c_at": c["at"], "prices": " ".join(map(str, prices))})
    return sorted(rows, key=lambda row: tuple(row.values()))


def stocks_07_same_lot() -> list[Row]:
    """Every set of three Bs or more of one lot, counted by lot and size."""
    counts = Counter(
        (a["at"], c["at"], chosen[0]["lot"], len(chosen))
        for a, c in _sequences("AC", timedelta(minutes=15))
        for chosen in _sets(_between("B", a, c), 3)
        if len({b["lot"] for b in chosen}) == 1
    )
    names = ("a_at", "c_at", "lot", "ticks", "matches")
    return [dict(zip(names, (*key, counts[key]), strict=True)) for key in sorted(counts)]


def stocks_08_disjunction() -> list[Row]:
    """Either of two sequences."""
    rows = [
        (match[0]["at"], match[-1]["at"], branch)
        for branch in ("A B C", "C D E")
        for match in _sequences(branch.replace(" ", ""), timedelta(minutes=6))
    ]
    return [{"match_start": start, "match_end": end, "branch": branch} for start, end, branch in sorted(rows)]


def stocks_09_composite() -> list[Row]:
    """A and D with B, or with C, in any order."""
    rows = [
        {"a_at": a["at"], "d_at": d["at"], "beside": beside, "beside_at": other["at"]}
        for beside in "BC"
        for a, other, d in _any_order(f"A{beside}D", timedelta(minutes=5))
    ]
    return sorted(rows, key=lambda row: tuple(row.values()))


def stocks_10_one_type() -> list[Row]:
    """Ticks of A, B, C in this order, falling."""
    found = [(x, y, z) for x, y, z in _sequences("ABC", timedelta(minutes=12)) if x["price"] > y["price"] > z["price"]]
    return _times(found, ("a_at", "b_at", "c_at"))


def stocks_11_correlation() -> list[Row]:
    """Three regions whose histories correlate pairwise."""
    triples = product(_region("NACompany"), _region("EuCompany"), _region("AfrCompany"))
    near = (m for m in triples if m[0]["at"] < m[1]["at"] < m[2]["at"] < m[0]["at"] + timedelta(minutes=10))
    found = [(a, b, c) for a, b, c in near if min(_pearson(a, b), _pearson(b, c), _pearson(a, c)) > 0.3]
    return _times(found, ("na_at", "eu_at", "afr_at"))


def stocks_12_correlation_of_many() -> list[Row]:
    """European ticks that all correlate with the American one, and no Asian one behind them that does with the African one."""
    rows = []
    for a, c in product(_region("NACompany"), _region("AfrCompany")):
        if not a["at"] < c["at"] < a["at"] + timedelta(minutes=12):
            continue
        alike = [b for b in _region("EuCompany") if a["at"] < b["at"] < c["at"] and _pearson(a, b) > 0.8]
        against = [n["at"] for n in _region("AsiaCompany") if n["at"] < c["at"] and _pearson(n, c) > 0.8]
        for chosen in _sets(alike, 1):
            if not any(chosen[-1]["at"] < at for at in against):
                names = " ".join(b["at"].strftime("%H:%M:%S") for b in chosen)
                rows.append({"na_at": a["at"], "eu_at": names, "afr_at": c["at"]})
    return sorted(rows, key=lambda row: tuple(row.values()))


EXAMPLES = (
    shoplifting,
    misplaced_inventory,
    medication_overdose,
    food_contamination,
    shoplifting_next,
    stock_trend,
    stocks_01_sequence,
    stocks_02_conjunction,
    stocks_03_partial_sequence,
    stocks_04_negation,
    stocks_05_iteration,
    stocks_06_aggregation,
    stocks_07_same_lot,
    stocks_08_disjunction,
    stocks_09_composite,
    stocks_10_one_type,
    stocks_11_correlation,
    stocks_12_correlation_of_many,
)


@lru_cache
def _stream(name: str) -> list[Event]:
    return pl.read_parquet(DATA / f"{name}.parquet").to_dicts()


def _by(name: str, key: str) -> dict[Any, list[Event]]:
    groups: dict[Any, list[Event]] = {}
    for event in _stream(name):
        groups.setdefault(event[key], []).append(event)
    return groups


def _of(events: list[Event], event_type: str) -> list[Event]:
    return [event for event in events if event["event_type"] == event_type]


def _pairs(first: list[Event], second: list[Event], time: str, window: timedelta) -> Iterator[tuple[Event, Event]]:
    return ((x, y) for x, y in product(first, second) if x[time] < y[time] < x[time] + window)


def _stock(name: str) -> list[Event]:
    return [event for event in _stream("stocks") if event["stock"] == name]


def _region(name: str) -> list[Event]:
    return [event for event in _stream("stocks") if event["region"] == name]


def _any_order(names: str, window: timedelta, test: Any = lambda event: True) -> list[tuple[Event, ...]]:
    """One event of each stock, the first and the last of them less than ``window`` apart."""
    found: list[tuple[Event, ...]] = [()]
    for name in names:
        events = [event for event in _stock(name) if test(event)]
        found = [(*match, event) for match in found for event in events if _span((*match, event)) < window]
    return found


def _sequences(names: str, window: timedelta, test: Any = lambda event: True) -> list[tuple[Event, ...]]:
    found = _any_order(names, window, test)
    return [m for m in found if all(x["at"] < y["at"] for x, y in zip(m, m[1:], strict=False))]


def _span(match: tuple[Event, ...]) -> timedelta:
    return max(event["at"] for event in match) - min(event["at"] for event in match)


def _between(name: str, first: Event, last: Event) -> list[Event]:
    return [event for event in _stock(name) if first["at"] < event["at"] < last["at"]]


def _sets(events: list[Event], least: int) -> Iterator[tuple[Event, ...]]:
    for size in range(least, len(events) + 1):
        yield from combinations(events, size)


def _times(matches: list[tuple[Event, ...]], names: tuple[str, ...]) -> list[Row]:
    times = sorted(tuple(event["at"] for event in match) for match in matches)
    return [dict(zip(names, row, strict=True)) for row in times]


def _pearson(first: Event, second: Event) -> float:
    """The correlation by its definition; that of a constant history, which has none, is below every threshold."""
    x, y = first["history"], second["history"]
    dx, dy = [v - sum(x) / len(x) for v in x], [v - sum(y) / len(y) for v in y]
    length = sqrt(sum(v * v for v in dx) * sum(v * v for v in dy))
    return sum(p * q for p, q in zip(dx, dy, strict=True)) / length if length else -2.0

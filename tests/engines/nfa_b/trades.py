"""SASE+ section 6: its stock ticker stream and its query template, as the engine gets them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa

from sparkcep.pattern.event import Element, Seq
from sparkcep.spec.event import (
    BufferStruct,
    Engine,
    EventPatternSpec,
    EventStruct,
    MatchOutput,
    Output,
    Predicate,
    Strategy,
    WithinEvents,
)
from sparkcep.spec.expression import AggregateOf, Call, ElementOf
from tests.reference.java_random import JavaRandom

Name = Literal["p1", "p2", "p3"]

_PRICE = ElementOf("a", "price")
PREDICATES: Mapping[Name, tuple[Predicate, ...]] = {
    "p1": (),
    "p2": (Predicate(Call("gt", (_PRICE, ElementOf("a", "price", "previous"))), "a[i].price > a[i-1].price"),),
    "p3": (
        Predicate(Call("gt", (_PRICE, AggregateOf("min", "a", "price", True))), "a[i].price > MIN(a[..i-1].price)"),
    ),
}
START = Predicate(ElementOf("a", "starts", "first"), "a[1].price % 500 = 0")
FIELDS = tuple((name, name) for name in ("symbol", "price", "volume", "ts"))


@lru_cache
def table(size: int = 100_000, rising: float = 0.7) -> pa.Table:
    """E5's stream, symbol after symbol. ``mask``: of ``a`` (any) and ``b`` (volume < 150); ``mask3``: of ``c`` (any) too.

    ``rising``: the probability that a price rises; it falls, or stays, with half of the rest each.
    """
    random = JavaRandom(10)
    prices = [random.next_int(1000), random.next_int(1000)]
    drawn = np.zeros((size, 4), np.int64)
    for at in range(size):
        symbol, chance = random.next_int(2), random.next_int(100) + 1
        if chance <= 100 * rising:
            prices[symbol] += random.next_int(3) + 1
        elif chance > 50 + 50 * rising:
            prices[symbol] -= random.next_int(3) + 1
        drawn[at] = symbol, prices[symbol], random.next_int(1000) + 1, at
    symbol, price, volume, ts = (np.ascontiguousarray(part) for part in drawn[np.argsort(drawn[:, 0], kind="stable")].T)
    first = np.r_[True, symbol[1:] != symbol[:-1]]
    start = np.maximum.accumulate(np.where(first, np.arange(size), 0))
    mask = first | 2 | ((volume < 150).astype(np.int64) << 2)
    columns = {"mask": mask, "mask3": mask | 8, "rank": np.arange(size) - start + 1, "starts": price % 500 == 0}
    return pa.table(columns | {"symbol": symbol, "price": price, "volume": volume, "ts": ts})


def spec(
    predicate: Name, strategy: Strategy, *, matches: MatchOutput = "all", engine: Engine = "auto", within: int = 500
) -> EventPatternSpec:
    """``SEQ(stock+ a[], stock b)`` with ``[symbol]``, the start's condition, P on a[i] and WITHIN ``within`` EVENTS."""
    outputs = [Output(name, EventStruct(name, FIELDS)) for name in "ab"]
    if matches == "compressed":
        outputs = [Output("buffer", BufferStruct(FIELDS))]
    return EventPatternSpec(
        variables=("a", "b"),
        pattern=Seq((Element("a", ("stock",), 1, None), Element("b", ("stock",)))),
        masks=("mask",),
        rank="rank",
        outputs=tuple(outputs),
        schema="{}",
        predicates=(START, *PREDICATES[predicate]),
        within=WithinEvents(within),
        strategy=strategy,
        matches=matches,
        engine=engine,
    )

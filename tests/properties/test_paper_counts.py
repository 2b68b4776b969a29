"""The counts on the papers' own streams (semantics page): E5 by the reference's NFA^b rule, E6 by the engine."""

from typing import Any

import pytest

from tests.adapters import event_matches
from tests.corpus import EventCase
from tests.reference.event_sql import conditions
from tests.reference.events import Query, Stream
from tests.reference.java_random import JavaRandom
from tests.reference.nfa import next_placements
from tests.reference.text import event_pattern


def stocks(size: int) -> tuple[dict[str, object], ...]:
    random = JavaRandom(11)
    random.next_int(100)
    drawn = []
    for at in range(size):
        symbol, price, _volume = random.next_int(20) + 1, random.next_int(100) + 1, random.next_int(1000) + 1
        drawn.append({"id": at, "type": f"stock{symbol}", "ts": at, "price": price})
    return tuple(drawn)


@pytest.mark.parametrize(("length", "expected"), [(2, 1240), (3, 1988), (4, 2621), (5, 2596), (6, 2384)])
def test_e6(length: int, expected: int) -> None:
    pattern = f"SEQ({', '.join(f'stock{symbol} s{symbol}' for symbol in range(1, length + 1))})"
    case = EventCase("E6", pattern, stocks(10_000), where=("[price]",))
    assert len(event_matches(case)) == expected


def trades(size: int) -> list[dict[str, Any]]:
    """The generator of SASE+ section 6."""
    random = JavaRandom(10)
    prices = [random.next_int(1000), random.next_int(1000)]
    drawn = []
    for at in range(size):
        symbol, chance = random.next_int(2), random.next_int(100) + 1
        if chance <= 70:
            prices[symbol] += random.next_int(3) + 1
        elif chance > 85:
            prices[symbol] -= random.next_int(3) + 1
        volume = random.next_int(1000) + 1
        drawn.append({"type": "stock", "symbol": symbol, "price": prices[symbol], "volume": volume, "ts": at})
    return drawn


def test_e5_rising_under_partition_contiguity() -> None:
    """102 matches, mean closure 3.3. (Next, and P true, agree too: 14986 matches; they take minutes here.)"""
    pattern = event_pattern("SEQ(stock+ a, stock b)")
    texts = ("a[1].starts = 1", "a[i].price > a[i-1].price", "b.volume < 150")
    query = Query(pattern, "partition_contiguity", tuple(one for text in texts for one in conditions(text, pattern)))
    every = trades(100_000)
    lengths = []
    for symbol in (0, 1):
        line = [event for event in every if event["symbol"] == symbol]
        for start in (at for at, event in enumerate(line) if event["price"] % 500 == 0):
            window = [event | {"starts": int(at == 0)} for at, event in enumerate(line[start : start + 500])]
            stream = Stream(query, window, tuple(range(len(window))), {at: at for at in range(len(window))})
            runs = next_placements(pattern, query, stream, may_ignore=False)
            lengths += [len(placement["a"]) for placement in runs]
    assert (len(lengths), round(sum(lengths) / len(lengths), 1)) == (102, 3.3)

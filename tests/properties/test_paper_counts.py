"""The counts of E6 (semantics page): SEQ of L different stocks under skip till any match."""

import pytest

from tests.adapters import event_matches
from tests.corpus import EventCase
from tests.reference.java_random import JavaRandom


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

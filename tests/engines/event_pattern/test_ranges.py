"""Range predicates: scanning and searching sorted blocks find what comparing pair by pair finds, in bounded chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engines.event_pattern.budget import Budget, Counters
from sparkcep.engines.event_pattern.candidates import ranges
from sparkcep.engines.event_pattern.candidates.buffer import OrderedBuffer
from sparkcep.engines.event_pattern.candidates.ranges import Bound, Finder, Interval
from sparkcep.engines.event_pattern.engine import compile
from sparkcep.pattern.event import Element, Seq
from sparkcep.spec.expression import ColumnOf
from tests.engines.event_pattern.streams import Clause, call, where

SIZE, PARENTS = 5000, 300


def finder(random: np.random.Generator) -> Finder:
    """Two intervals over ``SIZE`` slots: a narrow one on both sides and a wide one on one side, with NULLs."""
    buffer = OrderedBuffer(np.arange(SIZE) * 3, np.zeros(1, dtype=np.int64))
    width = int(buffer.rows[-1]) + 1
    narrow, wide, other = (random.integers(-1, most, width) for most in (1000, 50, 50))
    a = ColumnOf("a", "x")
    return Finder(
        buffer,
        (
            Interval(narrow, (Bound(a, narrow, -20),), (Bound(a, narrow, 20),)),
            Interval(wide, (), (Bound(a, other, -1),)),
        ),
    )


def found(
    finder: Finder, begin: Any, end: Any, bound: Any, chunk: int, **constants: float
) -> tuple[list[tuple[int, int]], Counters]:
    budget = Budget(1 << 40, 1 << 40, chunk)
    pairs: list[tuple[int, int]] = []
    with patch.multiple(ranges, **constants):
        for part in finder.pairs(begin, end, {"a": bound}, budget):
            assert len(part.rows) <= chunk
            pairs += zip(part.parents.tolist(), part.rows.tolist(), strict=True)
    return pairs, budget.counters


@pytest.mark.parametrize("chunk", [7, 1 << 18])
@pytest.mark.parametrize("tests", [50, 1 << 26])
def test_scan_and_search_find_the_same(chunk: int, tests: int) -> None:
    random = np.random.default_rng(3)
    one = finder(random)
    begin = random.integers(0, SIZE, PARENTS)
    end = np.minimum(begin + random.integers(-5, SIZE, PARENTS), SIZE)
    bound = random.integers(0, SIZE, PARENTS)
    plain, _ = found(one, begin, end, bound, 1 << 30, KERNEL_PAIRS=1 << 40)
    scanned, scan = found(one, begin, end, bound, chunk, KERNEL_PAIRS=0, SORTED_AFTER=1 << 40, MOST_TESTS=tests)
    searched, search = found(one, begin, end, bound, chunk, KERNEL_PAIRS=0, SORTED_AFTER=0, MOST_TESTS=tests)
    assert len(plain) > 100
    assert scanned == plain
    assert sorted(searched) == sorted(plain)
    assert search.predicates < scan.predicates / 5


def test_a_narrow_band_is_searched_not_scanned() -> None:
    """``b.x BETWEEN a.x - 1 AND a.x + 1`` over 20,000 events without a window: 10^8 pairs, of which few are looked at."""
    count = 20_000
    x = np.random.default_rng(5).permutation(count)
    kind = np.arange(count) % 2
    low, high = call("ge", "b.x", "a.below"), call("le", "b.x", "a.above")
    clause = Clause(Seq((Element("a", ("A",)), Element("b", ("B",)))), predicates=where(low, high))
    mask = np.left_shift(1, kind + 1)
    mask[0] |= 1
    columns = {"rank": np.arange(1, count + 1), "time": np.arange(count), "id": np.arange(count)}
    table = pa.table({"mask0": mask, **columns, "x": x, "below": x - 1, "above": x + 1})
    counters = Counters()
    pairs = [pair for part in _pairs(compile(clause.spec()), table, counters) for pair in part]
    place = np.argsort(x)
    near = {(int(min(p, q)), int(max(p, q))) for p, q in zip(place, place[1:], strict=False)}
    assert sorted(pairs) == sorted(pair for pair in near if kind[pair[0]] == 0 and kind[pair[1]] == 1)
    assert counters.predicates < count * 2000


def _pairs(plan: Any, table: pa.Table, counters: Counters) -> Iterator[list[tuple[int, int]]]:
    for part in plan.run(table, counters=counters):
        yield [(match["a"]["time"], match["b"]["time"]) for match in part.to_pylist()]

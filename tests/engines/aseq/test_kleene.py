"""Aggregates over closures without building one: power-set semantics, exact far past BIGINT."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest

from sparkcep.errors import CepDataError
from sparkcep.spec.aggregate import MatchAggregate
from tests.corpus import EventCase
from tests.engines.aseq.cases import aggregates
from tests.engines.aseq.test_engine import WIDE, count, stream


@pytest.mark.parametrize("size", [1, 2, 10, 62])
def test_a_closure_takes_every_subset(size: int) -> None:
    assert count("A+ a", stream("A " * size)) == 2**size - 1
    assert count("SEQ(B b, A* a)", stream("B " + "A " * size)) == 2**size
    assert count("A{2,} a", stream("A " * size)) == 2**size - 1 - size if size > 1 else True


def test_concurrent_events_are_never_in_one_closure() -> None:
    assert count("A+ a", stream("A A A A", step=0)) == 4
    twice = stream("A A B B", step=0)[:2] + tuple(event | {"type": "A", "ts": 1} for event in stream("A A B B")[2:])
    assert count("A+ a", twice) == 2 + 2 + 4


def test_closures_in_windows_and_beside_negation() -> None:
    events = stream("A A N A B")
    assert count("SEQ(A+ a, B b)", events) == 7
    assert count("SEQ(A+ a, !N n, B b)", events) == 4  # the last A of the closure is the third
    assert count("SEQ(A+ a, B b)", events, within=3) == 1
    assert count("SEQ(A+ a, B b)", events, within=4) == 3
    assert count("SEQ(!N n, A+ a, B b)", events, within=4) == 2  # those that start before it


def test_one_contribution_per_element_and_match() -> None:
    events = tuple(event | {"x": x} for event, x in zip(stream("A A A"), (1, 10, None), strict=True))
    wanted = [MatchAggregate(name, "a", "x") for name in ("count", "sum", "min", "max")]  # type: ignore[arg-type]
    assert aggregates(EventCase("case", "A+ a", events), wanted) == [(8, 44, 1, 10)]


@pytest.mark.parametrize("within", [None, 1000])
def test_overflow_of_closures(within: int | None) -> None:
    """2^63 - 1 is the last count that fits; beyond 2^126 even DECIMAL(38,0) does not hold it."""
    assert count("A+ a", stream("A " * 63), within=within) == 2**63 - 1
    with pytest.raises(CepDataError, match="DECIMAL"):
        count("A+ a", stream("A " * 64), within=within)
    assert wide("A+ a", 126, within) == [(2**126 - 1,)]
    with pytest.raises(CepDataError, match="outside the range"):
        wide("A+ a", 127, within)
    with pytest.raises(CepDataError, match="outside the range"):
        wide("A+ a", 5000, within)


def wide(pattern: str, size: int, within: int | None) -> list[Any]:
    return aggregates(EventCase("case", pattern, stream("A " * size), within=within), [WIDE])


@pytest.mark.parametrize("within", [None, 5])
def test_rising_closures(within: int | None) -> None:
    """Of equal, rising and falling values: every non-empty subsequence that rises strictly."""
    for values in ([1, 1, 1, 1], [1, 2, 3, 4], [4, 3, 2, 1], [2, 1, None, 3, 2, 5, 4, 3]):
        events = tuple(event | {"x": x} for event, x in zip(stream("A " * len(values)), values, strict=True))
        rising = sum(
            all(values[i] is not None and values[j] is not None and values[i] < values[j] for i, j in pairwise(places))
            for size in range(1, len(values) + 1)
            for places in combinations(range(len(values)), size)
            if within is None or places[-1] - places[0] < within
        )
        assert count("A+ a", events, within=within, where=("a[i].x > a[i-1].x",)) == rising

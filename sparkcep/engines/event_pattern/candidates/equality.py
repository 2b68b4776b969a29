"""Equality predicates as part of the buffer search.

In: the equalities between the event to take and bound events. Out: one code per candidate and one per partial match,
equal iff all those equalities hold, so that a binary search finds exactly the events that satisfy them; equalities that do not fit a 64-bit code are
compared afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparkcep.engines.event_pattern.events import BoolArray, IntArray
from sparkcep.engines.event_pattern.planner.plan import Equality, Point
from sparkcep.engines.event_pattern.values.closures import Frame, length, rows_of
from sparkcep.engines.event_pattern.values.values import Payload

CODE_LIMIT = 1 << 62
"""Codes times the number of candidates stay below this, so that a buffer key fits int64."""


@dataclass(frozen=True, slots=True)
class Part:
    """One equality: the codes of the event to take and of the bound event of ``term``, per candidate; ``size``: the number of codes."""

    own: IntArray
    term: Point
    bound: IntArray
    size: int


@dataclass(frozen=True, slots=True)
class Keys:
    """``searched``: equalities inside the buffer key; ``compared``: those checked on each pair. ``own``: codes by
    candidate."""

    own: IntArray
    searched: tuple[Part, ...]
    compared: tuple[Part, ...]


def keys(payload: Payload, equalities: Sequence[Equality], width: int, most: int | None = None) -> Keys | None:
    """The codes of ``equalities`` over ``width`` candidates, at most ``most`` of them searched; None without equalities. The most selective
    equalities (most distinct values) are searched. If the product of several exceeds the limit, the first alone is so selective that few pairs are
    left to compare.
    """
    if not equalities:
        return None
    parts = sorted((_part(payload, equality) for equality in equalities), key=lambda part: -part.size)
    searched: list[Part] = []
    compared: list[Part] = []
    product = width + 1
    for part in parts:
        fits = product * max(part.size, 1) < CODE_LIMIT and (most is None or len(searched) < most)
        product *= max(part.size, 1) if fits else 1
        (searched if fits else compared).append(part)
    return Keys(_joined([(part.own, part.size) for part in searched], width), tuple(searched), tuple(compared))


def needles(wanted: Keys, frame: Frame) -> IntArray:
    """The code that each partial match looks up (-1: a NULL, which matches none)."""
    return _joined([(part.bound[rows_of(frame, part.term)], part.size) for part in wanted.searched], length(frame))


def holds(part: Part, taken: IntArray, bound: IntArray) -> BoolArray:
    """Whether an equality outside the key holds. ``taken``, ``bound``: the new event and that of ``part.term``, per
    pair."""
    own = part.own[taken]
    equal: BoolArray = (own == part.bound[bound]) & (own >= 0)
    return equal


def agree(payload: Payload, columns: tuple[str, str]) -> BoolArray:
    """Which candidates have equal values in both columns."""
    codes, _ = payload.codes(columns)
    equal: BoolArray = (codes[columns[0]] == codes[columns[1]]) & (codes[columns[0]] >= 0)
    return equal


def _part(payload: Payload, equality: Equality) -> Part:
    column, term = equality
    codes, size = payload.codes((column, term.column))
    return Part(codes[column], term, codes[term.column], size)


def _joined(parts: Sequence[tuple[IntArray, int]], count: int) -> IntArray:
    if len(parts) == 1:
        return parts[0][0]
    joined = np.zeros(count, dtype=np.int64)
    null = np.zeros(count, dtype=np.bool_)
    for codes, size in parts:
        joined = joined * size + codes
        null |= codes < 0
    joined[null] = -1
    return joined

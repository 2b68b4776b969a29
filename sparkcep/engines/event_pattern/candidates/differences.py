"""Range predicates over sums and differences, as intervals of the event to take, per partial match.

In: the comparisons and differences of a state, a table. Out: ``Search``: intervals, and which predicates they decide. ``b.v - a.v < c`` is equivalent
to ``b.v < a.v + c`` if neither can overflow, which the least and greatest values of the columns show; if one can, the predicate is evaluated pair by
pair, with its errors. With doubles both sides round: the interval is widened by their joint error bound, and the predicate is re-evaluated on what
remains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparkcep.engines.event_pattern.candidates.buffer import InputBuffer
from sparkcep.engines.event_pattern.candidates.ranges import Interval, comparable, intervals
from sparkcep.engines.event_pattern.events import BoolArray, IntArray
from sparkcep.engines.event_pattern.planner.comparisons import Comparison, Difference, as_difference
from sparkcep.engines.event_pattern.planner.linear import MIRRORED, Signed
from sparkcep.engines.event_pattern.values.closures import Frame
from sparkcep.engines.event_pattern.values.spans import EPSILON, LIMIT, Span, Values, scale, scaled, span, values
from sparkcep.engines.event_pattern.values.values import Numbers, Payload
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import Call, ColumnOf, Operator

CODE_BITS = 62
"""A block number and a code share a word of this many bits (see ``ranges.Sorted``)."""


@dataclass(frozen=True, slots=True)
class Search:
    """How a state finds its events. ``decided``: predicates that are equivalent to their intervals; ``widened``: predicates that intervals only
    narrow."""

    intervals: tuple[Interval, ...]
    decided: tuple[Predicate, ...]
    widened: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """A difference that is known not to overflow: all terms with ``scale`` decimal places; ``margin``: the error bound of both sides together."""

    difference: Difference
    scale: int
    margin: float


def search(
    variable: str,
    comparisons: Iterable[Comparison],
    differences: Sequence[Difference],
    buffer: InputBuffer,
    payload: Payload,
) -> Search:
    """Intervals for the events of ``variable`` in ``buffer``."""
    plain = [part for part in comparisons if comparable(part, payload)]
    # The differences of one predicate have the same terms, so all or none of them can be moved.
    found = [one for one in (moved(part, payload) for part in differences) if one is not None]
    sums = [_sum(one, variable, buffer, payload) for one in found]
    also = _beside(plain, {one.own for one in sums}, variable, buffer, payload)
    left = [part for part in plain if part.predicate not in {one.moved.difference.predicate for one in also}]
    decided = [part.predicate for part in plain] + [one.difference.predicate for one in found if not one.margin]
    widened = [one.difference.predicate for one in found if one.margin]
    both = (*intervals(left, buffer, payload), *_intervals([*sums, *also], variable, buffer, payload))
    return Search(both, tuple(dict.fromkeys(decided)), tuple(dict.fromkeys(widened)))


def searchable(difference: Difference, payload: Payload) -> bool:
    """Whether the values of this table allow a search."""
    return moved(difference, payload) is not None


def moved(difference: Difference, payload: Payload) -> Moved | None:
    """The difference, if neither the predicate nor the rearranged comparison can overflow, and nothing is NaN or infinite."""
    condition = difference.predicate.condition
    assert isinstance(condition, Call)
    sides = [span(side, payload) for side in condition.arguments]
    every = [span(part, payload) for _, part in (*difference.own, *difference.others)]
    known = [one for one in (*sides, *every) if one is not None]
    if len(known) < len(sides) + len(every):
        return None
    left, right = known[:2]
    if (left.kind.name, left.kind.scale) != (right.kind.name, right.kind.scale):
        return None
    digits = max(one.kind.scale for one in known)
    terms = [scaled(one, digits) for one in known[2:]]
    size = sum(one.size for one in terms)
    if left.kind.name == "float":
        return Moved(difference, digits, _margin([left, right], terms, size)) if size < 1e300 else None
    return Moved(difference, digits, 0) if size <= LIMIT else None


def _margin(sides: list[Span], terms: list[Span], size: float) -> float:
    """Twice the rounding error of the predicate's sides and of the sums of terms, in any order; 0 for bare columns."""
    errors = sum(one.error for one in (*sides, *terms))
    if not errors and len(terms) == len(sides):
        return 0.0
    return 2 * (errors + (len(terms) + 2) * EPSILON * size) + 1e-300


def _beside(
    comparisons: list[Comparison], own: set[tuple[Signed, ...]], variable: str, buffer: InputBuffer, payload: Payload
) -> list[Sum]:
    """Comparisons of columns that occur in differences too, so that all share one interval."""
    found = [as_difference(part, variable) for part in comparisons if ((1, ColumnOf(variable, part.column)),) in own]
    exact = (moved(one, payload) for one in found if one is not None)
    return [_sum(one, variable, buffer, payload) for one in exact if one is not None and not one.margin]


@dataclass(frozen=True, slots=True)
class Sum:
    """``own`` ``operator`` ``others`` + ``constant``: a difference over one buffer. Terms that are equal in all its events are folded into
    ``constant``, so that both bounds of a band end up in one interval; the first own term has a positive sign."""

    moved: Moved
    own: tuple[Signed, ...]
    operator: Operator
    others: tuple[Signed, ...]
    constant: float


def _sum(wanted: Moved, variable: str, buffer: InputBuffer, payload: Payload) -> Sum:
    own: list[Signed] = []
    constant: Any = 0  # an integer where the terms are integers
    for term in wanted.difference.own:
        numbers, null = _summed((term,), wanted.scale, payload, {variable: buffer.rows})
        if len(numbers) and not null.any() and numbers.min() == numbers.max():
            constant -= numbers[0].item()
        else:
            own.append(term)
    one = wanted.difference
    if not own:
        return Sum(wanted, one.own, one.operator, one.others, 0)
    if own[0][0] > 0:
        return Sum(wanted, tuple(own), one.operator, one.others, constant)
    return Sum(wanted, _negated(own), MIRRORED[one.operator], _negated(one.others), -constant)


def _negated(terms: Iterable[Signed]) -> tuple[Signed, ...]:
    return tuple((-sign, part) for sign, part in terms)


def _summed(terms: Iterable[Signed], digits: int, payload: Payload, rows: Frame) -> Values:
    """The sum of the terms per partial match, with ``digits`` decimal places."""
    total: Values | None = None
    for sign, part in terms:
        numbers, null = values(part, payload, rows)
        factor = sign * 10 ** (digits - scale(part, payload))
        numbers = numbers if factor == 1 else numbers * factor
        total = (numbers, null) if total is None else (total[0] + numbers, total[1] | null)
    assert total is not None
    return total


@dataclass(frozen=True, slots=True)
class Reach:
    """Where an interval of ``codes`` begins (``gt``, ``ge``) or ends. ``base``: the value of code 0; else codes are ranks in ``ascending`` values."""

    sum: Sum
    payload: Payload
    base: int | None
    ascending: Numbers

    def ends(self, frame: Frame) -> tuple[IntArray, BoolArray]:
        """The code per partial match, and a mask of where there is none."""
        numbers: Any
        numbers, null = _summed(self.sum.others, self.sum.moved.scale, self.payload, frame)
        operator, margin = self.sum.operator, self.sum.moved.margin
        is_low, is_strict = operator in ("gt", "ge"), operator in ("lt", "gt") and not margin
        numbers = numbers + (self.sum.constant + (-margin if is_low else margin))
        if self.base is not None:
            return numbers - self.base + ((1 if is_low else -1) if is_strict else 0), null
        right = is_low == is_strict
        places = np.searchsorted(self.ascending, numbers, side="right" if right else "left")
        return places if is_low else places - 1, null


def _intervals(sums: Sequence[Sum], variable: str, buffer: InputBuffer, payload: Payload) -> list[Interval]:
    """One for all sums with the same terms of the event to take."""
    groups: dict[tuple[tuple[Signed, ...], int], list[Sum]] = {}
    for one in sums:
        groups.setdefault((one.own, one.moved.scale), []).append(one)
    found = []
    for (own, digits), members in groups.items():
        numbers, null = _summed(own, digits, payload, {variable: buffer.rows})
        codes, base, ascending = _coded(numbers, null, buffer.rows, len(payload.positions))
        reaches = [(one.operator, Reach(one, payload, base, ascending)) for one in members]
        lows = tuple(reach for operator, reach in reaches if operator in ("gt", "ge"))
        highs = tuple(reach for operator, reach in reaches if operator in ("lt", "le"))
        found.append(Interval(codes, lows, highs))
    return found


def _coded(numbers: Numbers, null: BoolArray, rows: IntArray, count: int) -> tuple[IntArray, int | None, Numbers]:
    """Codes by candidate (-1: NULL, or not in ``rows``); the value of code 0 if codes are offsets from it; else the sorted values they rank."""
    codes = np.full(count, -1, dtype=np.int64)
    known: Any = numbers[~null]
    if known.dtype == np.int64:
        base, most = int(known.min(initial=LIMIT)), int(known.max(initial=-LIMIT))
        if (most - base + 2) * (len(rows) + 1) < 1 << CODE_BITS:
            codes[rows] = np.where(null, -1, numbers - base)
            return codes, base, known[:0]
    ascending, ranks = np.unique(known, return_inverse=True)
    codes[rows[~null]] = ranks
    return codes, None, ascending

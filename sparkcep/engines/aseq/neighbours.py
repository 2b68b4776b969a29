"""Which events of a closure may follow which: comparisons as order keys, other conditions as one bit per pair of events.

In: a table, conditions between neighbours. Out: ``Sides``, arrays that ``neighbour_kernels`` reads. A comparison costs one rank per event; any other
condition is evaluated once for each pair of events that can be neighbours in a window with a START event.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.aseq.events import Coded
from sparkcep.engines.aseq.values import Column, Ints
from sparkcep.engines.event_pattern.events import BoolArray
from sparkcep.engines.event_pattern.values.closures import Closures, Frame, length
from sparkcep.engines.event_pattern.values.predicates import Condition, condition, evaluate, fault_error
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.errors import CepDataError
from sparkcep.spec.event import Predicate
from sparkcep.spec.neighbours import OPERATORS, Linked

CHUNK = 1 << 20
"""Pairs evaluated at a time; a multiple of 8."""
MAX_PAIRS = 1 << 33
"""The most pairs of one closure: one bit each."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Conditions as the kernel reads them: ``variables``, ``operators``; ``each`` and ``previous`` [conditions, rows of the table].

    ``holds``: one bit per pair; ``excused``: the same, with errors counted as true; ``error``: the first error, if any.
    """

    variables: tuple[str, ...]
    operators: Ints
    each: NDArray[np.int64]
    previous: NDArray[np.int64]
    holds: NDArray[np.uint8]
    excused: NDArray[np.uint8]
    error: CepDataError | None

    def links(self, variable: str) -> int:
        """A bit set of the conditions on ``variable``."""
        return sum(1 << number for number, name in enumerate(self.variables) if name == variable)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Bit ``base[row] + place[before]`` of ``holds``: whether the event in ``row`` may follow the one in ``before``."""

    base: Ints
    place: Ints
    holds: NDArray[np.uint8]
    excused: NDArray[np.uint8]
    error: CepDataError | None


def sides(table: pa.Table, linked: Linked, column: Callable[[str], Column], coded: Callable[[str], Coded]) -> Sides:
    """``coded``: START events (bit 0) and the events of a variable (bit 1). Raises CepDataError past ``MAX_PAIRS``."""
    keys = [_order_keys(column(one.each), column(one.previous), coded(one.variable).row) for one in linked.comparisons]
    operators = [OPERATORS.index(one.operator) for one in linked.comparisons]
    names = [one.variable for one in linked.comparisons]
    bits: list[_Pairs] = []
    for name in dict.fromkeys(name for name, _ in linked.others):
        found = _pairs(coded(name), table, name, [one for variable, one in linked.others if variable == name])
        keys.append((found.base + 8 * sum(len(other.holds) for other in bits), found.place))
        operators.append(len(OPERATORS))
        names.append(name)
        bits.append(found)
    nothing = [np.empty(0, np.uint8)]
    return Sides(
        tuple(names),
        np.array(operators),
        np.stack([each for each, _ in keys]),
        np.stack([previous for _, previous in keys]),
        np.concatenate(nothing + [found.holds for found in bits]),
        np.concatenate(nothing + [found.excused for found in bits]),
        next((found.error for found in bits if found.error is not None), None),
    )


def _order_keys(one: Column, other: Column, rows: Ints) -> tuple[Ints, Ints]:
    """Per row of the table, the values of two columns as ranks among all their values in ``rows``; MAX for NULL."""
    taken = pa.array(rows)
    values = pa.concat_arrays([one.values.take(taken), other.values.take(taken)])
    keys, _ = Column(values, np.concatenate([one.valid[rows], other.valid[rows]])).order()
    return _spread(rows, keys[: len(rows)], len(one.valid)), _spread(rows, keys[len(rows) :], len(one.valid))


def _spread(rows: Ints, numbers: Ints, size: int) -> Ints:
    found = np.zeros(size, np.int64)
    found[rows] = numbers
    return found


def _pairs(coded: Coded, table: pa.Table, variable: str, predicates: Items[Predicate]) -> _Pairs:
    row, base, ends = _candidates(coded)
    total = int(ends[-1]) if len(ends) else 0
    if total > MAX_PAIRS:
        raise CepDataError(
            f"A condition between neighbours of {variable} would be evaluated on {total:,} pairs of events",
            code="ASEQ_PAIRS",
            hint="A shorter WITHIN or finer partitions have fewer; so has a comparison of two columns, which needs no pairs.",
        )
    payload = Payload(table, np.arange(table.num_rows))
    wanted = [condition(predicate, payload) for predicate in predicates]
    holds, excused = (np.zeros(-(-total // 8), np.uint8) for _ in range(2))
    error = None
    for begin in range(0, total, CHUNK):
        pair = np.arange(begin, min(begin + CHUNK, total))
        after = np.searchsorted(ends, pair, side="right")
        closures = Closures(row[after], Closures(row[pair - base[after]]), np.arange(len(pair)))
        true, allowed, fault = _evaluated(wanted, payload, {variable: closures})
        part = slice(begin // 8, begin // 8 + -(-len(pair) // 8))
        holds[part], excused[part] = (np.packbits(bits, bitorder="little") for bits in (true, allowed))
        error = error or fault
    size = table.num_rows
    return _Pairs(_spread(row, base, size), _spread(row, np.arange(len(row)), size), holds, excused, error)


def _evaluated(
    wanted: Items[Condition], payload: Payload, events: Frame
) -> tuple[BoolArray, BoolArray, CepDataError | None]:
    """Where all conditions hold; where they hold if errors count as true; and the first error."""
    count = length(events)
    true, allowed, error = np.ones(count, np.bool_), np.ones(count, np.bool_), None
    for one in wanted:
        outcome = evaluate(one, payload, events)
        faults = np.zeros(count, np.int64) if outcome.faults is None else outcome.faults
        faulty = faults != 0
        true &= outcome.holds & ~faulty
        allowed &= outcome.holds | faulty
        if error is None and faulty.any():
            error = fault_error(one, int(faults[faulty][0]))
    return true, allowed, error


def _candidates(coded: Coded) -> tuple[Ints, Ints, Ints]:
    """The variable's events in a window with a START event: ``row``, ``base`` (the bit that predecessor number 0 has) and ``ends`` (the first bit of
    the next event)."""
    group = np.repeat(np.arange(len(coded.part)), np.diff(coded.first))
    low = np.searchsorted(coded.part, coded.part) if coded.windows is None else coded.windows.low
    started = np.full(len(coded.part), -1)
    started[group[coded.code & 1 != 0]] = group[coded.code & 1 != 0]
    started = np.maximum.accumulate(started)
    kept = np.flatnonzero((coded.code & 2 != 0) & (started[group] >= low[group]))
    at = group[kept]
    first, behind = np.searchsorted(at, low[at]), np.searchsorted(at, at)
    ends = np.cumsum(behind - first)
    return coded.row[kept], ends - behind, ends

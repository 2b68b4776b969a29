"""Numba kernel for closures with conditions between neighbouring events: ``b[i].x > b[i-1].x``.

A prefix counter per position no longer says enough: which events may go on depends on the last one taken. So a position of such
a closure keeps a number for every event that it took last, and the next one adds up those that it may follow: quadratic in
the closure's events of a window, as GRETA is, and no closure is ever built. Windows: one pass from every START group.

Words, groups and arithmetic are those of ``kernels``. Sources: A-Seq sections 3.1-3.3; "GRETA: Graph-based Real-time Event Trend
Aggregation" (O. Poppe, C. Lei, E. Rundensteiner, D. Maier, VLDB 2017), section 4.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

from sparkcep.engines.aseq.kernels import LOOP, RESET, copy
from sparkcep.engines.aseq.semiring import MAX, one_of, plus, times, zero_of
from sparkcep.engines.aseq.structures import Compared, Groups, Held, Positions
from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I8, I64, I64X2, structure

GROUPS = structure(Groups, I64, I64, I64, I64)
POSITIONS = structure(Positions, I8, nb.int64, I8, I64)
COMPARED = structure(Compared, I64, I64X2, I64X2, types.Array(nb.uint8, 1, "C"))
EQ, NE, LT, LE, GT, GE, PAIR = range(7)
"""How the sides of a condition are compared; PAIR: their sum is the number of a bit."""


@inner()
def _follows(compared, links, r, before):  # type: ignore[no-untyped-def]
    """Whether row ``r`` may follow ``before`` in a closure; NULL (MAX) satisfies nothing."""
    comparisons, each = compared.operators, compared.each
    previous, holds = compared.previous, compared.holds
    for c in range(len(comparisons)):
        if not links >> c & 1:
            continue
        one, other = each[c, r], previous[c, before]
        if one == MAX or other == MAX:
            return False
        operator = comparisons[c]
        if operator == EQ:
            true = one == other
        elif operator == NE:
            true = one != other
        elif operator == LT:
            true = one < other
        elif operator == LE:
            true = one <= other
        elif operator == GT:
            true = one > other
        elif operator == GE:
            true = one >= other
        else:
            true = holds[(one + other) >> 3] >> ((one + other) & 7) & 1 != 0
        if not true:
            return False
    return True


@inner()
def _sum(mode, compared, links, r, rows, values, count, zero):  # type: ignore[no-untyped-def]
    total = zero
    for i in range(count):
        if _follows(compared, links, r, rows[i]):
            total = plus(mode, total, values[i])
    return total


@inner(allocates=True)
def _from(mode, groups, begin, end, weights, positions, compared, held, zero, one):  # type: ignore[no-untyped-def]
    """The aggregate over matches in the groups ``begin`` … ``end - 1``. In a window only ``begin`` may hold first events."""
    code, first = groups.code, groups.first
    gaps, weighted = positions.gaps, positions.weighted
    goes_on, links = positions.inner, positions.links
    kept, values = held
    alone, length = len(groups.low) > 0, len(gaps)
    state, gain = np.full(length + 1, zero, np.int64), np.full(length + 1, zero, np.int64)
    count, taken = np.zeros(length + 1, np.int64), np.zeros(length + 1, np.int64)
    state[0] = one
    for g in range(begin, end):
        gain[:] = zero
        resets = np.int64(0)
        copy(count, taken)
        for r in range(first[g], first[g + 1]):
            resets |= code[r]
            for j in range(length, 0, -1):
                if not code[r] >> (j - 1) & 1:
                    continue
                start = state[j - 1]
                if goes_on[j - 1]:
                    start = _sum(mode, compared, links[j - 1], r, kept[j - 1], values[j - 1], count[j - 1], zero)
                if j == weighted:
                    start = times(mode, start, weights[r])
                if gaps[j - 1] == LOOP:
                    more = _sum(mode, compared, links[j - 1], r, kept[j], values[j], count[j], zero)
                    start = plus(mode, start, more)
                if start != zero:
                    gain[j] = plus(mode, gain[j], start)
                    kept[j, taken[j]] = r
                    values[j, taken[j]] = start
                    taken[j] += 1
        copy(taken, count)
        for j in range(1, length + 1):
            if j < length and resets >> (RESET + j) & 1:
                state[j] = zero
            state[j] = plus(mode, state[j], gain[j])
        if alone:
            state[0] = zero
    return state[length]


@kernel(
    nb.void(nb.int64, GROUPS, I64, POSITIONS, COMPARED, nb.int64, I64),
    allocates=True,
)
def neighbours(mode, groups, weights, positions, compared, most, out):  # type: ignore[no-untyped-def]
    """``out[p]`` += the aggregate over all matches of partition p.

    ``most``: rows of a pass, at most.
    """
    code, first = groups.code, groups.first
    part, low = groups.part, groups.low
    one, zero = one_of(mode), zero_of(mode)
    size = len(positions.gaps) + 1
    held = Held(np.empty((size, most), np.int64), np.empty((size, most), np.int64))
    end = 0
    for begin in range(len(part)):
        p = part[begin]
        if len(low) == 0:
            if begin > 0 and part[begin - 1] == p:
                continue
            end = begin
            while end < len(part) and part[end] == p:
                end += 1
        else:
            starts = np.int64(0)
            for r in range(first[begin], first[begin + 1]):
                starts |= code[r] & 1
            if not starts:
                continue
            end = max(end, begin)
            while end < len(part) and part[end] == p and low[end] <= begin:
                end += 1
        total = _from(mode, groups, begin, end, weights, positions, compared, held, zero, one)
        out[p] = plus(mode, out[p], total)

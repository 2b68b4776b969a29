"""Numba kernels: which slots of an input buffer fit a partial match, by comparisons of codes.

Interval j admits slot s for partial match i if ``low[j, i] <= own[j, s] <= high[j, i]``. ``scan`` looks at every slot of
``[begin[i], end[i])``. ``search`` finds most of them by binary search in interval ``chosen``: level l holds, for each
aligned block of ``sizes[l]`` slots, their codes in ascending order (``codes``) and the slots in that order (``order``); a
range is cut into the largest blocks that fit, as in a merge sort tree.

Both fill ``parents`` and ``taken`` until these are full, all is done, or ``most`` slots were tested, and return where to go
on: (pairs found, partial match, slot, place in the slot's block or -1, slots tested).
"""

from __future__ import annotations

import numba as nb
from numba import types

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel

I64 = types.Array(nb.int64, 1, "C")
ROWS = types.Array(nb.int64, 1, "C", readonly=True)
TABLE = types.Array(nb.int64, 2, "C", readonly=True)
STATE = types.UniTuple(nb.int64, 5)


@kernel(STATE(ROWS, ROWS, ROWS, TABLE, TABLE, TABLE, nb.int64, nb.int64, nb.int64, I64, I64))
def scan(begin, end, rows, own, low, high, parent, slot, most, parents, taken):  # type: ignore[no-untyped-def]
    """Every slot of every range."""
    found, tested = 0, 0
    while parent < len(begin):
        slot = max(slot, begin[parent])
        while slot < end[parent]:
            fits = True
            for j in range(len(own)):
                code = own[j, slot]
                if code < low[j, parent] or code > high[j, parent]:
                    fits = False
                    break
            slot += 1
            tested += 1
            if fits:
                parents[found] = parent
                taken[found] = rows[slot - 1]
                found += 1
                if found == len(parents):
                    return found, parent, slot, -1, tested
        parent += 1
        slot = -1
        if tested >= most:
            break
    return found, parent, slot, -1, tested


@inner(nb.int64(ROWS, nb.int64, nb.int64, nb.int64))
def _first_at_least(codes, begin, end, low):  # type: ignore[no-untyped-def]
    while begin < end:
        middle = (begin + end) >> 1
        if codes[middle] < low:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel(
    STATE(
        ROWS, ROWS, ROWS, TABLE, TABLE, TABLE, nb.int64, ROWS, TABLE, TABLE,
        nb.int64, nb.int64, nb.int64, nb.int64, I64, I64,
    ),
)  # fmt: skip
def search(  # type: ignore[no-untyped-def]
    begin, end, rows, own, low, high, chosen, sizes, codes, order, parent, slot, inner, most, parents, taken
):
    """Whole blocks by binary search in interval ``chosen``, the rest slot by slot."""
    found, tested = 0, 0
    while parent < len(begin):
        slot = max(slot, begin[parent])
        stop = end[parent] if low[chosen, parent] <= high[chosen, parent] else slot
        while slot < stop:
            level, size = -1, 1
            while level + 1 < len(sizes) and slot % sizes[level + 1] == 0 and slot + sizes[level + 1] <= stop:
                level += 1
                size = sizes[level]
            if inner < 0:
                inner = 0
                if level >= 0:
                    inner = _first_at_least(codes[level], slot, slot + size, low[chosen, parent]) - slot
            while inner < size:
                at = slot
                if level >= 0:
                    if codes[level, slot + inner] > high[chosen, parent]:
                        break
                    at = order[level, slot + inner]
                fits = True
                for j in range(len(own)):
                    code = own[j, at]
                    if code < low[j, parent] or code > high[j, parent]:
                        fits = False
                        break
                inner += 1
                tested += 1
                if fits:
                    parents[found] = parent
                    taken[found] = rows[at]
                    found += 1
                    if found == len(parents):
                        return found, parent, slot, inner, tested
            tested += 1
            slot += size
            inner = -1
        parent += 1
        slot = -1
        inner = -1
        if tested >= most:
            break
    return found, parent, slot, inner, tested

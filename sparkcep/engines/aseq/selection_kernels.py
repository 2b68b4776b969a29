"""Numba kernels that read the masks: where partitions begin, and the rows that a program's events are.

In: masks, ranks, times as columns of a table. Out: arrays over the rows kept. What an event means is ``counting_kernels``' affair.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel

I64, U64 = (types.Array(t, 1, "C") for t in (nb.int64, nb.uint64))
TIMES = types.Array(nb.int64, 1, "C", readonly=True)
MASKS = types.Array(nb.int64, 2, "C", readonly=True)
ROWS = types.Tuple((U64, I64, I64, I64, I64))
WORDS = types.Tuple((MASKS, nb.int64, I64, I64))
ONE = np.uint64(1)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
"""Times a power of two, its six highest bits tell which."""


@inner()
def word_of(words, r):  # type: ignore[no-untyped-def]
    """Bit t: whether row r passes test t: bit ``bit[t]`` of mask ``column[t]``; where there is one mask, bit t + 1 of it."""
    masks, used, column, bit = words
    if masks.shape[0] == 1:
        return (masks[0, r] >> 1) & used
    word = np.int64(0)
    for t in range(len(column)):
        word |= ((masks[column[t], r] >> bit[t]) & 1) << t
    return word


@kernel(I64(MASKS), allocates=True)
def starts(masks):  # type: ignore[no-untyped-def]
    """The first row of each partition, which bit 0 of the first mask says."""
    count = 0
    for r in range(masks.shape[1]):
        count += masks[0, r] & 1
    first = np.empty(count + 1, np.int64)
    count = 0
    for r in range(masks.shape[1]):
        first[count] = r
        count += masks[0, r] & 1
    return first[:-1]


@inner()
def _concur(rank, row, bounds, partitions, kind):  # type: ignore[no-untyped-def]
    """Sets the ``kind`` of rows that are concurrent with others."""
    for p in range(partitions):
        k = bounds[p]
        while k < bounds[p + 1]:
            size = 1
            while k + size < bounds[p + 1] and rank[row[k + size]] == rank[row[k]]:
                size += 1
            if size > 1:
                kind[k : k + size] = -size
            k += size


@kernel(nb.int64(WORDS, TIMES, TIMES, TIMES, ROWS), allocates=True)
def select(words, rank, time, deadline, rows):  # type: ignore[no-untyped-def]
    """Keeps the rows that pass a test; those of partition p are ``bounds[p]`` … ``bounds[p + 1] - 1``.

    ``words``: masks, the word of the tests, mask and bit of each. ``kind``: the only test that the row passes, or less the number of
    rows that are concurrent with it, itself too. ``at``, ``until``: its time and deadline, if there are any. Returns -1 where deadlines fall.
    """
    row, kind, bounds, at, until = rows
    kept, partition = 0, 0
    masks = words[0]
    bounds[0] = 0
    for r in range(masks.shape[1]):
        partition += masks[0, r] & 1
        row[kept] = r
        kept += word_of(words, r) != 0
        bounds[partition] = kept
    places = np.empty(64, np.int64)
    for t in range(64):
        places[((ONE << np.uint64(t)) * DE_BRUIJN) >> np.uint64(58)] = t
    falls, tied, windowed = False, False, len(deadline) > 0
    for p in range(partition):
        last, latest = np.int64(-1), np.int64(np.iinfo(np.int64).min)
        for k in range(bounds[p], bounds[p + 1]):
            r = row[k]
            word = word_of(words, r)
            kind[k] = places[(np.uint64(word) * DE_BRUIJN) >> np.uint64(58)] if word & (word - 1) == 0 else -1
            tied |= k > bounds[p] and rank[r] == last
            last = rank[r]
            if windowed:
                at[k], until[k] = time[r], deadline[r]
                falls |= deadline[r] < latest
                latest = deadline[r]
    if tied:
        _concur(rank, row, bounds, partition, kind)
    return -1 if falls else kept

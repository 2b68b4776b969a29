"""DPC and SEM as printed in the A-Seq paper: baselines for the benchmarks, oracles for the tests.

In: rows coded for one SEQ of single events (with NOT between them allowed), and for SEM a window. Out: the number of matches over all partitions
(2^63 - 1 stands for "that many or more"), and for SEM the peak number of counters (the paper's measure of memory). No query uses them: SEM's cost per
event grows with the window.

Sources: A-Seq section 3.1, Figure 3 (Dynamic Prefix Counting); section 3.2, Figure 5 (Start Event Marking); section 3.3,
Lemma 6 (recounting rule).
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkcep.engines.aseq.events import Coded
from sparkcep.engines.aseq.kernels import I64, RESET, copy
from sparkcep.engines.aseq.semiring import SATURATING, plus
from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel


def dpc(coded: Coded) -> int:
    """The number of matches without a window: one prefix counter, one step per event."""
    return int(_dpc(coded.code, coded.first, coded.part, len(coded.gaps)))


def sem(coded: Coded) -> tuple[int, int]:
    """The number of matches within windows, and the peak number of counters: one for every START group that has not expired."""
    assert coded.windows is not None
    low, widest = coded.windows.low, coded.windows.widest
    total, most = _sem(coded.code, coded.first, coded.part, low, widest, len(coded.gaps))
    return int(total), int(most)


@inner()
def _update(code, begin, end, length, before, counter):  # type: ignore[no-untyped-def]
    """One group of concurrent events (Lemma 1): count(p_j) += count(p_j-1); a negated event resets (Lemma 6)."""
    copy(counter, before)
    for r in range(begin, end):
        for j in range(1, length):
            if (code[r] >> (RESET + j)) & 1:
                counter[j] = 0
    for r in range(begin, end):
        for j in range(2, length + 1):
            if (code[r] >> (j - 1)) & 1:
                counter[j] = plus(SATURATING, counter[j], before[j - 1])


@kernel(nb.int64(I64, I64, I64, nb.int64), allocates=True)
def _dpc(code, first, part, length):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    counter, before = np.zeros(length + 1, np.int64), np.zeros(length + 1, np.int64)
    for g in range(len(part)):
        if g > 0 and part[g] != part[g - 1]:
            total = plus(SATURATING, total, counter[length])
            counter[:] = 0
        _update(code, first[g], first[g + 1], length, before, counter)
        for r in range(first[g], first[g + 1]):
            counter[1] += code[r] & 1
    return plus(SATURATING, total, counter[length])


@kernel(nb.types.UniTuple(nb.int64, 2)(I64, I64, I64, I64, nb.int64, nb.int64), allocates=True)
def _sem(code, first, part, low, widest, length):  # type: ignore[no-untyped-def]
    total, most = np.int64(0), np.int64(0)
    counters = np.zeros((widest + 1, length + 1), np.int64)  # a ring of PreCntrs, one per START group
    started = np.zeros(widest + 1, np.int64)
    before = np.zeros(length + 1, np.int64)
    oldest, newest = 0, 0
    for g in range(len(part)):
        if g > 0 and part[g] != part[g - 1]:
            oldest = newest
        while oldest < newest and started[oldest % (widest + 1)] < low[g]:
            oldest += 1
        for place in range(oldest, newest):
            counter = counters[place % (widest + 1)]
            found = counter[length]
            _update(code, first[g], first[g + 1], length, before, counter)
            total = plus(SATURATING, total, counter[length] - found)
        starts = np.int64(0)
        for r in range(first[g], first[g + 1]):
            starts += code[r] & 1
        if starts > 0:
            counter = counters[newest % (widest + 1)]
            counter[:] = 0
            counter[1] = starts
            started[newest % (widest + 1)] = g
            newest += 1
            most = max(most, np.int64(newest - oldest))
            if length == 1:
                total = plus(SATURATING, total, starts)
    return total, most

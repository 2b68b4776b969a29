"""Numba kernels of EMIT CHANGES where a negated event stands first or last: which matches alive at a time are matches at all.

A negated event first (at n) forbids a match that starts behind it and ends before its window does. Of those alive at t: if n is alive
too, all that start behind it; if it has expired, those that end before n + W. One last (at n) forbids a match that ends before it and
is still alive at n: if n has come, all that end before it; if it comes after t, those whose windows reach beyond it. So at every time
the matches are those that start before one border and end from another one on, and neither border ever goes back.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkcep.engines.aseq.kernels import (
    BEFORE,
    BEHIND,
    I8,
    I64,
    _any_bit,
    _pull,
    _push,
    _through,
    _unit,
    copy,
    copy_all,
)
from sparkcep.engines.aseq.semiring import one_of, plus, zero_of
from sparkcep.engines.kernel import kernel


@kernel(
    nb.void(I64, I64, I64, I64, I64, I64, I64, I64, I64, I64),
    allocates=True,
)
def borders(code, first, moment_part, low, high, part, time, deadline, starts, ends):  # type: ignore[no-untyped-def]
    """Per moment: matches start in groups before ``starts[m]`` and end in groups from ``ends[m]`` on; both in ``low[m]`` … ``high[m]``.

    ``low``, ``high``: the groups alive, as ``reach`` gives them; ``part``, ``time``, ``deadline``: of each group.
    """
    seen, stop = np.int64(-1), 0
    barrier, behind, ending, coming, reached, last = 0, 0, 0, 0, 0, 0
    for m in range(len(low)):
        if moment_part[m] != seen:
            seen = moment_part[m]
            while stop < len(part) and part[stop] < seen:
                stop += 1
            barrier = behind = ending = coming = reached = last = stop
            while stop < len(part) and part[stop] == seen:
                stop += 1
        while behind < low[m]:  # negated events first that have expired
            if _any_bit(code, first, behind, BEFORE):
                while ending < stop and time[ending] < deadline[behind]:
                    ending += 1
            behind += 1
        barrier = max(barrier, low[m])
        while barrier < high[m] and not _any_bit(code, first, barrier, BEFORE):
            barrier += 1
        start = min(barrier + 1, high[m])
        while last < high[m]:  # negated events last that have come
            if _any_bit(code, first, last, BEHIND):
                ending = max(ending, last)
            last += 1
        coming = max(coming, last)
        while coming < stop and not _any_bit(code, first, coming, BEHIND):
            coming += 1
        if coming < stop:
            while reached < stop and deadline[reached] <= time[coming]:
                reached += 1
            start = min(start, reached)
        starts[m] = max(start, low[m])
        ends[m] = max(min(ending, high[m]), low[m])


@kernel(
    nb.void(nb.int64, I64, I64, I64, I64, I64, I64, I64, I8, nb.int64, nb.int64, I64),
    allocates=True,
)
def alive_between(mode, code, first, low, high, starts, ends, weights, gaps, weighted, widest, out):  # type: ignore[no-untyped-def]
    """``out[m]``: like ``change_kernels.alive``, over the matches that start before ``starts[m]`` and end from ``ends[m]`` on.

    Three queues of transition matrices follow one another, cut at the two borders: at ``starts`` a run that has taken nothing
    is dropped, at ``ends`` one that has taken all.
    """
    length = len(gaps)
    size = length + 1
    zero, one = zero_of(mode), one_of(mode)
    front = np.empty((3, widest + 1, size, size), np.int64)
    back, turned = np.full((3, size, size), zero, np.int64), np.full((size, size), zero, np.int64)
    ahead = np.full((size + 1, size), zero, np.int64)
    state, moved, gain = np.full(size, zero, np.int64), np.full(size, zero, np.int64), np.full(size, zero, np.int64)
    base, turn, top = np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3, np.int64)
    edges = np.zeros(4, np.int64)
    for q in range(3):
        _unit(mode, back[q], one, zero)
    for m in range(len(low)):
        edges[0], edges[3] = low[m], high[m]
        edges[1], edges[2] = min(starts[m], ends[m]), max(starts[m], ends[m])
        state[:] = zero
        state[0] = one
        for q in range(3):
            begin, end = edges[q], edges[q + 1]
            if begin >= top[q]:
                base[q] = turn[q] = top[q] = begin
                _unit(mode, back[q], one, zero)
            while top[q] < end:
                g = top[q]
                _push(mode, code, weights, first[g], first[g + 1], gaps, length, weighted, back[q], gain)
                top[q] += 1
            if begin > turn[q]:
                _unit(mode, turned, one, zero)
                base[q] = begin
                for g in range(top[q] - 1, begin - 1, -1):
                    _pull(mode, code, weights, first[g], first[g + 1], gaps, length, weighted, turned, ahead)
                    copy_all(turned, front[q, g - begin])
                turn[q] = top[q]
                _unit(mode, back[q], one, zero)
            if begin < turn[q]:
                _through(mode, state, front[q, begin - base[q]], moved, zero)
                copy(moved, state)
            _through(mode, state, back[q], moved, zero)
            copy(moved, state)
            if end == starts[m] and q < 2:
                state[0] = zero
            if end == ends[m] and q < 2:
                state[length] = zero
        out[m] = plus(mode, out[m], state[length])

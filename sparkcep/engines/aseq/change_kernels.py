"""Numba kernels of EMIT CHANGES: the aggregate over the matches alive at every event time, at constant cost per event.

The matches alive at t have all their events in ``(t - W, t]``, so their aggregate is the product of the transition matrices of the groups
in that window. A queue from two stacks keeps it, as in ``kernels.windowed``: suffix products of the older part, of which only row 0 is
needed, and the product of what came since.

Source: A-Seq sections 3.1 and 3.2 (expiry by START event), Figures 6 and 10.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkcep.engines.aseq.kernels import I8, I64, _pull, _push, _through, _unit, copy
from sparkcep.engines.aseq.semiring import one_of, plus, zero_of
from sparkcep.engines.kernel import kernel


@kernel(
    nb.int64(I64, I64, I64, I64, I64, I64, I64),
    allocates=True,
)
def reach(moment_part, moment, part, time, deadline, low, high):  # type: ignore[no-untyped-def]
    """Per moment the half-open range of groups that are alive: at or before it, and with a later deadline.

    ``moment_part``, ``moment``: partition and time of each moment; ``part``, ``time``, ``deadline``: of each group.
    Returns the largest number of groups alive at once, -1 if deadlines fall with time.
    """
    begin, end, widest, seen = 0, 0, 0, -1
    for m in range(len(moment)):
        if moment_part[m] != seen:
            seen = moment_part[m]
            while end < len(part) and part[end] < seen:
                end += 1
            begin = end
        while end < len(part) and part[end] == seen and time[end] <= moment[m]:
            if end > begin and deadline[end] < deadline[end - 1]:
                return -1
            end += 1
        while begin < end and deadline[begin] <= moment[m]:
            begin += 1
        low[m], high[m] = begin, end
        widest = max(widest, end - begin)
    return widest


@kernel(nb.int64(I64, I64, I64, I64, I64, I64, I64), allocates=True)
def turning(part, arrival, deadline, time, ends, turn_part, turn):  # type: ignore[no-untyped-def]
    """Class by class the moments at which an event arrives or has expired, each once; returns how many.

    ``part``, ``arrival``, ``deadline``: class, moment and deadline of each group (no deadline: it never expires); ``time``: of each
    moment; ``ends``: per class the moment behind the last of its partition.
    """
    count, begin, groups = 0, 0, len(part)
    while begin < groups:
        own, end = part[begin], begin
        while end < groups and part[end] == own:
            end += 1
        i, last = begin, ends[own]
        j = begin if len(deadline) else end
        seen, low, expired = np.int64(-1), arrival[begin], False
        while i < end or j < end:
            if j < end and not expired:
                high = last
                while low < high:
                    middle = (low + high) // 2
                    if time[middle] < deadline[j]:
                        low = middle + 1
                    else:
                        high = middle
                expired = True
            if i < end and (j == end or arrival[i] <= low):
                now = arrival[i]
                i += 1
            else:
                now, expired = low, False
                j += 1
            if now > seen and now < last:
                turn_part[count], turn[count], seen = own, now, now
                count += 1
        begin = end
    return count


@kernel(
    nb.void(nb.int64, I64, I64, I64, I64, I64, I64),
    allocates=True,
)
def merged(mode, turn, leaf, values, part, leaves, out):  # type: ignore[no-untyped-def]
    """``out[m]``: joined by ``plus`` with the last values of all classes of the moment's partition: the root of a tree over them.

    A value may fall, and what is joined has no inverse: so a turn costs the logarithm of the number of classes.
    ``turn``, ``leaf``, ``values``: moment, class and value of each turn, by moment; ``leaves``: classes of each partition.
    """
    widest = 1
    for number in leaves:
        while widest < number:
            widest *= 2
    zero = zero_of(mode)
    tree = np.full(2 * widest, zero, np.int64)
    size, t = 1, 0
    for m in range(len(out)):
        if m == 0 or part[m] != part[m - 1]:
            size = 1
            while size < leaves[part[m]]:
                size *= 2
            tree[: 2 * size] = zero
        while t < len(turn) and turn[t] == m:
            at = size + leaf[t]
            tree[at] = values[t]
            while at > 1:
                at //= 2
                joined = plus(mode, tree[2 * at], tree[2 * at + 1])
                if joined == tree[at]:
                    break
                tree[at] = joined
            t += 1
        out[m] = plus(mode, out[m], tree[1])


@kernel(
    nb.void(nb.int64, I64, I64, I64, I64, I64, I8, nb.int64, nb.int64, I64),
    allocates=True,
)
def alive(mode, code, first, low, high, weights, gaps, weighted, widest, out):  # type: ignore[no-untyped-def]
    """``out[m]``: joined by ``plus`` with the aggregate over the matches whose groups are ``low[m]`` … ``high[m] - 1``.

    Both bounds never fall within a partition; a new partition begins behind all groups seen before.
    """
    length = len(gaps)
    size = length + 1
    zero, one = zero_of(mode), one_of(mode)
    front = np.empty((widest + 1, size), np.int64)
    back, turned = np.full((size, size), zero, np.int64), np.full((size, size), zero, np.int64)
    ahead = np.full((size + 1, size), zero, np.int64)
    state, gain = np.full(size, zero, np.int64), np.full(size, zero, np.int64)
    base, turn, top = 0, 0, 0  # groups base … turn - 1 are in the front, turn … top - 1 in the back
    _unit(mode, back, one, zero)
    for m in range(len(low)):
        if low[m] >= top:
            base = turn = top = low[m]
            _unit(mode, back, one, zero)
        while top < high[m]:
            _push(mode, code, weights, first[top], first[top + 1], gaps, length, weighted, back, gain)
            top += 1
        if low[m] > turn:
            _unit(mode, turned, one, zero)
            base = low[m]
            for g in range(top - 1, base - 1, -1):
                _pull(mode, code, weights, first[g], first[g + 1], gaps, length, weighted, turned, ahead)
                copy(turned[0], front[g - base])
            turn = top
            _unit(mode, back, one, zero)
        if low[m] < turn:
            _through(mode, front[low[m] - base], back, state, zero)
            out[m] = plus(mode, out[m], state[length])
        elif low[m] < high[m]:
            out[m] = plus(mode, out[m], back[0, length])

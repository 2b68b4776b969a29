"""Numba kernels of A-Seq: prefix counting over all partitions of a table in one call.

A sequence of n variables has states 0…n; a partial match in state j has taken an event for each of the first j
variables. ``code`` says per row what it can do: bit j - 1: be the event of position j; bit RESET + j: be a negated event
between positions j and j + 1; bits BEFORE and BEHIND: be a negated event that stands first or last. Concurrent rows form a
group, ``first[g]`` … ``first[g + 1]``; groups of one row are stepped in place.

This is the kernel for sequences with concurrent neighbours or with a negated event first or last; ``counting_kernels`` has the others.

The arithmetic is ``semiring``'s, chosen by ``mode``.
An aggregate of ``v.x`` weighs the step that takes v by x, all others by one: SUM is the sum over matches of their weights.

Sources: A-Seq sections 3.1 (Dynamic Prefix Counting), 3.2 (Start Event Marking), 3.3 (recounting rule), 5 (SUM, MIN, MAX).
Windows of constant cost per event: a queue from two stacks whose elements are transition matrices, instead of a counter
per START event.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

from sparkcep.engines.aseq.semiring import LEAST, one_of, plus, times, zero_of
from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel

I8, I64 = (types.Array(t, 1, "C") for t in (nb.int8, nb.int64))
MASKS = types.Array(nb.int64, 2, "C", readonly=True)
STATES = types.Array(nb.int64, 2, "C")
RANKS = types.Array(nb.int64, 1, "C", readonly=True)

RESET, BEFORE, BEHIND = 30, 60, 61
STRICT, TIED = 0, 1
LOOP = -1
"""A gap like STRICT, of a position that takes one event or more."""


@kernel(nb.types.UniTuple(nb.int64, 2)(MASKS, RANKS, I64, I64, I64, I64, I64, I64, I64), allocates=True)
def select(masks, rank, column, bit, target, code, row, first, part):  # type: ignore[no-untyped-def]
    """Keeps the rows that can do something: their ``code`` and ``row``, and per group its ``first`` kept row and ``part``.

    Test t: bit ``bit[t]`` of mask ``column[t]`` sets bit ``target[t]`` of the code. Returns (rows kept, groups).
    """
    kept, groups, partition, seen = 0, 0, -1, -1
    last = np.int64(0)
    for r in range(masks.shape[1]):
        if masks[0, r] & 1:
            partition += 1
        word = np.int64(0)
        for t in range(len(column)):
            word |= ((masks[column[t], r] >> bit[t]) & 1) << target[t]
        if word == 0:
            continue
        code[kept] = word
        row[kept] = r
        if partition != seen or rank[r] != last:
            first[groups] = kept
            part[groups] = partition
            groups += 1
            seen, last = partition, rank[r]
        kept += 1
    first[groups] = kept
    return kept, groups


@inner()
def _any_bit(code, first, g, bit):  # type: ignore[no-untyped-def]
    word = np.int64(0)
    for r in range(first[g], first[g + 1]):
        word |= code[r]
    return (word >> bit) & 1 != 0


@kernel(nb.int64(I64, I64, I64, I64, I64, I64, I64), allocates=True)
def bounds(code, first, part, time, deadline, low, high):  # type: ignore[no-untyped-def]
    """Per group g the half-open range of groups whose events may start a match that ends at g; -1 if deadlines fall.

    ``low``: the first group whose window is open at g. ``high``: no match ending at g starts from there on: because a
    negated event in g's window lies before it (BEFORE), or one behind g lies in its window (BEHIND). Both never fall.
    Returns the largest number of groups in a window.
    """
    groups, widest = len(part), 0
    start, barrier = 0, 0
    for g in range(groups):
        if g == 0 or part[g] != part[g - 1]:
            start = g
        elif deadline[g] < deadline[g - 1]:
            return -1
        while start < g and time[g] >= deadline[start]:
            start += 1
        low[g] = start
        widest = max(widest, g - start + 1)
        barrier = max(barrier, start)
        while barrier < g and not _any_bit(code, first, barrier, BEFORE):
            barrier += 1
        high[g] = barrier + 1
    limit = np.int64(groups)
    for g in range(groups - 1, -1, -1):
        if g == groups - 1 or part[g] != part[g + 1]:
            limit = np.int64(groups)
        high[g] = min(high[g], limit)
        if _any_bit(code, first, g, BEHIND):
            limit = low[g]
    return widest


@inner()
def _step_row(mode, word, weight, gaps, length, weighted, state):  # type: ignore[no-untyped-def]
    """A group of one row, in place, right to left: no event is its own predecessor."""
    zero = zero_of(mode)
    for j in range(length, 0, -1):
        if j < length and (word >> (RESET + j)) & 1:
            state[j] = zero
        if (word >> (j - 1)) & 1 and gaps[j - 1] == LOOP:
            state[j] = plus(mode, state[j], state[j])
        if (word >> (j - 1)) & 1 and gaps[j - 1] != TIED and state[j - 1] != zero:
            gain = times(mode, state[j - 1], weight) if j == weighted else state[j - 1]
            state[j] = plus(mode, state[j], gain)


@inner()
def _step_group(mode, code, weights, begin, end, gaps, length, weighted, state, gain):  # type: ignore[no-untyped-def]
    """A group of concurrent rows: STRICT gaps start from the states before it, TIED ones from earlier rows of it."""
    zero = zero_of(mode)
    gain[:] = zero
    resets = np.int64(0)
    for r in range(begin, end):
        word = code[r]
        resets |= word
        for j in range(length, 0, -1):
            if (word >> (j - 1)) & 1:
                start = zero
                if gaps[j - 1] != TIED:
                    start = state[j - 1]
                if gaps[j - 1] > STRICT:
                    start = plus(mode, start, gain[j - 1])
                if gaps[j - 1] == LOOP:
                    gain[j] = plus(mode, gain[j], state[j])
                gain[j] = plus(mode, gain[j], times(mode, start, weights[r]) if j == weighted else start)
    for j in range(1, length + 1):
        kept = zero if j < length and (resets >> (RESET + j)) & 1 else state[j]
        state[j] = plus(mode, kept, gain[j])


@kernel(
    nb.void(nb.int64, I64, I64, I64, I64, I8, nb.int64, I64),
    allocates=True,
)
def unbounded(mode, code, first, part, weights, gaps, weighted, out):  # type: ignore[no-untyped-def]
    """``out[p]``: the aggregate over all matches of partition p (Dynamic Prefix Counting)."""
    length = len(gaps)
    zero, one = zero_of(mode), one_of(mode)
    state, gain = np.full(length + 1, zero, np.int64), np.full(length + 1, zero, np.int64)
    state[0] = one
    for g in range(len(part)):
        begin, end = first[g], first[g + 1]
        if end - begin == 1:
            weight = weights[begin] if weighted > 0 else weights[0]
            _step_row(mode, code[begin], weight, gaps, length, weighted, state)
        else:
            _step_group(mode, code, weights, begin, end, gaps, length, weighted, state, gain)
        if g + 1 == len(part) or part[g + 1] != part[g]:
            out[part[g]] = plus(mode, out[part[g]], state[length])
            state[1:] = zero


@kernel(
    nb.void(nb.int64, I64, I64, I64, I64, I8, nb.int64, STATES),
    allocates=True,
)
def resumed(mode, code, first, part, weights, gaps, weighted, states):  # type: ignore[no-untyped-def]
    """``unbounded`` that goes on from ``states`` [partitions, length + 1], where earlier events have left them, and leaves them there."""
    length = len(gaps)
    gain = np.full(length + 1, zero_of(mode))
    for g in range(len(part)):
        begin, end, state = first[g], first[g + 1], states[part[g]]
        if end - begin == 1:
            weight = weights[begin] if weighted > 0 else weights[0]
            _step_row(mode, code[begin], weight, gaps, length, weighted, state)
        else:
            _step_group(mode, code, weights, begin, end, gaps, length, weighted, state, gain)


@inner()
def _push(mode, code, weights, begin, end, gaps, length, weighted, matrix, gain):  # type: ignore[no-untyped-def]
    """``matrix`` times the group's transition matrix: what ``_step_row`` and ``_step_group`` do to each of its rows."""
    zero = zero_of(mode)
    if end - begin > 1:
        for i in range(length + 1):
            _step_group(mode, code, weights, begin, end, gaps, length, weighted, matrix[i], gain)
        return
    word = code[begin]
    for j in range(length, 0, -1):
        if j < length and (word >> (RESET + j)) & 1:
            matrix[: j + 1, j] = zero
        if (word >> (j - 1)) & 1 and gaps[j - 1] == LOOP:
            for i in range(j + 1):
                matrix[i, j] = plus(mode, matrix[i, j], matrix[i, j])
        if (word >> (j - 1)) & 1 and gaps[j - 1] != TIED:
            for i in range(j):
                if matrix[i, j - 1] != zero:
                    gain_i = matrix[i, j - 1]
                    if j == weighted:
                        gain_i = times(mode, gain_i, weights[begin])
                    matrix[i, j] = plus(mode, matrix[i, j], gain_i)


@inner()
def _pull_row(mode, word, weight, gaps, length, weighted, matrix, zero):  # type: ignore[no-untyped-def]
    """A group of one row, in place, left to right."""
    for j in range(1, length + 1):
        if j > 1 and (word >> (RESET + j - 1)) & 1:
            matrix[j - 1] = zero
        if (word >> (j - 1)) & 1 and gaps[j - 1] != TIED:
            for k in range(j, length + 1):
                if matrix[j, k] != zero:
                    gain = times(mode, matrix[j, k], weight) if j == weighted else matrix[j, k]
                    matrix[j - 1, k] = plus(mode, matrix[j - 1, k], gain)
        if (word >> (j - 1)) & 1 and gaps[j - 1] == LOOP:
            for k in range(j, length + 1):
                matrix[j, k] = plus(mode, matrix[j, k], matrix[j, k])


@inner()
def _pull(mode, code, weights, begin, end, gaps, length, weighted, matrix, ahead):  # type: ignore[no-untyped-def]
    """The group's transition matrix times ``matrix``; rows right to left, as ``_push`` goes left to right.

    ``ahead[j]``: the paths that go on from state j - 1 by taking an event of this group for position j.
    """
    zero = zero_of(mode)
    if end - begin == 1:
        _pull_row(mode, code[begin], weights[begin if weighted > 0 else 0], gaps, length, weighted, matrix, zero)
        return
    ahead[:, :] = zero
    resets = np.int64(0)
    for r in range(end - 1, begin - 1, -1):
        word = code[r]
        resets |= word
        for j in range(1, length + 1):
            if (word >> (j - 1)) & 1:
                for k in range(j, length + 1):
                    go = zero
                    if j == length or gaps[j] != TIED:
                        go = matrix[j, k]
                    if j < length and gaps[j] > STRICT:
                        go = plus(mode, go, ahead[j + 1, k])
                    if go != zero:
                        if j == weighted:
                            go = times(mode, go, weights[r])
                        ahead[j, k] = plus(mode, ahead[j, k], go)
    for j in range(1, length + 1):
        if gaps[j - 1] == LOOP and mode != LEAST:
            times_taken = one_of(mode)
            for r in range(begin, end):
                if (code[r] >> (j - 1)) & 1:
                    times_taken = plus(mode, times_taken, one_of(mode))
            for k in range(j, length + 1):
                matrix[j, k] = times(mode, matrix[j, k], times_taken)
    for j in range(length):
        if j > 0 and (resets >> (RESET + j)) & 1:
            matrix[j] = zero
        if gaps[j] != TIED:
            for k in range(j + 1, length + 1):
                matrix[j, k] = plus(mode, matrix[j, k], ahead[j + 1, k])


@inner()
def copy(source, target):  # type: ignore[no-untyped-def]
    """One row; numba's own assignment compiles what it would say of different shapes."""
    for i in range(len(source)):
        target[i] = source[i]


@inner()
def copy_all(source, target):  # type: ignore[no-untyped-def]
    """The rows of a matrix."""
    for i in range(len(source)):
        copy(source[i], target[i])


@inner()
def _unit(mode, matrix, one, zero):  # type: ignore[no-untyped-def]
    matrix[:, :] = zero
    for i in range(len(matrix)):
        matrix[i, i] = one


@inner()
def _through(mode, state, matrix, out, zero):  # type: ignore[no-untyped-def]
    """``state`` times an upper triangular matrix, into ``out``."""
    for k in range(len(state)):
        total = zero
        for j in range(k + 1):
            if state[j] != zero and matrix[j, k] != zero:
                total = plus(mode, total, times(mode, state[j], matrix[j, k]))
        out[k] = total


@kernel(
    nb.void(nb.int64, I64, I64, I64, I64, I64, I64, I8, nb.int64, nb.int64, nb.boolean, I64),
    allocates=True,
)
def windowed(mode, code, first, part, low, high, weights, gaps, weighted, widest, open_ended, out):  # type: ignore[no-untyped-def]
    """``out[p]``: the aggregate over all matches of partition p inside their windows.

    A match that ends in group g starts in ``low[g]`` … ``high[g] - 1``. Two queues of transition matrices follow one
    another: groups ``low[g]`` … ``middle - 1``, where matches may start, and, with negation at an open end, groups
    ``middle`` … ``g - 1``, where they may not. A queue is a stack of suffix products (its front, of which the first
    queue needs only row 0) and the product of what came since (its back). When the front is used up the back is turned
    over, each group once: so the cost per event does not depend on the window.
    """
    length = len(gaps)
    size = length + 1
    zero, one = zero_of(mode), one_of(mode)
    front = np.empty((widest + 1, size), np.int64)
    rest_front = np.empty((widest + 1 if open_ended else 0, size, size), np.int64)
    back, rest_back, turned = (
        np.full((size, size), zero, np.int64),
        np.full((size, size), zero, np.int64),
        np.full((size, size), zero, np.int64),
    )
    ahead = np.full((size + 1, size), zero, np.int64)
    state, moved, gain = np.full(size, zero, np.int64), np.full(size, zero, np.int64), np.full(size, zero, np.int64)
    turn, middle, rest_turn = 0, 0, 0  # first groups not in the fronts; the border between the queues
    base, rest_base = 0, 0  # the groups of the fronts' first entries
    last_bit = np.int64(1) << (length - 1)
    for g in range(len(part)):
        if g == 0 or part[g] != part[g - 1]:
            turn = middle = rest_turn = g
            _unit(mode, back, one, zero)
            _unit(mode, rest_back, one, zero)
        # Groups that have become possible starts leave the second queue for the first.
        border = max(low[g], min(high[g], g))
        if low[g] > middle:
            turn = middle = low[g]
            _unit(mode, back, one, zero)
        while middle < border:
            _push(mode, code, weights, first[middle], first[middle + 1], gaps, length, weighted, back, gain)
            middle += 1
        if low[g] > turn:
            _unit(mode, turned, one, zero)
            base = low[g]
            for s in range(middle - 1, base - 1, -1):
                _pull(mode, code, weights, first[s], first[s + 1], gaps, length, weighted, turned, ahead)
                copy(turned[0], front[s - base])
            turn = middle
            _unit(mode, back, one, zero)
        if open_ended and middle > rest_turn:
            _unit(mode, turned, one, zero)
            rest_base = middle
            for s in range(g - 1, middle - 1, -1):
                _pull(mode, code, weights, first[s], first[s + 1], gaps, length, weighted, turned, ahead)
                copy_all(turned, rest_front[s - rest_base])
            rest_turn = g
            _unit(mode, rest_back, one, zero)
        begin, end = first[g], first[g + 1]
        ends = np.int64(0)
        for r in range(begin, end):
            ends |= code[r] & last_bit
        if ends and low[g] < high[g]:
            if low[g] < turn:
                _through(mode, front[low[g] - base], back, state, zero)
            else:
                copy(back[0], state)
            if open_ended:
                if high[g] <= g:
                    state[0] = zero
                if middle < rest_turn:
                    _through(mode, state, rest_front[middle - rest_base], moved, zero)
                    copy(moved, state)
                _through(mode, state, rest_back, moved, zero)
                copy(moved, state)
            grown = state[length] if gaps[length - 1] == LOOP else zero
            state[length] = zero
            if end - begin == 1:
                _step_row(mode, code[begin], weights[begin if weighted > 0 else 0], gaps, length, weighted, state)
            else:
                _step_group(mode, code, weights, begin, end, gaps, length, weighted, state, gain)
            for r in range(begin, end):
                if grown != zero and code[r] & last_bit:
                    state[length] = plus(
                        mode, state[length], grown
                    )  # closures that began before and end with this event
            out[part[g]] = plus(mode, out[part[g]], state[length])
        if open_ended:
            _push(mode, code, weights, begin, end, gaps, length, weighted, rest_back, gain)

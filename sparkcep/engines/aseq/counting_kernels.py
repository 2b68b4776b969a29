"""Numba kernels that run a ``Program``: all its sequences over all partitions of a table in one pass.

In: words (per row the tests it passes), groups of concurrent rows, times, the program's arrays. Out: a number per sequence
and partition. Cost of an event: the entries that end or begin with it, whatever the window: a queue from two stacks.
The back stack is the value of every entry over what came since; the front, made by turning the back over, one group after
another from the end, holds the value of every prefix from each START group on.

The arithmetic is that of ``kernels`` (semirings), and two more modes: any other ``mode`` is a modulus.
Sources: A-Seq sections 3.1, 3.2, 3.3 and 4; two-stack sliding windows instead of a counter per START event.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

from sparkcep.engines.aseq.kernels import FLOAT, LEAST, MAX, SAFE_PRODUCT, SATURATING

I64, F64 = (types.Array(t, 1, "C") for t in (nb.int64, nb.float64))
MASK = types.Array(nb.int64, 1, "C", readonly=True)
RANKS = MASK
MASKS = types.Array(nb.int64, 2, "C", readonly=True)
OUT_I64, OUT_F64 = (types.Array(t, 2, "C") for t in (nb.int64, nb.float64))
ROWS, PROGRAM = types.UniTuple(I64, 4), types.UniTuple(I64, 5)
FRONT = 64


@nb.njit(inline="always")
def _plus(mode, a, b):  # type: ignore[no-untyped-def]
    if mode == SATURATING:
        return a * 0 + MAX if a > MAX - b else a + b
    if mode == LEAST:
        return min(a, b)
    return a + b if mode == FLOAT else (a + b) % mode


@nb.njit(inline="always")
def _times(mode, a, b):  # type: ignore[no-untyped-def]
    if mode == LEAST:
        return max(a, b)
    if a == 0 or b == 0:
        return a * 0 if a == 0 else b * 0
    if mode > FLOAT:
        return (a * b) % mode
    if mode == FLOAT or float(a) * float(b) < SAFE_PRODUCT:
        return a * b
    return a * 0 + MAX if a > MAX // b else a * b


@nb.njit(cache=True, nogil=True)
def _word(masks, r, column, bit):  # type: ignore[no-untyped-def]
    word = np.int64(0)
    for t in range(len(column)):
        word |= ((masks[column[t], r] >> bit[t]) & 1) << t
    return word


@nb.njit(types.UniTuple(nb.int64, 2)(MASKS, RANKS, nb.int64, I64, I64, I64, I64, I64, I64, I64), cache=True, nogil=True)
def select(masks, rank, used, column, bit, words, tests, row, first, part):  # type: ignore[no-untyped-def]
    """Keeps the rows that pass a test: their ``words``, the only test they pass (or -1) and their ``row``; per group its
    ``first`` kept row and its ``part``. Returns (rows kept, groups).

    Test t is bit ``bit[t]`` of mask ``column[t]``; where there is one mask, bit t + 1, if bit t of ``used`` is set.
    """
    kept, groups, partition, seen = 0, 0, -1, -1
    last = np.int64(0)
    places = np.full(67, -1)
    for t in range(64):  # powers of two have distinct remainders by 67
        places[np.uint64(np.uint64(1) << np.uint64(t)) % np.uint64(67)] = t
    single = masks.shape[0] == 1
    for r in range(masks.shape[1]):
        partition += masks[0, r] & 1
        word = (masks[0, r] >> 1) & used if single else _word(masks, r, column, bit)
        if word == 0:
            continue
        words[kept] = word
        tests[kept] = places[np.uint64(word) % np.uint64(67)] if word & (word - 1) == 0 else -1
        row[kept] = r
        if partition != seen or rank[r] != last:
            first[groups] = kept
            part[groups] = partition
            groups += 1
            seen, last = partition, rank[r]
        kept += 1
    first[groups] = kept
    return kept, groups


@nb.njit(cache=True, nogil=True)
def _start(mode, values, units):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        values[i] = (0 if units[i] else MAX) if mode == LEAST else units[i]


@nb.njit(cache=True, nogil=True)
def _single(mode, test, r, weights, steps, values, zero):  # type: ignore[no-untyped-def]
    """One row that passes one test, in place."""
    at = steps[test]
    begin = at + 2
    end = begin + 4 * steps[at]
    for o in range(begin, end, 4):
        target, source = steps[o], steps[o + 1]
        if len(weights) and steps[o + 3]:
            for i in range(steps[o + 2]):
                more = _times(mode, values[source + i], weights[r])
                values[target + i] = _plus(mode, values[target + i], more)
        else:
            for i in range(steps[o + 2]):
                values[target + i] = _plus(mode, values[target + i], values[source + i])
    for c in range(end, end + steps[at + 1]):
        values[steps[c]] = zero


@nb.njit(cache=True, nogil=True)
def _group(mode, words, count, begin, end, weights, steps, values, gain, zero):  # type: ignore[no-untyped-def]
    """Concurrent rows, or a row that passes several tests: all read the values from before the group."""
    for r in range(begin, end):
        for t in range(count):
            if (words[r] >> t) & 1:
                at = steps[t]
                for o in range(at + 2, at + 2 + 4 * steps[at], 4):
                    target, source = steps[o], steps[o + 1]
                    for i in range(steps[o + 2]):
                        more = values[source + i]
                        if len(weights) and steps[o + 3]:
                            more = _times(mode, more, weights[r])
                        gain[target + i] = _plus(mode, gain[target + i], more)
    for r in range(begin, end):
        for t in range(count):
            if (words[r] >> t) & 1:
                at = steps[t] + 2 + 4 * steps[steps[t]]
                for c in range(at, at + steps[steps[t] + 1]):
                    values[steps[c]] = zero
    for r in range(begin, end):
        for t in range(count):
            if (words[r] >> t) & 1:
                at = steps[t]
                for o in range(at + 2, at + 2 + 4 * steps[at], 4):
                    for e in range(steps[o], steps[o] + steps[o + 2]):
                        values[e] = _plus(mode, values[e], gain[e])
                        gain[e] = zero


@nb.njit(cache=True, nogil=True)
def _ending(mode, test, r, p, weights, finals, back, held, zero, out):  # type: ignore[no-untyped-def]
    """Adds the matches that end in row ``r``: prefixes from the front (``held``, if any) times what follows in the back."""
    at = finals[test] + 1
    for _ in range(finals[finals[test]]):
        total = zero
        runs = at + 3
        if len(held):
            for o in range(runs, runs + 3 * finals[at + 2], 3):
                place, entry = finals[o], finals[o + 1]
                for i in range(finals[o + 2]):
                    total = _plus(mode, total, _times(mode, held[place + i], back[entry + i]))
        else:
            total = _plus(mode, total, back[finals[runs + 1]])
        if len(weights) and finals[at + 1]:
            total = _times(mode, total, weights[r])
        out[finals[at], p] = _plus(mode, out[finals[at], p], total)
        at = runs + 3 * finals[at + 2]


@nb.njit(cache=True, nogil=True)
def _doubled(front, groups):  # type: ignore[no-untyped-def]
    larger = np.empty((2 * len(front), front.shape[1]), front.dtype)
    larger[: len(front)] = front
    longer = np.empty(2 * len(groups), np.int64)
    longer[: len(groups)] = groups
    return larger, longer


@nb.njit(inline="always")
def _run(mode, rows, times, deadlines, weights, program, prefixes, starts, ends, zero, out):  # type: ignore[no-untyped-def]
    words, tests, first, part = rows
    push, pull, finals, units, pull_units = program
    count = push[0]  # as many places as tests
    back, turned = np.empty(len(units), out.dtype), np.empty(len(pull_units), out.dtype)
    gain = np.full(max(len(units), len(pull_units)), zero, out.dtype)
    front, front_group = np.empty((FRONT, prefixes), out.dtype), np.empty(FRONT, np.int64)
    nothing = np.empty(0, out.dtype)
    low, turn, held, p = 0, 0, -1, np.int64(-1)
    for g in range(len(part)):
        begin, end = first[g], first[g + 1]
        word = words[begin]
        for r in range(begin + 1, end):
            word |= words[r]
        if part[g] != p:
            p = part[g]
            low, turn, held = g, g, -1
            _start(mode, back, units)
        if word & ends:
            if len(times):
                now = times[g]
                while low < g and now >= deadlines[low]:
                    low += 1
            if low > turn:
                _start(mode, turned, pull_units)
                held = -1
                for s in range(g - 1, low - 1, -1):
                    r, after = first[s], first[s + 1]
                    seen = words[r]
                    if after - r == 1 and tests[r] >= 0:
                        _single(mode, tests[r], r, weights, pull, turned, zero)
                    else:
                        _group(mode, words, count, r, after, weights, pull, turned, gain, zero)
                        for other in range(r + 1, after):
                            seen |= words[other]
                    if seen & starts:
                        held += 1
                        if held == len(front):
                            front, front_group = _doubled(front, front_group)
                        front_group[held] = s
                        for i in range(prefixes):
                            front[held, i] = turned[i]
                turn = g
                _start(mode, back, units)
            while held >= 0 and front_group[held] < low:
                held -= 1
            snapshot = front[held] if held >= 0 else nothing
            for r in range(begin, end):
                for t in range(max(tests[r], 0), tests[r] + 1 if tests[r] >= 0 else count):
                    if (words[r] & ends) >> t & 1:
                        _ending(mode, t, r, p, weights, finals, back, snapshot, zero, out)
        if end - begin == 1 and tests[begin] >= 0:
            _single(mode, tests[begin], begin, weights, push, back, zero)
        else:
            _group(mode, words, count, begin, end, weights, push, back, gain, zero)


@nb.njit(nb.void(ROWS, I64, I64, PROGRAM, nb.int64, nb.int64, nb.int64, OUT_I64), cache=True, nogil=True)
def count(rows, times, deadlines, program, prefixes, starts, ends, out):  # type: ignore[no-untyped-def]
    """``out[i, p]`` += the number of matches with result i in partition p; MAX: MAX or more.

    ``times`` and ``deadlines`` per group; empty without WITHIN. ``program``: push, pull, finals, units of both.
    """
    ones = np.empty(0, np.int64)
    _run(SATURATING, rows, times, deadlines, ones, program, prefixes, starts, ends, 0, out)


@nb.njit(
    [
        nb.void(nb.int64, ROWS, I64, I64, I64, PROGRAM, nb.int64, nb.int64, nb.int64, OUT_I64),
        nb.void(nb.int64, ROWS, I64, I64, F64, PROGRAM, nb.int64, nb.int64, nb.int64, OUT_F64),
    ],
    cache=True,
    nogil=True,
)
def weigh(mode, rows, times, deadlines, weights, program, prefixes, starts, ends, out):  # type: ignore[no-untyped-def]
    """The same in any arithmetic; ``weights`` per row, or of length zero: one each."""
    zero = out.dtype.type(MAX if mode == LEAST else 0)
    _run(mode, rows, times, deadlines, weights, program, prefixes, starts, ends, zero, out)

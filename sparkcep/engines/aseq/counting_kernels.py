"""Numba kernels that run a ``Program``: all its sequences over all partitions of a table in one pass.

In: the rows that pass a test (``select``), times, the program's arrays. Out: a number per result and partition. Cost of an
event: the entries that end or begin with it, whatever the window: a queue from two stacks. The back stack is the value of
every entry over what came since; the front, made by turning the back over, one group of concurrent rows after another from
the end, keeps at each START event the values of its prefixes from there on.

The arithmetic is that of ``kernels`` (semirings), and two more modes: any greater ``mode`` is a modulus; EXACT: counts in doubles
without a test for overflow. Nothing is subtracted, so whatever adds to a result below ``SURE`` is itself below it, and no double
was rounded; any other result says that another mode has to count.
Sources: A-Seq sections 3.1, 3.2, 3.3 and 4; two-stack sliding windows instead of a counter per START event.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

from sparkcep.engines.aseq.kernels import FLOAT, LEAST, MAX, SAFE_PRODUCT, SATURATING

EXACT = -1
SURE = 2.0**53
I64, U64, F64 = (types.Array(t, 1, "C") for t in (nb.int64, nb.uint64, nb.float64))
TIMES = types.Array(nb.int64, 1, "C", readonly=True)
MASKS = types.Array(nb.int64, 2, "C", readonly=True)
OUT_I64, OUT_F64 = (types.Array(t, 2, "C") for t in (nb.int64, nb.float64))
ROWS = types.Tuple((U64, I64, I64, I64, I64))
SIDE = types.Tuple((types.UniTuple(U64, 6), I64))
PROGRAM = types.Tuple((SIDE, SIDE, types.UniTuple(U64, 8), types.UniTuple(U64, 3)))
WORDS = types.Tuple((MASKS, nb.int64, I64, I64))
FRONT = 64
"""Snapshots of one kind, at first."""
ONE = np.uint64(1)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
"""Times a power of two, its six highest bits tell which."""


@nb.njit(inline="always")
def _plus(mode, a, b):  # type: ignore[no-untyped-def]
    if mode == SATURATING:
        return a * 0 + MAX if a > MAX - b else a + b
    if mode == LEAST:
        return min(a, b)
    return a + b if mode <= FLOAT else (a + b) % mode


@nb.njit(inline="always")
def _times(mode, a, b):  # type: ignore[no-untyped-def]
    if mode == EXACT:
        return a * b
    if mode == LEAST:
        return max(a, b)
    if a == 0 or b == 0:
        return a * 0 if a == 0 else b * 0
    if mode > FLOAT:
        return (a * b) % mode
    if mode == FLOAT or float(a) * float(b) < SAFE_PRODUCT:
        return a * b
    return a * 0 + MAX if a > MAX // b else a * b


@nb.njit(inline="always")
def _word(words, r):  # type: ignore[no-untyped-def]
    """Bit t: whether row r passes test t: bit ``bit[t]`` of mask ``column[t]``; where there is one mask, bit t + 1 of it."""
    masks, used, column, bit = words
    if masks.shape[0] == 1:
        return (masks[0, r] >> 1) & used
    word = np.int64(0)
    for t in range(len(column)):
        word |= ((masks[column[t], r] >> bit[t]) & 1) << t
    return word


@nb.njit(nb.int64(WORDS, TIMES, TIMES, TIMES, ROWS), cache=True, nogil=True)
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
        kept += _word(words, r) != 0
        bounds[partition] = kept
    places = np.empty(64, np.int64)
    for t in range(64):
        places[((ONE << np.uint64(t)) * DE_BRUIJN) >> np.uint64(58)] = t
    for p in range(partition):
        k, end = bounds[p], bounds[p + 1]
        if len(deadline):
            for i in range(k, end):
                at[i], until[i] = time[row[i]], deadline[row[i]]
                if i > k and until[i] < until[i - 1]:
                    return -1
        while k < end:
            size = 1
            while k + size < end and rank[row[k + size]] == rank[row[k]]:
                size += 1
            word = _word(words, row[k])
            if size == 1:
                kind[k] = places[(np.uint64(word) * DE_BRUIJN) >> np.uint64(58)] if word & (word - 1) == 0 else -1
            else:
                kind[k : k + size] = -size
            k += size
    return kept


@nb.njit(inline="always")
def _single(mode, test, r, weights, side, values, zero):  # type: ignore[no-untyped-def]
    """A row that passes one test, in place."""
    at, target, source, weighed, clear_at, clear = side
    for s in range(at[test], at[test + ONE]):
        more = values[source[s]]
        if weights is not None and weighed[s]:
            more = _times(mode, more, weights[r])
        values[target[s]] = _plus(mode, values[target[s]], more)
    for c in range(clear_at[test], clear_at[test + ONE]):
        values[clear[c]] = zero


@nb.njit(cache=True, nogil=True)
def _group(mode, words, row, weights, side, values, gain, zero):  # type: ignore[no-untyped-def]
    """Concurrent rows, or a row that passes several tests: all read the values from before the group."""
    at, target, source, weighed, clear_at, clear = side
    tests = range(np.uint64(0), np.uint64(len(at) - 1))
    for r in row:
        word = _word(words, r)
        for test in tests:
            if (word >> np.int64(test)) & 1:
                for s in range(at[test], at[test + ONE]):
                    more = values[source[s]]
                    if weights is not None and weighed[s]:
                        more = _times(mode, more, weights[r])
                    gain[target[s]] = _plus(mode, gain[target[s]], more)
    for r in row:
        word = _word(words, r)
        for test in tests:
            if (word >> np.int64(test)) & 1:
                for c in range(clear_at[test], clear_at[test + ONE]):
                    values[clear[c]] = zero
    for r in row:
        word = _word(words, r)
        for test in tests:
            if (word >> np.int64(test)) & 1:
                for s in range(at[test], at[test + ONE]):
                    values[target[s]] = _plus(mode, values[target[s]], gain[target[s]])
                    gain[target[s]] = zero


@nb.njit(inline="always")
def _ending(mode, test, r, now, weights, finals, back, front, until, held, windowed, found):  # type: ignore[no-untyped-def]
    """Adds the matches that end in row ``r``: prefixes of the oldest START that is alive times what follows in the back."""
    at, result, start, weighed, entry, term_at, place, behind = finals
    for f in range(at[test], at[test + ONE]):
        total = back[entry[f]]
        if windowed:
            here = start[f]
            top = held[here]
            while until[here, top] <= now:
                top -= ONE
            held[here] = top
            for i in range(term_at[f], term_at[f + ONE]):
                total = _plus(mode, total, _times(mode, front[here, top, place[i]], back[behind[i]]))
        if weights is not None and weighed[f]:
            total = _times(mode, total, weights[r])
        found[result[f]] = _plus(mode, found[result[f]], total)


@nb.njit(inline="always")
def _keep(which, deadline, turned, kept_at, kept, front, until, held):  # type: ignore[no-untyped-def]
    """A snapshot of the prefixes of one kind of START event."""
    top = held[which] + ONE
    held[which] = top
    until[which, top] = deadline
    for i in range(kept_at[which], kept_at[which + ONE]):
        front[which, top, i - kept_at[which]] = turned[kept[i]]


@nb.njit(cache=True, nogil=True)
def _passed(words, row):  # type: ignore[no-untyped-def]
    word = np.int64(0)
    for r in row:
        word |= _word(words, r)
    return word


@nb.njit(inline="always")
def _turn(mode, rows, todo, words, weights, program, turned, gain, front, until, held, zero):  # type: ignore[no-untyped-def]
    """Makes the front of the groups ``todo`` (their first rows), from the last to the first."""
    row, kind, _, _, deadline = rows
    (_, _), (pull, units), _, (begins, kept_at, kept) = program
    starts = np.uint64(len(held))
    for i in range(len(turned)):
        turned[i] = (0 if units[i] else MAX) if mode == LEAST else units[i]
    held[:] = 0
    for i in range(len(todo) - 1, -1, -1):
        k = todo[i]
        if kind[k] >= 0:
            test = np.uint64(kind[k])
            _single(mode, test, row[k], weights, pull, turned, zero)
            if begins[test] < starts:
                _keep(begins[test], deadline[k], turned, kept_at, kept, front, until, held)
        else:
            group = row[k : k - kind[k]]
            _group(mode, words, group, weights, pull, turned, gain, zero)
            word = _passed(words, group)
            for test in range(len(begins)):
                if begins[test] < starts and (word >> test) & 1:
                    _keep(begins[test], deadline[k], turned, kept_at, kept, front, until, held)


@nb.njit(inline="always")
def _partition(mode, rows, begin, end, words, weights, program, ends, back, turned, gain, front, until, held, todo, found, zero):  # type: ignore[no-untyped-def]
    """Adds to ``found``. Returns 0, or the room for snapshots that it has not got."""
    row, kind, _, time, deadline = rows
    (push, units), _, finals, _ = program
    tests, windowed = len(ends), len(time) > 0
    for i in range(len(back)):
        back[i] = (0 if units[i] else MAX) if mode == LEAST else units[i]
    held[:] = 0
    k, waiting, now = begin, 0, np.int64(0)
    expires = deadline[begin] if windowed else np.int64(0)
    while k < end:
        alone = kind[k] >= 0
        test = np.uint64(kind[k]) if alone else np.uint64(0)
        ending = ends[test] if alone else 1
        if windowed and ending:
            now = time[k]
            if now >= expires:  # the oldest group of the back is no longer alive, so none of the front is
                first = 0
                while first < waiting and now >= deadline[todo[first]]:
                    first += 1
                if waiting - first >= front.shape[1] - 1:
                    return waiting - first + 2
                _turn(mode, rows, todo[first:waiting], words, weights, program, turned, gain, front, until, held, zero)
                for i in range(len(back)):
                    back[i] = (0 if units[i] else MAX) if mode == LEAST else units[i]
                waiting = 0
                expires = deadline[k]
        if alone:
            if ending:
                _ending(mode, test, row[k], now, weights, finals, back, front, until, held, windowed, found)
            if ending < 2:
                _single(mode, test, row[k], weights, push, back, zero)
                if windowed:
                    todo[waiting] = k
                    waiting += 1
            k += 1
        else:
            after = k - kind[k]
            for other in range(k, after):
                word = _word(words, row[other])
                for t in range(tests):
                    if ends[t] and (word >> t) & 1:
                        _ending(mode, np.uint64(t), row[other], now, weights, finals, back, front, until, held, windowed, found)
            _group(mode, words, row[k:after], weights, push, back, gain, zero)
            if windowed:
                todo[waiting] = k
                waiting += 1
            k = after
    return 0


@nb.njit(inline="always")
def _run(mode, rows, words, weights, program, zero, out):  # type: ignore[no-untyped-def]
    bounds = rows[2]
    (push, units), (pull, pull_units), finals, (begins, kept_at, _) = program
    ends = np.zeros(len(begins), np.int64)  # 1: some matches end with it; 2: all that it does
    for t in range(len(begins)):
        ends[t] = finals[0][t + 1] > finals[0][t]
        if ends[t] and push[0][t + 1] == push[0][t] and push[4][t + 1] == push[4][t]:
            ends[t] = 2
    widest, longest = 1, 0
    for s in range(len(kept_at) - 1):
        widest = max(widest, np.int64(kept_at[s + 1] - kept_at[s]))
    for p in range(len(bounds) - 1):
        longest = max(longest, bounds[p + 1] - bounds[p])
    back, turned = np.empty(len(units), out.dtype), np.empty(len(pull_units), out.dtype)
    gain = np.full(max(len(units), len(pull_units)), zero, out.dtype)
    todo, held = np.empty(longest, np.int64), np.zeros(len(kept_at) - 1, np.uint64)
    found = np.empty(len(out), out.dtype)
    p, more = 0, FRONT
    while p + 1 < len(bounds):
        # Place 0 of a stack is none: it never expires, and its prefixes are none.
        front, until = np.empty((len(held), more, widest), out.dtype), np.empty((len(held), more), np.int64)
        front[:, 0] = zero
        until[:, 0] = MAX
        more = 0
        while p + 1 < len(bounds) and more == 0:
            found[:] = zero
            if bounds[p] < bounds[p + 1]:
                more = _partition(
                    mode, rows, bounds[p], bounds[p + 1], words, weights, program,
                    ends, back, turned, gain, front, until, held, todo, found, zero,
                )  # fmt: skip
            if more == 0:
                for i in range(len(out)):
                    out[i, p] = _plus(mode, out[i, p], found[i])
                p += 1


@nb.njit(nb.void(ROWS, WORDS, PROGRAM, OUT_F64), cache=True, nogil=True)
def count(rows, words, program, out):  # type: ignore[no-untyped-def]
    """``out[i, p]`` += the number of matches with result i in partition p, if it stays below ``SURE``.

    ``rows``, ``words``: what ``select`` keeps and reads.
    """
    _run(EXACT, rows, words, None, program, 0.0, out)


@nb.njit(
    [
        nb.void(nb.int64, ROWS, WORDS, I64, PROGRAM, OUT_I64),
        nb.void(nb.int64, ROWS, WORDS, F64, PROGRAM, OUT_F64),
    ],
    cache=True,
    nogil=True,
)
def weigh(mode, rows, words, weights, program, out):  # type: ignore[no-untyped-def]
    """The same in any arithmetic; ``weights`` per row of the table."""
    zero = out.dtype.type(MAX if mode == LEAST else 0)
    _run(mode, rows, words, weights, program, zero, out)

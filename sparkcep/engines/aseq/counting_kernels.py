"""Numba kernels that run a ``Program``: all its sequences over all partitions of a table in one pass.

In: the rows that pass a test (``select``), times, the program's arrays. Out: a number per result and partition. Cost of an
event: the entries that end or begin with it, whatever the window: a queue from two stacks. The back stack is the value of
every entry over what came since; the front, made by turning the back over, one group of concurrent rows after another from
the end, keeps at each START event the values of its prefixes from there on.

The arithmetic is ``semiring``'s, chosen by ``mode``.
Sources: A-Seq sections 3.1, 3.2, 3.3 and 4; two-stack sliding windows instead of a counter per START event.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

from sparkcep.engines.aseq.selection_kernels import I64, ONE, ROWS, U64, WORDS, word_of
from sparkcep.engines.aseq.semiring import MAX, one_of, plus, times, zero_of
from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel

KEPT = types.Array(nb.uint64, 2, "C")
OUT = types.Array(nb.int64, 2, "C")
SIDE = types.Tuple((types.UniTuple(U64, 6), I64))
PROGRAM = types.Tuple((SIDE, SIDE, types.UniTuple(U64, 8), types.Tuple((U64, KEPT))))
FRONT = 64
"""Snapshots of one kind, at first."""


@inner()
def _start(mode, values, units):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        values[i] = one_of(mode) if units[i] else zero_of(mode)


@inner()
def _single(mode, test, r, weights, side, values, zero):  # type: ignore[no-untyped-def]
    """A row that passes one test, in place."""
    at, target, source, weighed, clear_at, clear = side
    for s in range(at[test], at[test + ONE]):
        more = values[source[s]]
        if weights is not None and weighed[s]:
            more = times(mode, more, weights[r])
        values[target[s]] = plus(mode, values[target[s]], more)
    for c in range(clear_at[test], clear_at[test + ONE]):
        values[clear[c]] = zero


@inner()
def _group(mode, words, row, weights, side, values, gain, zero):  # type: ignore[no-untyped-def]
    """Concurrent rows, or a row that passes several tests: all read the values from before the group."""
    at, target, source, weighed, clear_at, clear = side
    tests = range(np.uint64(0), np.uint64(len(at) - 1))
    for r in row:
        word = word_of(words, r)
        for test in tests:
            if (word >> np.int64(test)) & 1:
                for s in range(at[test], at[test + ONE]):
                    more = values[source[s]]
                    if weights is not None and weighed[s]:
                        more = times(mode, more, weights[r])
                    gain[target[s]] = plus(mode, gain[target[s]], more)
    for r in row:
        word = word_of(words, r)
        for test in tests:
            if (word >> np.int64(test)) & 1:
                for c in range(clear_at[test], clear_at[test + ONE]):
                    values[clear[c]] = zero
    for r in row:
        word = word_of(words, r)
        for test in tests:
            if (word >> np.int64(test)) & 1:
                for s in range(at[test], at[test + ONE]):
                    values[target[s]] = plus(mode, values[target[s]], gain[target[s]])
                    gain[target[s]] = zero


@inner()
def _ending(mode, test, r, now, weights, finals, back, stacks, windowed, found):  # type: ignore[no-untyped-def]
    """Adds the matches that end in row ``r``: prefixes of the oldest START that is alive times what follows in the back."""
    at, result, start, weighed, entry, term_at, place, behind = finals
    front, until, held = stacks
    for f in range(at[test], at[test + ONE]):
        total = back[entry[f]]
        if windowed:
            here = start[f]
            top = held[here]
            for _ in range(2):  # mostly enough, and no branch that is hard to foresee
                top -= np.uint64(until[here, top] <= now)
            while until[here, top] <= now:
                top -= ONE
            held[here] = top
            for i in range(term_at[f], term_at[f + ONE]):
                total = plus(mode, total, times(mode, front[here, top, place[i]], back[behind[i]]))
        if weights is not None and weighed[f]:
            total = times(mode, total, weights[r])
        found[result[f]] = plus(mode, found[result[f]], total)


@inner()
def _keep(which, deadline, turned, kept, stacks):  # type: ignore[no-untyped-def]
    """A snapshot of the prefixes of one kind of START event; the last kind is none, and its stack stays empty."""
    front, until, held = stacks
    top = held[which] + ONE
    until[which, top] = deadline
    for i in range(np.uint64(front.shape[2])):
        front[which, top, i] = turned[kept[which, i]]
    held[which] = top if which < np.uint64(len(held) - 1) else np.uint64(0)


@inner()
def _turn(mode, rows, todo, words, weights, program, values, gain, stacks, zero):  # type: ignore[no-untyped-def]
    """Makes the front of the groups ``todo`` (their first rows), from the last to the first."""
    row, kind, _, _, deadline = rows
    (_, _), (pull, units), _, (begins, kept) = program
    _start(mode, values, units)
    stacks[2][:] = 0
    for i in range(len(todo) - 1, -1, -1):
        k = todo[i]
        if kind[k] >= 0:
            test = np.uint64(kind[k])
            _single(mode, test, row[k], weights, pull, values, zero)
            _keep(begins[test], deadline[k], values, kept, stacks)
        else:
            group = row[k : k - kind[k]]
            _group(mode, words, group, weights, pull, values, gain, zero)
            word = np.int64(0)
            for r in group:
                word |= word_of(words, r)
            for t in range(len(begins)):
                if (word >> t) & 1:
                    _keep(begins[t], deadline[k], values, kept, stacks)


@inner()
def _partition(mode, rows, begin, end, words, weights, program, ends, scratch, stacks, zero):  # type: ignore[no-untyped-def]
    """Adds to the last of ``scratch``. Returns 0, or the room for snapshots that it has not got."""
    row, kind, _, time, deadline = rows
    (push, units), _, finals, _ = program
    back, turned, gain, todo, found = scratch
    _start(mode, back, units)
    stacks[2][:] = 0
    k, waiting, now, windowed = begin, 0, np.int64(0), len(time) > 0
    expires = deadline[begin] if windowed else np.int64(0)
    while k < end:
        alone = kind[k] >= 0
        test = np.uint64(kind[k]) if alone else np.uint64(0)
        after = k + 1 if alone else k - kind[k]
        ending = ends[test] if alone else 1
        if windowed and ending:
            now = time[k]
            if now >= expires:  # the oldest group of the back is no longer alive, so none of the front is
                first = 0
                while first < waiting and now >= deadline[todo[first]]:
                    first += 1
                if waiting - first >= stacks[1].shape[1] - 1:
                    return 2 * (waiting - first + 2)
                _turn(mode, rows, todo[first:waiting], words, weights, program, turned, gain, stacks, zero)
                _start(mode, back, units)
                waiting, expires = 0, deadline[k]
        if alone:
            if ending:
                _ending(mode, test, row[k], now, weights, finals, back, stacks, windowed, found)
            if ending < 2:
                _single(mode, test, row[k], weights, push, back, zero)
        else:
            for r in row[k:after]:
                for t in range(np.uint64(0), np.uint64(len(ends))):
                    if ends[t] and (word_of(words, r) >> np.int64(t)) & 1:
                        _ending(mode, t, r, now, weights, finals, back, stacks, windowed, found)
            _group(mode, words, row[k:after], weights, push, back, gain, zero)
        if windowed and ending < 2:
            todo[waiting] = k
            waiting += 1
        k = after
    return 0


@inner(allocates=True)
def _run(mode, rows, words, weights, program, out):  # type: ignore[no-untyped-def]
    zero = zero_of(mode)
    bounds = rows[2]
    (push, units), (_, pull_units), finals, (begins, kept) = program
    ends = np.zeros(len(begins), np.int64)  # 1: some matches end with it; 2: all that it does
    for t in range(len(begins)):
        ends[t] = finals[0][t + 1] > finals[0][t]
        if ends[t] and push[0][t + 1] == push[0][t] and push[4][t + 1] == push[4][t]:
            ends[t] = 2
    longest = 0
    for p in range(len(bounds) - 1):
        longest = max(longest, bounds[p + 1] - bounds[p])
    back, turned = np.empty(len(units), np.int64), np.empty(len(pull_units), np.int64)
    gain = np.full(max(len(units), len(pull_units)), zero, np.int64)
    todo, held, found = np.empty(longest, np.int64), np.zeros(len(kept), np.uint64), np.empty(len(out), np.int64)
    scratch = back, turned, gain, todo, found
    p, more = 0, FRONT
    while p + 1 < len(bounds):
        # Place 0 of a stack is none: it never expires, and its prefixes are none.
        front, until = np.empty((len(held), more, kept.shape[1]), np.int64), np.empty((len(held), more), np.int64)
        front[:, 0] = zero
        until[:, 0] = MAX
        more = 0
        while p + 1 < len(bounds) and more == 0:
            found[:] = zero
            if bounds[p] < bounds[p + 1]:
                begin, end, stacks = bounds[p], bounds[p + 1], (front, until, held)
                more = _partition(mode, rows, begin, end, words, weights, program, ends, scratch, stacks, zero)
            if more == 0:
                for i in range(len(out)):
                    out[i, p] = plus(mode, out[i, p], found[i])
                p += 1


@kernel(nb.void(ROWS, WORDS, PROGRAM, OUT), allocates=True)
def count(rows, words, program, out):  # type: ignore[no-untyped-def]
    """``out[i, p]`` += the number of matches with result i in partition p, SATURATING.

    ``rows``, ``words``: what ``select`` keeps and reads.
    """
    _run(None, rows, words, None, program, out)


@kernel(
    nb.void(nb.int64, ROWS, WORDS, I64, PROGRAM, OUT),
    allocates=True,
)
def weigh(mode, rows, words, weights, program, out):  # type: ignore[no-untyped-def]
    """The same in any arithmetic; ``weights`` per row of the table."""
    _run(mode, rows, words, weights, program, out)

"""The AFA paper's own data structure as a baseline: partial matches indexed by their last event (section 5.1, appendix C), for streams in order.

Algorithm 1 without what only disorder needs: an event looks up the entry before it by time, each partial match in that entry's list meets each arc of
its state, and what it becomes stands in the new event's list. So each partial match is written anew with every event, ignorable or not. The tree is a
sorted array, searched in the same O(lg r). A punctuation every ``PUNCTUATED`` events removes all entries but the last.

Fences and transfers are the engine's own kernels; the tables of matches that the engine makes are not made here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numba as nb
import numpy as np

from sparkcep.engines.automaton import log, run_kernels
from sparkcep.engines.automaton.arc_kernels import fence, transfer, waits
from sparkcep.engines.automaton.codes import DONE, EVENT, FINAL, P_PEAK, TARGET
from sparkcep.engines.automaton.kernel_types import GIVEN
from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I64
from sparkcep.engines.row_match.codes import TRUE

PUNCTUATED = 1_000
L = nb.int64


@contextmanager
def indexed() -> Iterator[list[int]]:
    """The engine with this kernel in the place of its own, and room for all nodes; the number of matches is added to what it yields."""
    matches: list[int] = []

    def advance(given: Any, *_: Any) -> int:
        times, ends = (np.zeros(PUNCTUATED + 1, np.int64) for _ in range(2))
        matches.append(insert(given, times, ends))
        assert matches[-1] >= 0, "no room for the nodes of the events between two punctuations"
        return DONE

    with mock.patch.object(run_kernels, "advance", advance), mock.patch.object(log, "FIRST_ROOM", 1 << 20):
        yield matches


@inner()
def before(time, times, entries):  # type: ignore[no-untyped-def]
    """Search<=: the number of entries whose time is not later."""
    low, high = 0, entries
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low


@inner()
def transitions(run, row, used, g):  # type: ignore[no-untyped-def]
    """MakeTransitions for one partial match: the nodes in use then; -1: no room."""
    runs, first = g.runs, g.graph.first
    for i in range(first[EVENT, runs.state[run]], first[EVENT, runs.state[run] + 1]):
        if waits(i, row, g) and fence(i, row, run, g) == TRUE:
            if used + 1 >= len(runs.start) or transfer(i, row, run, used, g) != TRUE:
                return -1
            runs.state[used] = g.graph.arcs[i, TARGET]
            runs.start[used], runs.ends[used] = runs.start[run], runs.ends[run]
            used += 1
    return used


@inner()
def punctuate(low, used, g):  # type: ignore[no-untyped-def]
    """The nodes from ``low`` on, the last entry's, are those that remain."""
    runs = g.runs
    for k in range(low, used):
        new = 1 + k - low
        runs.start[new], runs.ends[new], runs.state[new] = runs.start[k], runs.ends[k], runs.state[k]
        for w in range(runs.registers.shape[1]):
            runs.registers[new, w] = runs.registers[k, w]
    return 1 + used - low


@inner()
def output(row, first, used, matches, g):  # type: ignore[no-untyped-def]
    """InsertOutputEvent for the new nodes in final states; the matches then."""
    runs, found = g.runs, g.found
    for k in range(first, used):
        if g.graph.traits[runs.state[k], FINAL]:
            at = matches % len(found.start)
            found.start[at], found.end[at], found.state[at] = runs.start[k], row, runs.state[k]
            for w in range(runs.registers.shape[1]):
                found.registers[at, w] = runs.registers[k, w]
            matches += 1
    return matches


@kernel(L(GIVEN, I64, I64))
def insert(g, times, ends):  # type: ignore[no-untyped-def]
    """InsertEvent for all events. The number of matches, -1: no room. ``times``, ``ends``: of the entries, the time and the end of their nodes."""
    runs, used, entries, matches = g.runs, 1, 0, 0
    for row in range(g.events.masks.shape[1]):
        time = g.events.time[row]
        if entries == len(times) - 1:
            used = punctuate(ends[entries - 2], used, g)
            times[0], ends[0], entries = times[entries - 1], used, 1
        at, first = before(time, times, entries), used
        low = ends[at - 2] if at > 1 else 1
        for run in range(low, ends[at - 1] if at > 0 else 1):
            if runs.ends[run] > time:
                used = transitions(run, row, used, g)
                if used < 0:
                    return -1
        runs.start[0], runs.ends[0] = row, g.events.deadline[row]
        used = transitions(0, row, used, g)
        if used < 0:
            return -1
        matches = output(row, first, used, matches, g)
        times[entries], ends[entries] = time, used
        entries += 1
        g.position[P_PEAK] = max(g.position[P_PEAK], used - 1)
    return matches

"""Numba kernel: one run at a time (SASE+, section 5.2.3), the baseline that the paper compares with.

In: as ``advance_kernels``; the runs are a stack of postponed ones, the last is the one that reads. Out: ends of
matches, start by start. Where a run forks, the one that proceeds reads on, the other is postponed. Of overlapping
matches the one that ends first is chosen: no run reads past the best end known.
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.nfa_b.advance_kernels import MODE, begin, copy_run, step
from sparkcep.engines.nfa_b.codes import (
    DONE,
    ENDS_FULL,
    FAULT,
    NODES_FULL,
    NOTHING,
    RUNS_FULL,
    S_BEST,
    S_ENDS,
    S_EVENT,
    S_NODES,
    S_POSTPONED,
    S_RUNS,
    S_STARTED,
    S_STEPS,
)
from sparkcep.engines.nfa_b.run_kernels import (
    AUTOMATON,
    ENDS,
    I32,
    I64,
    NODES,
    RUNS,
    STACK,
    STREAM,
    VALUES,
    enters,
    is_preferred,
    reach_of,
)
from sparkcep.engines.row_match.codes import LEAN, TRUE


@nb.njit(nb.boolean(nb.int64, STREAM, nb.int64), **LEAN)
def breaks(event, stream, ignores):  # type: ignore[no-untyped-def]
    """Whether no run goes past the border before ``event``."""
    fit, cut = stream[0], stream[1]
    return cut[event] & 1 != 0 or (ignores == 0 and (cut[event] & 2 != 0 or fit[event] == 0))


@nb.njit(nb.void(nb.int64, nb.int64, NODES, ENDS, I32, I32, I64), **LEAN)
def choose(before, last, nodes, ends, path, other_path, state):  # type: ignore[no-untyped-def]
    """The ends from ``before`` on, made with the event ``last``, against the best one, which is the end before them."""
    for i in range(before, state[S_ENDS]):
        best = before - 1
        earlier = state[S_BEST] < 0 or last < state[S_BEST]
        if earlier or is_preferred(nb.int64(ends[1][i]), nb.int64(ends[1][best]), nodes, path, other_path):
            ends[0][best], ends[1][best] = ends[0][i], ends[1][i]
            state[S_BEST] = last
    state[S_ENDS] = before


@nb.njit(nb.int64(AUTOMATON, STREAM, VALUES, RUNS, NODES, ENDS, STACK, I32, I32, MODE, I64), **LEAN)
def backtrack(automaton, stream, data, runs, nodes, ends, stack, path, other_path, mode, state):  # type: ignore[no-untyped-def]
    """Go on from ``state``. Why it stops: see ``codes``.

    While a best end is known (``S_BEST`` >= 0) it is the last of the ends; it becomes a match when the starts up to it
    have been tried.
    """
    fit = stream[0]
    tail, reach, since = runs[2], runs[3], runs[4]
    ignores, _, chooses = mode
    while True:
        if state[S_RUNS] + 2 > len(since):
            return RUNS_FULL
        if state[S_NODES] + 4 > len(nodes[0]):
            return NODES_FULL
        if state[S_ENDS] + 4 > len(ends[0]):
            return ENDS_FULL
        top = state[S_RUNS]
        if top == 0:
            event = state[S_EVENT]
            if state[S_BEST] >= 0 and (event == len(fit) or event > state[S_BEST] or stream[1][event] & 1):
                event = state[S_BEST] + 1
                state[S_BEST] = -1
                state[S_EVENT] = event
            if event == len(fit):
                return DONE
            state[S_EVENT] = event + 1
            if not fit[event] & 1:
                continue
            before = state[S_ENDS]
            tail[0] = NOTHING
            result = enters(0, event, 0, automaton, data, runs, stack, state)
            if result == TRUE:
                state[S_STARTED] += 1
                reach[0] = reach_of(event, stream)
                since[0] = event + 1
                if reach[0] > event:
                    if chooses and state[S_BEST] < 0:
                        before += 1
                        state[S_ENDS] = before
                    result = begin(0, event, 0, automaton, data, runs, nodes, ends, stack, state)
                    state[S_RUNS] = 1 if result == TRUE else 0
                    if chooses:
                        choose(before, event, nodes, ends, path, other_path, state)
                        if state[S_BEST] < 0:
                            state[S_ENDS] = before - 1
            if result > TRUE:
                return FAULT
            continue
        run = top - 1
        event = nb.int64(since[run])
        past = event >= reach[run] or (chooses and 0 <= state[S_BEST] < event)
        if past or breaks(event, stream, ignores):
            state[S_RUNS] = run
            continue
        since[run] = event + 1
        if fit[event] == 0:
            continue
        before = state[S_ENDS]
        if chooses and state[S_BEST] < 0:
            before += 1
            state[S_ENDS] = before
        state[S_STEPS] += 1
        outcome = step(fit[event], event, run, top, ignores, automaton, data, runs, nodes, ends, stack, state)
        if outcome < 0:
            return FAULT
        if chooses:
            choose(before, event, nodes, ends, path, other_path, state)
            if state[S_BEST] < 0:
                state[S_ENDS] = before - 1
        if outcome & 2 and not outcome & 1:
            copy_run(top, run, runs)
        state[S_RUNS] = run + (1 if outcome & 1 else 0) + (1 if outcome & 2 else 0)
        if outcome & 3 == 3:
            state[S_POSTPONED] += 1

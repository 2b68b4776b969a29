"""Numba kernel: one run at a time (SASE+, section 5.2.3), the baseline that the paper compares with.

In: as ``advance_kernels``; the runs are a stack of postponed ones, the last is the one that reads. Out: ends of
matches, start by start. Where a run forks, the one that proceeds reads on, the other is postponed. Of overlapping
matches the one that ends first is chosen: no run reads past the best end known.
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I64
from sparkcep.engines.nfa_b.advance_kernels import copy_run, start, step
from sparkcep.engines.nfa_b.codes import (
    DONE,
    ENDS_FULL,
    FAULT,
    NODES_FULL,
    RUNS_FULL,
    S_BEST,
    S_ENDS,
    S_EVENT,
    S_NODES,
    S_POSTPONED,
    S_RUNS,
    S_STEPS,
)
from sparkcep.engines.nfa_b.kernel_types import ENDS, EVENTS, FORMULAS, MACHINE, MODE, NODES, PATHS, RUNS
from sparkcep.engines.nfa_b.run_kernels import breaks, is_preferred
from sparkcep.engines.row_match.codes import TRUE


@inner()
def reserve(chooses, state):  # type: ignore[no-untyped-def]
    """The end that is the next to be written; where matches are chosen it leaves a place for the best before it."""
    if chooses and state[S_BEST] < 0:
        state[S_ENDS] += 1
    return state[S_ENDS]


@inner(nb.void(nb.int64, nb.int64, NODES, ENDS, PATHS, I64))
def prefer(before, last, nodes, ends, paths, state):  # type: ignore[no-untyped-def]
    """The ends from ``before`` on, made with the event ``last``, against the best one, which is the end before them."""
    for i in range(before, state[S_ENDS]):
        best = before - 1
        earlier = state[S_BEST] < 0 or last < state[S_BEST]
        if earlier or is_preferred(nb.int64(ends.nodes[i]), nb.int64(ends.nodes[best]), nodes, paths):
            ends.events[best], ends.nodes[best] = ends.events[i], ends.nodes[i]
            state[S_BEST] = last


@inner()
def choose(before, last, nodes, ends, paths, state):  # type: ignore[no-untyped-def]
    """Keeps the best of the ends from ``before`` on and of the one before them, and the place for it only if there is one."""
    if state[S_ENDS] > before:
        prefer(before, last, nodes, ends, paths, state)
    state[S_ENDS] = before if state[S_BEST] >= 0 else before - 1


@kernel(nb.int64(MACHINE, FORMULAS, EVENTS, RUNS, NODES, ENDS, PATHS, MODE, I64))
def backtrack(machine, formulas, events, runs, nodes, ends, paths, mode, state):  # type: ignore[no-untyped-def]
    """Go on from ``state``. Why it stops: see ``codes``.

    While a best end is known (``S_BEST`` >= 0) it is the last of the ends; it becomes a match when the starts up to it
    have been tried.
    """
    fit = events.fit
    reach, since = runs.reach, runs.since
    ignores, chooses = mode.ignores, mode.chooses
    while True:
        if state[S_RUNS] + 2 > len(since):
            return RUNS_FULL
        if state[S_NODES] + 4 > len(nodes.events):
            return NODES_FULL
        if state[S_ENDS] + 4 > len(ends.events):
            return ENDS_FULL
        top = state[S_RUNS]
        if top == 0:
            event = state[S_EVENT]
            if state[S_BEST] >= 0 and (event == len(fit) or event > state[S_BEST] or events.cut[event] & 1):
                event = state[S_BEST] + 1
                state[S_BEST] = -1
                state[S_EVENT] = event
            if event == len(fit):
                return DONE
            state[S_EVENT] = event + 1
            if not fit[event] & 1:
                continue
            since[0] = event + 1
            before = reserve(chooses, state)
            result = start(event, 0, machine, formulas, events, runs, nodes, ends, state)
            if result > TRUE:
                return FAULT
            state[S_RUNS] = result
            if chooses:
                choose(before, event, nodes, ends, paths, state)
            continue
        run = top - 1
        event = nb.int64(since[run])
        past = event >= reach[run] or (chooses and 0 <= state[S_BEST] < event)
        if past or breaks(event, events, ignores):
            state[S_RUNS] = run
            continue
        since[run] = event + 1
        if fit[event] == 0:
            continue
        before = reserve(chooses, state)
        state[S_STEPS] += 1
        outcome = step(fit[event], event, run, top, ignores, machine, formulas, runs, nodes, ends, state)
        if outcome < 0:
            return FAULT
        if chooses:
            choose(before, event, nodes, ends, paths, state)
        if outcome & 2 and not outcome & 1:
            copy_run(top, run, runs)
        state[S_RUNS] = run + (1 if outcome & 1 else 0) + (1 if outcome & 2 else 0)
        if outcome & 3 == 3:
            state[S_POSTPONED] += 1

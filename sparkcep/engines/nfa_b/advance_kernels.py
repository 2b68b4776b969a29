"""Numba kernel: all runs, an event at a time (SASE+, section 5.2.1), and merging of equivalent runs (section 5.2.2).

In: an automaton, a stream of whole partitions, runs, the match buffer. Out: the same arrays changed, and the ends of
matches in stream order. It returns between two events, wherever an array has no room for what one event may add.
"""

from __future__ import annotations

import numba as nb
from numba import types

from sparkcep.engines.nfa_b.codes import (
    DONE,
    ENDS_FULL,
    FAULT,
    NODES_FULL,
    NOTHING,
    RUNS_FULL,
    S_ENDS,
    S_EPOCH,
    S_EVENT,
    S_MERGED,
    S_NODES,
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
    absorb,
    enters,
    formula,
    is_preferred,
    node,
    reach_of,
    settle,
    union,
)
from sparkcep.engines.row_match.codes import FALSE, LEAN, TRUE

TABLE = types.Tuple((I32, I32))
"""Open addressing: run, epoch."""

MODE = types.Tuple((nb.int64, nb.int64, nb.int64))
"""Whether events may be ignored, equivalent runs are merged, one of overlapping matches is chosen."""


@nb.njit(nb.void(nb.int64, nb.int64, RUNS), **LEAN)
def copy_run(source, target, runs):  # type: ignore[no-untyped-def]
    """The run's row, a second time."""
    at, count, tail, reach, since, vectors = runs
    at[target] = at[source]
    count[target] = count[source]
    tail[target] = tail[source]
    reach[target] = reach[source]
    since[target] = since[source]
    for w in range(vectors.shape[1]):
        vectors[target, w] = vectors[source, w]


@nb.njit(nb.int64(nb.int64, nb.int64, nb.int64, AUTOMATON, VALUES, RUNS, NODES, ENDS, STACK, I64), **LEAN)
def begin(k, event, run, automaton, data, runs, nodes, ends, stack, state):  # type: ignore[no-untyped-def]
    """The run's component k begins with the event: TRUE: it goes on; FALSE: it is over; or a fault."""
    tail, reach = runs[2], runs[3]
    tail[run] = node(event, k, nb.int64(tail[run]), nb.int64(reach[run]), nodes, state)
    absorb(2 * k, event, run, automaton[6], automaton[7], runs[5], data[0], data[1], data[2])
    return settle(k, 1, event, run, automaton, data, runs, ends, stack, state)


@nb.njit(
    nb.int64(nb.int64, nb.int64, nb.int64, nb.int64, nb.int64, AUTOMATON, VALUES, RUNS, NODES, ENDS, STACK, I64),
    **LEAN,
)
def step(  # type: ignore[no-untyped-def]
    fit, event, run, fork, ignores, automaton, data, runs, nodes, ends, stack, state
):
    """One run reads one event: 1: the run goes on; 2: a run that proceeded, in the row ``fork``; 3: both; 4: it took the
    event (with 1). Or minus a fault."""
    low, _, _, edges, starts, operations, update_starts, updates, _ = automaton
    at, count, tail, reach, _, vectors = runs
    k, taken = nb.int64(at[run]), nb.int64(count[run])
    if taken == 0:
        if fit >> k & 1:
            result = enters(k, event, run, automaton, data, runs, stack, state)
            if result == TRUE:
                result = begin(k, event, run, automaton, data, runs, nodes, ends, stack, state)
                return 5 if result == TRUE else 0 if result == FALSE else -result
            if result != FALSE:
                return -result
        return ignores
    outcome = 0
    values, nullable, nulls, path, sets, labels = data
    takes = fit >> k & 1 != 0
    if takes and edges[3 * k + 1] < edges[3 * k + 2]:
        result = formula(
            3 * k + 1, event, run, edges, starts, operations, vectors,
            values, nullable, nulls, path, sets, labels, stack[0], stack[1], state,
        )  # fmt: skip
        if result > TRUE:
            return -result
        takes = result == TRUE
    if taken >= low[k] and k + 1 < len(low) and fit >> (k + 1) & 1:
        result = enters(k + 1, event, run, automaton, data, runs, stack, state)
        if result == TRUE:
            copy_run(run, fork, runs)
            result = begin(k + 1, event, fork, automaton, data, runs, nodes, ends, stack, state)
            outcome = 2 if result == TRUE else 0
        if result > TRUE:
            return -result
    if not takes:
        return outcome | ignores
    tail[run] = node(event, k, nb.int64(tail[run]), nb.int64(reach[run]), nodes, state)
    absorb(2 * k + 1, event, run, update_starts, updates, vectors, values, nullable, nulls)
    result = settle(k, taken + 1, event, run, automaton, data, runs, ends, stack, state)
    if result > TRUE:
        return -result
    return outcome | (5 if result == TRUE else 0)


@nb.njit(nb.int64(nb.int64, AUTOMATON, RUNS, NODES, TABLE, I64), **LEAN)
def merged(total, automaton, runs, nodes, table, state):  # type: ignore[no-untyped-def]
    """Runs that will select the same events from now on become one; how many are left.

    They are in the same state, and the words of V that a formula ahead reads are equal (the mask of the state); events
    taken in a closure matter up to its bounds.
    """
    low, high, _, _, _, _, _, _, masks = automaton
    at, count, tail, reach, _, vectors = runs
    slot, stamp = table
    state[S_EPOCH] += 1
    epoch, limit, kept = state[S_EPOCH], len(slot) - 1, 0
    for run in range(total):
        k, taken = nb.int64(at[run]), nb.int64(count[run])
        if high[k] < 0 and taken > low[k]:
            taken = low[k]
        which = 2 * k + (1 if taken > 0 else 0)
        key = k * 8191 + taken
        for w in range(vectors.shape[1]):
            if masks[which, w]:
                key = (key ^ vectors[run, w]) * 0x9E3779B97F4A7C1
                key ^= key >> 29
        place = (key ^ (key >> 17)) & limit
        while stamp[place] == epoch:
            other = nb.int64(slot[place])
            same = at[other] == k and (
                taken == count[other] or (taken == low[k] and high[k] < 0 and count[other] > taken)
            )
            if same:
                for w in range(vectors.shape[1]):
                    if masks[which, w] and vectors[run, w] != vectors[other, w]:
                        same = False
                        break
            if same:
                tail[other] = union(nb.int64(tail[other]), nb.int64(tail[run]), nodes, state)
                reach[other] = max(reach[other], reach[run])
                state[S_MERGED] += 1
                break
            place = (place + 1) & limit
        else:
            stamp[place] = epoch
            slot[place] = kept
            if kept != run:
                copy_run(run, kept, runs)
            kept += 1
    return kept


@nb.njit(
    nb.int64(AUTOMATON, STREAM, VALUES, RUNS, NODES, ENDS, TABLE, STACK, I32, I32, MODE, I64),
    **LEAN,
)
def advance(  # type: ignore[no-untyped-def]
    automaton, stream, data, runs, nodes, ends, table, stack, path, other_path, mode, state
):
    """Read events from ``state[S_EVENT]`` on. Why it stops: see ``codes``."""
    fit, cut, _, _, _ = stream
    at, _, tail, reach, _, _ = runs
    ignores, merges, chooses = mode
    for event in range(state[S_EVENT], len(fit)):
        total = state[S_RUNS]
        state[S_EVENT] = event
        if 2 * total + 2 > len(at) or 2 * total + 2 > len(table[0]) // 2:
            return RUNS_FULL
        if state[S_NODES] + 4 * total + 4 > len(nodes[0]):
            return NODES_FULL
        if state[S_ENDS] + 2 * total + 2 > len(ends[0]):
            return ENDS_FULL
        if cut[event] & 1 or (ignores == 0 and (cut[event] & 2 or fit[event] == 0)):
            total = 0
        if fit[event] == 0:
            state[S_RUNS] = total
            continue
        kept, fork, took, before = 0, total, False, state[S_ENDS]
        state[S_STEPS] += total
        for run in range(total):
            if reach[run] <= event:
                continue
            outcome = step(fit[event], event, run, fork, ignores, automaton, data, runs, nodes, ends, stack, state)
            if outcome < 0:
                return FAULT
            if outcome & 6:
                took = True
            if outcome & 2:
                fork += 1
            if outcome & 1:
                if kept != run:
                    copy_run(run, kept, runs)
                kept += 1
        for run in range(total, fork):
            if kept != run:
                copy_run(run, kept, runs)
            kept += 1
        if fit[event] & 1:
            tail[kept] = NOTHING
            result = enters(0, event, kept, automaton, data, runs, stack, state)
            if result == TRUE:
                state[S_STARTED] += 1
                reach[kept] = reach_of(event, stream)
                if reach[kept] > event:
                    result = begin(0, event, kept, automaton, data, runs, nodes, ends, stack, state)
                    if result == TRUE:
                        kept += 1
                        took = True
            if result > TRUE:
                return FAULT
        if chooses and state[S_ENDS] > before:
            best = nb.int64(ends[1][before])
            for i in range(before + 1, state[S_ENDS]):
                if is_preferred(nb.int64(ends[1][i]), best, nodes, path, other_path):
                    best = nb.int64(ends[1][i])
            ends[1][before] = best
            state[S_ENDS] = before + 1
            kept = 0
        if merges and took and kept > 1:
            kept = merged(kept, automaton, runs, nodes, table, state)
        state[S_RUNS] = kept
    state[S_EVENT] = len(fit)
    return DONE

"""Numba kernel: all runs, an event at a time (SASE+, section 5.2.1), and merging of equivalent runs (section 5.2.2).

In: an automaton, a stream of whole partitions, runs, the match buffer. Out: the same arrays changed, and the ends of
matches in stream order. It returns between two events, wherever an array has no room for what one event may add.
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I64
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
    S_RESUMED,
    S_RUNS,
    S_SAVED,
    S_STARTED,
    S_STEPS,
    SAVED_FULL,
)
from sparkcep.engines.nfa_b.kernel_types import (
    ENDS,
    EVENTS,
    FORMULAS,
    MACHINE,
    MERGING,
    MODE,
    NODES,
    PATHS,
    RESUMED,
    RUNS,
    SAVED,
)
from sparkcep.engines.nfa_b.run_kernels import (
    absorb,
    breaks,
    enters,
    formula,
    is_preferred,
    node,
    reach_of,
    settle,
    union,
)
from sparkcep.engines.row_match.codes import FALSE, TRUE


@inner(nb.void(nb.int64, nb.int64, RUNS))
def copy_run(source, target, runs):  # type: ignore[no-untyped-def]
    """The run's row, a second time."""
    at, count, tail = runs.at, runs.taken, runs.tail
    reach, since, vectors = runs.reach, runs.since, runs.vectors
    at[target] = at[source]
    count[target] = count[source]
    tail[target] = tail[source]
    reach[target] = reach[source]
    since[target] = since[source]
    for w in range(vectors.shape[1]):
        vectors[target, w] = vectors[source, w]


@inner()
def take(which, k, event, run, machine, formulas, runs, nodes, state):  # type: ignore[no-untyped-def]
    """The run takes the event on the edge ``which`` of its component k."""
    runs.tail[run] = node(event, k, nb.int64(runs.tail[run]), nb.int64(runs.reach[run]), nodes, state)
    absorb(which, event, run, machine.update_starts, machine.updates, runs.vectors, formulas.words)


@inner(nb.int64(nb.int64, nb.int64, nb.int64, MACHINE, FORMULAS, RUNS, NODES, ENDS, I64))
def begin(k, event, run, machine, formulas, runs, nodes, ends, state):  # type: ignore[no-untyped-def]
    """The run's component k begins with the event: TRUE: it goes on; FALSE: it is over; or a fault."""
    take(2 * k, k, event, run, machine, formulas, runs, nodes, state)
    return settle(k, 1, event, run, machine, formulas, runs, ends, state)


@inner()
def start(event, run, machine, formulas, events, runs, nodes, ends, state):  # type: ignore[no-untyped-def]
    """A run starts with the event, if it may: TRUE: it goes on; FALSE: there is none, or it is over; or a fault."""
    runs.tail[run] = NOTHING
    result = enters(0, event, run, machine, formulas, runs, state)
    if result != TRUE:
        return result
    state[S_STARTED] += 1
    runs.reach[run] = reach_of(event, events)
    if runs.reach[run] <= event:
        return FALSE
    return begin(0, event, run, machine, formulas, runs, nodes, ends, state)


@inner(nb.int64(*[nb.int64] * 5, MACHINE, FORMULAS, RUNS, NODES, ENDS, I64))
def step(fit, event, run, fork, ignores, machine, formulas, runs, nodes, ends, state):  # type: ignore[no-untyped-def]
    """One run reads one event: 1: the run goes on; 2: a run that proceeded, in the row ``fork``; 3: both; 4: it took the
    event (with 1). Or minus a fault."""
    low, edges = machine.low, machine.edges
    k, taken = nb.int64(runs.at[run]), nb.int64(runs.taken[run])
    if taken == 0:
        if fit >> k & 1:
            result = enters(k, event, run, machine, formulas, runs, state)
            if result == TRUE:
                result = begin(k, event, run, machine, formulas, runs, nodes, ends, state)
                return 5 if result == TRUE else 0 if result == FALSE else -result
            if result != FALSE:
                return -result
        return ignores
    outcome = 0
    takes = fit >> k & 1 != 0
    if takes and edges[3 * k + 1] < edges[3 * k + 2]:
        result = formula(3 * k + 1, event, run, edges, formulas, runs.vectors, state)
        if result > TRUE:
            return -result
        takes = result == TRUE
    if taken >= low[k] and k + 1 < len(low) and fit >> (k + 1) & 1:
        result = enters(k + 1, event, run, machine, formulas, runs, state)
        if result == TRUE:
            copy_run(run, fork, runs)
            result = begin(k + 1, event, fork, machine, formulas, runs, nodes, ends, state)
            outcome = 2 if result == TRUE else 0
        if result > TRUE:
            return -result
    if not takes:
        return outcome | ignores
    take(2 * k + 1, k, event, run, machine, formulas, runs, nodes, state)
    result = settle(k, taken + 1, event, run, machine, formulas, runs, ends, state)
    if result > TRUE:
        return -result
    return outcome | (5 if result == TRUE else 0)


@inner(nb.int64(nb.int64, MACHINE, RUNS, NODES, MERGING, I64))
def merged(total, machine, runs, nodes, table, state):  # type: ignore[no-untyped-def]
    """Runs that will select the same events from now on become one; how many are left.

    They are in the same state, and the words of V that a formula ahead reads are equal (the mask of the state); events
    taken in a closure matter up to its bounds.
    """
    low, high, masks = machine.low, machine.high, machine.masks
    at, count, tail = runs.at, runs.taken, runs.tail
    reach, vectors = runs.reach, runs.vectors
    slot, stamp = table.slot, table.stamp
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


@inner(nb.void(nb.int64, RUNS, SAVED, I64))
def save(total, runs, saved, state):  # type: ignore[no-untyped-def]
    """Set the runs aside: their partition ends."""
    first = state[S_SAVED]
    for run in range(total):
        saved.at[first + run] = runs.at[run]
        saved.taken[first + run] = runs.taken[run]
        saved.tail[first + run] = runs.tail[run]
    state[S_SAVED] = first + total
    state[S_RUNS] = 0


@inner(nb.void(nb.int64, nb.int64, RUNS, RUNS))
def resume(first, total, left, runs):  # type: ignore[no-untyped-def]
    """The runs ``left`` from ``first`` on are at work again."""
    for run in range(total):
        runs.at[run] = left.at[first + run]
        runs.taken[run] = left.taken[first + run]
        runs.tail[run] = left.tail[first + run]
        runs.reach[run] = left.reach[first + run]
        for w in range(runs.vectors.shape[1]):
            runs.vectors[run, w] = left.vectors[first + run, w]


@kernel(nb.int64(MACHINE, FORMULAS, EVENTS, RUNS, NODES, ENDS, MERGING, PATHS, MODE, RESUMED, SAVED, I64))
def advance(machine, formulas, events, runs, nodes, ends, table, paths, mode, resumed, saved, state):  # type: ignore[no-untyped-def]
    """Read events from ``state[S_EVENT]`` on. Why it stops: see ``codes``."""
    fit, reach = events.fit, runs.reach
    ignores, merges, chooses = mode.ignores, mode.merges, mode.chooses
    for event in range(state[S_EVENT], len(fit)):
        state[S_EVENT] = event
        if events.cut[event] & 1 and len(saved.at):
            if state[S_SAVED] + state[S_RUNS] > len(saved.at):
                return SAVED_FULL
            save(state[S_RUNS], runs, saved, state)
        part = state[S_RESUMED]
        goes_on = part < len(resumed.events) and resumed.events[part] == event
        total = nb.int64(resumed.starts[part + 1] - resumed.starts[part]) if goes_on else state[S_RUNS]
        if breaks(event, events, ignores):
            total = 0
        if 2 * total + 2 > len(reach) or 2 * total + 2 > len(table.slot) // 2:
            return RUNS_FULL
        if state[S_NODES] + 4 * total + 4 > len(nodes.events):
            return NODES_FULL
        if state[S_ENDS] + 2 * total + 2 > len(ends.events):
            return ENDS_FULL
        if goes_on:
            resume(nb.int64(resumed.starts[part]), total, resumed.runs, runs)
            state[S_RESUMED] = part + 1
        if fit[event] == 0:
            state[S_RUNS] = total
            continue
        kept, fork, took, before = 0, total, False, state[S_ENDS]
        state[S_STEPS] += total
        for run in range(total):
            if reach[run] <= event:
                continue
            outcome = step(fit[event], event, run, fork, ignores, machine, formulas, runs, nodes, ends, state)
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
            result = start(event, kept, machine, formulas, events, runs, nodes, ends, state)
            if result > TRUE:
                return FAULT
            kept += result
            took |= result == TRUE
        if chooses and state[S_ENDS] > before:
            best = nb.int64(ends.nodes[before])
            for i in range(before + 1, state[S_ENDS]):
                if is_preferred(nb.int64(ends.nodes[i]), best, nodes, paths):
                    best = nb.int64(ends.nodes[i])
            ends.nodes[before] = best
            state[S_ENDS] = before + 1
            kept = 0
        if merges and took and kept > 1:
            kept = merged(kept, machine, runs, nodes, table, state)
        state[S_RUNS] = kept
    state[S_EVENT] = len(fit)
    return DONE

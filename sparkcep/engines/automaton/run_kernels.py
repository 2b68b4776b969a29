"""Numba kernels: runs that meet events. ``advance`` is the engine: a batch begins without runs, a stream with those it saved.

In: ``structures``. Out: the log of runs, longer, and matches. An event meets the runs alive start by start, so that duplicates of a start (equal
state, equal registers) are neighbours and become one. Where all that an event does is to leave the runs of every state as they are (ignorable
arcs), none of them is looked at.
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.automaton.arc_kernels import fence, is_known, transfer, waits
from sparkcep.engines.automaton.codes import (
    BIT,
    CONDITION,
    DIE,
    DONE,
    EPSILON,
    EVENT,
    FAULT,
    FINAL,
    FOUND,
    IGNORABLE,
    LEAP,
    LEAPS,
    LIVES,
    MOST_LEAPS,
    NEVER,
    NUMBER,
    P_ALIVE,
    P_ARC,
    P_EPOCH,
    P_FOUND,
    P_HASHED,
    P_MOST,
    P_PEAK,
    P_ROW,
    P_SIDE,
    P_SOONEST,
    P_STATUS,
    P_USED,
    ROOM,
    RUNS,
    STAY,
    TARGET,
    WINDOW,
    WORK,
)
from sparkcep.engines.automaton.kernel_types import (
    CODE,
    EVENTS,
    FOUND_TYPE,
    GRAPH,
    I16,
    I64,
    MEMORY,
    OUTSIDE,
    RUNS_TYPE,
    STACK,
    TALLY,
    WORDS,
)
from sparkcep.engines.kernel import kernel
from sparkcep.engines.row_match.codes import INNER, TRUE

GIVEN = (GRAPH, EVENTS, RUNS_TYPE, FOUND_TYPE, MEMORY, TALLY, CODE, I16, WORDS, STACK, OUTSIDE, I64)
L = nb.int64


@nb.njit(inline="always")
def act(row, graph, events, tally):  # type: ignore[no-untyped-def]
    """What the event does to the runs of each state. Where arcs are counted, every run is asked."""
    counting = len(tally.asked) > 0
    for q in range(len(tally.action)):
        action = DIE
        for i in range(graph.first[EVENT, q], graph.first[EVENT, q + 1]):
            if waits(graph.arcs, i, row, events.masks):
                plain = graph.arcs[i, IGNORABLE] and graph.arcs[i, CONDITION] < 0
                action = max(action, STAY if plain else WORK)
        if counting or (action == STAY and (graph.traits[q, FINAL] or graph.traits[q, LEAPS])):
            action = WORK
        tally.action[q] = action


@nb.njit(inline="always")
def step(i, row, run, side, first, end, graph, runs, memory, tally, code, path, words, stack, outside, position):  # type: ignore[no-untyped-def]
    """The run taken over the arc, at the end of the group if it is new. The group's new end, -1: see P_STATUS."""
    if len(tally.asked) > 0:
        tally.asked[graph.arcs[i, NUMBER]] += 1
    status = fence(i, row, run, graph, runs, code, path, words, stack)
    if status != TRUE:
        if status > TRUE:
            position[P_STATUS], position[P_ARC] = FAULT + status, graph.arcs[i, NUMBER]
            return -1
        return end
    if len(tally.taken) > 0:
        tally.taken[graph.arcs[i, NUMBER]] += 1
    new = position[P_USED]
    if new + 1 >= len(runs.start) or end + 1 >= len(runs.start):
        position[P_STATUS] = ROOM
        return -1
    status = transfer(i, row, run, new, graph, runs, code, path, words, stack, outside)
    if status != TRUE:
        position[P_STATUS], position[P_ARC] = FAULT + status, graph.arcs[i, NUMBER]
        return -1
    runs.state[new] = graph.arcs[i, TARGET]
    if is_known(new, side, first, end, runs, memory, position):
        return end
    runs.start[new], runs.ends[new], runs.born[new], runs.died[new] = runs.start[run], runs.ends[run], row, NEVER
    runs.lists[side, end] = new
    position[P_USED] += 1
    return end + 1


@nb.njit(L(L, L, L, L, L, *GIVEN), **INNER)
def leap(kinds, row, side, first, end, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position):  # type: ignore[no-untyped-def]
    """The group with all that arcs without an event lead to: ε-arcs; with ``kinds`` WINDOW those at the window's end too."""
    at, made = first, 0
    while at < end:
        run = runs.lists[side, at]
        q = runs.state[run]
        for kind in range(EPSILON, kinds + 1):
            seen = row if kind == EPSILON else runs.start[run]
            for i in range(graph.first[kind, q], graph.first[kind, q + 1]):
                if not waits(graph.arcs, i, seen, events.masks):
                    continue
                before = end
                end = step(i, row, run, side, first, end, graph, runs, memory, tally, code, path, words, stack, outside, position)
                if end < 0:
                    return -1
                made += end - before
                if made > MOST_LEAPS:
                    position[P_STATUS], position[P_ARC] = LEAP, graph.arcs[i, NUMBER]
                    return -1
        at += 1
    return end


@nb.njit(inline="always")
def accept(row, side, first, end, graph, runs, found, position):  # type: ignore[no-untyped-def]
    """The runs of a group that stand in final states are matches that end at ``row``. False: no room for them."""
    at = position[P_FOUND]
    for k in range(first, end):
        run = runs.lists[side, k]
        if graph.traits[runs.state[run], FINAL]:
            if at >= len(found.start):
                position[P_STATUS] = FOUND
                return False
            found.start[at], found.end[at], found.state[at] = runs.start[run], row, runs.state[run]
            for w in range(runs.registers.shape[1]):
                found.registers[at, w] = runs.registers[run, w]
            at += 1
    position[P_FOUND] = at
    return True


@nb.njit(inline="always")
def kept(row, side, first, end, graph, runs, tally, position):  # type: ignore[no-untyped-def]
    """The end of the group without the runs that nothing can take on."""
    at = first
    for k in range(first, end):
        run = runs.lists[side, k]
        q = runs.state[run]
        if graph.traits[q, LIVES]:
            runs.lists[side, at] = run
            at += 1
            tally.alive[q] += 1
            position[P_SOONEST] = min(position[P_SOONEST], runs.ends[run])
        else:
            runs.died[run] = row
    return at


@nb.njit(inline="always")
def meet(run, row, side, first, end, begins, graph, events, runs, memory, tally, code, path, words, stack, outside, position):  # type: ignore[no-untyped-def]
    """One run meets the event: the group's new end, -1: see P_STATUS. ``begins``: it has taken none so far."""
    q = runs.state[run]
    action = tally.action[q]
    stays = action == STAY and not begins
    if action == WORK or (action == STAY and begins):
        for i in range(graph.first[EVENT, q], graph.first[EVENT, q + 1]):
            if not waits(graph.arcs, i, row, events.masks):
                if len(tally.asked) > 0:
                    tally.asked[graph.arcs[i, NUMBER]] += 1
                continue
            if graph.arcs[i, IGNORABLE] and not begins:
                status = fence(i, row, run, graph, runs, code, path, words, stack)
                if status > TRUE:
                    position[P_STATUS], position[P_ARC] = FAULT + status, graph.arcs[i, NUMBER]
                    return -1
                stays |= status == TRUE
                if len(tally.asked) > 0:
                    tally.asked[graph.arcs[i, NUMBER]] += 1
                    tally.taken[graph.arcs[i, NUMBER]] += status == TRUE
                continue
            end = step(i, row, run, side, first, end, graph, runs, memory, tally, code, path, words, stack, outside, position)
            if end < 0:
                return -1
    if stays and not (end > first and is_known(run, side, first, end, runs, memory, position)):
        runs.lists[side, end] = run
        return end + 1
    runs.died[run] = row
    return end


@nb.njit(L(L, L, L, L, L, L, *GIVEN), **INNER)
def group(source, low, high, row, side, first, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position):  # type: ignore[no-untyped-def]
    """The runs of one start (``lists[source]``, ``low`` … ``high`` - 1) meet an event. They stand in ``lists[side]`` from ``first`` on; their end,
    or -1: see P_STATUS."""
    position[P_EPOCH] += 1
    position[P_HASHED] = 0
    end = first
    leaps = False
    for k in range(low, high):
        run = runs.lists[source, k]
        end = meet(run, row, side, first, end, source == 2, graph, events, runs, memory, tally, code, path, words, stack, outside, position)
        if end < 0:
            return -1
    for k in range(first, end):
        leaps |= graph.traits[runs.state[runs.lists[side, k]], LEAPS]
    if leaps:
        end = leap(EPSILON, row, side, first, end, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position)
    if end < 0 or not accept(row, side, first, end, graph, runs, found, position):
        return -1
    return kept(row, side, first, end, graph, runs, tally, position)


@nb.njit(L(L, L, L, L, L, L, *GIVEN), **INNER)
def over(source, low, high, row, side, first, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position):  # type: ignore[no-untyped-def]
    """The window of the runs of one start has passed before ``row``: arcs at its end fire. ``first``, or -1: see P_STATUS."""
    used, end = position[P_USED], first
    position[P_EPOCH] += 1
    position[P_HASHED] = 0
    for k in range(low, high):
        run = runs.lists[source, k]
        q = runs.state[run]
        runs.died[run] = row
        for i in range(graph.first[WINDOW, q], graph.first[WINDOW, q + 1]):
            if waits(graph.arcs, i, runs.start[run], events.masks):
                end = step(i, row - 1, run, side, first, end, graph, runs, memory, tally, code, path, words, stack, outside, position)
                if end < 0:
                    return -1
    if end > first:
        end = leap(WINDOW, row - 1, side, first, end, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position)
        if end < 0 or not accept(row - 1, side, first, end, graph, runs, found, position):
            return -1
        position[P_USED] = used
    return first


@nb.njit(L(L, L, *GIVEN), **INNER)
def walk(row, time, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position):  # type: ignore[no-untyped-def]
    """All runs alive meet the event, or the end of their windows. How many are alive then (in the other list), or -1: see P_STATUS."""
    side, alive = position[P_SIDE], position[P_ALIVE]
    position[P_SOONEST] = NEVER
    tally.alive[:] = 0
    low = end = 0
    while low < alive:
        run = runs.lists[side, low]
        high = low + 1
        while high < alive and runs.start[runs.lists[side, high]] == runs.start[run]:
            high += 1
        if runs.ends[run] <= time:
            end = over(side, low, high, row, 1 - side, end, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position)
        else:
            end = group(side, low, high, row, 1 - side, end, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position)
        if end < 0:
            return -1
        low = high
    return end


@nb.njit(L(L, L, L, *GIVEN), **INNER)
def begin(row, side, alive, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position):  # type: ignore[no-untyped-def]
    """The runs that begin with the event, behind the ``alive`` ones of ``lists[side]``. How many are alive then, or -1: see P_STATUS."""
    q, count = runs.state[0], 1
    if tally.action[q] == DIE and not graph.traits[q, LEAPS]:
        return alive
    runs.start[0], runs.ends[0] = row, NEVER
    if len(events.deadline) > 0:
        runs.ends[0] = events.deadline[row]
    runs.lists[2, 0] = 0
    if graph.traits[q, LEAPS]:
        position[P_EPOCH] += 1
        position[P_HASHED] = 0
        count = leap(EPSILON, row, 2, 0, 1, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position)
        if count < 0:
            return -1
    return group(2, 0, count, row, side, alive, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position)


@nb.njit(inline="always")
def idle(tally):  # type: ignore[no-untyped-def]
    """Whether the event leaves all runs as they are."""
    for q in range(len(tally.action)):
        if tally.alive[q] > 0 and tally.action[q] != STAY:
            return False
    return True


@nb.njit(inline="always")
def one(row, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position):  # type: ignore[no-untyped-def]
    """One event; behind the last one the windows of all runs pass. DONE, or how it failed."""
    rows = events.masks.shape[1]
    closes = row == rows or events.masks[0, row] & 1 == 1
    side, alive, time = position[P_SIDE], position[P_ALIVE], NEVER
    if not closes:
        time = events.time[row] if len(events.time) > 0 else 0
    if row < rows:
        act(row, graph, events, tally)
    if alive > 0 and (closes or time >= position[P_SOONEST] or not idle(tally)):
        alive = walk(row, time, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position)
        side = 1 - side
    if alive >= 0 and row < rows:
        alive = begin(row, side, alive, graph, events, runs, found, memory, tally, code, path, words, stack, outside, position)
    if alive < 0:
        return position[P_STATUS]
    position[P_SIDE], position[P_ALIVE] = side, alive
    position[P_PEAK] = max(position[P_PEAK], alive)
    return RUNS if alive > position[P_MOST] else DONE


@nb.njit(inline="always")
def undone(used, found, soonest, runs, tally, position):  # type: ignore[no-untyped-def]
    """The state as it was before an event that found no room."""
    position[P_USED], position[P_FOUND], position[P_SOONEST] = used, found, soonest
    tally.alive[:] = 0
    for k in range(position[P_ALIVE]):
        tally.alive[runs.state[runs.lists[position[P_SIDE], k]]] += 1


@kernel(L(*GIVEN, L, I64))
def advance(graph, events, runs, found, memory, tally, code, path, words, stack, outside, position, until, saved):  # type: ignore[no-untyped-def]
    """Events from P_ROW up to ``until`` (one more than there are: the input ends behind them). DONE; or why it stopped, with the state as it was before
    the event at P_ROW, which a further call takes up. ``saved`` [2, arcs]: room for the counts of arcs."""
    while position[P_ROW] < until:
        used, matches, soonest = position[P_USED], position[P_FOUND], position[P_SOONEST]
        arcs = len(tally.asked)
        for a in range(arcs):
            saved[a], saved[arcs + a] = tally.asked[a], tally.taken[a]
        status = one(position[P_ROW], graph, events, runs, found, memory, tally, code, path, words, stack, outside, position)
        if status != DONE:
            for a in range(arcs):
                tally.asked[a], tally.taken[a] = saved[a], saved[arcs + a]
            if status != RUNS:
                undone(used, matches, soonest, runs, tally, position)
            return status
        position[P_ROW] += 1
    return DONE


@kernel(nb.void(RUNS_TYPE, I64))
def forget(runs, position):  # type: ignore[no-untyped-def]
    """The log without the runs that are over."""
    side, alive, spare = position[P_SIDE], position[P_ALIVE], 1 - position[P_SIDE]
    for run in range(position[P_USED]):
        runs.lists[spare, run] = 0
    for k in range(alive):
        runs.lists[spare, runs.lists[side, k]] = 1
    used = 1
    for run in range(1, position[P_USED]):
        if runs.lists[spare, run] == 1:
            runs.start[used], runs.ends[used], runs.state[used] = runs.start[run], runs.ends[run], runs.state[run]
            runs.born[used], runs.died[used] = runs.born[run], runs.died[run]
            for w in range(runs.registers.shape[1]):
                runs.registers[used, w] = runs.registers[run, w]
            runs.lists[spare, run] = used
            used += 1
    for k in range(alive):
        runs.lists[side, k] = runs.lists[spare, runs.lists[side, k]]
    position[P_USED] = used

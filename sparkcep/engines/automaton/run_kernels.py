"""Numba kernels: runs that meet events. ``advance`` is the engine: a batch begins without runs, a stream with those it saved.

In: ``structures``. Out: the log of runs, longer, and matches. An event meets the runs alive start by start, so that duplicates of a start (equal
state, equal registers) are neighbours and become one: they stand in a list from ``first`` to ``end``, the group. Where all that an event does is
to leave the runs of every state as they are (ignorable arcs), none of them is looked at.
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.automaton.arc_kernels import fence, is_known, transfer, waits
from sparkcep.engines.automaton.codes import (
    CONDITION,
    DIE,
    DONE,
    EPSILON,
    EVENT,
    FAULT,
    FINAL,
    FOUND,
    IGNORABLE,
    KINDS,
    LEAP,
    LEAPS,
    LIVES,
    MOST_LEAPS,
    NEVER,
    NUMBER,
    P_ALIVE,
    P_ARC,
    P_BLOCK,
    P_CLOSING,
    P_EPOCH,
    P_FOUND,
    P_HASHED,
    P_MOST,
    P_PEAK,
    P_PERIOD,
    P_RESUMED,
    P_ROW,
    P_SAVES,
    P_SIDE,
    P_SOONEST,
    P_STATUS,
    P_USED,
    ROOM,
    RUNS,
    STAY,
    TARGET,
    TEST,
    TEST_END,
    WINDOW,
    WORK,
)
from sparkcep.engines.automaton.kernel_types import GIVEN
from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I64
from sparkcep.engines.row_match.codes import TRUE

L = nb.int64


@inner(forceinline=True)
def leaving(kind, q, g):  # type: ignore[no-untyped-def]
    """The arcs of a kind that leave state q now: from … to."""
    first, at = g.graph.first, KINDS * g.position[P_CLOSING if kind == WINDOW else P_BLOCK] + kind
    return first[at, q], first[at, q + 1]


@inner(forceinline=True)
def trait(which, q, g):  # type: ignore[no-untyped-def]
    """Whether state q has the trait now."""
    return g.graph.traits[g.position[P_BLOCK] * len(g.tally.action) + q, which]


@inner()
def period(time, at, g):  # type: ignore[no-untyped-def]
    """The period of ``time``, which is not before the period ``at``."""
    since = g.graph.since
    while at + 1 < len(since) and since[at + 1] <= time:
        at += 1
    return at


@inner(forceinline=True)
def time_of(row, g):  # type: ignore[no-untyped-def]
    """The event's time, where there are times."""
    return g.events.time[row] if len(g.events.time) > 0 else 0


@inner(forceinline=True)
def act(row, g):  # type: ignore[no-untyped-def]
    """What the event does to the runs of each state in which there are some, or may be as it begins. Where arcs are counted, every run is asked."""
    graph, action = g.graph, g.tally.action
    leaps = trait(LEAPS, 0, g)
    for q in range(len(action)):
        if q > 0 and g.tally.alive[q] == 0 and not leaps:
            continue
        found = DIE
        low, high = leaving(EVENT, q, g)
        for i in range(low, high):
            if waits(i, row, g):
                asks = graph.arcs[i, CONDITION] >= 0 or graph.arcs[i, TEST] < graph.arcs[i, TEST_END]
                plain = graph.arcs[i, IGNORABLE] and not asks
                found = max(found, STAY if plain else WORK)
        if len(g.tally.asked) > 0 or (found == STAY and (trait(FINAL, q, g) or trait(LEAPS, q, g))):
            found = WORK
        action[q] = found


@inner(forceinline=True)
def count(i, taken, g):  # type: ignore[no-untyped-def]
    """Arc i was asked, and taken or not."""
    if len(g.tally.asked) > 0:
        number = g.graph.arcs[i, NUMBER]
        g.tally.asked[number] += 1
        g.tally.taken[number] += taken


@inner(forceinline=True)
def failed(status, i, g):  # type: ignore[no-untyped-def]
    """-1, for callers to hand on."""
    g.position[P_STATUS], g.position[P_ARC] = status, g.graph.arcs[i, NUMBER]
    return -1


@inner(L(L, L, L, L, L, L, GIVEN), forceinline=True)
def step(i, row, run, side, first, end, g):  # type: ignore[no-untyped-def]
    """The run taken over the arc, at the end of the group if it is new. The group's new end, -1: see P_STATUS."""
    runs, position = g.runs, g.position
    status = fence(i, row, run, g)
    count(i, status == TRUE, g)
    if status != TRUE:
        return failed(FAULT + status, i, g) if status > TRUE else end
    new = position[P_USED]
    if new + 1 >= len(runs.start) or end + 1 >= len(runs.start):
        return failed(ROOM, i, g)
    status = transfer(i, row, run, new, g)
    if status != TRUE:
        return failed(FAULT + status, i, g)
    runs.state[new] = g.graph.arcs[i, TARGET]
    if is_known(new, side, first, end, g):
        return end
    runs.start[new], runs.ends[new], runs.born[new], runs.died[new] = runs.start[run], runs.ends[run], row, NEVER
    runs.lists[side, end] = new
    position[P_USED] += 1
    return end + 1


@inner(L(L, L, L, L, L, L, GIVEN))
def leap(last, row, side, first, new, end, g):  # type: ignore[no-untyped-def]
    """The group with all that arcs without an event lead to: ε-arcs of the runs from ``new`` on; with ``last`` WINDOW arcs at the window's
    end, of all."""
    runs, at, before = g.runs, first, end
    while at < end:
        run = runs.lists[side, at]
        q = runs.state[run]
        for kind in range(EPSILON if at >= new else WINDOW, last + 1):
            seen = row if kind == EPSILON else runs.start[run]
            low, high = leaving(kind, q, g)
            for i in range(low, high):
                if waits(i, seen, g):
                    end = step(i, row, run, side, first, end, g)
                    if end < 0:
                        return -1
                else:
                    count(i, False, g)
                if end - before > MOST_LEAPS:
                    return failed(LEAP, i, g)
        at += 1
    return end


@inner(forceinline=True)
def accept(row, side, first, end, g):  # type: ignore[no-untyped-def]
    """The runs that stand in final states are matches that end at ``row``. False: no room for them."""
    runs, found, at = g.runs, g.found, g.position[P_FOUND]
    for k in range(first, end):
        run = runs.lists[side, k]
        if trait(FINAL, runs.state[run], g):
            if at >= len(found.start):
                g.position[P_STATUS] = FOUND
                return False
            found.start[at], found.end[at], found.state[at] = runs.start[run], row, runs.state[run]
            for w in range(runs.registers.shape[1]):
                found.registers[at, w] = runs.registers[run, w]
            at += 1
    g.position[P_FOUND] = at
    return True


@inner(forceinline=True)
def kept(row, side, first, end, g):  # type: ignore[no-untyped-def]
    """The end of the group without the runs that nothing can take on."""
    runs, at = g.runs, first
    for k in range(first, end):
        run = runs.lists[side, k]
        q = runs.state[run]
        if trait(LIVES, q, g):
            runs.lists[side, at] = run
            at += 1
            g.tally.alive[q] += 1
            g.position[P_SOONEST] = min(g.position[P_SOONEST], runs.ends[run])
        else:
            runs.died[run] = row
    return at


@inner(forceinline=True)
def meet(run, begins, row, side, first, end, g):  # type: ignore[no-untyped-def]
    """One run meets the event: the group's new end, -1: see P_STATUS. ``begins``: it has taken no event so far."""
    graph, q = g.graph, g.runs.state[run]
    action = g.tally.action[q]
    stays = action == STAY and not begins
    if action == WORK or (action == STAY and begins):
        low, high = leaving(EVENT, q, g)
        for i in range(low, high):
            if not waits(i, row, g):
                count(i, False, g)
            elif graph.arcs[i, IGNORABLE] and not begins:
                status = fence(i, row, run, g)
                if status > TRUE:
                    return failed(FAULT + status, i, g)
                count(i, status == TRUE, g)
                stays |= status == TRUE
            else:
                end = step(i, row, run, side, first, end, g)
                if end < 0:
                    return -1
    if stays and not (end > first and is_known(run, side, first, end, g)):
        g.runs.lists[side, end] = run
        return end + 1
    g.runs.died[run] = row
    return end


@inner(L(L, L, L, L, L, L, GIVEN))
def group(source, low, high, row, side, first, g):  # type: ignore[no-untyped-def]
    """The runs of one start (``lists[source]``, ``low`` … ``high`` - 1) meet an event. They stand in ``lists[side]`` from ``first`` on; their end,
    or -1: see P_STATUS."""
    g.position[P_EPOCH] += 1
    g.position[P_HASHED] = 0
    end, leaps = first, False
    for k in range(low, high):
        end = meet(g.runs.lists[source, k], source == 2, row, side, first, end, g)
        if end < 0:
            return -1
    for k in range(first, end):
        leaps |= trait(LEAPS, g.runs.state[g.runs.lists[side, k]], g)
    if leaps:
        end = leap(EPSILON, row, side, first, first, end, g)
    if end < 0 or not accept(row, side, first, end, g):
        return -1
    return kept(row, side, first, end, g)


@inner(L(L, L, L, L, L, L, GIVEN))
def over(source, low, high, row, side, first, g):  # type: ignore[no-untyped-def]
    """The window of the runs of one start has passed before ``row``: arcs at its end fire. ``first``, or -1: see P_STATUS."""
    runs, position, used = g.runs, g.position, g.position[P_USED]
    position[P_EPOCH] += 1
    position[P_HASHED] = 0
    new = first + high - low
    for k in range(low, high):
        runs.lists[side, first + k - low] = runs.lists[source, k]
        runs.died[runs.lists[source, k]] = row
    last = period(time_of(row - 1, g), 0, g)
    position[P_BLOCK] = g.graph.block[last]
    position[P_CLOSING] = g.graph.block[period(runs.ends[runs.lists[source, low]], last, g)]
    if leaving(WINDOW, 0, g)[0] < leaving(WINDOW, len(g.tally.action) - 1, g)[1]:
        end = leap(WINDOW, row - 1, side, first, new, new, g)
        position[P_BLOCK] = position[P_CLOSING]
        if end < 0 or not accept(row - 1, side, new, end, g):
            return -1
        position[P_USED] = used
    position[P_BLOCK] = g.graph.block[position[P_PERIOD]]
    return first


@inner(L(L, L, GIVEN))
def walk(row, time, g):  # type: ignore[no-untyped-def]
    """All runs alive meet the event, or the end of their windows. How many are alive then (in the other list), or -1: see P_STATUS."""
    runs, side, alive = g.runs, g.position[P_SIDE], g.position[P_ALIVE]
    g.position[P_SOONEST] = NEVER
    g.tally.alive[:] = 0
    low = end = 0
    while low < alive:
        start = runs.start[runs.lists[side, low]]
        high = low + 1
        while high < alive and runs.start[runs.lists[side, high]] == start:
            high += 1
        if runs.ends[runs.lists[side, low]] <= time:
            end = over(side, low, high, row, 1 - side, end, g)
        else:
            end = group(side, low, high, row, 1 - side, end, g)
        if end < 0:
            return -1
        low = high
    return end


@inner()
def begin(row, side, alive, g):  # type: ignore[no-untyped-def]
    """The runs that begin with the event, behind the ``alive`` ones of ``lists[side]``. How many are alive then, or -1: see P_STATUS."""
    runs, q, end = g.runs, g.runs.state[0], 1
    leaps = trait(LEAPS, q, g)
    if g.tally.action[q] == DIE and not leaps:
        return alive
    runs.start[0], runs.ends[0] = row, g.events.deadline[row] if len(g.events.deadline) > 0 else NEVER
    runs.lists[2, 0] = 0
    if leaps:
        g.position[P_EPOCH] += 1
        g.position[P_HASHED] = 0
        end = leap(EPSILON, row, 2, 0, 0, 1, g)
        if end < 0:
            return -1
    return group(2, 0, end, row, side, alive, g)


@inner(forceinline=True)
def is_idle(tally):  # type: ignore[no-untyped-def]
    """Whether the event leaves all runs as they are."""
    for q in range(len(tally.action)):  # noqa: SIM110
        if tally.alive[q] > 0 and tally.action[q] != STAY:
            return False
    return True


@inner(forceinline=True)
def resumes(row, g):  # type: ignore[no-untyped-def]
    """Whether runs that an earlier turn left go on with the event."""
    part, rows = g.position[P_RESUMED], g.resumed.rows
    return part < len(rows) and rows[part] == row


@inner()
def counted(g):  # type: ignore[no-untyped-def]
    """The runs alive of each state, counted again."""
    position = g.position
    g.tally.alive[:] = 0
    for k in range(position[P_ALIVE]):
        g.tally.alive[g.runs.state[g.runs.lists[position[P_SIDE], k]]] += 1


@inner(nb.void(L, GIVEN))
def change(row, g):  # type: ignore[no-untyped-def]
    """The runs alive stay in the log as they are; those of the next partition, which begins with the event, are alive."""
    position, runs, resumed = g.position, g.runs, g.resumed
    alive, soonest = 0, NEVER
    if resumes(row, g):
        part = position[P_RESUMED]
        for k in range(resumed.first[part], resumed.first[part + 1]):
            runs.lists[position[P_SIDE], alive] = resumed.runs[k]
            soonest = min(soonest, runs.ends[resumed.runs[k]])
            alive += 1
    position[P_ALIVE], position[P_SOONEST] = alive, soonest
    counted(g)


@inner()
def take(row, g):  # type: ignore[no-untyped-def]
    """One event; behind the last one the windows of all runs pass. DONE, or why it failed."""
    position, rows = g.position, g.events.masks.shape[1]
    closes = row == rows or g.events.masks[0, row] & 1 == 1
    if closes and position[P_SAVES]:
        change(row, g)
        closes = False
    side, alive, time = position[P_SIDE], position[P_ALIVE], NEVER
    if row < rows:
        goes_on = g.events.masks[0, row] & 1 == 0
        position[P_PERIOD] = period(time_of(row, g), position[P_PERIOD] if goes_on else 0, g)
        position[P_BLOCK] = g.graph.block[position[P_PERIOD]]
        act(row, g)
        if not closes:
            time = time_of(row, g)
    if alive > 0 and (closes or time >= position[P_SOONEST] or not is_idle(g.tally)):
        alive, side = walk(row, time, g), 1 - side
    if alive >= 0 and row < rows:
        alive = begin(row, side, alive, g)
    if alive < 0:
        return position[P_STATUS]
    position[P_SIDE], position[P_ALIVE] = side, alive
    position[P_PEAK] = max(position[P_PEAK], alive)
    position[P_RESUMED] += resumes(row, g)
    return RUNS if alive > position[P_MOST] else DONE


@inner()
def undo(used, found, soonest, g):  # type: ignore[no-untyped-def]
    """The state as it was before an event that found no room."""
    position = g.position
    position[P_USED], position[P_FOUND], position[P_SOONEST] = used, found, soonest
    counted(g)


@kernel(L(GIVEN, L, I64))
def advance(g, until, saved):  # type: ignore[no-untyped-def]
    """Events from P_ROW up to ``until`` (one more than there are: the input ends behind them). DONE; or why it stopped, with the state as it
    was before the event at P_ROW, which a further call takes up. ``saved`` [2 * arcs]: room for the counts of arcs."""
    position, asked, taken = g.position, g.tally.asked, g.tally.taken
    arcs = len(asked)
    while position[P_ROW] < until:
        used, found, soonest = position[P_USED], position[P_FOUND], position[P_SOONEST]
        for a in range(arcs):
            saved[a], saved[arcs + a] = asked[a], taken[a]
        status = take(position[P_ROW], g)
        if status == RUNS:
            return status
        if status != DONE:
            for a in range(arcs):
                asked[a], taken[a] = saved[a], saved[arcs + a]
            undo(used, found, soonest, g)
            return status
        position[P_ROW] += 1
    return DONE


@kernel(nb.void(GIVEN))
def forget(g):  # type: ignore[no-untyped-def]
    """The log without the runs that are over."""
    runs, position = g.runs, g.position
    lists, side, alive, spare = runs.lists, position[P_SIDE], position[P_ALIVE], 1 - position[P_SIDE]
    lists[spare, 0] = 0
    for run in range(1, position[P_USED]):
        lists[spare, run] = position[P_SAVES] and runs.died[run] == NEVER
    for k in range(alive):
        lists[spare, lists[side, k]] = 1
    used = 1
    for run in range(1, position[P_USED]):
        if lists[spare, run] == 1:
            runs.start[used], runs.ends[used], runs.state[used] = runs.start[run], runs.ends[run], runs.state[run]
            runs.born[used], runs.died[used] = runs.born[run], runs.died[run]
            for w in range(runs.registers.shape[1]):
                runs.registers[used, w] = runs.registers[run, w]
            lists[spare, run] = used
            used += 1
    for k in range(alive):
        lists[side, k] = lists[spare, lists[side, k]]
    for k in range(len(g.resumed.runs)):
        g.resumed.runs[k] = lists[spare, g.resumed.runs[k]]
    position[P_USED] = used

"""Numba kernels: one event and one run. Formulas, the value vector, the match buffer.

In: arrays of a ``Program``, of a stream and of the match buffer. Out: changed rows of them. How runs are chosen is the
business of ``advance_kernels`` (all of them, an event at a time) and ``backtrack_kernels`` (one at a time).

The match buffer is the shared versioned buffer of SASE+, section 5.1, with versions that cost nothing. The paper puts
each event once into a stack and labels its predecessor pointers with dewey numbers, so that a walk back follows only
pointers of compatible versions. Here a *node* is such a labelled pointer: (event, component, node before it). A run's
version is the node it stands at; runs that split share all nodes up to the split, and a node has one node before it,
so every walk is compatible by construction and nothing is compared. A node costs 17 bytes, a dewey number alone more.
Where merged runs part again on the walk back there is a *union* of two nodes. ``reach`` of a node is the first event
that is past the window of every match start below it; a union has the node of greater reach on its left, so a walk
from a match's end leaves expired members out without entering them.
"""

from __future__ import annotations

import numba as nb
from numba import types

from sparkcep.engines.nfa_b.codes import (
    BEGIN,
    COUNT,
    FLOAT_SUM,
    INT_SUM,
    LEAST,
    LISTED,
    NOTHING,
    PROCEED,
    S_CONJUNCT,
    S_ENDS,
    S_KIND,
    S_NODES,
    SET,
    UNION,
    WIDENED_SUM,
)
from sparkcep.engines.row_match.codes import FALSE, LEAN, TRUE
from sparkcep.engines.row_match.condition_kernels import (
    BOOL,
    BOOLX2,
    I8,
    I16,
    I32,
    I64,
    I64X2,
    bits_of,
    call_python,
    float_of,
    holds,
    is_null,
    keyed_float,
)

AUTOMATON = types.Tuple((I64, I64, BOOL, I32, I32, I64X2, I32, I64X2, BOOLX2))
"""low, high (-1: no bound) and kleene [components]; then as in ``Program``: edges, starts, operations, update_starts,
updates, masks."""

STREAM = types.Tuple((I64, I8, I32, I64, I64))
"""fit [events]: bit k says that the event may be component k; cut [events]: 1 the first of a partition, 2 no neighbour
of the event before it; partition_end [events]; time and deadline [events], or empty."""

VALUES = types.Tuple((I64X2, I32, BOOLX2, I16, BOOLX2, I64))
"""values [columns, events], nullable [columns], nulls [n, events] as in ``row_match.values``; the rest is not used."""

RUNS = types.Tuple((I32, I32, I32, I32, I32, I64X2))
"""Per run: component, events taken there, version (its node), reach, the event to resume with, V [runs, words]."""

NODES = types.Tuple((I32, I8, I32, I32, I32))
"""Per node: event, component (or UNION), left, right, reach."""

ENDS = types.Tuple((I32, I32))
"""Per end of matches: event, node."""

STACK = types.Tuple((I64, BOOL))


@nb.njit(
    nb.int64(
        nb.int64, nb.int64, nb.int64, I32, I32, I64X2, I64X2, I64X2, I32, BOOLX2, I16, BOOLX2, I64, I64, BOOL, I64
    ),
    **LEAN,
)
def formula(  # type: ignore[no-untyped-def]
    edge, event, run, edges, starts, operations, vectors,
    values, nullable, nulls, path, sets, labels, word, null, state,
):  # fmt: skip
    """Whether the conjuncts on an edge hold for a run and an event: TRUE, FALSE, or a fault (noted in ``state``)."""
    for c in range(edges[edge], edges[edge + 1]):
        result = holds(
            starts[c], starts[c + 1], 0, event, run - 1, 0, values.shape[1], 0, vectors, path, operations,
            values, nullable, nulls, sets, labels, word, null,
        )  # fmt: skip
        if result != TRUE:
            if result != FALSE:
                state[S_CONJUNCT] = c
                state[S_KIND] = result
            return result
    return TRUE


@nb.njit(nb.void(nb.int64, nb.int64, nb.int64, I32, I64X2, I64X2, I64X2, I32, BOOLX2), **LEAN)
def absorb(which, event, run, update_starts, updates, vectors, values, nullable, nulls):  # type: ignore[no-untyped-def]
    """The value vector after the run took the event on the edge ``which``. Words without a value are 0."""
    for u in range(update_starts[which], update_starts[which + 1]):
        kind, word, column = updates[u, 0], updates[u, 1], updates[u, 2]
        if updates[u, 3]:
            vectors[run, word] = 0
            vectors[run, word + 1] = 0
            vectors[run, word + 2] = 0
        empty = column >= 0 and is_null(nullable, nulls, column, event)
        if kind == SET:
            vectors[run, word] = 0 if empty else values[column, event]
            vectors[run, word + 2] = 0 if empty else 1
            continue
        if kind == LISTED:
            vectors[run, word] = call_python(updates[u, 4], vectors[run, word], event, 0, 0, 0, 0, 0)
            vectors[run, word + 2] = 1
            continue
        if empty:
            continue
        held = vectors[run, word]
        value = values[column, event] if column >= 0 else 0
        if kind == COUNT:
            vectors[run, word] = held + 1
        elif kind == INT_SUM:
            total = held + value
            # the carry out of the low word, whose bits are unsigned here
            carry = ((held & value) | ((held | value) & ~total)) >> 63 & 1
            vectors[run, word] = total
            vectors[run, word + 1] += (value >> 63) + carry
        elif kind == FLOAT_SUM:
            vectors[run, word] = bits_of(float_of(held) + keyed_float(value))
        elif kind == WIDENED_SUM:
            vectors[run, word] = bits_of(float_of(held) + float(value))
        elif vectors[run, word + 2] == 0 or (value < held if kind == LEAST else value > held):
            vectors[run, word] = value
        vectors[run, word + 2] = 1


@nb.njit(nb.int64(nb.int64, nb.int64, nb.int64, nb.int64, NODES, I64), **LEAN)
def node(event, component, before, reach, nodes, state):  # type: ignore[no-untyped-def]
    """A new node: ``event`` taken by ``component`` behind the node ``before``, whose expired members are left out."""
    events, components, left, right, reaches = nodes
    while before >= 0 and components[before] == UNION and reaches[right[before]] <= event:
        before = left[before]
    new = state[S_NODES]
    state[S_NODES] = new + 1
    events[new] = event
    components[new] = component
    left[new] = before
    right[new] = NOTHING
    reaches[new] = reach
    return new


@nb.njit(nb.int64(nb.int64, nb.int64, NODES, I64), **LEAN)
def union(one, other, nodes, state):  # type: ignore[no-untyped-def]
    """A node for two; the one that reaches further on the left."""
    events, components, left, right, reaches = nodes
    if reaches[one] < reaches[other]:
        one, other = other, one
    new = state[S_NODES]
    state[S_NODES] = new + 1
    events[new] = events[one]
    components[new] = UNION
    left[new] = one
    right[new] = other
    reaches[new] = reaches[one]
    return new


@nb.njit(nb.int64(nb.int64, STREAM), **LEAN)
def reach_of(event, stream):  # type: ignore[no-untyped-def]
    """The first event of the partition that is past the window that ``event`` opens, or the partition's end."""
    _, _, partition_end, time, deadline = stream
    high = nb.int64(partition_end[event])
    if len(time) == 0:
        return high
    low = event
    while low < high:
        middle = (low + high) // 2
        if time[middle] < deadline[event]:
            low = middle + 1
        else:
            high = middle
    return low


@nb.njit(nb.void(nb.int64, nb.int64, ENDS, I64), **LEAN)
def record(event, at, ends, state):  # type: ignore[no-untyped-def]
    """Matches end with ``event`` at the node ``at``."""
    end_events, end_nodes = ends
    end_events[state[S_ENDS]] = event
    end_nodes[state[S_ENDS]] = at
    state[S_ENDS] += 1


@nb.njit(nb.int64(nb.int64, nb.int64, nb.int64, nb.int64, AUTOMATON, VALUES, RUNS, ENDS, STACK, I64), **LEAN)
def settle(k, taken, event, run, automaton, data, runs, ends, stack, state):  # type: ignore[no-untyped-def]
    """Where a run stands after its component k took ``event``, as its ``taken``-th: TRUE: it goes on; FALSE: it is over.

    Or a fault. Matches that are complete are recorded: a closure at the end gives one after each take.
    """
    low, high, kleene, edges, starts, operations, _, _, _ = automaton
    at, count, tail, _, _, vectors = runs
    last = k + 1 == len(low)
    if not kleene[k]:
        if last:
            record(event, tail[run], ends, state)
            return FALSE
        at[run] = k + 1
        count[run] = 0
        return TRUE
    if last and taken >= low[k]:
        values, nullable, nulls, path, sets, labels = data
        result = formula(
            3 * k + PROCEED, event, run, edges, starts, operations, vectors,
            values, nullable, nulls, path, sets, labels, stack[0], stack[1], state,
        )  # fmt: skip
        if result == TRUE:
            record(event, tail[run], ends, state)
        elif result != FALSE:
            return result
    if taken == high[k]:
        at[run] = k + 1
        count[run] = 0
        return FALSE if last else TRUE
    at[run] = k
    count[run] = taken
    return TRUE


@nb.njit(nb.int64(nb.int64, nb.int64, nb.int64, AUTOMATON, VALUES, RUNS, STACK, I64), **LEAN)
def enters(k, event, run, automaton, data, runs, stack, state):  # type: ignore[no-untyped-def]
    """Whether the run may begin component k with the event: the begin formula, and proceed of a closure just before."""
    _, _, kleene, edges, starts, operations, _, _, _ = automaton
    values, nullable, nulls, path, sets, labels = data
    if k > 0 and kleene[k - 1] and edges[3 * k - 1] < edges[3 * k]:
        result = formula(
            3 * (k - 1) + PROCEED, event, run, edges, starts, operations, runs[5],
            values, nullable, nulls, path, sets, labels, stack[0], stack[1], state,
        )  # fmt: skip
        if result != TRUE:
            return result
    if edges[3 * k] == edges[3 * k + 1]:
        return TRUE
    return formula(
        3 * k + BEGIN, event, run, edges, starts, operations, runs[5],
        values, nullable, nulls, path, sets, labels, stack[0], stack[1], state,
    )  # fmt: skip


@nb.njit(nb.boolean(nb.int64, nb.int64, NODES, I32, I32), **LEAN)
def is_preferred(one, other, nodes, path, other_path):  # type: ignore[no-untyped-def]
    """Which of two matches with the same last event is output first: the one that starts first, then takes the earliest
    events, then gives them to the latest components. Their nodes are no unions."""
    events, components, left, _, _ = nodes
    size = 0
    while one >= 0:
        path[size] = one
        one = left[one]
        size += 1
    length = 0
    while other >= 0:
        other_path[length] = other
        other = left[other]
        length += 1
    component = nb.int64(0)
    for i in range(1, min(size, length) + 1):
        mine, others = path[size - i], other_path[length - i]
        if events[mine] != events[others]:
            return events[mine] < events[others]
        if component == 0:
            component = nb.int64(components[mine]) - nb.int64(components[others])
    return component > 0

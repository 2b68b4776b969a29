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

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel_types import I32, I64, I64X2
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
    WIDE_SUM,
    WIDENED_SUM,
)
from sparkcep.engines.nfa_b.kernel_types import ENDS, EVENTS, FORMULAS, MACHINE, NODES, PATHS, RUNS
from sparkcep.engines.row_match.codes import FALSE, TRUE
from sparkcep.engines.row_match.condition_kernels import holds
from sparkcep.engines.row_match.kernel_types import WORDS
from sparkcep.engines.row_match.register_kernels import add_float, add_integer, add_wide, keep
from sparkcep.engines.row_match.structures import Taken, Tested
from sparkcep.engines.row_match.word_kernels import call_python, is_null, keyed_float


@inner(nb.int64(nb.int64, nb.int64, nb.int64, I32, FORMULAS, I64X2, I64))
def formula(edge, event, run, edges, formulas, vectors, state):  # type: ignore[no-untyped-def]
    """Whether the conjuncts on an edge hold for a run and an event: TRUE, FALSE, or a fault (noted in ``state``)."""
    code, words = formulas.code, formulas.words
    stack, path = formulas.stack, formulas.path
    tested = Tested(nb.int64(0), event, run - 1, nb.int64(0), nb.int64(words.values.shape[1]), nb.int64(0))
    for c in range(edges[edge], edges[edge + 1]):
        result = holds(c, code, tested, Taken(path, vectors), words, stack)
        if result != TRUE:
            if result != FALSE:
                state[S_CONJUNCT] = c
                state[S_KIND] = result
            return result
    return TRUE


@inner(nb.void(nb.int64, nb.int64, nb.int64, I32, I64X2, I64X2, WORDS))
def absorb(which, event, run, update_starts, updates, vectors, words):  # type: ignore[no-untyped-def]
    """The value vector after the run took the event on the edge ``which``. Words without a value are 0."""
    for u in range(update_starts[which], update_starts[which + 1]):
        kind, word, column = updates[u, 0], updates[u, 1], updates[u, 2]
        if updates[u, 3]:
            vectors[run, word] = 0
            vectors[run, word + 1] = 0
            vectors[run, word + 2] = 0
        empty = column >= 0 and is_null(words, column, event)
        if kind == SET:
            vectors[run, word] = 0 if empty else words.values[column, event]
            vectors[run, word + 2] = 0 if empty else 1
            continue
        if kind == LISTED:
            vectors[run, word] = call_python(updates[u, 4], vectors[run, word], event, 0, 0, 0, 0, 0)
            vectors[run, word + 2] = 1
            continue
        if empty:
            continue
        value = words.values[column, event] if column >= 0 else 0
        if kind == COUNT:
            vectors[run, word] += 1
        elif kind == INT_SUM:
            add_integer(vectors, run, word, value)
        elif kind == WIDE_SUM:
            high = words.values[updates[u, 4], event] if updates[u, 4] >= 0 else value >> 63
            add_wide(vectors, run, word, value, high, updates[u, 5])
            continue
        elif kind == FLOAT_SUM:
            add_float(vectors, run, word, keyed_float(value))
        elif kind == WIDENED_SUM:
            add_float(vectors, run, word, float(value))
        else:
            keep(vectors, run, word, value, kind == LEAST)
        vectors[run, word + 2] = 1


@inner(nb.int64(nb.int64, nb.int64, nb.int64, nb.int64, NODES, I64))
def node(event, component, before, reach, nodes, state):  # type: ignore[no-untyped-def]
    """A new node: ``event`` taken by ``component`` behind the node ``before``, whose expired members are left out."""
    events, components, left = nodes.events, nodes.components, nodes.left
    right, reaches = nodes.right, nodes.reaches
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


@inner(nb.int64(nb.int64, nb.int64, NODES, I64))
def union(one, other, nodes, state):  # type: ignore[no-untyped-def]
    """A node for two; the one that reaches further on the left."""
    events, components, left = nodes.events, nodes.components, nodes.left
    right, reaches = nodes.right, nodes.reaches
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


@inner(nb.int64(nb.int64, EVENTS))
def reach_of(event, events):  # type: ignore[no-untyped-def]
    """The first event of the partition that is past the window that ``event`` opens, or the partition's end."""
    time = events.time
    high = nb.int64(events.partition_end[event])
    if len(time) == 0:
        return high
    low = event
    while low < high:
        middle = (low + high) // 2
        if time[middle] < events.deadline[event]:
            low = middle + 1
        else:
            high = middle
    return low


@inner(nb.boolean(nb.int64, EVENTS, nb.int64))
def breaks(event, events, ignores):  # type: ignore[no-untyped-def]
    """Whether no run goes past the border before ``event``."""
    fit, cut = events.fit, events.cut
    return cut[event] & 1 != 0 or (ignores == 0 and (cut[event] & 2 != 0 or fit[event] == 0))


@inner(nb.void(nb.int64, nb.int64, ENDS, I64))
def record(event, at, ends, state):  # type: ignore[no-untyped-def]
    """Matches end with ``event`` at the node ``at``."""
    ends.events[state[S_ENDS]] = event
    ends.nodes[state[S_ENDS]] = at
    state[S_ENDS] += 1


@inner(nb.int64(nb.int64, nb.int64, nb.int64, nb.int64, MACHINE, FORMULAS, RUNS, ENDS, I64))
def settle(k, taken, event, run, machine, formulas, runs, ends, state):  # type: ignore[no-untyped-def]
    """Where a run stands after its component k took ``event``, as its ``taken``-th: TRUE: it goes on; FALSE: it is over.

    Or a fault. Matches that are complete are recorded: a closure at the end gives one after each take.
    """
    at, count = runs.at, runs.taken
    last = k + 1 == len(machine.low)
    if not machine.kleene[k]:
        if last:
            record(event, runs.tail[run], ends, state)
            return FALSE
        at[run] = k + 1
        count[run] = 0
        return TRUE
    if last and taken >= machine.low[k]:
        result = formula(3 * k + PROCEED, event, run, machine.edges, formulas, runs.vectors, state)
        if result == TRUE:
            record(event, runs.tail[run], ends, state)
        elif result != FALSE:
            return result
    if taken == machine.high[k]:
        at[run] = k + 1
        count[run] = 0
        return FALSE if last else TRUE
    at[run] = k
    count[run] = taken
    return TRUE


@inner(nb.int64(nb.int64, nb.int64, nb.int64, MACHINE, FORMULAS, RUNS, I64))
def enters(k, event, run, machine, formulas, runs, state):  # type: ignore[no-untyped-def]
    """Whether the run may begin component k with the event: the begin formula, and proceed of a closure just before."""
    edges = machine.edges
    if k > 0 and machine.kleene[k - 1] and edges[3 * k - 1] < edges[3 * k]:
        result = formula(3 * (k - 1) + PROCEED, event, run, edges, formulas, runs.vectors, state)
        if result != TRUE:
            return result
    if edges[3 * k] == edges[3 * k + 1]:
        return TRUE
    return formula(3 * k + BEGIN, event, run, edges, formulas, runs.vectors, state)


@inner(nb.boolean(nb.int64, nb.int64, NODES, PATHS))
def is_preferred(one, other, nodes, paths):  # type: ignore[no-untyped-def]
    """Which of two matches with the same last event is output first: the one that starts first, then takes the earliest
    events, then gives them to the latest components. Their nodes are no unions."""
    events, components, left = nodes.events, nodes.components, nodes.left
    path, other_path = paths.one, paths.other
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

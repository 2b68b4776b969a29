"""Sequence scan: which events become active instances (SASE, "High-Performance Complex Event Processing over Streams",
sections 4.1-4.3).

In: a branch and the events of a table. Out: the events, with the mask bits cleared of instances that no instance of a preceding variable can lead to.
Sequence construction is done by ``chain``: backwards from the last variable, over stacks that hold active instances only.

A stack is a sorted buffer, and an instance's RIP field (the most recent instance of the previous stack) is the slot
before it. PAIS: the stacks of two neighbours are partitioned by the most selective equality between them; further equalities are left to construction
(dynamic filtering). Windows: each instance knows the latest first event that could lead to it; if that event is outside its window, it is not an
active instance. A partial order (AND, partial sequences) is scanned the same way: an event needs an instance of each of its direct predecessors.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sparkcep.engines.event_pattern.candidates.buffer import Buffers, InputBuffer, KeyedBuffer
from sparkcep.engines.event_pattern.candidates.equality import keys
from sparkcep.engines.event_pattern.events import BoolArray, Events, IntArray
from sparkcep.engines.event_pattern.planner.branches import extremes
from sparkcep.engines.event_pattern.planner.plan import BranchPlan, Equality
from sparkcep.engines.event_pattern.values.values import Payload


def scanned(branch_plan: BranchPlan, indexes: Mapping[str, int], events: Events, payload: Payload) -> Events:
    """``events`` restricted to the active instances of the branch's variables; no match is lost."""
    precedes = branch_plan.branch.precedes
    starts: dict[str, IntArray] = {}
    for name in branch_plan.branch.variables:
        rows = np.flatnonzero(events.taken_by(indexes[name]))
        start = rows
        before = [other for other in branch_plan.branch.variables if (other, name) in precedes]
        for other in extremes(before, precedes)[1]:
            alive, found = _led_to(branch_plan, indexes, events, payload, other, name, rows, starts[other])
            rows, start = rows[alive], np.minimum(start[alive], found[alive])
        if events.window is not None:
            inside = events.window.end[start] > rows
            rows, start = rows[inside], start[inside]
        starts[name] = _by_candidate(rows, start, len(events))
        active = np.zeros(len(events), dtype=np.bool_)
        active[rows] = True
        events = events.restricted(indexes[name], active)
    return events


def _led_to(
    branch_plan: BranchPlan,
    indexes: Mapping[str, int],
    events: Events,
    payload: Payload,
    other: str,
    name: str,
    rows: IntArray,
    starts: IntArray,
) -> tuple[BoolArray, IntArray]:
    """For each of ``rows``: whether an instance of ``other`` precedes it within its window and its partition of the stack; and the latest start among
    those up to the RIP."""
    stack = Buffers(events, payload, 1).fill(
        indexes[other], _equivalence(branch_plan, other, name, payload, len(events))
    )
    low = events.partition_start[rows] if events.window is None else events.window.begin[rows]
    high = np.maximum(low, events.tie_start[rows])
    begin, end = stack.ranges(low, high, {name: rows})
    alive: BoolArray = begin < end
    latest = _latest(stack, starts)
    return alive, latest[np.maximum(end - 1, 0)] if len(latest) else np.zeros(len(rows), dtype=np.int64)


def _equivalence(branch_plan: BranchPlan, other: str, name: str, payload: Payload, width: int) -> tuple[Equality, ...]:
    """The most selective equality that holds for all events of two variables, if there is one."""
    found: list[Equality] = []
    for class_terms in branch_plan.classes:
        own = next((term for term in class_terms if term.variable == other), None)
        term = next((term for term in class_terms if term.variable == name), None)
        if own is not None and term is not None:
            found.append((own.column, term))
    sizes = {equality: _size(payload, equality, width) for equality in found}
    return tuple(sorted(found, key=lambda equality: -sizes[equality])[:1])


def _size(payload: Payload, equality: Equality, width: int) -> int:
    wanted = keys(payload, (equality,), width)
    return wanted.searched[0].size if wanted is not None and wanted.searched else 0


def _latest(stack: InputBuffer, starts: IntArray) -> IntArray:
    """Per slot the latest start among the slots up to it of the same partition of the stack."""
    found = starts[stack.rows]
    if not isinstance(stack, KeyedBuffer):
        return np.maximum.accumulate(found) if len(found) else found
    group = stack.codes // stack.width
    return np.maximum.accumulate(group * stack.width + found) - group * stack.width if len(found) else found


def _by_candidate(rows: IntArray, start: IntArray, count: int) -> IntArray:
    starts = np.zeros(count, dtype=np.int64)
    starts[rows] = start
    return starts

"""The matches of one branch of a clause: its positive events combined by the requested search, minus what negations refute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.candidates.buffer import Buffers
from sparkcep.engines.event_pattern.events import Events, load
from sparkcep.engines.event_pattern.negation import negation
from sparkcep.engines.event_pattern.negation.first_chance import FirstChance
from sparkcep.engines.event_pattern.planner.plan import BranchPlan, Plan
from sparkcep.engines.event_pattern.planner.states import chain
from sparkcep.engines.event_pattern.search import chain as chains
from sparkcep.engines.event_pattern.search import tree as trees
from sparkcep.engines.event_pattern.search.order import Order, choose
from sparkcep.engines.event_pattern.search.scan import scanned
from sparkcep.engines.event_pattern.values.closures import Frame
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.spec.event import EventPatternSpec

MAX_PARTIAL_MATCHES = 1_000_000_000
"""The partial matches created over one table beyond which a query is considered runaway: about a minute on one core."""

CHUNK = 1 << 18
"""Partial matches created at a time: states times chunk bounds memory (10 states: about 200 MB at most)."""


def matches(
    branch_plan: BranchPlan, spec: EventPatternSpec, events: Events, payload: Payload, budget: Budget
) -> Iterator[Frame]:
    """The matches of a branch, frame by frame, computed lazily."""
    branch, indexes = branch_plan.branch, _indexes(spec)
    if not all(events.taken_by(indexes[name]).any() for name in branch.variables):
        return
    if spec.engine == "stack":
        buffers = Buffers(scanned(branch_plan, indexes, events, payload), payload, searched=1)
    else:
        buffers = Buffers(events, payload)
    negative = negation.prepare(branch, branch_plan.alternatives, indexes, buffers)
    first = FirstChance(negative, spec.negation, frozenset(branch.variables))
    for frame in _positive(branch_plan, spec, indexes, buffers, first, budget):
        yield negation.unrefuted(first.left(), frame, budget)


def _positive(
    branch_plan: BranchPlan,
    spec: EventPatternSpec,
    indexes: Mapping[str, int],
    buffers: Buffers,
    first: FirstChance,
    budget: Budget,
) -> Iterator[Frame]:
    """The combinations of positive events, without those that ``first`` refutes."""
    refute = first.unrefuted if first.early() else None
    if spec.negation == "post":
        branch_plan = replace(branch_plan, alternatives=((),))  # no fences
    if spec.engine == "tree":
        return trees.combinations(trees.Tree(branch_plan, indexes, buffers, refute), budget)
    order = choose(branch_plan, spec.engine, indexes, buffers, dict(spec.statistics))
    states = chain(branch_plan, order.variables)
    prepared = replace(chains.prepare(branch_plan.branch, states, indexes, buffers), refute=refute)
    return chains.combinations(prepared, budget)


def _indexes(spec: EventPatternSpec) -> dict[str, int]:
    """The position of each variable: its mask bit."""
    return {name: index for index, name in enumerate(spec.variables)}


def orders(plan: Plan, table: pa.Table) -> tuple[Order, ...]:
    """For each branch the order in which ``matches`` binds its variables in this table, with the numbers behind it."""
    spec = plan.spec
    events = load(table, spec.masks, spec.rank, spec.within)
    payload = Payload(table, events.positions)
    buffers = Buffers(events, payload)
    return tuple(
        choose(branch, spec.engine, _indexes(spec), buffers, dict(spec.statistics)) for branch in plan.branches
    )

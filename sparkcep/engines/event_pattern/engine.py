"""The engine's two functions: compile a clause once, run it over tables of whole partitions.

In: an ``EventPatternSpec``; Arrow tables as its module describes them. Out: Arrow tables of matches. Spark is unknown
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sparkcep.engines.event_pattern.budget import Budget, Counters
from sparkcep.engines.event_pattern.candidates.buffer import Buffers
from sparkcep.engines.event_pattern.events import Events, load
from sparkcep.engines.event_pattern.negation import negation
from sparkcep.engines.event_pattern.negation.first_chance import FirstChance
from sparkcep.engines.event_pattern.output.output import OUTPUT_ROWS, Matches, Writer, found, tables
from sparkcep.engines.event_pattern.output.overlap import non_overlapping
from sparkcep.engines.event_pattern.planner.plan import BranchPlan, Plan, plan
from sparkcep.engines.event_pattern.planner.states import chain
from sparkcep.engines.event_pattern.search import chain as chains
from sparkcep.engines.event_pattern.search import tree as trees
from sparkcep.engines.event_pattern.search.order import Order, choose
from sparkcep.engines.event_pattern.search.scan import scanned
from sparkcep.engines.event_pattern.values.closures import Frame
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.pattern.event import elements
from sparkcep.spec.event import EventPatternSpec

MAX_PARTIAL_MATCHES = 1_000_000_000
"""The partial matches created over one table beyond which a query is considered runaway: about a minute on one core."""

CHUNK = 1 << 18
"""Partial matches created at a time: states times chunk bounds memory (10 states: about 200 MB at most)."""


def compile(spec: EventPatternSpec) -> Plan:
    """The plan of a clause: immutable, made once per task.

    Raises what ``support.check`` raises: CepUnsupportedError, CepAnalysisError, CepLimitError.
    """
    if spec.engine in ("basic", "backtrack"):  # engines of the other selection strategies
        spec = replace(spec, engine="auto")
    return plan(spec)


def run(
    compiled: Plan,
    table: pa.Table,
    *,
    max_partial_matches: int | None = None,
    chunk: int = CHUNK,
    output_rows: int = OUTPUT_ROWS,
    counters: Counters | None = None,
) -> Iterator[pa.Table]:
    """All matches in ``table``, as tables of ``spec.outputs`` with at most ``output_rows`` rows.

    ``table``: whole partitions, partition after partition, in ORDER BY order, with the columns the spec names. Order
    of the result: branch by branch (for ``tree``: block by block of time); otherwise in no particular order, but the same
    in every run. The tables are computed lazily.
    ``counters``: records what the run does.

    Raises CepLimitError past ``max_partial_matches`` (None: the spec's, else ``MAX_PARTIAL_MATCHES``) created partial
    matches (complete ones included), CepDataError for arithmetic errors in predicates, CepUnsupportedError for column
    types a predicate cannot compare.
    """
    spec = compiled.spec
    events = load(table, spec.masks, spec.rank, spec.within)
    payload = Payload(table, events.positions)
    limit = max_partial_matches or spec.max_partial_matches or MAX_PARTIAL_MATCHES
    bounds = [name for name, part in (("WITHIN", spec.within), ("PARTITION BY", spec.partition)) if part]
    budget = Budget(limit, limit, chunk, bounds, counters or Counters())
    frames = (
        (frame, branch.branch)
        for branch in compiled.branches
        for frame in matches(branch, spec, events, payload, budget)
    )
    if spec.matches == "all":
        yield from tables(frames, spec, table, events.positions, output_rows)
        return
    if spec.matches == "compressed":
        yield from _compressed(spec, table, found(frames, events.positions, frozenset(spec.variables)))
        return
    partition = np.cumsum(table.column(spec.masks[0]).to_numpy() & 1)
    ranks = table.column(spec.rank).to_numpy()
    writer = Writer(spec, table)
    for part in non_overlapping(
        found(frames, events.positions, frozenset(spec.variables)), ranks, partition, spec.variables
    ):
        yield writer.write(part)


def _compressed(spec: EventPatternSpec, table: pa.Table, parts: Iterator[Matches]) -> Iterator[pa.Table]:
    """All matches, enumerated first; then matches with equal suffixes share them."""
    from sparkcep.engines.nfa_b import compressed, enumerated  # kernels that few clauses need

    names = [element.variable for element in elements(spec.pattern, negated=False)]
    yield from map(compressed.PartWriter(spec, names, table).write, enumerated.parts(parts, names))


def orders(compiled: Plan, table: pa.Table) -> tuple[Order, ...]:
    """For each branch the order in which ``run`` binds its variables in this table, with the numbers behind it."""
    spec = compiled.spec
    events = load(table, spec.masks, spec.rank, spec.within)
    payload = Payload(table, events.positions)
    buffers = Buffers(events, payload)
    return tuple(
        choose(branch, spec.engine, _indexes(spec), buffers, dict(spec.statistics)) for branch in compiled.branches
    )


def matches(
    branch_plan: BranchPlan, spec: EventPatternSpec, events: Events, payload: Payload, budget: Budget
) -> Iterator[Frame]:
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
    """The combinations of positive events that ``first`` does not refute."""
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

"""Counts for EXPLAIN ANALYZE PATTERN over a MATCH PATTERN clause whose matches are built.

In: a plan and a table of whole partitions. Out: ``Counts``: for each state of the chain (the variables bound so far, in binding order) the pairs of a
partial match and a candidate event of the new variable in its partition, and how many became partial matches; for each condition on the way, how many
pairs it was evaluated on and how many passed; then the matches. If the query asks for the tree or the stacks, the chain is counted instead: its
matches are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sparkcep.engines.counts import Counts
from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.events import load
from sparkcep.engines.event_pattern.matches import CHUNK, MAX_PARTIAL_MATCHES, matches
from sparkcep.engines.event_pattern.planner.plan import Plan
from sparkcep.engines.event_pattern.values.closures import length
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.spec.event import Engine


def analyze(plan: Plan, table: pa.Table, run: Callable[[pa.Table], Iterator[pa.Table]]) -> Counts:
    """Counts of what ``run``, the engine's, finds. Raises what that raises."""
    engine: Engine = plan.spec.engine if plan.spec.engine in ("auto", "eager") else "chain"
    spec, counts = replace(plan.spec, engine=engine), Counts()
    events = load(table, spec.masks, spec.rank, spec.within)
    counts.add("input", "", table.num_rows, int(np.count_nonzero(table.column(spec.masks[0]).to_numpy() & 1)))
    payload = Payload(table, events.positions)
    limit = spec.max_partial_matches or MAX_PARTIAL_MATCHES
    budget = Budget(limit, limit, CHUNK, counts=counts)
    found = 0
    for number, branch in enumerate(plan.branches, 1):
        budget.branch = f"branch {number}: " if len(plan.branches) > 1 else ""
        missing = [name for name in branch.branch.variables if not events.taken_by(spec.variables.index(name)).any()]
        if missing:
            budget.count("state", missing[0], 0, 0)
        found += sum(length(frame) for frame in matches(branch, spec, events, payload, budget))
    if spec.matches == "non_overlapping":
        found = sum(part.num_rows for part in run(table))
    counts.add("matches", "", found)
    return counts

"""Counts for EXPLAIN ANALYZE PATTERN where the selection strategy is not skip till any match.

In: a plan and a table of whole partitions. Out: ``Counts``: for each item of the pattern the matches of the pattern up to it, under the
same strategy: those are the runs that reach its state. Then the matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sparkcep.engines.counts import Counts
from sparkcep.engines.nfa_b.engine import Plan, compile, run
from sparkcep.pattern.event import Not, Seq, elements
from sparkcep.spec.event import EventPatternSpec, FirstEvent, Output
from sparkcep.spec.expression import variables


def analyze(plan: Plan, table: pa.Table) -> Counts:
    """Counts of ``engine.run(plan, table)``. Raises what that raises."""
    counts, spec = Counts(), plan.spec
    counts.add("input", "", table.num_rows, int(np.count_nonzero(table.column(spec.masks[0]).to_numpy() & 1)))
    for name, part in prefixes(spec):
        counts.add("prefix", name, _matches(part, table))
    counts.add("matches", "", _matches(spec, table))
    return counts


def prefixes(spec: EventPatternSpec) -> Iterator[tuple[str, EventPatternSpec]]:
    """(its positive variables, the clause with the pattern up to an item) for each item that is not negated."""
    if not isinstance(spec.pattern, Seq):
        return
    items = spec.pattern.items
    for size in range(1, len(items) + 1):
        if isinstance(items[size - 1], Not):
            continue
        pattern = replace(spec.pattern, items=items[:size])
        known = {element.variable for element in elements(pattern)}
        predicates = tuple(part for part in spec.predicates if known.issuperset(variables(part.condition)))
        names = ", ".join(element.variable for element in elements(pattern, negated=False))
        yield names, replace(spec, pattern=pattern, predicates=predicates, matches="all")


def _matches(spec: EventPatternSpec, table: pa.Table) -> int:
    matches = "all" if spec.matches == "compressed" else spec.matches
    small = replace(spec, outputs=(Output("rank", FirstEvent(spec.rank)),), matches=matches)
    return sum(part.num_rows for part in run(compile(small), table))

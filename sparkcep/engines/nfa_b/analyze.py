"""Counts for EXPLAIN ANALYZE PATTERN where the selection strategy is not skip till any match.

In: a plan and a table of whole partitions. Out: ``Counts``: for each item of the pattern the matches of the pattern up to it, under the
same strategy: those are the runs that reach its state. For each condition between events that can be asked there first, the matches up
to there without it and with it, condition after condition: a condition decides which event is selected, so there need not be fewer. Then
the matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sparkcep.engines.counts import Counts
from sparkcep.engines.nfa_b.evaluation import Plan, evaluate, plan
from sparkcep.pattern.event import Not, Seq, elements
from sparkcep.spec.event import EventPatternSpec, FirstEvent, Output, Predicate
from sparkcep.spec.expression import variables


def analyze(compiled: Plan, table: pa.Table) -> Counts:
    """Counts of what ``evaluate`` finds. Raises what that raises."""
    counts, spec = Counts(), compiled.spec
    counts.add("input", "", table.num_rows, int(np.count_nonzero(table.column(spec.masks[0]).to_numpy() & 1)))
    for name, part, asked in _prefixes(spec):
        sizes = [_matches(replace(part, predicates=part.predicates + asked[:n]), table) for n in range(len(asked) + 1)]
        counts.add("prefix", name, sizes[-1])
        for predicate, without, kept in zip(asked, sizes, sizes[1:], strict=False):
            counts.add("condition between", predicate.text, without, kept)
    counts.add("matches", "", _matches(spec, table))
    return counts


def _prefixes(spec: EventPatternSpec) -> Iterator[tuple[str, EventPatternSpec, tuple[Predicate, ...]]]:
    """(its variables, the clause up to an item with the conditions asked before, those asked there first) for each item.

    A negated item counts with the one after it, in whose state it is looked for.
    """
    items = spec.pattern.items if isinstance(spec.pattern, Seq) else (spec.pattern,)
    before: tuple[Predicate, ...] = ()
    for size, item in enumerate(items, 1):
        if isinstance(item, Not) and size < len(items):
            continue
        pattern = replace(spec.pattern, items=items[:size]) if isinstance(spec.pattern, Seq) else spec.pattern
        known = {element.variable for element in elements(pattern)}
        ready = [part for part in spec.predicates if known.issuperset(variables(part.condition))]
        asked = tuple(part for part in ready if part not in before)
        names = ", ".join(element.variable for element in elements(pattern, negated=False))
        name = f"{names}, {item}" if isinstance(item, Not) else names
        yield name, replace(spec, pattern=pattern, predicates=before, matches="all"), asked
        before += asked


def _matches(spec: EventPatternSpec, table: pa.Table) -> int:
    matches = "all" if spec.matches == "compressed" else spec.matches
    small = replace(spec, outputs=(Output("rank", FirstEvent(spec.rank)),), matches=matches)
    return sum(part.num_rows for part in evaluate(plan(small), table))

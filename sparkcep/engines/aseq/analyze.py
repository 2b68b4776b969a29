"""Counts for EXPLAIN ANALYZE PATTERN where A-Seq answers: the matches of every prefix of the pattern, none of them built.

In: a plan and a table of whole partitions. Out: ``Counts``: SEQ(A, B, C) has partial matches over A, over A and B, and matches.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkcep.engines.aseq.engine import Plan
from sparkcep.engines.aseq.events import read
from sparkcep.engines.aseq.passes import Passes, Weighing
from sparkcep.engines.aseq.sequences import Sequence
from sparkcep.engines.aseq.values import MAX
from sparkcep.engines.counts import Counts


def analyze(plan: Plan, table: pa.Table) -> Counts:
    """Counts of what ``engine.run(plan, table)`` aggregates; exact, whatever their size."""
    counts, found = Counts(), 0
    events = read(table, plan.spec)
    counts.add("input", "", table.num_rows, int(np.count_nonzero(events.masks[0] & 1)))
    for sequence in plan.sequences:
        reached = [_total(Passes(events, plan.spec.variables, (part,))) for part in _prefixes(sequence)]
        for size, number in enumerate(reached, 1):
            counts.add("prefix", ", ".join(sequence.variables[:size]), number)
        found += reached[-1]
    counts.add("matches", "", found)
    return counts


def _prefixes(sequence: Sequence) -> list[Sequence]:
    """The sequences of the first variables; a negated last item counts with the whole alone."""
    names, gaps, between = sequence.variables, sequence.gaps, sequence.between
    sizes = range(1, len(names))
    return [*(Sequence(names[:n], gaps[:n], between[: n - 1], sequence.before) for n in sizes), sequence]


def _total(passes: Passes) -> int:
    totals = passes.integers(Weighing())
    return sum(
        passes.exact(Weighing(), part) if total == MAX else int(total) for part, total in enumerate(totals.tolist())
    )

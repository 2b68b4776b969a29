"""Counts for EXPLAIN ANALYZE PATTERN where A-Seq answers: the matches of every prefix of the pattern, none of them built.

In: a plan and a table of whole partitions. Out: ``Counts``: SEQ(A, B, C) has partial matches over A, over A and B, and matches;
of several patterns each has its own, behind its name, and what they share is counted once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa

from sparkcep.engines.aseq.events import read
from sparkcep.engines.aseq.passes import Passes, Weighing
from sparkcep.engines.aseq.plan import Plan
from sparkcep.engines.aseq.semiring import MAX
from sparkcep.engines.aseq.sequences import Sequence
from sparkcep.engines.counts import Counts
from sparkcep.spec.neighbours import linked


def analyze(plan: Plan, table: pa.Table) -> Counts:
    """Counts of what ``AseqEngine.run`` aggregates; exact, whatever their size."""
    counts = Counts()
    events, links = read(table, plan.spec), linked(plan.spec.neighbours)

    @cache
    def total(sequence: Sequence) -> int:
        return _total(Passes(events, plan.spec.variables, (sequence,), linked=links))

    counts.add("input", "", table.num_rows, int(np.count_nonzero(events.masks[0] & 1)))
    for name, sequences in plan.patterns:
        for part in (part for sequence in sequences for part in _prefixes(sequence)):
            counts.add("prefix", f"{name}: {_name(part)}" if name else _name(part), total(part))
        counts.add("matches", name, sum(map(total, sequences)))
    return counts


def _prefixes(sequence: Sequence) -> Iterator[Sequence]:
    """The sequences of the first variables; a negated last item counts with the whole alone."""
    names, gaps, between = sequence.variables, sequence.gaps, sequence.between
    for size in range(1, len(names)):
        loops = frozenset(place for place in sequence.loops if place < size)
        if not (sequence.before and size - 1 in loops):  # no loop stands last beside an open end
            yield Sequence(names[:size], gaps[:size], between[: size - 1], sequence.before, loops=loops)
    yield sequence


def _name(sequence: Sequence) -> str:
    return ", ".join(f"{name}+" if i in sequence.loops else name for i, name in enumerate(sequence.variables))


def _total(passes: Passes) -> int:
    return sum(_exact(passes, part, total) for part, total in enumerate(passes.integers(Weighing()).tolist()))


def _exact(passes: Passes, part: int, total: int) -> int:
    if total != MAX:
        return int(total)
    exact = passes.exact(Weighing(), part)
    return passes.recounted(Weighing(), part) if exact is None else exact

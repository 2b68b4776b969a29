"""NFA^b as an engine: compile a clause once, run it over tables of whole partitions.

In: an ``EventPatternSpec``; Arrow tables as its module describes them. Out: Arrow tables of matches. Spark is unknown
here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from sparkcep.engines.counts import Counts
from sparkcep.engines.event_pattern.output.output import OUTPUT_ROWS
from sparkcep.engines.nfa_b.analyze import analyze
from sparkcep.engines.nfa_b.evaluation import Plan, evaluate, plan
from sparkcep.engines.nfa_b.search import MAX_NODES
from sparkcep.spec.event import EventPatternSpec


@dataclass(frozen=True, slots=True)
class NfaEngine:
    """A compiled EventPatternSpec with a strategy other than skip till any match."""

    plan: Plan

    def run(self, table: pa.Table, *, output_rows: int = OUTPUT_ROWS, max_nodes: int = MAX_NODES) -> Iterator[pa.Table]:
        """All matches in ``table``. Order of the result and errors: as ``evaluation.evaluate``."""
        return evaluate(self.plan, table, output_rows=output_rows, max_nodes=max_nodes)

    def analyze(self, table: pa.Table) -> Counts:
        """The matches of every prefix of the pattern, without and with each condition between events."""
        return analyze(self.plan, table)


def compile(spec: EventPatternSpec) -> NfaEngine:
    """The engine for ``spec``. Raises what ``support.check`` raises."""
    return NfaEngine(plan(spec))

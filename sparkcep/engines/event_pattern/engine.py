"""Event patterns under skip till any match as an engine: compile a clause once, run it over tables of whole partitions.

In: an ``EventPatternSpec``; Arrow tables as its module describes them. Out: Arrow tables of matches. Spark is unknown
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sparkcep.engines.counts import Counts
from sparkcep.engines.event_pattern.analyze import analyze
from sparkcep.engines.event_pattern.budget import Budget, Counters
from sparkcep.engines.event_pattern.events import load
from sparkcep.engines.event_pattern.matches import CHUNK, MAX_PARTIAL_MATCHES, matches
from sparkcep.engines.event_pattern.output import compressed, enumerated
from sparkcep.engines.event_pattern.output.output import OUTPUT_ROWS, Matches, Writer, found, tables
from sparkcep.engines.event_pattern.output.overlap import non_overlapping
from sparkcep.engines.event_pattern.planner.plan import Plan, plan
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.pattern.event import elements
from sparkcep.spec.event import EventPatternSpec


@dataclass(frozen=True, slots=True)
class EventPatternEngine:
    """A compiled EventPatternSpec."""

    plan: Plan

    def run(
        self,
        table: pa.Table,
        *,
        max_partial_matches: int | None = None,
        chunk: int = CHUNK,
        output_rows: int = OUTPUT_ROWS,
        counters: Counters | None = None,
    ) -> Iterator[pa.Table]:
        """All matches in ``table``, as tables of ``spec.outputs`` with at most ``output_rows`` rows.

        Order of the result: branch by branch (for ``tree``: block by block of time); otherwise in no particular order, but the same
        in every run. Work is done as the tables are asked for. ``counters``: filled with what the run does.

        Raises CepLimitError past ``max_partial_matches`` (None: the spec's, else ``MAX_PARTIAL_MATCHES``) created partial
        matches (complete ones included), CepDataError for arithmetic errors in predicates, CepUnsupportedError for column
        types a predicate cannot compare.
        """
        spec = self.plan.spec
        events = load(table, spec.masks, spec.rank, spec.within)
        payload = Payload(table, events.positions)
        spent = budget(spec, max_partial_matches, chunk, counters)
        frames = (
            (frame, branch.branch)
            for branch in self.plan.branches
            for frame in matches(branch, spec, events, payload, spent)
        )
        if spec.matches == "all":
            yield from tables(frames, spec, table, events.positions, output_rows)
            return
        parts = found(frames, events.positions, frozenset(spec.variables))
        if spec.matches == "compressed":
            yield from compressed_tables(spec, table, parts)
        else:
            yield from map(Writer(spec, table).write, chosen(spec, table, parts))

    def analyze(self, table: pa.Table) -> Counts:
        """Partial matches by state, and what each condition keeps of them."""
        return analyze(self.plan, table, self.run)


def compile(spec: EventPatternSpec) -> EventPatternEngine:
    """The engine for ``spec``.

    Raises what ``support.check`` raises: CepUnsupportedError, CepAnalysisError, CepLimitError.
    """
    if spec.engine in ("basic", "backtrack"):  # settings for the other strategies
        spec = replace(spec, engine="auto")
    return EventPatternEngine(plan(spec))


def budget(
    spec: EventPatternSpec,
    max_partial_matches: int | None = None,
    chunk: int = CHUNK,
    counters: Counters | None = None,
) -> Budget:
    """The budget of a run, as ``EventPatternEngine.run`` has it."""
    limit = max_partial_matches or spec.max_partial_matches or MAX_PARTIAL_MATCHES
    bounds = [name for name, part in (("WITHIN", spec.within), ("PARTITION BY", spec.partition)) if part]
    return Budget(limit, limit, chunk, bounds, counters or Counters())


def chosen(spec: EventPatternSpec, table: pa.Table, parts: Iterable[Matches]) -> Iterator[Matches]:
    """NON OVERLAPPING MATCHES, chosen among all."""
    partition = np.cumsum(table.column(spec.masks[0]).to_numpy() & 1)
    ranks = table.column(spec.rank).to_numpy()
    return non_overlapping(parts, ranks, partition, spec.variables)


def compressed_tables(spec: EventPatternSpec, table: pa.Table, parts: Iterable[Matches]) -> Iterator[pa.Table]:
    """COMPRESSED MATCHES: every match is made; then equal ends of matches are shared."""
    names = [element.variable for element in elements(spec.pattern, negated=False)]
    yield from map(compressed.PartWriter(spec, names, table).write, enumerated.parts(parts, names))

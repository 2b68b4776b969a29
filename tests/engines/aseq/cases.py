"""Corpus cases → the A-Seq engine's contract, and its answers in the corpus' own terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sparkcep.engines.aseq import engine
from sparkcep.spec.aggregate import AggregateOutput, AggregateSpec, MatchAggregate
from tests.adapters import event_pattern_spec, event_tables
from tests.corpus import EventCase


def aggregate_spec(case: EventCase, sources: Sequence[MatchAggregate]) -> AggregateSpec:
    """The case with the given aggregates."""
    spec = event_pattern_spec(case)
    outputs = tuple(AggregateOutput(f"a{i}", source) for i, source in enumerate(sources))
    return AggregateSpec(
        spec.variables,
        spec.pattern,
        spec.masks,
        spec.rank,
        outputs,
        "{}",
        spec.within,
        spec.partition,
        case.pattern,
        neighbours=spec.predicates,
    )


def aggregates(case: EventCase, sources: Sequence[MatchAggregate], *, split: bool = False) -> list[tuple[Any, ...]]:
    """One tuple of aggregates per partition that has a match; ``split`` sends each partition in a call of its own."""
    plan = engine.compile(aggregate_spec(case, sources))
    tables = list(event_tables(case))
    if tables and not split:
        tables = [pa.concat_tables(tables)]
    found = [result for table in tables for result in plan.run(table)]
    columns = [[value for part in found for value in part.column(i).to_pylist()] for i in range(len(sources))]
    return list(zip(*columns, strict=True))

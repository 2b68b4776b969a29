"""The plan of a clause that only aggregates its matches: its patterns as sequences, and which of them are counted in one pass."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.engines.aseq.sequences import Sequence, sequences
from sparkcep.engines.aseq.sharing import plan_sharing
from sparkcep.spec.aggregate import AggregateSpec


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled clause. ``patterns``: one, or those of MATCH PATTERNS, each with its sequences and name."""

    spec: AggregateSpec
    patterns: tuple[tuple[str, tuple[Sequence, ...]], ...]
    passes: tuple[tuple[int, ...], ...]

    @property
    def sequences(self) -> tuple[Sequence, ...]:
        """Those of the only pattern, or of the first."""
        return self.patterns[0][1]


def plan(spec: AggregateSpec) -> Plan:
    """The plan of a clause. Raises what ``sequences.sequences`` raises."""
    patterns = tuple((one.name, sequences(one.pattern)) for one in spec.patterns) or (("", sequences(spec.pattern)),)
    return Plan(spec, patterns, plan_sharing(patterns, windowed=spec.within is not None).passes)

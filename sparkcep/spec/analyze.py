"""AnalyzeSpec: a clause whose matches are counted instead of returned, state by state and condition by condition.

The engine's input is that of the clause. The output is the table of ``ANALYZE_SCHEMA``: one row per item counted in a batch of partitions; sums over
all rows with equal ``section`` and ``item`` are the counts for the whole input.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.automaton import AutomatonSpec
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.row import RowPatternSpec

_NUMBER = '"type":"decimal(38,0)","nullable":true,"metadata":{}'
ANALYZE_SCHEMA = (
    '{"type":"struct","fields":[{"name":"place","type":"integer","nullable":false,"metadata":{}},'
    '{"name":"section","type":"string","nullable":false,"metadata":{}},'
    '{"name":"item","type":"string","nullable":false,"metadata":{}},'
    f'{{"name":"tried",{_NUMBER}}},{{"name":"taken",{_NUMBER}}}]}}'
)
"""``place`` orders the lines; ``tried`` is how many arrived, ``taken`` how many of them passed (NULL if not applicable)."""


@dataclass(frozen=True, slots=True)
class AnalyzeSpec:
    """Count what happens to the rows of ``of``."""

    of: RowPatternSpec | EventPatternSpec | AggregateSpec | AutomatonSpec
    schema: str = ANALYZE_SCHEMA

    @property
    def masks(self) -> tuple[str, ...]:
        """The mask columns of the clause."""
        return self.of.masks

    @property
    def text(self) -> str:
        """The pattern as the user wrote it."""
        return self.of.text

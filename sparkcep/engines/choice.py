"""Which engine runs a MatchSpec, and why. Imports no engine: the driver asks too.

* ``row_pattern``: every DEFINE condition is a boolean of the row. Linear in the rows, whatever the pattern.
* ``row_match``: some condition looks at other rows of the match. A search with backtracking that remembers what failed.
* ``chain``: the lazy Chain NFA, rarest event type first.
* ``aseq``: prefix counting, where only aggregates over the matches are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sparkcep.spec import AggregateSpec, EventPatternSpec, MatchSpec

EngineName = Literal["row_pattern", "row_match", "chain", "aseq"]


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine and the reason, as EXPLAIN PATTERN shows it."""

    engine: EngineName
    reason: str


def choose(spec: MatchSpec) -> Choice:
    """The engine for ``spec``."""
    if isinstance(spec, AggregateSpec):
        return Choice("aseq", "A-Seq: the query only aggregates the matches, so none is built")
    if isinstance(spec, EventPatternSpec):
        return Choice("chain", "lazy Chain NFA: in each batch the variable with the fewest events goes first")
    if not spec.defines:
        return Choice("row_pattern", "linear: every condition looks at its row and the row's neighbours only")
    names = ", ".join(define.variable for define in spec.defines)
    return Choice("row_match", f"search with memory: the conditions of {names} look at other rows of the match")

"""What the engines run. In: a MatchSpec. Out: nothing, or the error that names what its engine lacks.

Imports neither numpy nor Polars, so that a driver may ask before it ships a query.
"""

from __future__ import annotations

from sparkcep.engines.aseq.sequences import check as check_aggregates
from sparkcep.engines.event_pattern.planner.support import check as check_event_pattern
from sparkcep.engines.nfa_b.support import check as check_nfa_b
from sparkcep.spec import AggregateSpec, EventPatternSpec, MatchSpec


def check(spec: MatchSpec) -> None:
    """Return if the engine that ``choice.choose`` names runs ``spec``; raise CepError if not."""
    match spec:
        case AggregateSpec():
            check_aggregates(spec)
        case EventPatternSpec(strategy="any"):
            check_event_pattern(spec.pattern, within=spec.within, predicates=spec.predicates)
        case EventPatternSpec():
            check_nfa_b(spec)

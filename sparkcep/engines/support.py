"""What the engines run. In: a MatchSpec. Out: nothing, or the error that names what its engine lacks.

Imports neither numpy nor Polars, so that a driver may ask before it ships a query.
"""

from __future__ import annotations

from sparkcep.engines.aseq.sequences import check as check_aggregates
from sparkcep.engines.event_pattern.planner.support import check as check_event_pattern
from sparkcep.engines.nfa_b.support import check as check_nfa_b
from sparkcep.engines.row_pattern.graph import build_graph
from sparkcep.spec import AggregateSpec, EventPatternSpec, MatchSpec, RowPatternSpec, StreamSpec


def check(spec: MatchSpec | StreamSpec) -> None:
    """Return if the engine that ``choice.choose`` names runs ``spec``; raise CepError if not."""
    match spec:
        case StreamSpec():
            check(spec.of)
            check_stream(spec)
        case AggregateSpec():
            check_aggregates(spec)
        case EventPatternSpec(strategy="any"):
            check_event_pattern(spec.pattern, spec.within, spec.predicates)
        case EventPatternSpec():
            check_nfa_b(spec)
        case RowPatternSpec():
            build_graph(spec.pattern, spec.variables)


def check_stream(spec: StreamSpec) -> None:
    """Raise what the engine raises that decides the turns of ``spec``. Few sessions have streams, so it is imported here."""
    from sparkcep.engines.stream import compile

    compile(spec)

"""What the NFA^b engine runs: the one list of its limits.

In: an ``EventPatternSpec``. Out: nothing, or the error that names the unsupported feature. Imports neither numpy nor
Polars, so that a driver may ask before it ships a query.
"""

from __future__ import annotations

from sparkcep.engines.event_pattern.support import check_parts as check_event_parts
from sparkcep.engines.nfa_b.compilation import automata
from sparkcep.errors import CepUnsupportedError
from sparkcep.pattern.event import Not, Or, elements, walk
from sparkcep.spec.event import EventPatternSpec


def check(spec: EventPatternSpec) -> None:
    """Return if ``engine.compile`` takes the clause.

    Raises CepUnsupportedError naming the feature that this engine lacks, CepAnalysisError where the clause itself is
    wrong, CepLimitError for too many lines, variables or conjuncts.
    """
    check_event_parts(spec.pattern, spec.within, spec.predicates)
    automata(spec)
    if spec.matches == "compressed":
        _check_compressed(spec)


def _check_compressed(spec: EventPatternSpec) -> None:
    """A buffer shows all its paths: none of them can be struck out by a negated event."""
    if spec.engine == "backtrack":
        raise CepUnsupportedError(
            "COMPRESSED MATCHES by the backtrack algorithm",
            code="COMPRESSED_BACKTRACK",
            hint="leave the engine to auto",
        )
    if any(isinstance(node, Not) for node in walk(spec.pattern)):
        raise CepUnsupportedError(
            "COMPRESSED MATCHES of a pattern with NOT", code="COMPRESSED_NOT", hint="ask for ALL MATCHES"
        )
    optional = any(element.low == 0 for element in elements(spec.pattern))
    if optional or any(isinstance(node, Or) for node in walk(spec.pattern)):
        raise CepUnsupportedError(
            "COMPRESSED MATCHES of a pattern with OR, ? or *", code="COMPRESSED_OR", hint="ask for ALL MATCHES"
        )

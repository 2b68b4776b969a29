"""What the NFA^b engine runs: the one list of its limits.

In: an ``EventPatternSpec``. Out: nothing, or the error that names the unsupported feature. Imports neither numpy nor
Polars, so that a driver may ask before it ships a query.
"""

from __future__ import annotations

from sparkcep.engines.event_pattern.planner.support import check as check_event_pattern
from sparkcep.engines.nfa_b.compilation import automata
from sparkcep.spec.event import EventPatternSpec


def check(spec: EventPatternSpec) -> None:
    """Return if ``engine.compile`` takes the clause.

    Raises CepUnsupportedError naming the feature that this engine lacks, CepAnalysisError where the clause itself is
    wrong, CepLimitError for too many lines, variables or conjuncts.
    """
    check_event_pattern(spec.pattern, spec.within, spec.predicates)
    automata(spec)

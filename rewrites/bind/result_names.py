"""The names of MATCH_RECOGNIZE's output columns: no two may be the same."""

from __future__ import annotations

from collections.abc import Iterable

from rewrites.bind.relation import Relation
from rewrites.dialect.clause import MatchRecognizeClause
from sparkcep.errors import CepAnalysisError, Span


def check_result_names(clause: MatchRecognizeClause, relation: Relation, keys: Iterable[tuple[str, Span]]) -> None:
    """Raise CepAnalysisError at the second column of a name. Not where the alias names all columns anew: ``AS m (a, b)``."""
    if clause.site.columns is not None:
        return
    taken: dict[str, str] = {}
    for name, span in keys:
        if name.lower() in taken:
            raise _twice(f"the PARTITION BY column {name} occurs twice", span, "write it once")
        taken[name.lower()] = "a PARTITION BY column"
    if clause.rows_per_match != "one":
        for name in relation.schema.names:
            taken.setdefault(name.lower(), "an input column, which ALL ROWS PER MATCH shows")
    for measure in clause.measures:
        name = measure.name.value
        if other := taken.get(name.lower()):
            raise _twice(f"the measure {name} has the name of {other}", measure.name.span, "give it another name")


def _twice(message: str, span: Span, hint: str) -> CepAnalysisError:
    return CepAnalysisError(message, code="DUPLICATE_NAME", span=span, hint=hint)

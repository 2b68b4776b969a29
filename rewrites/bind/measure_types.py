"""Whether Spark accepts the measures of MATCH_RECOGNIZE: asked before it sees the rewritten statement, so that what it says is about the user's.

In: the measures as parsed, and as SQL over the engine's outputs. Out: nothing, or Spark's complaint at the measure. Only what computes something
is asked about, and not what stands on aggregates of Spark's own, whose types are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewrites.bind.measures import Outputs
from rewrites.bind.relation import Relation
from rewrites.dialect.clause import Measure
from rewrites.sql.builder import quoted
from sparkcep.errors import CepAnalysisError

_PLAIN = re.compile(r"`__cep_m\d+`")
_FOLDED = "`__cep_g"


def check_measures(measures: Iterable[Measure], texts: Iterable[str], outputs: Outputs, relation: Relation) -> None:
    """Raise CepAnalysisError for a measure that Spark does not accept; ``texts``: each as SQL over ``outputs``."""
    asked = [
        (text, measure.expr.span)
        for measure, text in zip(measures, texts, strict=True)
        if not _PLAIN.fullmatch(text) and _FOLDED not in text
    ]
    columns = [f"CAST(NULL AS {kind.simpleString()}) AS {quoted(name)}" for name, kind in outputs.types.items()]
    try:
        relation.types_of(asked, f"(SELECT {', '.join(columns) or '1'})")
    except CepAnalysisError as error:
        message = re.sub(r"`?(__cep_m\d+)`?", lambda found: outputs.said.get(found[1], found[1]), error.message)
        raise CepAnalysisError(message, code="MEASURE", span=error.span) from None

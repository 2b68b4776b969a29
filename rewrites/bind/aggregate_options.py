"""What an aggregate of MEASURES or DEFINE says beside its arguments: FILTER, and what only other engines have there.

In: a clause as parsed. Out: nothing, or the error at what Spark does not take, or at what would be about other rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from rewrites.bind.names import Variables, is_star, outside_queries, references, starred
from rewrites.dialect import span_of
from rewrites.dialect.clause import MatchRecognizeClause
from rewrites.dialect.nodes import Classifier
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span

_WITHIN_GROUP = re.compile(r"\)\s*WITHIN\s+GROUP\b", re.IGNORECASE)
_NOT_OF_SPARK: dict[type[exp.Expression], tuple[str, str]] = {
    exp.Order: (
        "ORDER BY",
        "sort what it gathers: array_sort(array_agg(…)); or MAX_BY(x, y), LISTAGG(x) WITHIN GROUP (ORDER BY y)",
    ),
    exp.Limit: ("LIMIT", "cut what it gathers: slice(array_agg(…), 1, 2)"),
    exp.HavingMax: ("HAVING", "write MAX_BY(x, y) or MIN_BY(x, y)"),
}
"""What other engines take behind an aggregate's argument, and what says the same in Spark."""


def refuse_others_options(clause: MatchRecognizeClause, source: Source) -> None:
    """Raise at an ORDER BY or LIMIT inside an aggregate, and at a count of whole rows with more than that."""
    for part in _parts(clause):
        refuse_star_among_others(part)
        found = _NOT_OF_SPARK.get(type(part))
        if found is not None and not _WITHIN_GROUP.search(source.text(span_of(part.parent or part))):
            raise CepUnsupportedError(
                f"{found[0]} inside an aggregate", code="AGGREGATE", span=span_of(part), hint=found[1]
            )


def refuse_star_among_others(node: exp.Expression) -> None:
    """Raise at ``COUNT(DISTINCT a.*)`` and ``COUNT(a.*, b.*)``: a star stands for rows, not for their columns."""
    if not isinstance(node, exp.Count) or node.this is None:
        return
    distinct = isinstance(node.this, exp.Distinct)
    arguments = [*(node.this.expressions if distinct else [node.this]), *node.expressions]
    stars = [one for one in arguments if is_star(one)]
    if stars and (distinct or len(arguments) > 1):
        raise CepUnsupportedError(
            "* in a COUNT with DISTINCT or with other arguments",
            code="AGGREGATE",
            span=span_of(node),
            hint="name the columns: COUNT(DISTINCT a.x, a.y); COUNT(a.*) counts rows",
        )


def check_filters(clause: MatchRecognizeClause, variables: Variables) -> None:
    """Raise at a FILTER that names the rows of another variable than the aggregate before it ranges over; ``COUNT(*)`` ranges over those it names."""
    for node in (part for part in _parts(clause) if isinstance(part, exp.Filter)):
        in_call, in_filter = (_rows_named(part, variables) for part in (node.this, node.expression))
        named = [*in_call, *in_filter]
        over_all = not in_call and any(isinstance(part, exp.Column) for part in outside_queries(node.this))
        ranged = None if over_all or not named else named[0][0]
        other = next((place for members, place in named if members != ranged), None)
        if other is not None:
            raise CepAnalysisError(
                "a FILTER drops rows of those that its aggregate ranges over, and this names others",
                code="MIXED_VARIABLES",
                span=other,
                hint="name one variable in both: COUNT(A.*) FILTER (WHERE A.x > 0)",
            )


def _rows_named(node: exp.Expression, variables: Variables) -> list[tuple[tuple[str, ...] | None, Span]]:
    """The variables that ``node`` names, by their members."""
    named: list[tuple[tuple[str, ...] | None, Span]] = [
        (found.members, found.span) for found in references(node, variables)
    ]
    for part in outside_queries(node):
        name = part.this if isinstance(part, Classifier) else starred(part)
        if name is not None:
            named.append((variables.members(name.name), span_of(part)))
    return named


def _parts(clause: MatchRecognizeClause) -> Iterator[exp.Expression]:
    return (part for expr in clause.expressions for part in outside_queries(expr.node))

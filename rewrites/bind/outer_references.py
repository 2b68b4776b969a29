"""Columns of a query around the clause, in a correlated subquery, that stay as they are: those of measures, outside of navigations and aggregates.

``n.limit`` in ``FROM names n, LATERAL (SELECT * FROM t MATCH_RECOGNIZE (… MEASURES LAST(a.x) + n.limit AS m …))``: Spark computes the measure, and
plans the correlation. Elsewhere such columns have become the input's (``correlation``); what is left was no column of the rows around.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from rewrites.bind.aggregates import is_aggregate
from rewrites.bind.names import Variables, outside_queries
from rewrites.bind.relation import Relation
from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import MatchRecognizeClause, Measure, Name
from rewrites.dialect.nodes import Navigation
from rewrites.sql.source import lambda_names
from sparkcep.errors import CepAnalysisError, CepUnsupportedError


def refuse_outer_references(
    clause: MatchRecognizeClause, variables: Variables, relation: Relation, outer: frozenset[str]
) -> None:
    """Raise CepUnsupportedError at a name of an outer query that an engine would have to know."""
    if not outer:
        return
    for define in clause.defines:
        _refuse(outside_queries(define.condition.node), "in DEFINE", variables, relation, outer)
    measures = {measure.name.value.lower() for measure in clause.measures}
    for measure in clause.measures:
        _refuse_hidden(measure, measures, variables, relation, outer)
        for part in outside_queries(measure.expr.node):
            if isinstance(part, Navigation) or is_aggregate(part):
                _refuse(outside_queries(part), "inside a navigation or an aggregate", variables, relation, outer)


def is_outer(path: tuple[Name, ...], variables: Variables, relation: Relation, outer: frozenset[str]) -> bool:
    """Whether a qualified name is about a query around the clause, whose names are ``outer``."""
    name = path[0].value
    known = variables.members(name) is not None or relation.column(name) is not None
    return len(path) > 1 and not known and name.lower() in outer


def names_outer(node: exp.Expression, variables: Variables, relation: Relation, outer: frozenset[str]) -> bool:
    """Whether an expression reads a column of a query around the clause."""
    paths = (column_path(part) for part in outside_queries(node)) if outer else ()
    return any(path is not None and is_outer(path, variables, relation, outer) for path in paths)


def _refuse_hidden(
    measure: Measure, measures: set[str], variables: Variables, relation: Relation, outer: frozenset[str]
) -> None:
    """Spark reads ``n.level`` as a field of a measure n rather than as a column of the query around."""
    for part in outside_queries(measure.expr.node):
        path = column_path(part)
        if path is not None and path[0].value.lower() in measures and is_outer(path, variables, relation, outer):
            raise CepAnalysisError(
                f"{path[0].value} is a measure, and a table of the query around",
                code="DUPLICATE_NAME",
                span=path[0].span,
                hint="rename the measure",
            )


def _refuse(
    parts: Iterable[exp.Expression], where: str, variables: Variables, relation: Relation, outer: frozenset[str]
) -> None:
    for part in parts:
        path = column_path(part)
        if (
            path is None
            or path[0].value.lower() in lambda_names(part)
            or not is_outer(path, variables, relation, outer)
        ):
            continue
        name = ".".join(step.value for step in path)
        raise CepUnsupportedError(
            f"{name}, not a column of the rows in the query around, {where}",
            code="OUTER_REFERENCE",
            span=span_of(part),
            hint="name a column of a table in that query's FROM, in a LATERAL subquery of one before it",
        )

"""Values that only an engine has, inside the arguments of navigations and aggregates: CLASSIFIER(), MATCH_NUMBER(), MATCH_SEQUENCE_NUMBER().

``LAST(CLASSIFIER() || sym)`` is ``CLASSIFIER() || sym`` over the row that LAST names, and NULL where there is none: each value is taken from
that row, and Spark (in a condition the slow path) computes the expression from them.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewrites.bind.names import Variables, outside_queries, reference
from rewrites.bind.relation import Relation
from rewrites.dialect import column_path, span_of
from rewrites.dialect.nodes import Classifier, MatchNumber, MatchSequenceNumber
from rewrites.sql.builder import ROW_NUMBER
from rewrites.sql.source import Source, lambda_names, replaced
from sparkcep.spec import row

_VALUES = (Classifier, MatchNumber, MatchSequenceNumber)
FIRST_ROW = row.ColumnAt(ROW_NUMBER, row.Navigation(None, last=False, running=True))
"""The number, in its partition, of the match's first row."""


def has_engine_value(node: exp.Expression) -> bool:
    """Whether an expression looks at what only an engine knows."""
    return any(isinstance(part, _VALUES) for part in outside_queries(node))


def over_row(
    node: exp.Expression,
    variables: Variables,
    relation: Relation,
    source: Source,
    column: Callable[[str], str],
    value: Callable[[exp.Expression], str],
) -> str:
    """``node`` as SQL over one row of the match: ``column`` gives the SQL of an input column there, ``value`` that of an engine's value."""

    def part(inner: exp.Expression) -> str | None:
        if isinstance(inner, _VALUES):
            return value(inner)
        path = column_path(inner)
        if path is None or path[0].value.lower() in lambda_names(inner):
            return None
        found = reference(inner, variables)
        name = relation.column(path[0].value) if found is None else relation.require(found.column)
        if name is None:
            return None
        behind = path[0 if found is None else 1].span.end
        return column(name) + source.sql[behind : span_of(inner).end]

    return source.splice(span_of(node), replaced(node, part))

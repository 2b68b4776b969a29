"""Aggregates that other engines call by another name than Spark.

``ARBITRARY(x)`` (Trino) → ``any_value(x)``, ``STRING_AGG`` → ``listagg``: inside a clause, and only where Spark has no function of the name.
"""

from __future__ import annotations

from pyspark.errors import PySparkException
from sqlglot import exp

from rewrites.bind.names import outside_queries
from rewrites.bind.relation import Relation
from rewrites.dialect import span_of
from rewrites.dialect.clause import MatchRecognizeClause
from rewrites.sql.source import Source
from sparkcep.errors import Span

_NAMES = {
    "arbitrary": "any_value",
    "string_agg": "listagg",
    "approx_distinct": "approx_count_distinct",
    "countif": "count_if",
    "logical_and": "bool_and",
    "logical_or": "bool_or",
}


def with_spark_names(clause: MatchRecognizeClause, relation: Relation, source: Source) -> Source:
    """``source`` with Spark's names for functions that Spark does not know by others."""
    for expr in clause.expressions:
        for node in outside_queries(expr.node):
            name = source.text(span_of(node)).split("(")[0].strip().lower() if isinstance(node, exp.Func) else ""
            if name in _NAMES and not _is_known(name, relation):
                start = span_of(node).start
                source = source.with_edit(Span(start, start + len(name)), _NAMES[name])
    return source


def _is_known(name: str, relation: Relation) -> bool:
    """Whether Spark has a function of that name, built in or a user's; arguments of another type are no answer."""
    try:
        relation.describe(f"SELECT {name}('x') AS `r`")
    except PySparkException as error:
        return error.getCondition() != "UNRESOLVED_ROUTINE"
    return True

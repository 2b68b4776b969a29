"""Functions of many rows where an expression is about one row, or about the events of one match, are refused: the rows that they would see are those
that a plan happens to keep. In WHERE of MATCH PATTERN, aggregates over one closure are the engine's.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.errors import PySparkException
from sqlglot import exp

from rewrites.bind.aggregate_calls import OVER_ROWS
from rewrites.bind.aggregates import function_name, is_aggregate, is_listed
from rewrites.bind.closures import aggregate
from rewrites.bind.names import Variables, outside_queries, row_text
from rewrites.bind.relation import Relation
from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import Clause, Expr, MatchRecognizeClause, Within
from rewrites.dialect.nodes import ROW_PATTERN
from rewrites.sql.source import Source, lambda_names
from sparkcep.errors import CepAnalysisError, CepUnsupportedError

_GENERATORS = frozenset(
    ["explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack", "json_tuple"]
)


def check_order(clause: Clause, source: Source) -> None:
    """Raise at a function of many rows in PARTITION BY, ORDER BY and WITHIN."""
    items = [("PARTITION BY", item.expr) for item in clause.partition_by]
    items += [("ORDER BY", item.expr) for item in clause.order_by]
    within = clause.within.length if isinstance(clause.within, Within) else clause.within
    items += [("WITHIN", within)] if within is not None else []
    for place, expr in items:
        for node in outside_queries(expr.node):
            if isinstance(node, (exp.Window, *ROW_PATTERN)) or is_aggregate(node) or _is_generator(node, source):
                raise CepUnsupportedError(
                    f"{source.text(span_of(node))} in {place} of {clause.site.kind}",
                    code="ORDER_FUNCTION",
                    span=span_of(node),
                    hint=f"{place} is about each row: compute it as a column of the input, in a subquery",
                )


def check_generators(clause: MatchRecognizeClause, source: Source) -> None:
    """Raise at a function of MEASURES that gives several rows."""
    for measure in clause.measures:
        for node in outside_queries(measure.expr.node):
            if _is_generator(node, source):
                raise CepUnsupportedError(
                    f"{source.text(span_of(node))} in MEASURES, which gives several rows",
                    code="GENERATOR",
                    span=span_of(node),
                    hint="return the array as a measure, and explode it in a query around the clause",
                )


def _is_generator(node: exp.Expression, source: Source) -> bool:
    return isinstance(node, exp.Func) and function_name(node, source) in _GENERATORS


def check_functions(
    conjuncts: Iterable[Expr], variables: Variables, kleene: frozenset[str], relation: Relation, source: Source
) -> None:
    """Raise at a window function in WHERE of MATCH PATTERN, at an aggregate that no engine computes, and at a closure that stands for all of its
    events."""
    for conjunct in conjuncts:
        nodes = list(outside_queries(conjunct.node))
        for node in nodes:
            if isinstance(node, (exp.Window, *ROW_PATTERN)) or (
                is_aggregate(node) and not _is_over_events(node, variables)
            ):
                raise _refusal(node, source)
            _check_whole(node, variables, kleene)
        unknown = next((node for node in nodes if isinstance(node, exp.Anonymous)), None)
        if unknown is not None and _is_over_rows(row_text(conjunct, variables, source), relation):
            raise _refusal(unknown, source)


def _is_over_events(node: exp.Expression, variables: Variables) -> bool:
    found = aggregate(node)
    return found is not None and variables.members(found.variable) is not None


def _refusal(node: exp.Expression, source: Source) -> CepUnsupportedError:
    text = source.text(span_of(node))
    if isinstance(node, ROW_PATTERN):
        hint = (
            "that is MATCH_RECOGNIZE's; here a.x is the event's, and of a closure b[1].x, b[i].x, b[i-1].x or b[LAST].x"
        )
        return _in_where(node, text, "NAVIGATION", hint)
    if isinstance(node, exp.Window) or (isinstance(node, exp.AggFunc) and not is_listed(node, source)):
        hint = "a condition sees the events of one match: compute it as a column of the input, in a subquery"
        return _in_where(node, f"the window function {text}", "WINDOW_FUNCTION", hint)
    hint = "conditions take COUNT(b.*), and SUM, AVG, MIN and MAX over one closure; compute others from its array, in a query around the clause"
    return _in_where(node, f"the aggregate {text}", "AGGREGATE", hint)


def _in_where(node: exp.Expression, what: str, code: str, hint: str) -> CepUnsupportedError:
    return CepUnsupportedError(f"{what} in WHERE of MATCH PATTERN", code=code, span=span_of(node), hint=hint)


def _check_whole(node: exp.Expression, variables: Variables, kleene: frozenset[str]) -> None:
    """Raise where a closure's name alone stands for its events, as it does in the result."""
    path = column_path(node)
    if path is None or len(path) > 1 or isinstance(node.parent, exp.Dot) or path[0].value.lower() in lambda_names(node):
        return
    name = next(iter(variables.members(path[0].value) or ()), "")
    if name in kleene:
        raise CepAnalysisError(
            f"{name} is a Kleene closure: which of its events?",
            code="KLEENE_REFERENCE",
            span=span_of(node),
            hint=f"write COUNT({name}.*) for their number, {name}[i].column for each, {name}[1] or {name}[LAST]; "
            "their array is known in a query around the clause",
        )


def _is_over_rows(text: str, relation: Relation) -> bool:
    """Whether Spark finds an aggregate in a condition over the input."""
    try:
        relation.describe(f"SELECT 1 AS `r` FROM {relation.stand_in} WHERE ({text}\n) IS NULL")
    except PySparkException as error:
        return error.getCondition() == OVER_ROWS
    return False

"""Which function calls of a clause are aggregates: Spark is asked, whoever wrote the function.

In: the syntax trees of measures and conditions. Out: the calls that Spark resolves to aggregates are marked (``aggregates.mark``); those that
Spark's parser does not know by name are user-defined, or built-in ones that ``aggregates`` does not list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pyspark.errors import PySparkException
from sqlglot import exp

from rewrites.bind.aggregates import function_name, is_aggregate, is_listed, mark
from rewrites.bind.names import Variables, input_text, outside_queries
from rewrites.bind.relation import Relation
from rewrites.bind.stand_in import has_parameter
from rewrites.dialect import span_of
from rewrites.dialect.clause import MatchRecognizeClause
from rewrites.dialect.nodes import ROW_PATTERN, Semantics
from rewrites.sql.source import Source
from sparkcep.errors import CepUnsupportedError

_CALL = re.compile(r"[\w.`]+\s*\(")
_NO_CALL = (*ROW_PATTERN, Semantics, exp.Cast, exp.Case, exp.Connector, exp.Binary, exp.Interval, exp.Query)
OVER_ROWS, _OVER_AGGREGATES = "INVALID_WHERE_CONDITION", "NESTED_AGGREGATE_FUNCTION"
"""What Spark says of an aggregate in a WHERE, and of one over an aggregate."""


def mark_aggregates(clause: MatchRecognizeClause, variables: Variables, relation: Relation, source: Source) -> None:
    """Mark the aggregates among the calls in MEASURES and DEFINE. One question to Spark where there are none."""
    calls = [call for expr in clause.expressions for call in _calls(expr.node, source)]
    asked = _Asked(variables, relation, source)
    if calls and not asked.all_are_of_one_row(calls):
        for call in reversed(calls):  # arguments before the calls around them
            asked.mark(call)


def check_defined(clause: MatchRecognizeClause, variables: Variables, relation: Relation, source: Source) -> None:
    """Raise at an aggregate in DEFINE that the engine knows nothing of, or whose arguments are too few or too many for Spark."""
    asked = []
    for node in (part for define in clause.defines for part in outside_queries(define.condition.node)):
        if is_aggregate(node) and not is_listed(node, source):
            raise CepUnsupportedError(
                f"the aggregate {function_name(node, source)} in DEFINE",
                code="AGGREGATE",
                span=span_of(node),
                hint="conditions take COUNT, SUM, AVG, MIN, MAX and those of Spark's aggregates that the documentation names; "
                "MEASURES take any",
            )
        if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) and is_aggregate(node):
            asked.append((input_text(node, variables, source), span_of(node)))
    relation.types_of(asked)


def _calls(root: exp.Expression, source: Source) -> Iterator[exp.Expression]:
    """The calls whose kind only Spark knows, outer ones first."""
    for node in outside_queries(root):
        if node.find(exp.Window) is not None:
            continue  # Spark refuses an aggregate around one where it is computed
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            yield node
        elif isinstance(node, exp.Func) and not isinstance(node, _NO_CALL) and not isinstance(node.parent, exp.Dot):
            known = is_aggregate(node) and is_listed(node, source)
            if not known and not has_parameter(node) and _CALL.match(source.text(span_of(node))):
                yield node


class _Asked:
    """Questions to Spark about calls over the input."""

    def __init__(self, variables: Variables, relation: Relation, source: Source) -> None:
        self._variables, self._relation, self._source = variables, relation, source

    def all_are_of_one_row(self, calls: Iterable[exp.Expression]) -> bool:
        """Whether Spark takes all of them for functions of one row."""
        plain = [call for call in calls if not _over_aggregates(call)]
        around = [call for call in calls if _over_aggregates(call)]
        return not ((plain and self._refused(self._where(plain))) or (around and self._refused(self._select(around))))

    def mark(self, call: exp.Expression) -> None:
        """Mark ``call`` if it is an aggregate."""
        if _over_aggregates(call):
            found = self._refused(self._select([call])) == _OVER_AGGREGATES
        else:
            found = self._refused(self._where([call])) == OVER_ROWS
        if found:
            beside = f"SELECT {self._text(call)} FILTER (WHERE TRUE) AS `r` FROM {self._relation.stand_in}"
            mark(call, beside_others=_over_aggregates(call) or not self._refused(beside))

    def _where(self, calls: Iterable[exp.Expression]) -> str:
        tests = " OR ".join(f"({self._text(call)}\n) IS NULL" for call in calls)
        return f"SELECT 1 AS `r` FROM {self._relation.stand_in} WHERE {tests}"

    def _select(self, calls: Iterable[exp.Expression]) -> str:
        columns = ", ".join(f"{self._text(call)}\n AS `r{i}`" for i, call in enumerate(calls))
        return f"SELECT {columns} FROM {self._relation.stand_in}"

    def _text(self, call: exp.Expression) -> str:
        return input_text(call, self._variables, self._source)

    def _refused(self, query: str) -> str | None:
        """The name of Spark's complaint, if it has one."""
        try:
            self._relation.describe(query)
        except PySparkException as error:
            return error.getCondition() or "unknown"
        return None


def _over_aggregates(call: exp.Expression) -> bool:
    return any(part is not call and is_aggregate(part) for part in outside_queries(call))

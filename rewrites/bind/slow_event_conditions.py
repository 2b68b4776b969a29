"""Conditions of MATCH PATTERN that take the slow path: Spark's functions of several events, evaluated pair by pair.

``sqrt(b[i].x - b[i-1].x) > 1`` → Spark analyses ``sqrt(`__cep_x0` - `__cep_x1`) > 1`` over an empty stand-in whose columns are what the engine
knows of the events (columns of one event each, which Spark computes, and aggregates of closures); its tree, with all casts, goes to the
engine as data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.types import BooleanType, DataType
from sqlglot import exp

from rewrites.bind.slow_conditions import filled, has_parameter, is_constant, is_name
from rewrites.builder import quoted
from rewrites.dialect import span_of
from rewrites.operands import NotForTheEngine, Operand
from rewrites.relation import spark_message
from sparkcep.errors import CepAnalysisError, CepError, CepUnsupportedError
from sparkcep.spec.expression import Constant, SparkFunction, Term

if TYPE_CHECKING:
    from rewrites.predicates import ConditionTranslator

_NO_VALUE = (exp.Lambda, exp.Star, exp.DataType, exp.Var, exp.Ordered, exp.Order, exp.Kwarg, exp.Alias)


def slow_event_condition(node: exp.Expression, translator: ConditionTranslator) -> Operand:
    """The condition as a ``SparkFunction`` tree. Raises CepUnsupportedError at ``node`` for what the engine cannot evaluate."""
    pieces = _Pieces(translator, node)
    try:
        text = pieces.text(node)
    except NotForTheEngine:
        raise refusal(node) from None
    tree = _analysed(f"SELECT {text}\n AS `r` FROM {pieces.stand_in()}", node, translator)
    if tree.type != "boolean":
        raise CepAnalysisError(f"a condition is {tree.type}, not boolean", code="CONDITION", span=span_of(node))
    if not isinstance(tree, SparkFunction):
        raise refusal(node)
    return Operand(BooleanType(), source=filled(tree, {name: term for term, (name, _) in pieces.names.items()}))


def refusal(node: exp.Expression, why: str = "") -> CepUnsupportedError:
    """The error for a condition that neither Spark nor an engine can evaluate where it is needed."""
    return CepUnsupportedError(
        "a condition of this form over several events, where it decides which are selected",
        code="CONDITION",
        span=span_of(node),
        hint=f"{why + '; ' if why else ''}compute in a subquery what looks at one event only, or use comparison, +, -, *, ABS, IS NULL, AND, OR, "
        "NOT and, of closures, COUNT, SUM, AVG, MIN and MAX",
    )


def _analysed(query: str, node: exp.Expression, translator: ConditionTranslator) -> SparkFunction | Constant:
    expression = translator.relation.expression
    if expression is None:
        raise refusal(node, "over Spark Connect there is no slow path for such conditions")
    try:
        return expression(query)
    except CepError as error:
        error.span = error.span or span_of(node)
        raise
    except PySparkException as error:
        raise CepAnalysisError(spark_message(error), code="EXPRESSION", span=span_of(node)) from None


@dataclass(slots=True)
class _Pieces:
    """Cuts a condition into what the engine knows (columns of the stand-in) and what is left of it."""

    translator: ConditionTranslator
    condition: exp.Expression
    names: dict[Term, tuple[str, DataType]] = field(default_factory=dict)

    def text(self, node: exp.Expression) -> str:
        """``node`` over the stand-in's columns. Raises NotForTheEngine."""
        if is_constant(node):
            return self.translator.source.text(span_of(node))
        if self._is_leaf(node):
            operand = self.translator.leaf(node)
            return self._named(self.translator.term(operand, self.condition), operand.data_type)
        if isinstance(node, exp.Query):
            raise NotForTheEngine
        edits = [(span_of(child), self.text(child)) for child in node.iter_expressions() if not is_name(child)]
        return self.translator.source.splice(span_of(node), edits)

    def stand_in(self) -> str:
        """An empty table with the columns."""
        columns = [f"CAST(NULL AS {kind.simpleString()}) AS {quoted(name)}" for name, kind in self.names.values()]
        return f"(SELECT {', '.join(columns) or '1'})"

    def _is_leaf(self, node: exp.Expression) -> bool:
        if isinstance(node, _NO_VALUE) or has_parameter(node):
            return False
        return self.translator.is_leaf(node)

    def _named(self, term: Any, data_type: DataType) -> str:
        name, _ = self.names.setdefault(term, (f"__cep_x{len(self.names)}", data_type))
        return quoted(name)

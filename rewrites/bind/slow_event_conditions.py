"""Conditions of MATCH PATTERN that take the slow path: Spark's functions of several events, evaluated pair by pair.

``sqrt(b[i].x - b[i-1].x) > 1`` → Spark analyses ``sqrt(`__cep_x0` - `__cep_x1`) > 1`` over an empty stand-in whose columns are the engine's values
(columns of one event each, computed by Spark, and aggregates of closures); the resolved tree, with all casts, goes to the engine as data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql.types import DecimalType
from sqlglot import exp

from rewrites.bind.operand_builder import OPERATORS
from rewrites.bind.operands import NotForTheEngine, Operand
from rewrites.bind.relation import Relation
from rewrites.bind.stand_in import StandIn, is_constant, is_name, is_value
from rewrites.dialect import span_of
from rewrites.sql.source import Source
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import Term


class EventLeaves(Protocol):
    """The part of the condition translator used here: it tells which parts of an expression the engine or Spark can provide."""

    @property
    def source(self) -> Source: ...

    @property
    def relation(self) -> Relation: ...

    def is_leaf(self, node: exp.Expression) -> bool: ...

    def leaf(self, node: exp.Expression) -> Operand: ...

    def mean_of(self, node: exp.Expression) -> tuple[Operand, Operand, DecimalType] | None: ...

    def term(self, operand: Operand, condition: exp.Expression) -> Term: ...


def slow_event_condition(node: exp.Expression, translator: EventLeaves) -> Operand:
    """The condition as a ``SparkFunction`` tree. Raises CepUnsupportedError at ``node`` for what the engine cannot evaluate."""
    pieces = _Pieces(translator, node, StandIn(translator.relation.expression))
    try:
        text = pieces.text(node)
    except NotForTheEngine:
        raise refusal(node) from None
    return pieces.values.condition(text, node, "a condition", lambda why="": refusal(node, why))


def refusal(node: exp.Expression, why: str = "") -> CepUnsupportedError:
    """The error for a condition that neither Spark nor an engine can evaluate where it is needed."""
    return CepUnsupportedError(
        "a condition of this form over several events, where it decides which are selected",
        code="CONDITION",
        span=span_of(node),
        hint=f"{why + '; ' if why else ''}compute in a subquery whatever reads only one event, or use {OPERATORS} "
        "and, of closures, COUNT, SUM, AVG, MIN and MAX",
    )


@dataclass(slots=True)
class _Pieces:
    """Splits a condition into values that the engine provides (columns of the stand-in) and the functions around them."""

    translator: EventLeaves
    condition: exp.Expression
    values: StandIn

    def text(self, node: exp.Expression) -> str:
        """``node`` over the stand-in's columns. Raises NotForTheEngine."""
        if is_constant(node):
            return self.translator.source.text(span_of(node))
        if is_value(node) and self.translator.is_leaf(node):
            mean = self.translator.mean_of(node)
            if mean is not None:
                parts = ((self.translator.term(one, self.condition), one.data_type) for one in mean[:2])
                return self.values.mean(parts, mean[2])
            operand = self.translator.leaf(node)
            return self.values.column(self.translator.term(operand, self.condition), operand.data_type)
        if isinstance(node, exp.Query):
            raise NotForTheEngine
        edits = [(span_of(child), self.text(child)) for child in node.iter_expressions() if not is_name(child)]
        return self.translator.source.splice(span_of(node), edits)

"""WHERE of MATCH PATTERN, divided: what Spark computes on one event, what the engine compares, what Spark filters afterwards.

* A conjunct over one variable is *local*: part of the variable's mask bit.
* A conjunct over several is an engine *condition* when it is comparison, +, -, * and boolean logic between single-variable
  sub-expressions whose types need no conversion that only Spark knows (``rewrites.operands``): those become input columns.
* Any other conjunct over several variables is *residual*: under skip-till-any WHERE is a filter on matches, and Spark applies it to them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rewrites.bind.conditions import Columns
from rewrites.bind.names import Variables, has_query, references, row_text
from rewrites.clause import Expr
from rewrites.dialect import span_of
from rewrites.operands import NotForTheEngine, Operand, OperandBuilder
from rewrites.relation import Relation
from rewrites.source import Source
from sparkcep.spec import expression as ir


@dataclass(frozen=True, slots=True)
class ConditionTranslator(OperandBuilder):
    """Turns conjuncts over several variables into engine conditions; ``columns`` collects the leaves, ``guards`` test a variable's events."""

    variables: Variables
    source: Source
    relation: Relation
    columns: Columns
    guards: dict[str, str]

    def translate(self, conjunct: Expr) -> ir.Expression | None:
        """The condition over input columns, or None where it is Spark's."""
        try:
            operand = self.boolean(conjunct.node)
        except NotForTheEngine:
            return None
        return self._emit(operand, _any_variable(operand))

    def is_leaf(self, node: exp.Expression) -> bool:
        """Whether ``node`` looks at one variable at most."""
        return len(seen_variables(node, self.variables)) <= 1

    def leaf(self, node: exp.Expression) -> Operand:
        """An expression over one event (or none): Spark computes it."""
        if has_query(node):
            raise NotForTheEngine
        text = row_text(node, self.variables, self.source)
        data_type = self.relation.types_of([(text, span_of(node))])[0]
        return Operand(data_type, next(iter(seen_variables(node, self.variables)), None), text)

    def _emit(self, operand: Operand, some: str) -> ir.Expression:
        """The operand as data; a constant rides on the events of ``some`` variable of the condition."""
        if operand.operator is not None:
            return ir.Call(operand.operator, tuple(self._emit(argument, some) for argument in operand.arguments))
        variable = str(operand.at or some)
        return ir.ColumnOf(variable, self.columns.name(f"CASE WHEN {self.guards[variable]} THEN {operand.text} END"))


def seen_variables(node: exp.Expression, variables: Variables) -> tuple[str, ...]:
    """The variables an expression looks at, each once, left to right."""
    return tuple(dict.fromkeys(ref.members[0] for ref in references(node, variables)))


def spans_variables(expr: Expr, variables: Variables) -> tuple[str, ...]:
    """The variables a conjunct looks at, each once, left to right."""
    return seen_variables(expr.node, variables)


def _any_variable(operand: Operand) -> str:
    if operand.at is not None:
        return str(operand.at)
    return next((found for argument in operand.arguments if (found := _any_variable(argument))), "")

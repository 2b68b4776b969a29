"""Conditions on a row and rows next to it as data for workers, which test them of all rows at once.

``price < PREV(price) * 0.9`` → ``lt(price, mul(price of the row before, 0.9))``. Arithmetic is the workers' where it is of floats, or of integers
that do not wrap: a column more for Spark to send costs more than to compute it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import DoubleType, FloatType, IntegralType
from sqlglot import exp

from rewrites.bind.match_conditions import MatchConditionTranslator
from rewrites.bind.match_leaves import MatchLeaves
from rewrites.bind.reached import NotForWorkers
from rewrites.dialect.nodes import Navigation
from sparkcep.spec import row

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Abs)


@dataclass(frozen=True, slots=True)
class AdjacentTranslator(MatchConditionTranslator):
    """Translates conjuncts of one variable's condition that read rows next to the one under test."""

    def is_leaf(self, node: exp.Expression) -> bool:
        """Arithmetic over a row is no leaf, where workers have it."""
        computed = isinstance(node, _ARITHMETIC) and bool(self.positions(node)) and self._is_computed(node)
        return not computed and MatchLeaves.is_leaf(self, node)

    def _over_row_at(self, at: row.Navigation | None, node: exp.Expression) -> str | None:
        """As in ``MatchLeaves``; Spark would compute a guard before what it guards."""
        found = MatchLeaves._over_row_at(self, at, node)
        if found is None:
            raise NotForWorkers
        return found

    def _is_computed(self, node: exp.Expression) -> bool:
        """Whether workers compute an expression as Spark does."""
        node = node.unnest()
        if isinstance(node, exp.Literal):
            return not node.is_string
        if isinstance(node, _ARITHMETIC):
            return all(map(self._is_computed, (part for part in (node.this, node.args.get("expression")) if part)))
        if not isinstance(node, Navigation | exp.Column):
            return False
        name = self.relation.column(self.over_row(node).strip("()`"))
        kind = next((field.dataType for field in self.relation.schema if field.name == name), None)
        return isinstance(kind, FloatType | DoubleType) or (isinstance(kind, IntegralType) and self.relation.is_ansi())

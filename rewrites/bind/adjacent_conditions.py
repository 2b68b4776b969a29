"""Conditions on a row and rows next to it as data for workers, which test them of all rows at once.

``price < PREV(price) * 0.9`` → ``lt(price, mul(price of the row before, 0.9))``. Arithmetic is the workers' where it is of floats, or of integers
that do not wrap: a column more for Spark to send costs more than to compute it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import sqlglot
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewrites.bind.match_conditions import MatchConditionTranslator
from rewrites.bind.match_leaves import MatchLeaves
from rewrites.bind.match_positions import CURRENT
from rewrites.bind.reached import NotForWorkers, may_fail
from rewrites.dialect import bare
from rewrites.dialect.nodes import Navigation
from sparkcep.spec import row
from sparkcep.spec.expression import Call, Constant, walk

_FLOATS = FloatType | DoubleType
_TIMES = DateType | TimestampType | TimestampNTZType
_WIDER = {exp.DataType.Type.DOUBLE: IntegralType | DecimalType | _FLOATS, exp.DataType.Type.BIGINT: IntegralType}
"""Types, and those whose values they have."""
_COMPARED = IntegralType | DecimalType | _FLOATS | _TIMES | BooleanType | StringType | BinaryType
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
        node = bare(node)
        if isinstance(node, exp.Literal):
            return not node.is_string
        if isinstance(node, _ARITHMETIC):
            return all(map(self._is_computed, (part for part in (node.this, node.args.get("expression")) if part)))
        if not isinstance(node, Navigation | exp.Column):
            return False
        name = self.relation.column(self.over_row(node).strip("()`"))
        kind = next((field.dataType for field in self.relation.schema if field.name == name), None)
        return isinstance(kind, _FLOATS | IntegralType) and _has_arithmetic(kind, ansi=self.relation.is_ansi())


def are_tested(
    defines: Iterable[row.Define], types: Mapping[str, DataType], texts: Iterable[str], *, ansi: bool
) -> bool:
    """Whether workers test conditions of all rows at once, with Spark's results and errors.

    ``types``: of the columns. ``texts``: what Spark computes of the rows that a variable can take. Such conditions no longer guard it, so it must
    not fail.
    """
    tested = all(_is_tested(define.condition, types, ansi) for define in defines)
    return tested and not any(_fails(text, types) for text in texts if text)


def _is_tested(condition: row.Condition, types: Mapping[str, DataType], ansi: bool) -> bool:
    for part in walk(condition):
        if isinstance(part, Call) and part.operator in ("add", "sub", "mul", "abs"):
            kinds = [types.get(leaf.column) for leaf in row.leaves(part) if isinstance(leaf, row.ColumnAt)]
            if not all(_has_arithmetic(kind, ansi=ansi) for kind in kinds):
                return False
        if not isinstance(part, Call | Constant) and not _is_beside(part, types):
            return False
    return True


def _is_beside(part: row.Condition, types: Mapping[str, DataType]) -> bool:
    """The value of a column in the row under test, or in one so many rows before or behind it."""
    if not isinstance(part, row.ColumnAt) or not isinstance(types.get(part.column), _COMPARED):
        return False
    return part.at == replace(CURRENT, physical=part.at.physical)


def _has_arithmetic(kind: DataType | None, *, ansi: bool) -> bool:
    """Whether workers compute with numbers (and times) of a type: there are no decimals, and integers that would wrap are an error."""
    return isinstance(kind, _FLOATS) or (ansi and isinstance(kind, IntegralType | _TIMES))


def _fails(text: str, types: Mapping[str, DataType]) -> bool:
    """Whether SQL over a row may be an error; sums and products of floats are none, nor are numbers in a wider type."""
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except SqlglotError:
        return True

    def is_safe(part: exp.Expression) -> bool:
        kinds = [types.get(column.name) for column in part.find_all(exp.Column)]
        if isinstance(part, exp.Add | exp.Sub | exp.Mul | exp.Neg):
            return all(isinstance(kind, _FLOATS) for kind in kinds)
        wider = _WIDER.get(part.to.this) if isinstance(part, exp.Cast) else None
        return wider is not None and all(isinstance(kind, wider) for kind in kinds)

    return may_fail(tree, is_safe)

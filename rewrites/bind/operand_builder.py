"""Syntax trees of conditions over several rows → ``Operand`` trees: comparison, arithmetic and logic over leaves that each read one row."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import replace

from pyspark.sql.types import BooleanType, DayTimeIntervalType, LongType, TimestampType
from sqlglot import exp

from rewrites.bind.operands import (
    NotForTheEngine,
    Operand,
    absolute,
    alike,
    arithmetic,
    call,
    comparison,
    days,
    first_known,
    is_in_doubt,
    is_true,
    negative,
    quotient,
)
from rewrites.bind.relation import Relation
from rewrites.dialect import bare, span_of
from rewrites.sql.instants import local_micros
from sparkcep.spec import expression as ir

_COMPARISONS: dict[type[exp.Expression], ir.Operator] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "eq_null_safe",
}
_ARITHMETIC: dict[type[exp.Expression], ir.Operator] = {exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul"}
_LOGIC: dict[type[exp.Expression], ir.Operator] = {exp.And: "and", exp.Or: "or"}
_DAYS = ("DATEDIFF", "DATE_DIFF")
OPERATORS = "comparison, IN, +, -, *, /, ABS, IS NULL, COALESCE, IF and CASE between conditions, AND, OR, NOT"
"""What stands between values of different rows in a condition, for hints."""


class OperandBuilder(ABC):
    """Syntax tree → Operand; subclasses define the leaves, and have the relation that they are of."""

    __slots__ = ()
    relation: Relation

    @abstractmethod
    def leaf(self, node: exp.Expression) -> Operand:
        """An expression over one row (or none)."""

    @abstractmethod
    def is_leaf(self, node: exp.Expression) -> bool:
        """Whether ``node`` reads at most one row."""

    def boolean(self, node: exp.Expression) -> Operand:
        """A condition. Raises NotForTheEngine."""
        node = bare(node)
        kind = type(node)
        if kind in _LOGIC:
            return call(_LOGIC[kind], self.boolean(node.left), self.boolean(node.right))
        if isinstance(node, exp.Not):
            return self._negation(node)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return call("is_null", self.value(node.this))
        if isinstance(node, exp.Null):
            return Operand(BooleanType(), text="CAST(NULL AS BOOLEAN)")
        if self.is_leaf(node):
            return self._boolean_leaf(node)
        if kind in _COMPARISONS:
            return self._compared(_COMPARISONS[kind], node.left, node.right)
        if isinstance(node, exp.NullSafeNEQ):
            return call("not", self._compared("eq_null_safe", node.left, node.right))
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            value = self.value(node.this)
            low = self._comparison("ge", value, self.value(node.args["low"]))
            return call("and", low, self._comparison("le", value, self.value(node.args["high"])))
        if isinstance(node, exp.In):
            return self._member(node)
        if isinstance(node, exp.Coalesce):
            return first_known([self.boolean(part) for part in _parts(node)], lambda condition: condition)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
            tested = self.boolean(node.this)
            return is_true(tested if node.expression.this else call("not", tested))
        if isinstance(node, exp.If) or (isinstance(node, exp.Case) and node.this is None):
            return self._choice(node)
        raise NotForTheEngine

    def _compared(self, operator: ir.Operator, left: exp.Expression, right: exp.Expression) -> Operand:
        """A comparison; one with COALESCE is with the first value that is not NULL."""
        if self._is_coalesced(left):
            other = self.value(right)
            return first_known(self._alike(left), lambda value: self._comparison(operator, value, other))
        if self._is_coalesced(right):
            other = self.value(left)
            return first_known(self._alike(right), lambda value: self._comparison(operator, other, value))
        return self._comparison(operator, self.value(left), self.value(right))

    def _is_coalesced(self, node: exp.Expression) -> bool:
        """Whether a value is a COALESCE that Spark cannot compute."""
        node = bare(node)
        return isinstance(node, exp.Coalesce) and not (self.is_leaf(node) and self.is_hoisted(node))

    def is_hoisted(self, node: exp.Expression) -> bool:
        """Whether Spark can compute a leaf's value before its row is known."""
        return True

    def _alike(self, node: exp.Expression) -> list[Operand]:
        """The arguments of COALESCE in their common type."""
        values = [self.value(part) for part in _parts(bare(node))]
        for left, right in itertools.pairwise(values):
            self._require_no_doubt(left, right)
        return alike(values)

    def _comparison(self, operator: ir.Operator, left: Operand, right: Operand) -> Operand:
        self._require_no_doubt(left, right)
        return comparison(operator, left, right)

    def _require_no_doubt(self, left: Operand, right: Operand) -> None:
        if is_in_doubt(left, right) and not self.relation.is_ansi():
            raise NotForTheEngine

    def _member(self, node: exp.In) -> Operand:
        """``x IN (y, z)`` as ``x = y OR x = z``; values of several types Spark first brings to one."""
        if not node.expressions:
            raise NotForTheEngine
        value, *others = map(self.value, (node.this, *node.expressions))
        if any(other.data_type != value.data_type for other in others):
            raise NotForTheEngine
        parts = [comparison("eq", value, other) for other in others]
        return parts[0] if len(parts) == 1 else call("or", *parts)

    def _choice(self, node: exp.Case | exp.If) -> Operand:
        """``CASE WHEN c THEN x ELSE y END``, of conditions, as ``c IS TRUE AND x OR c IS NOT TRUE AND y``."""
        last = node.args.get("default" if isinstance(node, exp.Case) else "false")
        if last is None:
            raise NotForTheEngine
        result = self.boolean(last)
        for branch in reversed(node.args["ifs"] if isinstance(node, exp.Case) else [node]):
            taken = is_true(self.boolean(branch.this))
            value = self.boolean(branch.args["true"])
            result = call("or", call("and", taken, value), call("and", call("not", taken), result))
        return replace(result, whole=True)

    def _negation(self, node: exp.Not) -> Operand:
        """``NOT x = y``; in ``x NOT IN (y)`` the NOT is in the middle, so the negated expression has no text of its own."""
        if span_of(node.this) != span_of(node):
            return call("not", self.boolean(node.this))
        if self.is_leaf(node):
            return self._boolean_leaf(node)
        return call("not", OperandBuilder.boolean(self, node.this))

    def value(self, node: exp.Expression) -> Operand:
        """A value. Raises NotForTheEngine."""
        node = bare(node)
        if self.is_leaf(node):
            return self.leaf(node)
        if type(node) in _ARITHMETIC:
            left, right = self.value(node.left), self.value(node.right)
            if isinstance(node, exp.Sub) and all(isinstance(one.data_type, TimestampType) for one in (left, right)):
                return Operand(DayTimeIntervalType(), operator="sub", arguments=(self.since(left), self.since(right)))
            self._require_no_doubt(left, right)
            return arithmetic(_ARITHMETIC[type(node)], left, right)
        if isinstance(node, exp.Div):
            sides = self.value(node.left), self.value(node.right)
            return quotient(*sides, ansi=self.relation.is_ansi())
        if isinstance(node, exp.Anonymous) and node.name.upper() in _DAYS and len(node.expressions) == 2:
            return arithmetic("sub", *(days(self.value(side)) for side in node.expressions))
        if isinstance(node, exp.Neg):
            return negative(self.value(node.this))
        if isinstance(node, exp.Abs):
            return absolute(self.value(node.this))
        raise NotForTheEngine

    def since(self, operand: Operand) -> Operand:
        """A TIMESTAMP as microseconds whose differences are Spark's: those of the zone's local times."""
        if operand.operator is not None or operand.source is not None:
            raise NotForTheEngine
        steady = self.relation.has_steady_zone
        micros = f"UNIX_MICROS({operand.text})" if steady else local_micros(f"CAST({operand.text} AS TIMESTAMP_NTZ)")
        return Operand(LongType(), operand.at, micros)

    def _boolean_leaf(self, node: exp.Expression) -> Operand:
        leaf = self.leaf(node)
        if isinstance(leaf.data_type, BooleanType):
            return leaf
        raise NotForTheEngine


def _parts(node: exp.Expression) -> list[exp.Expression]:
    return [node.this, *node.expressions]

"""WHERE of MATCH PATTERN, divided: what Spark computes on one event, what the engine compares, what Spark filters afterwards.

* A conjunct over one variable is *local*: part of the variable's mask bit.
* A conjunct over several is an engine *condition* when it is comparison, +, -, * and boolean logic between single-variable
  sub-expressions whose types need no conversion that only Spark knows: those become input columns.
* Any other conjunct over several variables is *residual*: under skip-till-any WHERE is a filter on matches, and Spark applies it to them.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    IntegralType,
    LongType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
from sqlglot import exp

from rewrites.bind.conditions import Columns
from rewrites.bind.names import Variables, has_query, references, row_text
from rewrites.clause import Expr
from rewrites.dialect import span_of
from rewrites.relation import Relation
from rewrites.source import Source
from sparkcep.errors import Span
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
_AS_THEY_ARE = (BooleanType, DateType, TimestampType, TimestampNTZType, BinaryType)
_EPOCH = "TIMESTAMP_SECONDS(0)"


@dataclass(frozen=True, slots=True)
class Operand:
    """Part of a condition: a leaf (SQL over one event of ``variable``) or an operator; ``data_type`` is Spark's."""

    data_type: DataType
    variable: str | None = None
    text: str = ""
    operator: ir.Operator | None = None
    arguments: tuple[Operand, ...] = ()


class _NotForTheEngine(Exception):
    """The conjunct needs more of Spark than an engine has."""


@dataclass(frozen=True, slots=True)
class ConditionTranslator:
    """Turns conjuncts over several variables into engine conditions; ``columns`` collects the leaves per variable."""

    variables: Variables
    source: Source
    relation: Relation
    columns: Columns
    guards: dict[str, str]

    def translate(self, conjunct: Expr) -> ir.Expression | None:
        """The condition over input columns, or None where it is Spark's."""
        try:
            operand = self._boolean(conjunct.node)
        except _NotForTheEngine:
            return None
        return self._emit(operand)

    def _boolean(self, node: exp.Expression) -> Operand:
        node = node.unnest()
        kind = type(node)
        if kind in _LOGIC:
            return self._call(_LOGIC[kind], self._boolean(node.left), self._boolean(node.right))
        if isinstance(node, exp.Not):
            return self._call("not", self._boolean(node.this))
        if kind in _COMPARISONS:
            return self._comparison(_COMPARISONS[kind], self._value(node.left), self._value(node.right))
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            value = self._value(node.this)
            low = self._comparison("ge", value, self._value(node.args["low"]))
            return self._call("and", low, self._comparison("le", value, self._value(node.args["high"])))
        leaf = self._leaf(node)
        if isinstance(leaf.data_type, BooleanType):
            return leaf
        raise _NotForTheEngine

    def _value(self, node: exp.Expression) -> Operand:
        node = node.unnest()
        if len(self._seen(node)) <= 1:
            return self._leaf(node)
        if type(node) in _ARITHMETIC:
            return self._arithmetic(_ARITHMETIC[type(node)], self._value(node.left), self._value(node.right))
        raise _NotForTheEngine

    def _seen(self, node: exp.Expression) -> list[str]:
        return list(dict.fromkeys(ref.members[0] for ref in references(node, self.variables)))

    def _leaf(self, node: exp.Expression) -> Operand:
        """An expression over one event (or none): Spark computes it."""
        seen = self._seen(node)
        if len(seen) > 1 or has_query(node):
            raise _NotForTheEngine
        text = row_text(node, self.variables, self.source)
        data_type = self.relation.types_of([(text, span_of(node))])[0]
        return Operand(data_type, seen[0] if seen else None, text)

    def _call(self, operator: ir.Operator, *arguments: Operand) -> Operand:
        return Operand(BooleanType(), operator=operator, arguments=arguments)

    def _comparison(self, operator: ir.Operator, left: Operand, right: Operand) -> Operand:
        target = _common(left.data_type, right.data_type)
        return self._call(operator, _cast(left, target), _cast(right, target))

    def _arithmetic(self, operator: ir.Operator, left: Operand, right: Operand) -> Operand:
        if operator == "sub" and isinstance(left.data_type, TimestampType) and isinstance(right.data_type, TimestampType):
            arguments = (_micros(left), _micros(right))
            return Operand(DayTimeIntervalType(), operator="sub", arguments=arguments)
        target = _common(left.data_type, right.data_type)
        if not isinstance(target, LongType | DoubleType):
            raise _NotForTheEngine
        return Operand(target, operator=operator, arguments=(_cast(left, target), _cast(right, target)))

    def _emit(self, operand: Operand, some: str | None = None) -> ir.Expression:
        """The operand as data; a constant rides on the rows of ``some`` variable of the condition."""
        some = some or _any_variable(operand)
        if operand.operator is not None:
            return ir.Call(operand.operator, tuple(self._emit(argument, some) for argument in operand.arguments))
        variable = operand.variable or some
        assert variable is not None
        guard = self.guards[variable]
        return ir.ColumnOf(variable, self.columns.name(f"CASE WHEN {guard} THEN {operand.text} END"))


def spans_variables(expr: Expr, variables: Variables) -> tuple[str, ...]:
    """The variables a conjunct looks at, each once, left to right."""
    return tuple(dict.fromkeys(ref.members[0] for ref in references(expr.node, variables)))


def _any_variable(operand: Operand) -> str | None:
    if operand.variable is not None:
        return operand.variable
    return next((found for argument in operand.arguments if (found := _any_variable(argument))), None)


def _common(left: DataType, right: DataType) -> DataType:
    """The type both sides of an operator have, or that a lossless widening gives them; anything else is Spark's affair."""
    if left == right and (isinstance(left, _AS_THEY_ARE) or left == StringType()):
        return left
    if isinstance(left, IntegralType) and isinstance(right, IntegralType):
        return LongType()
    if isinstance(left, DoubleType) and isinstance(right, DoubleType):
        return left
    if isinstance(left, DayTimeIntervalType) and isinstance(right, DayTimeIntervalType):
        return DayTimeIntervalType()
    pair = {type(left), type(right)}
    if DoubleType in pair and all(isinstance(side, DoubleType | DecimalType) or _small(side) for side in (left, right)):
        return DoubleType()
    if isinstance(left, DecimalType | IntegralType) and isinstance(right, DecimalType | IntegralType):
        return _wider(_decimal(left), _decimal(right))
    raise _NotForTheEngine


def _small(data_type: DataType) -> bool:
    """Integers that a double holds exactly."""
    return isinstance(data_type, IntegralType) and not isinstance(data_type, LongType)


def _decimal(data_type: DataType) -> DecimalType:
    if isinstance(data_type, DecimalType):
        return data_type
    return DecimalType(20 if isinstance(data_type, LongType) else 10, 0)


def _wider(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision > 38:
        raise _NotForTheEngine
    return DecimalType(precision, scale)


def _cast(operand: Operand, target: DataType) -> Operand:
    """The operand in the operator's type; leaves are cast by Spark."""
    if isinstance(target, DayTimeIntervalType):
        return _micros(operand)
    if operand.data_type == target:
        return operand
    if operand.operator is not None:
        raise _NotForTheEngine
    return Operand(target, operand.variable, f"CAST({operand.text} AS {target.simpleString()})")


def _micros(operand: Operand) -> Operand:
    """Timestamps and day-time intervals as microseconds."""
    if operand.operator is not None:
        return operand
    text = operand.text if isinstance(operand.data_type, TimestampType) else f"{_EPOCH} + {operand.text}"
    return Operand(LongType(), operand.variable, f"UNIX_MICROS({text})")


def local_text(expr: Expr, variables: Variables, source: Source) -> tuple[str, Span]:
    """A conjunct over one variable as SQL over its events."""
    return row_text(expr, variables, source), expr.span

"""Conditions and assignments of arcs, divided: what looks at one event is Spark's, what reads registers becomes data for the engine.

``price < first_price`` → ``lt(column price, register first_price)``; ``type = 'A'`` → a bit. Typed as
Spark types it; what the engine has no operators for takes the slow path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    IntegralType,
    NullType,
    StructType,
)
from sqlglot import exp

from rewrites.bind.aggregates import is_aggregate
from rewrites.bind.conditions import Columns
from rewrites.bind.literals import DIGITS, literal
from rewrites.bind.names import has_query, outside_queries
from rewrites.bind.operand_builder import OPERATORS, OperandBuilder
from rewrites.bind.operands import EXACT_DIGITS, NotForTheEngine, Operand
from rewrites.bind.partitions import plain_column
from rewrites.bind.reached import where_reached
from rewrites.bind.relation import Relation, spark_message, suggestion
from rewrites.bind.stand_in import StandIn, filled, is_constant, is_name, is_value
from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import Expr
from rewrites.dialect.nodes import ROW_PATTERN
from rewrites.sql.source import Source, lambda_names
from rewrites.sql.transport import carried
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.spec.automaton import Assignment, EventValue, RegisterValue, Value
from sparkcep.spec.expression import Call, SparkFunction

EVENT = "event"
"""Where a leaf's value comes from: the event at hand."""


@dataclass(frozen=True, slots=True)
class ArcTranslator(OperandBuilder):
    """The expressions of one arc. ``event``: it takes one, whose columns may be read; ``guard``: SQL that is true of the events it may take.
    ``whole``: the engine computes all of them, from the input's columns."""

    source: Source
    relation: Relation
    registers: Mapping[str, tuple[str, DataType]]
    columns: Columns
    event: bool
    what: str
    guard: str | None = None
    whole: bool = False

    def condition(self, node: exp.Expression) -> Value:
        """A conjunct that reads registers, or stands where there is no event."""
        try:
            return self.emit(self.boolean(node))
        except NotForTheEngine:
            return self.emit(self.slow(node, None))

    def test(self, text: str, span: Span) -> Value:
        """SQL of a condition over the input's columns, for the engine."""
        assert self.relation.expression is not None
        tree = self.relation.expression(text, self.relation.stand_in)
        value: Value = filled(tree, {name: EventValue(name) for name in self.relation.schema.names})
        if not isinstance(value, SparkFunction):
            raise CepUnsupportedError(f"{text} for all events of a stream", code="ARC_EXPRESSION", span=span)
        return value

    def assignment(self, register: str, data_type: DataType, value: Expr) -> Assignment:
        """``SET register = value``, brought to the register's type as an INSERT brings it."""
        text = self.source.text(value.span)
        try:
            operand = self.boolean(value.node) if isinstance(data_type, BooleanType) else self.value(value.node)
            fitted = self.emit(self._fitted(operand, data_type))
        except NotForTheEngine:
            fitted = self.emit(self.slow(value.node, data_type))
        return Assignment(register, fitted, f"{register} = {text}")

    def register(self, node: exp.Expression) -> tuple[str, DataType] | None:
        """The register that ``node`` names."""
        path = column_path(node)
        if path is None or len(path) > 1 or path[0].value.lower() in lambda_names(node):
            return None
        return self.registers.get(path[0].value.lower())

    def field(self, node: exp.Expression) -> tuple[str, DataType, Span] | None:
        """The register, a STRUCT, that ``node`` reads a field of, and where the field's name is: ``r.f``."""
        path = column_path(node) or ()
        found = (
            None
            if len(path) < 2 or path[0].value.lower() in lambda_names(node)
            else self.registers.get(path[0].value.lower())
        )
        if found is None or not isinstance(found[1], StructType):
            return None
        return *found, Span(path[0].span.end, span_of(node).end)

    def reads_registers(self, node: exp.Expression) -> bool:
        """Whether a register stands anywhere in ``node``."""
        return any(self.register(part) is not None or self.field(part) is not None for part in node.walk())

    def check(self, node: exp.Expression) -> None:
        """Refuse what looks at other rows, and columns where there is no event."""
        for part in outside_queries(node):
            if isinstance(part, (exp.Window, *ROW_PATTERN)) or is_aggregate(part):
                raise CepUnsupportedError(
                    f"{self.what} looks at other rows",
                    code="ARC_ROWS",
                    span=span_of(part),
                    hint="an arc sees one event and the registers: keep the value in a register, or compute LAG in a subquery",
                )
        for part in outside_queries(node):
            path = column_path(part) if not self.event and not isinstance(part.parent, exp.Dot) else None
            register = self.register(part) or self.field(part)
            if path is not None and register is None and self.relation.column(path[-1].value):
                raise CepAnalysisError(
                    f"{self.what} reads the column {path[-1].value}, but it takes no event",
                    code="ARC_COLUMN",
                    span=span_of(part),
                    hint=f"it sees the registers alone: {', '.join(name for name, _ in self.registers.values()) or 'there are none'}",
                )

    def is_leaf(self, node: exp.Expression) -> bool:
        """A register, or an expression over one event, or over nothing."""
        if self.whole and self.register(node) is None:
            return plain_column(node, self.relation) is not None or is_constant(node)
        return self.register(node) is not None or not self.reads_registers(node)

    def leaf(self, node: exp.Expression) -> Operand:
        """The value of a register or of the event."""
        found = self.register(node)
        if found is not None:
            return Operand(found[1], source=RegisterValue(found[0]), carried=True)
        column = plain_column(node, self.relation) if self.whole else None
        if column is not None:
            return Operand(self._read_as_it_is(column, node), source=EventValue(column), carried=True)
        text = self.source.text(span_of(node))
        (data_type,) = self.relation.types_of([(text, span_of(node))])
        if is_constant(node):
            return Operand(data_type, None, text)
        return Operand(data_type, EVENT, where_reached(text, node, self._over_event))

    def _over_event(self, node: exp.Expression) -> str | None:
        """A condition over the event alone, as SQL over it."""
        alone = not self.reads_registers(node) and not is_constant(node) and not has_query(node)
        return self.source.text(span_of(node)) if alone else None

    def _read_as_it_is(self, column: str, node: exp.Expression) -> DataType:
        """The type of a column that the engine reads."""
        data_type = self.relation.schema[column].dataType
        if not travels_as_it_is(data_type):
            raise CepUnsupportedError(
                f"{self.what} reads {column}, {data_type.simpleString()}",
                code="ARC_COLUMN",
                span=span_of(node),
                hint="compute in a subquery of the stream what the arcs look at",
            )
        return data_type

    def since(self, operand: Operand) -> Operand:
        """As in ``OperandBuilder``; the engine reads a register, or a timestamp of the event, itself where that is the same."""
        if self.relation.has_steady_zone and operand.operator is None:
            return operand
        return OperandBuilder.since(self, operand)

    def emit(self, operand: Operand) -> Value:
        """An operand as data; columns that it needs are added to the input."""
        if operand.operator is not None:
            return Call(operand.operator, tuple(self.emit(argument) for argument in operand.arguments))
        if operand.source is not None:
            source: Value = operand.source
            return source
        constant = literal(operand.text, operand.data_type) if operand.at is None else None
        if constant is None and self.whole:
            raise NotForTheEngine
        return constant if constant is not None else self._column(operand)

    def _column(self, operand: Operand) -> EventValue:
        plain = self.relation.column(operand.text.strip("()`"))
        if plain is not None:
            return EventValue(plain)
        guarded = operand.at is not None and self.guard is not None
        text = f"CASE WHEN {self.guard} THEN {operand.text} END" if guarded else operand.text
        return EventValue(self.columns.name(text, operand.data_type))

    def _fitted(self, operand: Operand, target: DataType) -> Operand:
        """The operand in a register's type. Raises NotForTheEngine where the engine has no operation for that."""
        kind = operand.data_type
        if kind.simpleString() == target.simpleString():
            return operand
        if isinstance(kind, NullType):
            return Operand(target, None, "NULL")
        if operand.operator is None and operand.source is None:
            self._storable(kind, target, operand)
            return replace(operand, data_type=target, text=f"CAST({operand.text} AS {target.simpleString()})")
        if isinstance(kind, IntegralType) and isinstance(target, IntegralType | DoubleType):
            return operand
        if isinstance(target, DecimalType) and target.precision <= EXACT_DIGITS:
            whole, scale = (kind.precision - kind.scale, kind.scale) if isinstance(kind, DecimalType) else (99, 0)
            whole = DIGITS.get(kind.simpleString(), whole)
            if target.precision - target.scale >= whole and target.scale >= scale:
                return operand
        raise NotForTheEngine

    def _storable(self, kind: DataType, target: DataType, operand: Operand) -> None:
        """Spark's complaint, where an INSERT of the value would be refused."""
        if not storable(kind, target):
            raise NotForTheEngine

    def slow(self, node: exp.Expression, target: DataType | None) -> Operand:
        """A condition (``target`` None) or a new value as a tree of Spark's functions."""
        values = StandIn(self.relation.expression)
        pieces = _Pieces(self, values)
        if target is None:
            return values.condition(
                pieces.text(node), node, f"the condition of {self.what}", lambda why="": self._refusal(node, why)
            )
        self._check_storable(pieces, node, target)
        text = f"CAST({pieces.text(node)} AS {target.simpleString()})"
        return values.value(text, node, target, lambda why="": self._refusal(node, why))

    def _check_storable(self, pieces: _Pieces, node: exp.Expression, target: DataType) -> None:
        """The type of a value, over a stand-in with the registers as columns."""
        text = pieces.text(node)
        columns = ", ".join(f"CAST(NULL AS {kind.simpleString()}) AS {name}" for name, kind in pieces.values.columns())
        try:
            (field,) = self.relation.describe(f"SELECT {text}\n AS `r` FROM (SELECT {columns or '1'})")
        except PySparkException as error:
            raise CepAnalysisError(spark_message(error), code="EXPRESSION", span=span_of(node)) from None
        if not storable(field.dataType, target):
            raise CepAnalysisError(
                f"{self.what} assigns {field.dataType.simpleString()} to a register of the type {target.simpleString()}",
                code="REGISTER_TYPE",
                span=span_of(node),
                hint=f"write CAST(… AS {target.simpleString()})",
            )

    def _refusal(self, node: exp.Expression, why: str) -> CepUnsupportedError:
        return CepUnsupportedError(
            f"{self.what} computes this from registers",
            code="ARC_EXPRESSION",
            span=span_of(node),
            hint=f"{why + '; ' if why else ''}compute in a subquery what looks at the event alone, or use {OPERATORS}",
        )


@dataclass(slots=True)
class _Pieces:
    """Cuts an expression into registers and columns (of the stand-in) and what is left of it."""

    translator: ArcTranslator
    values: StandIn

    def text(self, node: exp.Expression) -> str:
        """``node`` over the stand-in's columns."""
        if is_constant(node):
            return self.translator.source.text(span_of(node))
        if (field := self.translator.field(node)) is not None:
            name, data_type, rest = field
            return f"{self.values.column(RegisterValue(name), data_type)}{self.translator.source.text(rest)}"
        if is_value(node) and self.translator.is_leaf(node):
            operand = self.translator.leaf(node)
            source: Any = operand.source or self.translator.emit(replace(operand, at=EVENT))
            return self.values.column(source, operand.data_type)
        if isinstance(node, exp.Query) or has_query(node):
            raise self.translator._refusal(node, "a subquery beside registers")
        edits = [(span_of(child), self.text(child)) for child in node.iter_expressions() if not is_name(child)]
        return self.translator.source.splice(span_of(node), edits)


def storable(kind: DataType, target: DataType) -> bool:
    """Whether an INSERT stores a value of one type in a column of another (ANSI store assignment; of arrays those of the same type, or empty)."""
    if kind.simpleString() == target.simpleString() or isinstance(kind, NullType):
        return True
    if isinstance(kind, ArrayType) and isinstance(target, ArrayType):
        return isinstance(kind.elementType, NullType)
    families = [_family(one) for one in (kind, target)]
    return (
        families[0] == families[1] != "" or (families[1] == "string" and families[0] != "") or set(families) == {"time"}
    )


def travels_as_it_is(data_type: DataType) -> bool:
    """Whether the engine has a column's values as Spark has them."""
    name = data_type.simpleString()
    return carried(data_type) == data_type and not any(part in name for part in ("map<", "variant", "time(", "collate"))


def _family(data_type: DataType) -> str:
    name = data_type.simpleString().split("(")[0]
    if name in ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"):
        return "number"
    if name in ("date", "timestamp", "timestamp_ntz"):
        return "time"
    return name if name in ("string", "boolean", "binary") or name.startswith("interval") else ""


def known_register(name: str, registers: Mapping[str, tuple[str, DataType]]) -> str:
    """A hint for a register that there is not."""
    return (
        suggestion(name, [spelled for spelled, _ in registers.values()]) if registers else "declare it: REGISTERS ( … )"
    )

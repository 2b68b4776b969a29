"""An engine's condition in Spark's functions: what Python evaluates where the stack machine cannot reach the events.

In: an ``Expression`` of comparison, arithmetic and logic, and the kinds of its columns. Out: the same as a ``SparkFunction`` tree.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkcep.engines.row_match.values import Kind
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import AggregateOf, Call, Expression, SparkFunction

_NAMES = {
    "eq": "EqualTo",
    "lt": "LessThan",
    "le": "LessThanOrEqual",
    "gt": "GreaterThan",
    "ge": "GreaterThanOrEqual",
    "eq_null_safe": "EqualNullSafe",
    "and": "And",
    "or": "Or",
    "not": "Not",
    "is_null": "IsNull",
}
_ARITHMETIC = {"add": "Add", "sub": "Subtract", "mul": "Multiply", "div": "Divide", "abs": "Abs"}
_INTEGERS = {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}
_TYPES = {
    "boolean": "boolean",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "duration": "interval day to second",
    "null": "void",
}


def spelled(node: Expression, kinds: Mapping[str, Kind]) -> SparkFunction:
    """``node`` in Spark's functions. Raises CepUnsupportedError for arithmetic on other kinds than numbers."""
    if isinstance(node, SparkFunction):
        return node
    if not isinstance(node, Call):
        return SparkFunction("Source", _type(node, kinds), (node,), text="value")
    parts = tuple(spelled(argument, kinds) for argument in node.arguments)
    if node.operator == "ne":
        return SparkFunction("Not", "boolean", (SparkFunction("EqualTo", "boolean", parts),))
    if node.operator in ("and", "or"):
        return _joined(_NAMES[node.operator], parts)
    if node.operator in _NAMES:
        return SparkFunction(_NAMES[node.operator], "boolean", parts)
    if node.operator == "div":
        parts = tuple(map(_as_double, parts))
    types = {part.type for part in parts}
    settings = ("true" if node.operator == "abs" else "ANSI",)
    if all(name.startswith("decimal") for name in types):
        scales = [int(part.type.rstrip(")").rpartition(",")[2]) for part in parts]
        scale = sum(scales) if node.operator == "mul" else max(scales)
        return SparkFunction(_ARITHMETIC[node.operator], f"decimal(38,{scale})", parts, settings)
    if not types <= set(_INTEGERS.values()) and not types <= {"float", "double"}:
        raise CepUnsupportedError(
            f"{node} of every element of a closure that is complete",
            code="CLOSURE_ELEMENTS",
            hint="cast its columns to numbers",
        )
    widest = max(types, key=[*_INTEGERS.values(), "float", "double"].index)
    return SparkFunction(_ARITHMETIC[node.operator], widest, parts, settings)


def _as_double(part: SparkFunction) -> SparkFunction:
    integer = part.type in _INTEGERS.values()
    return SparkFunction("Cast", "double", (part,), ("ANSI", ""), text="cast") if integer else part


def _joined(name: str, parts: tuple[SparkFunction, ...]) -> SparkFunction:
    found = parts[0]
    for part in parts[1:]:
        found = SparkFunction(name, "boolean", (found, part))
    return found


def _type(term: Expression, kinds: Mapping[str, Kind]) -> str:
    if isinstance(term, AggregateOf):
        if term.function in ("count", "avg") or term.column is None:
            return "double" if term.function == "avg" else "bigint"
        kind = kinds[term.column]
        if term.function == "sum":
            return "double" if kind.name == "float" else "bigint" if kind.name == "integer" else type_name(kind)
        return type_name(kind)
    assert not isinstance(term, Call | SparkFunction)
    return type_name(kinds[term.column])


def type_name(kind: Kind) -> str:
    """The type of a kind, as Spark writes it."""
    if kind.name == "integer":
        return _INTEGERS[kind.bits]
    if kind.name == "float":
        return "double" if kind.bits == 64 else "float"
    return f"decimal(38,{kind.scale})" if kind.name == "decimal" else _TYPES.get(kind.name, "struct<>")

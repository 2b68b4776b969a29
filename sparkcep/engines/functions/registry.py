"""SparkFunction trees → Python closures.

A closure takes a *frame* (the source of row values, opaque here) and returns a value: booleans, ints (dates are days, timestamps and intervals
microseconds), floats, Decimals, strings, bytes, lists (arrays), tuples (structs); None is NULL.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sparkcep.engines.functions import (
    aggregates,
    arithmetic,
    arrays,
    casts,
    conditional,
    intervals,
    mathematics,
    regexes,
    strings,
    times,
)
from sparkcep.engines.functions.base import LAZY, STRICT, Closure, Leaf, Refused
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.types import kind

_MODULES = (aggregates, arithmetic, arrays, casts, conditional, intervals, mathematics, regexes, strings, times)
"""Imported for their registrations."""

NAMES = frozenset([*STRICT, *LAZY, "LambdaFunction", "NamedLambdaVariable"])
"""The supported functions, by the names of Spark's expression classes."""


def check(node: Any) -> None:
    """Raise CepUnsupportedError, without a span, for a tree with an unsupported function. ``AttributeReference``s stand for leaves."""
    compile_function(node, lambda leaf: lambda frame: None)


def compile_function(node: Any, leaf: Leaf) -> Closure:
    """The closure of a tree; ``leaf`` compiles nodes other than SparkFunction and Constant. Raises CepUnsupportedError."""
    if isinstance(node, Constant):
        value = Decimal(node.value) if isinstance(node.value, str) and kind(node.type) == "decimal" else node.value
        return lambda frame: value
    if isinstance(node, SparkFunction) and "collate" in node.type.lower():
        raise _refused(node, f"{_named(node)} of the type {node.type}")
    if not isinstance(node, SparkFunction) or node.name == "AttributeReference":
        return leaf(node)
    if node.name == "NamedLambdaVariable":
        name = node.settings[0]
        return lambda frame: frame.lambdas[name]
    if node.name in ("LambdaFunction", "Source"):
        return compile_function(node.arguments[0], leaf)
    arguments = [compile_function(argument, leaf) for argument in node.arguments]
    try:
        if node.name in LAZY:
            return LAZY[node.name](node, arguments)
        if node.name in STRICT:
            return _strict(STRICT[node.name](node), arguments)
    except Refused as error:
        raise _refused(node, str(error)) from None
    raise _refused(node, f"the function {node.text}")


def _named(node: SparkFunction) -> str:
    return "a value" if node.name in ("AttributeReference", "Source") else node.text


def _strict(function: Any, arguments: list[Closure]) -> Closure:
    """NULL if an argument is NULL; unrolled for the usual numbers of arguments."""
    if len(arguments) == 1:
        (only,) = arguments

        def one(frame: Any) -> Any:
            value = only(frame)
            return None if value is None else function(value)

        return one
    if len(arguments) == 2:
        first, second = arguments

        def two(frame: Any) -> Any:
            left = first(frame)
            right = None if left is None else second(frame)
            return None if right is None else function(left, right)

        return two

    def many(frame: Any) -> Any:
        values = [argument(frame) for argument in arguments]
        return None if any(value is None for value in values) else function(*values)

    return many


def _refused(node: SparkFunction, what: str) -> CepUnsupportedError:
    return CepUnsupportedError(
        f"{what}, computed from several rows of the match",
        code="MATCH_DEPENDENT_FUNCTION",
        hint="if it reads only one row, compute it in a subquery; else use the functions that the documentation lists",
    )

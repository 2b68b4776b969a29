"""Logic, comparisons and conditionals: the functions that short-circuit."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from sparkcep.engines.functions.base import Closure, key_of, lazy, order, simple, strict, type_of
from sparkcep.errors import CepDataError
from sparkcep.spec.expression import SparkFunction

COMPARISONS = {
    "EqualTo": operator.eq,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
}


@strict(*COMPARISONS)
def _comparison(node: SparkFunction) -> Callable[[Any, Any], bool]:
    compare, key = COMPARISONS[node.name], order(type_of(node.arguments[0]))
    if key is None:
        return compare
    return lambda left, right: compare(key(left), key(right))


@lazy("EqualNullSafe")
def _equal_null_safe(node: SparkFunction, arguments: list[Closure]) -> Closure:
    first, second = arguments
    key = key_of(type_of(node.arguments[0]))

    def closure(frame: Any) -> bool:
        left, right = first(frame), second(frame)
        if left is None or right is None:
            return left is None and right is None
        return bool(key(left) == key(right))

    return closure


@lazy("And", "Or")
def _logic(node: SparkFunction, arguments: list[Closure]) -> Closure:
    first, second = arguments
    decides = node.name == "Or"

    def closure(frame: Any) -> bool | None:
        left = first(frame)
        if left is decides:
            return decides
        right = second(frame)
        if right is decides:
            return decides
        return None if left is None or right is None else not decides

    return closure


simple("Not", operator.not_)


@lazy("IsNaN")
def _is_nan(node: SparkFunction, arguments: list[Closure]) -> Closure:
    (only,) = arguments
    return lambda frame: (value := only(frame)) is not None and math.isnan(value)


@lazy("IsNull", "IsNotNull")
def _is_null(node: SparkFunction, arguments: list[Closure]) -> Closure:
    (only,) = arguments
    if node.name == "IsNull":
        return lambda frame: only(frame) is None
    return lambda frame: only(frame) is not None


@lazy("KnownNotNull", "KnownNullable", "KnownNotContainsNull")
def _known(node: SparkFunction, arguments: list[Closure]) -> Closure:
    """Spark's nullability markers do not change a value."""
    return arguments[0]


@lazy("Coalesce")
def _coalesce(node: SparkFunction, arguments: list[Closure]) -> Closure:
    def closure(frame: Any) -> Any:
        for argument in arguments:
            value = argument(frame)
            if value is not None:
                return value
        return None

    return closure


@lazy("If")
def _if(node: SparkFunction, arguments: list[Closure]) -> Closure:
    condition, yes, no = arguments
    return lambda frame: yes(frame) if condition(frame) else no(frame)


@lazy("CaseWhen")
def _case(node: SparkFunction, arguments: list[Closure]) -> Closure:
    branches = list(zip(arguments[0::2], arguments[1::2], strict=False))
    otherwise = arguments[-1] if len(arguments) % 2 else None

    def closure(frame: Any) -> Any:
        for condition, value in branches:
            if condition(frame):
                return value(frame)
        return None if otherwise is None else otherwise(frame)

    return closure


@lazy("NullIfResult")
def _null_if(node: SparkFunction, arguments: list[Closure]) -> Closure:
    equal, value = arguments
    return lambda frame: None if equal(frame) else value(frame)


@strict("RaiseError")
def _raise_error(node: SparkFunction) -> Callable[[str], None]:
    def function(message: str) -> None:
        code, bracket, text = message.removeprefix("[CEP_DATA_").partition("] ")
        ours = bracket and message.startswith("[CEP_DATA_")
        raise CepDataError(text if ours else message, code=code if ours else "RAISED")

    return function


@lazy("NaNvl")
def _nanvl(node: SparkFunction, arguments: list[Closure]) -> Closure:
    first, second = arguments

    def closure(frame: Any) -> Any:
        value = first(frame)
        return second(frame) if value is not None and math.isnan(value) else value

    return closure


@lazy("Greatest", "Least")
def _extreme(node: SparkFunction, arguments: list[Closure]) -> Closure:
    best, key = max if node.name == "Greatest" else min, key_of(type_of(node))

    def closure(frame: Any) -> Any:
        values = [value for argument in arguments if (value := argument(frame)) is not None]
        return best(values, key=key) if values else None

    return closure


@lazy("In")
def _in(node: SparkFunction, arguments: list[Closure]) -> Closure:
    wanted, *others = arguments
    key = key_of(type_of(node.arguments[0]))

    def closure(frame: Any) -> bool | None:
        value = wanted(frame)
        if value is None:
            return None
        unknown, value = False, key(value)
        for other in others:
            item = other(frame)
            if item is None:
                unknown = True
            elif key(item) == value:
                return True
        return None if unknown else False

    return closure

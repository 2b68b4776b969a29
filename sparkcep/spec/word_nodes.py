"""Spark's functions as ``Call`` and ``Word`` nodes, by the names of its expression classes.

In: a SparkFunction, and its arguments as nodes. Out: the node; ``NoWords`` for types and arguments that a machine of words computes otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any, Literal

from sparkcep.spec import expression as ir
from sparkcep.spec.expression import Call, Constant, SparkFunction
from sparkcep.spec.types import BITS, digits, kind

DIGITS = 18
"""The unscaled value of a decimal with this many digits fits a word of 64 bits."""
EXACT_TENS = 22
"""Up to this one the powers of ten are doubles, so that of a number of less than 2^53 units the quotient is the nearest double."""
FLOATS = ("float", "double")
_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_MICROS_PER_DAY = 86_400_000_000

OfDoubles = Literal[
    "sqrt", "exp", "ln", "log10", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "pow", "atan2"
]  # fmt: skip
"""Functions of doubles; ``pow`` and ``atan2`` of two."""


class NoWords(Exception):
    """Python is needed."""


@dataclass(frozen=True, slots=True)
class Word:
    """What ``Call`` lacks.

    ``room``: a value that may have none. ``as``: the argument as a value of ``type``, without loss (of a decimal the nearest double, if it has less
    than 2^53 units). ``round``: a decimal with at most the places of ``type``, rounded half up. ``quotient``: of decimals, with the places of
    ``type``, rounded so. ``int_div``, ``remainder``, ``pmod``: of integers. ``least``, ``greatest``: of two, NULL only if both are. ``if``:
    (condition, value, value). ``coalesce``: of two. And functions of doubles.
    """

    operator: (
        Literal[
            "room", "as", "round", "quotient", "int_div", "remainder", "pmod", "least", "greatest", "if", "coalesce"
        ]
        | OfDoubles
    )
    arguments: tuple[Any, ...]
    type: str


def more_places(tree: SparkFunction) -> int:
    """How many decimal places a cast adds, or a quotient needs of its dividend."""
    first, *others = (digits(one.type)[1] if kind(one.type) == "decimal" else 0 for one in tree.arguments)
    return digits(tree.type)[1] - first + sum(others)


def _comparison(node: SparkFunction, sides: list[Any]) -> Call:
    return Call(_COMPARISONS[node.name], tuple(sides))


def _logic(node: SparkFunction, sides: list[Any]) -> Call:
    return Call("and" if node.name == "And" else "or", tuple(sides))


def _not(node: SparkFunction, sides: list[Any]) -> Call:
    return Call("not", tuple(sides))


def _null(node: SparkFunction, sides: list[Any]) -> Call:
    found = Call("is_null", tuple(sides))
    return found if node.name == "IsNull" else Call("not", (found,))


def _in(node: SparkFunction, sides: list[Any]) -> Call:
    parts = tuple(Call("eq", (sides[0], other)) for other in sides[1:])
    return Call("or", parts) if len(parts) > 1 else parts[0]


def _arithmetic(node: SparkFunction, sides: list[Any]) -> Call | Word:
    found = Call(_ARITHMETIC[node.name], tuple(sides))
    if kind(node.type) != "decimal":
        return found
    (left, left_places), (right, right_places) = (digits(argument.type) for argument in node.arguments)
    whole = left - left_places, right - right_places
    precision, places = digits(node.type)
    if precision - places < min(sum(whole) if node.name == "Multiply" else max(whole) + 1, DIGITS + 1):
        raise NoWords("a type that lacks room for what a word has room for")
    return _rounded(
        found, left_places + right_places if node.name == "Multiply" else max(left_places, right_places), node.type
    )


def _rounded(node: Any, places: int, type_text: str) -> Any:
    """A decimal of so many places, rounded half up to those of a type."""
    less = places - digits(type_text)[1]
    if not 0 <= less <= DIGITS:
        raise NoWords("places")
    return Word("round", (node,), type_text) if less else node


def _divide(node: SparkFunction, sides: list[Any]) -> Call | Word:
    if node.type == "double":
        return Call("div", tuple(sides))
    if kind(node.type) != "decimal":
        raise NoWords(node.type)
    if more_places(node) < 0:
        raise NoWords("a quotient of so few places")
    return Word("quotient", tuple(sides), node.type)


def _integers(node: SparkFunction, sides: list[Any]) -> Word:
    if any(argument.type not in BITS for argument in node.arguments):
        raise NoWords(node.type)
    return Word(_DIVISIONS[node.name], tuple(sides), node.type)


def _negative(node: SparkFunction, sides: list[Any]) -> Call:
    return Call("sub", (_zero(node.type), sides[0]))


def _zero(type_text: str) -> Constant:
    return Constant("0" if kind(type_text) == "decimal" else 0.0 if type_text in FLOATS else 0, type_text)


def _absolute(node: SparkFunction, sides: list[Any]) -> Call:
    return Call("abs", tuple(sides))


def _extreme(node: SparkFunction, sides: list[Any]) -> Any:
    operator: Any = node.name.lower()
    return reduce(lambda left, right: Word(operator, (left, right), node.type), sides)


def _case(node: SparkFunction, sides: list[Any]) -> Any:
    pairs = list(zip(sides[0::2], sides[1::2], strict=False))
    last = sides[-1] if len(sides) % 2 else Constant(None, node.type)
    return reduce(lambda other, pair: Word("if", (*pair, other), node.type), reversed(pairs), last)


def _coalesce(node: SparkFunction, sides: list[Any]) -> Any:
    return reduce(lambda right, left: Word("coalesce", (left, right), node.type), reversed(sides))


def _null_if(node: SparkFunction, sides: list[Any]) -> Word:
    return Word("if", (sides[0], Constant(None, node.type), sides[1]), node.type)


def _of_doubles(node: SparkFunction, sides: list[Any]) -> Word:
    return Word(_OF_DOUBLES[node.name], tuple(sides), node.type)


def _angle(node: SparkFunction, sides: list[Any]) -> Call:
    factor = math.pi / 180 if node.name == "ToRadians" else 180 / math.pi
    return Call("mul", (*sides, Constant(factor, "double")))


def _round(node: SparkFunction, sides: list[Any]) -> Any:
    """ROUND of decimals: a quotient by a power of ten."""
    places = node.arguments[1]
    if kind(node.type) != "decimal" or not isinstance(places, Constant) or not isinstance(places.value, int):
        raise NoWords(node.type)
    own = digits(node.arguments[0].type)[1]
    if digits(node.type)[1] != min(own, places.value):
        raise NoWords("places before the point")
    return _rounded(sides[0], own, node.type)


def _of_interval(node: SparkFunction, sides: list[Any]) -> Any:
    """An interval times a number, or by it, as microseconds."""
    if node.arguments[1].type not in BITS:
        raise NoWords(node.arguments[1].type)
    micros = Word("as", (sides[0],), "bigint")
    times = node.name == "MultiplyDTInterval"
    return Word(
        "as", (Call("mul", (micros, sides[1])) if times else Word("quotient", (micros, sides[1]), "bigint"),), node.type
    )


def _date_diff(node: SparkFunction, sides: list[Any]) -> Call:
    end, start = (Word("as", (side,), "int") for side in sides)
    return Call("sub", (end, start))


def _between_dates(node: SparkFunction, sides: list[Any]) -> Word:
    end, start = (Word("as", (side,), "bigint") for side in sides)
    return Word("as", (Call("mul", (Call("sub", (end, start)), Constant(_MICROS_PER_DAY, "bigint"))),), node.type)


def _cast(node: SparkFunction, sides: list[Any]) -> Any:
    (side,), source, target = sides, node.arguments[0].type, node.type
    if isinstance(side, Constant) and side.value is not None and kind(target) == "decimal":
        return _decimal_constant(side, target)
    if source == target or (isinstance(side, Constant) and side.value is None):
        return Word("as", (side,), target)
    if kind(source) == kind(target) == "decimal" and _shortens(source, target):
        return _rounded(side, digits(source)[1], target)
    if not _widens(source, target):
        raise NoWords(f"{source} to {target}")
    return Word("as", (side,), target)


def _shortens(source: str, target: str) -> bool:
    """Whether a decimal type has fewer places, and room for what rounding up makes of the values of another one."""
    (own_precision, own_scale), (precision, scale) = digits(source), digits(target)
    return scale < own_scale and precision - scale > own_precision - own_scale


def _decimal_constant(constant: Constant, target: str) -> Constant:
    precision, scale = digits(target)
    if constant.type not in BITS and kind(constant.type) != "decimal":
        raise NoWords(constant.type)
    if Decimal(constant.value).copy_abs() >= Decimal(10) ** (precision - scale):
        raise NoWords("a constant without room")
    return Constant(str(constant.value), target)


def _widens(source: str, target: str) -> bool:
    """Whether a type has all values of another one, in words."""
    if target in BITS:
        return source == "boolean" or (source in BITS and BITS[source] <= BITS[target])
    if target == "double":
        return source == "float" or source in BITS or (kind(source) == "decimal" and digits(source)[1] <= EXACT_TENS)
    if kind(target) != "decimal":
        return False
    precision, scale = digits(target)
    if source in BITS:
        return precision - scale >= _INTEGER_DIGITS[source]
    if kind(source) != "decimal":
        return False
    own_precision, own_scale = digits(source)
    return scale >= own_scale and precision - scale >= own_precision - own_scale


def _itself(node: SparkFunction, sides: list[Any]) -> Any:
    return sides[0]


_COMPARISONS: dict[str, ir.Operator] = {
    "EqualTo": "eq",
    "LessThan": "lt",
    "LessThanOrEqual": "le",
    "GreaterThan": "gt",
    "GreaterThanOrEqual": "ge",
    "EqualNullSafe": "eq_null_safe",
}
_ARITHMETIC: dict[str, ir.Operator] = {"Add": "add", "Subtract": "sub", "Multiply": "mul"}
_DIVISIONS: dict[str, Any] = {"IntegralDivide": "int_div", "Remainder": "remainder", "Pmod": "pmod"}
_OF_DOUBLES: dict[str, OfDoubles] = {
    "Sqrt": "sqrt",
    "Exp": "exp",
    "Log": "ln",
    "Log10": "log10",
    "Log2": "log2",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "Asin": "asin",
    "Acos": "acos",
    "Atan": "atan",
    "Pow": "pow",
    "Atan2": "atan2",
}
MAKERS: dict[str, Callable[[SparkFunction, list[Any]], Any]] = {
    **dict.fromkeys(_COMPARISONS, _comparison),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_DIVISIONS, _integers),
    **dict.fromkeys(_OF_DOUBLES, _of_doubles),
    **dict.fromkeys(("ToRadians", "ToDegrees"), _angle),
    **dict.fromkeys(("And", "Or"), _logic),
    **dict.fromkeys(("IsNull", "IsNotNull"), _null),
    **dict.fromkeys(("Least", "Greatest"), _extreme),
    **dict.fromkeys(("CaseWhen", "If"), _case),
    **dict.fromkeys(("KnownNotNull", "KnownNullable", "UnaryPositive"), _itself),
    "Not": _not,
    "In": _in,
    "Divide": _divide,
    "mean": _divide,
    "UnaryMinus": _negative,
    "Abs": _absolute,
    "Coalesce": _coalesce,
    "NullIfResult": _null_if,
    "Round": _round,
    "DateDiff": _date_diff,
    **dict.fromkeys(("MultiplyDTInterval", "DivideDTInterval"), _of_interval),
    "SubtractDates": _between_dates,
    "Cast": _cast,
}

"""Draws conditions of Spark's functions over two events, with the types and casts that Spark's analysis gives them, and values for their columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from sparkcep.engines.arrow_types import arrow_type
from sparkcep.engines.functions import compile_function
from sparkcep.engines.functions.base import EXACT
from sparkcep.errors import CepDataError
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.types import BITS, digits

MODES = ("ANSI", "LEGACY")
OF_DOUBLE = [
    "Sqrt",
    "Exp",
    "Log",
    "Log10",
    "Log2",
    "Sin",
    "Cos",
    "Tan",
    "Asin",
    "Acos",
    "Atan",
    "ToRadians",
    "ToDegrees",
]
OF_DOUBLES = ["Pow", "Atan2"]
COLUMNS = {
    "tiny": "tinyint",
    "int": "int",
    "long": "bigint",
    "double": "double",
    "date": "date",
    "price": "decimal(10,2)",
    "rate": "decimal(18,9)",
    "whole": "decimal(18,0)",
    "wide": "decimal(30,4)",
    "exact": "decimal(38,18)",
}


def apply(name: str, kind: str, *arguments: Any, settings: tuple[str, ...] = ()) -> SparkFunction:
    return SparkFunction(name, kind, arguments, settings, name.lower())


def cast(node: Any, kind: str) -> Any:
    return node if node.type == kind else apply("Cast", kind, node, settings=("ANSI", "UTC"))


@dataclass(frozen=True)
class Place:
    """A column of the event A or B."""

    at: str
    column: str


def leaf(name: str, at: str) -> SparkFunction:
    return SparkFunction("Source", COLUMNS[name], (Place(at, name),), text="value")


def placed(tree: Any, make: Callable[[Place], Any]) -> Any:
    """The tree with an engine's own leaves."""
    if isinstance(tree, Place):
        return make(tree)
    if not isinstance(tree, SparkFunction):
        return tree
    return replace(tree, arguments=tuple(placed(argument, make) for argument in tree.arguments))


def is_decimal(kind: str) -> bool:
    return kind.startswith("decimal")


def wider(left: str, right: str) -> str | None:
    """Spark's common type of numbers."""
    if left == right:
        return left
    if "double" in (left, right):
        return "double"
    if left in BITS and right in BITS:
        return max(left, right, key=lambda kind: BITS[kind])
    (p1, s1), (p2, s2) = map(as_digits, (left, right))
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    return f"decimal({precision},{scale})" if precision <= 38 else None


def as_digits(kind: str) -> tuple[int, int]:
    return digits(kind) if is_decimal(kind) else ({"tinyint": 3, "int": 10, "bigint": 20}[kind], 0)


def arithmetic(name: str, left: Any, right: Any, mode: str, *, loses: bool = True) -> SparkFunction | None:
    """With Spark's types; ``loses``: ``spark.sql.decimalOperations.allowPrecisionLoss``, of operators but division."""
    if "double" in (left.type, right.type):
        return apply(name, "double", cast(left, "double"), cast(right, "double"), settings=(mode,))
    if left.type in BITS and right.type in BITS and name != "Divide":
        kind = max(left.type, right.type, key=lambda one: BITS[one])
        return apply(name, kind, cast(left, kind), cast(right, kind), settings=(mode,))
    (p1, s1), (p2, s2) = map(as_digits, (left.type, right.type))
    if name == "Divide":
        scale = max(6, s1 + p2 + 1)
        precision = p1 - s1 + s2 + scale
    elif name == "Multiply":
        precision, scale = p1 + p2 + 1, s1 + s2
    else:
        scale = max(s1, s2)
        precision = max(p1 - s1, p2 - s2) + scale + 1
    if precision > 38 and (loses or name == "Divide"):
        scale, precision = max(38 - precision + scale, min(scale, 6)), 38
    precision, scale = min(precision, 38), min(scale, 38)
    sides = (cast(side, f"decimal({p},{s})") for side, p, s in ((left, p1, s1), (right, p2, s2)))
    return apply(name, f"decimal({precision},{scale})", *sides, settings=(mode,))


@st.composite
def values(draw: st.DrawFn, depth: int) -> Any:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        if draw(st.integers(0, 3)) == 0:
            return draw(constants)
        name = draw(st.sampled_from([one for one in COLUMNS if one != "date"]))
        return leaf(name, draw(st.sampled_from("AB")))
    left, right = draw(values(depth - 1)), draw(values(depth - 1))
    mode = draw(st.sampled_from(MODES))
    match draw(
        st.sampled_from(
            ["arithmetic"] * 4
            + ["integers", "sign", "double", "extreme", "case", "round", "shorten", "null_if", "dates"]
        )
    ):
        case "arithmetic":
            name = draw(st.sampled_from(["Add", "Subtract", "Multiply", "Divide", "Divide"]))
            return arithmetic(name, left, right, mode, loses=draw(st.booleans())) or left
        case "integers" if left.type in BITS and right.type in BITS:
            kind = max(left.type, right.type, key=lambda one: BITS[one])
            name = draw(st.sampled_from(["IntegralDivide", "Remainder", "Pmod"]))
            found = "bigint" if name == "IntegralDivide" else kind
            if name == "IntegralDivide":
                kind = "bigint"
            return apply(name, found, cast(left, kind), cast(right, kind), settings=(mode,))
        case "sign":
            return apply(draw(st.sampled_from(["UnaryMinus", "Abs"])), left.type, left, settings=("true",))
        case "double":
            name = draw(st.sampled_from(OF_DOUBLE + OF_DOUBLES))
            sides = (left, right) if name in OF_DOUBLES else (left,)
            return apply(name, "double", *(cast(side, "double") for side in sides))
        case "round" if is_decimal(left.type):
            precision, scale = digits(left.type)
            places = draw(st.integers(0, 3))
            kind = f"decimal({min(38, precision - scale + 1 + min(places, scale))},{min(places, scale)})"
            return apply("Round", kind, left, Constant(places, "int"))
        case "shorten" if is_decimal(left.type) and digits(left.type)[1] > 0:
            precision, scale = digits(left.type)
            less = draw(st.integers(0, scale - 1))
            return cast(left, f"decimal({min(38, precision - scale + less + draw(st.integers(0, 3)))},{less})")
        case "dates":
            return apply("DateDiff", "int", leaf("date", "B"), leaf("date", "A"))
        case "extreme" | "case" | "null_if" as what:
            kind = wider(left.type, right.type)
            if kind is None:
                return left
            sides = cast(left, kind), cast(right, kind)
            if what == "extreme":
                return apply(draw(st.sampled_from(["Least", "Greatest", "Coalesce"])), kind, *sides)
            if what == "null_if":
                return apply("NullIfResult", kind, apply("EqualTo", "boolean", *sides), sides[0])
            tested = draw(conditions(depth - 1))
            return apply(*draw(st.sampled_from([("If", kind, tested, *sides), ("CaseWhen", kind, tested, sides[0])])))
    return left


@st.composite
def conditions(draw: st.DrawFn, depth: int) -> SparkFunction:
    if depth > 0 and draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from(["And", "Or", "Not"]))
        parts = [draw(conditions(depth - 1)) for _ in range(1 if name == "Not" else 2)]
        return apply(name, "boolean", *parts)
    left, right = draw(values(depth)), draw(values(depth))
    kind = wider(left.type, right.type)
    if kind is None or draw(st.integers(0, 9)) == 0:
        return apply(draw(st.sampled_from(["IsNull", "IsNotNull"])), "boolean", left)
    name = draw(st.sampled_from(["EqualTo", "LessThan", "LessThanOrEqual", "GreaterThan", "EqualNullSafe", "In"]))
    return apply(name, "boolean", cast(left, kind), cast(right, kind))


integers = {
    kind: st.one_of(
        st.none(), st.integers(-3, 3), st.integers(-(1 << bits - 1), (1 << bits - 1) - 1), st.just(-(1 << bits - 1))
    )
    for kind, bits in BITS.items()
}


def numbers(kind: str) -> st.SearchStrategy[Any]:
    """Values of a type, small and near its ends."""
    if kind in BITS:
        return integers[kind]
    if kind == "double":
        return st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, -2.25]), st.floats())
    if kind == "date":
        return st.one_of(st.none(), st.integers(-800_000, 800_000))
    precision, scale = digits(kind)
    most = 10**precision - 1
    unscaled = st.one_of(st.integers(-3, 3), st.integers(-100_000, 100_000), st.integers(-most, most), st.just(most))
    few_places = st.integers(-100_000, 100_000).map(lambda value: Decimal(value).scaleb(-min(scale, 2), EXACT))
    return st.one_of(st.none(), few_places, unscaled.map(lambda value: Decimal(value).scaleb(-scale, EXACT)))


constants = st.one_of(
    st.builds(Constant, st.one_of(st.integers(-3, 200), st.none()), st.just("int")),
    st.builds(Constant, st.sampled_from(["0.05", "1.05", "-2.50"]), st.just("decimal(3,2)")),
    st.builds(Constant, st.floats(), st.just("double")),
)
rows = st.fixed_dictionaries({name: st.tuples(numbers(kind), numbers(kind)) for name, kind in COLUMNS.items()})


Row = dict[str, tuple[Any, Any]]
"""By column, the values of A and of B."""


def table(rows: list[Row]) -> dict[str, pa.Array]:
    """The events A, B, A, B, … of several rows; dates are days."""
    found = {}
    for name, kind in COLUMNS.items():
        values = [value for row in rows for value in row[name]]
        if kind == "date":
            found[name] = pa.array(values, pa.int32()).view(pa.date32())
        elif is_decimal(kind):
            found[name] = pa.array(values, pa.decimal256(76, digits(kind)[1])).cast(arrow_type(kind))
        else:
            found[name] = pa.array(values, arrow_type(kind))
    return found


def by_python(condition: SparkFunction, row: Row) -> bool | str:
    """Whether the condition holds, or its error."""

    def value(place: Place) -> Callable[[Any], Any]:
        found = row[place.column]["AB".index(place.at)]
        return lambda frame: found

    try:
        return compile_function(condition, value)(None) is True
    except CepDataError as error:
        return error.code

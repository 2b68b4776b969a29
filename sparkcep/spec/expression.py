"""Conditions and values over rows of different variables, as data.

Spark has already computed every sub-expression over at most one row; what remains is comparison, arithmetic and boolean logic between columns of
different rows. The operands of an operator have the same type: the driver has Spark cast them.
NULL follows SQL's three-valued logic; NaN and -0.0 compare as in Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Operator = Literal[
    "eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe", "and", "or", "not", "is_null", "add", "sub", "mul", "div", "abs"
]


@dataclass(frozen=True, slots=True)
class ColumnOf:
    """The value of an input column in the row that ``variable`` took."""

    variable: str
    column: str

    def __str__(self) -> str:
        return f"{self.variable}.{self.column}"


@dataclass(frozen=True, slots=True)
class Call:
    """An operator on one or two arguments (``and``/``or``: two or more). ``div`` is on doubles only.

    In an event pattern an argument is an ``Expression``; in a row pattern a ``Call`` or a ``spec.row.Source``.
    """

    operator: Operator
    arguments: tuple[Any, ...]
    whole: bool = False
    """Of ``and`` and ``or``: not the user's, but what CASE or COALESCE says."""

    def __str__(self) -> str:
        return f"{self.operator}({', '.join(str(argument) for argument in self.arguments)})"


@dataclass(frozen=True, slots=True)
class SparkFunction:
    """A Spark function without an engine operator: evaluated for each tuple of rows, on the slow path.

    ``name`` is Spark's expression class (``Substring``), ``text`` its SQL name, ``type`` its result type in SQL, ``settings`` the parameters of the
    class other than its arguments (mode, time zone). Arguments: ``SparkFunction``, ``Constant``, a ``spec.row.Source``, or in an event
    pattern a ``Term``.
    """

    name: str
    type: str
    arguments: tuple[Any, ...] = ()
    settings: tuple[str, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text or self.name}({', '.join(str(argument) for argument in self.arguments)})"


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant among a SparkFunction's arguments: dates as days, timestamps and intervals as microseconds, decimals as text, arrays as tuples."""

    value: Any
    type: str

    def __str__(self) -> str:
        return repr(self.value)


Place = Literal["each", "previous", "first", "last"]
"""``b[i]``, ``b[i-1]``, ``b[1]``, ``b[LAST]``."""

Function = Literal["count", "sum", "avg", "min", "max"]


@dataclass(frozen=True, slots=True)
class ElementOf:
    """The value of an input column in one event of the closure ``variable`` (event patterns).

    A condition with ``each`` must hold for every element i; with ``previous`` (or a prefix) for every one but the
    first, which has no row before it.
    """

    variable: str
    column: str
    place: Place = "each"

    def __str__(self) -> str:
        index = {"each": "i", "previous": "i-1", "first": "1", "last": "LAST"}[self.place]
        return f"{self.variable}[{index}].{self.column}"


@dataclass(frozen=True, slots=True)
class AggregateOf:
    """An aggregate of a column over the closure ``variable``, or with ``prefix`` over ``b[..i-1]``.

    ``column`` None: COUNT(*). NULLs are skipped; over only NULLs COUNT is 0, the others NULL. Types: COUNT
    BIGINT; SUM BIGINT, DOUBLE or an exact decimal; AVG DOUBLE, of integers and floats only; MIN and MAX the column's.
    """

    function: Function
    variable: str
    column: str | None = None
    prefix: bool = False

    def __str__(self) -> str:
        range_text = "[..i-1]" if self.prefix else ""
        return f"{self.function.upper()}({self.variable}{range_text}.{self.column or '*'})"


Term = ColumnOf | ElementOf | AggregateOf
"""A leaf of a condition: a value of one variable."""

Expression = Term | Call | SparkFunction


def walk(node: Any) -> Iterator[Any]:
    """``node`` and everything below it, parents first."""
    waiting = [node]  # iterative: nested generators would take quadratic time on a long sum
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Call | SparkFunction):
            waiting += reversed(node.arguments)


def terms(node: Expression) -> tuple[Term, ...]:
    """The terms of an expression, each once, left to right."""
    return tuple(dict.fromkeys(part for part in walk(node) if isinstance(part, Term)))


def slow_parts(node: Expression) -> tuple[SparkFunction, ...]:
    """The outermost functions of an expression that Python evaluates, each once."""
    if isinstance(node, SparkFunction):
        return (node,)
    parts = node.arguments if isinstance(node, Call) else ()
    return tuple(dict.fromkeys(found for part in parts for found in slow_parts(part)))


def variables(node: Expression) -> tuple[str, ...]:
    """The variables that an expression reads, each once."""
    return tuple(dict.fromkeys(term.variable for term in terms(node)))


def restricted(node: Expression, known: Collection[str]) -> Expression | None:
    """What a condition says of a match in which only ``known`` took events: a comparison with another holds. None: nothing is left.

    A condition with ``b[i-1]`` is one comparison, as is what CASE or COALESCE says.
    """
    if any(map(looks_back, terms(node))):
        return node if set(variables(node)).issubset(known) else None
    return _restricted(node, True, known)


def _restricted(node: Expression, wanted: bool, known: Collection[str]) -> Expression | None:
    if not isinstance(node, Call) or node.whole or node.operator not in ("and", "or", "not"):
        kept = node if set(variables(node)).issubset(known) else None
        return kept if wanted or kept is None else Call("not", (kept,))
    if node.operator == "not":
        return _restricted(node.arguments[0], not wanted, known)
    parts = [_restricted(part, wanted, known) for part in node.arguments]
    left = tuple(part for part in parts if part is not None)
    if (node.operator == "or") == wanted:
        return Call("or", left) if len(left) == len(parts) else None
    return Call("and", left) if len(left) > 1 else next(iter(left), None)


def walked(node: Expression) -> tuple[str, ...]:
    """The closures over whose elements i a condition ranges."""
    return tuple(dict.fromkeys(term.variable for term in terms(node) if moves(term)))


def moves(term: Term) -> bool:
    """Whether the term depends on the i of ``b[i]``."""
    if isinstance(term, AggregateOf):
        return term.prefix
    return isinstance(term, ElementOf) and term.place in ("each", "previous")


def looks_back(term: Term) -> bool:
    """Whether the term has no value for the first element."""
    if isinstance(term, AggregateOf):
        return term.prefix
    return isinstance(term, ElementOf) and term.place == "previous"


def decimal_digits(operator: Operator, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    """(precision, scale) of a sum, difference or product of decimals: Spark's rule, without its limit of 38 digits."""
    (precision, scale), (other_precision, other_scale) = left, right
    if operator == "mul":
        return precision + other_precision + 1, scale + other_scale
    digits = max(scale, other_scale)
    return max(precision - scale, other_precision - other_scale) + digits + 1, digits

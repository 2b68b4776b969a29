"""Conditions and values over rows of different variables, as data.

Spark has computed everything that looks at one row (or at none); what is left is comparison, arithmetic and boolean
logic between columns of different rows. Operands of one operator arrive in one type: the driver lets Spark cast.
NULL follows SQL's three-valued logic; NaN and -0.0 compare as in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Operator = Literal[
    "eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe", "and", "or", "not", "is_null", "add", "sub", "mul", "div"
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

    def __str__(self) -> str:
        return f"{self.operator}({', '.join(str(argument) for argument in self.arguments)})"


Expression = ColumnOf | Call


def walk(node: Expression) -> Iterator[Expression]:
    """``node`` and everything below it, parents first."""
    yield node
    if isinstance(node, Call):
        for argument in node.arguments:
            yield from walk(argument)


def variables(node: Expression) -> tuple[str, ...]:
    """The variables an expression looks at, each once."""
    return tuple(dict.fromkeys(part.variable for part in walk(node) if isinstance(part, ColumnOf)))

"""Spark's rules for the types of operands (``AnsiTypeCoercion``, ``DecimalPrecision``): which casts its analysis adds. Types are text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import cast

from pyspark.sql.types import DataType, DecimalType

from rewrites.bind import decimals
from rewrites.bind.literals import DIGITS
from rewrites.bind.typed_refusals import refused
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.types import BITS, digits, is_day_time, kind

Tree = SparkFunction | Constant
FLOATS = ("float", "double")


@dataclass(frozen=True, slots=True)
class Coercion:
    """Casts of operands. ``ask``: Spark's types of expressions; ``zone``: the session's.

    What is not certain raises CepUnsupportedError, without a span."""

    ask: Callable[[list[str]], list[DataType]]
    zone: Callable[[], str]
    is_ansi: bool

    @property
    def mode(self) -> str:
        """The session's, as Spark's expressions have it."""
        return "ANSI" if self.is_ansi else "LEGACY"

    def beside_decimals(self, sides: list[Tree]) -> list[Tree]:
        """Integers beside a decimal become decimals; decimals beside a float, and it, doubles."""
        if not any(kind(side.type) == "decimal" for side in sides):
            return sides
        if any(side.type in FLOATS for side in sides):
            return [self.cast(side, "double") for side in sides]
        return [self.cast(side, decimal_of(side)) if side.type in BITS else side for side in sides]

    def comparable(self, sides: list[Tree]) -> list[Tree]:
        """Sides that are compared with each other."""
        types = {side.type for side in sides} - {"void"}
        if len(types) > 1 and not all(map(is_number, types)) and not are_times(types):
            raise refused(f"a comparison of {' and '.join(sorted(types))}")
        return self.alike(self.beside_decimals(sides) if len(sides) == 2 else sides)

    def alike(self, sides: list[Tree]) -> list[Tree]:
        """The sides in the one type that has all their values."""
        types = list(dict.fromkeys(side.type for side in sides if side.type != "void"))
        if not types:
            return sides
        common = types[0] if len(types) == 1 else wider(types)
        if common is None:
            (asked,) = self.ask([f"COALESCE({', '.join(f'CAST(NULL AS {one})' for one in types)})"])
            common = asked.simpleString()
        return [self.cast(side, common) for side in sides]

    def cast(self, tree: Tree, target: str) -> Tree:
        """The value as another type's, as an implicit cast makes it."""
        if tree.type == target:
            return tree
        if tree.type == "void":
            return Constant(None, target)
        if not (is_number(tree.type) and is_number(target)) and not are_times({tree.type, target}):
            raise refused(f"{tree.type} as {target}")
        zone = self.zone() if "timestamp" in (tree.type, target) else ""
        return SparkFunction("Cast", target, (tree,), (self.mode, zone), "cast")


def is_number(type_text: str) -> bool:
    """Whether values are numbers."""
    return type_text in BITS or type_text in FLOATS or kind(type_text) == "decimal"


def are_times(types: set[str]) -> bool:
    """Whether values are all dates and timestamps, or all intervals of microseconds."""
    return types <= {"date", "timestamp", "timestamp_ntz"} or all(map(is_day_time, types))


def decimal_of(side: Tree) -> str:
    """The decimal type of an integer: of a constant as many digits as it has."""
    if isinstance(side, Constant) and side.value is not None:
        return f"decimal({len(str(abs(side.value)))},0)"
    return f"decimal({DIGITS[side.type]},0)"


def wider(types: list[str]) -> str | None:
    """The type that has all values of numeric ones; None: Spark is to be asked."""
    if all(one in BITS for one in types):
        return max(types, key=BITS.__getitem__)
    if all(kind(one) == "decimal" for one in types):
        first, *others = (DecimalType(*digits(one)) for one in types)
        found = reduce(lambda known, one: known and decimals.wider(known, one), others, cast(DecimalType | None, first))
        return None if found is None else found.simpleString()
    return None

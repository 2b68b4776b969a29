"""The operand types for which Spark's operators and functions never fail, or fail only on overflow.

In: types. Out: yes or no.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import (
    AtomicType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NullType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

Types = Sequence[DataType]


class UnknownError(Exception):
    """Part of the expression may fail in a way not known here."""


def numbers(types: Types) -> bool:
    return all(isinstance(one, NumericType) for one in types)


def integers(types: Types) -> bool:
    return all(isinstance(one, IntegralType) for one in types)


def strings(types: Types) -> bool:
    return all(isinstance(one, StringType) for one in types) and len(set(map(repr, types))) == 1


def substring(types: Types) -> bool:
    return isinstance(types[0], StringType) and integers(types[1:])


def booleans(types: Types) -> bool:
    return all(isinstance(one, BooleanType) for one in types)


def moments(types: Types) -> bool:
    return all(isinstance(one, DateType | TimestampType | TimestampNTZType) for one in types)


def alike(types: Types) -> bool:
    """Whether all types are the same, or numbers that are widened to one type without loss."""
    known = [one for one in types if not isinstance(one, NullType)]
    if not known or not all(isinstance(one, AtomicType) for one in known):
        return False
    plain = numbers(known) and not any(isinstance(one, DecimalType) for one in known)
    return plain or all(one == known[0] for one in known) or (numbers(known) and _decimals_meet(known))


def _decimals_meet(types: Types) -> bool:
    """Whether integers and decimals have a common decimal type (beside a double they become doubles)."""
    if any(isinstance(one, FloatType | DoubleType) for one in types):
        return True
    sizes = [(one.precision, one.scale) if isinstance(one, DecimalType) else (20, 0) for one in types]
    return max(p - s for p, s in sizes) + max(s for _, s in sizes) <= DecimalType(38).precision


def branches(types: Types) -> bool:
    """Whether these are valid types for CASE and IF: condition, result, …"""
    conditions = types[0 : len(types) - len(types) % 2 : 2]
    results = [*types[1::2], *([types[-1]] if len(types) % 2 else [])]
    return booleans(conditions) and alike(results)


def one_number(types: Types) -> bool:
    return len(types) == 1 and numbers(types)


def rounded(types: Types) -> bool:
    return isinstance(types[0], FloatType | DoubleType) and integers(types[1:])


def atomic(types: Types) -> bool:
    return all(isinstance(one, AtomicType) and not isinstance(one, BinaryType) for one in types)


def anything(types: Types) -> bool:
    return True


def overflows(data_type: DataType) -> bool:
    """Whether a sum, difference, product or quotient of this type may not fit it."""
    if isinstance(data_type, DecimalType):
        return (
            data_type.precision >= DecimalType(38).precision
        )  # below that, Spark's result type has room for every value
    return not isinstance(data_type, FloatType | DoubleType)


def fits(given: DataType, wanted: DataType) -> bool:
    """Whether every value of one type is representable in the other. Raises UnknownError for casts not known here."""
    sizes = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
    if given == wanted or isinstance(wanted, StringType):
        return True
    if isinstance(given, NumericType) and isinstance(wanted, FloatType | DoubleType):
        return True
    if not isinstance(wanted, NumericType | BooleanType | DateType | TimestampType | TimestampNTZType):
        raise UnknownError
    if isinstance(given, IntegralType) and isinstance(wanted, IntegralType | DecimalType):
        room = wanted.precision - wanted.scale if isinstance(wanted, DecimalType) else sizes[wanted.simpleString()]
        return sizes[given.simpleString()] <= room
    return isinstance(given, TimestampType) and isinstance(wanted, DateType)

"""Spark's names of types → the Arrow types in which Spark sends their values; and the error for values of another type."""

from __future__ import annotations

import re

import pyarrow as pa

from sparkcep.errors import CepDataError

_PLAIN: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "string": pa.string(),
    "binary": pa.binary(),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_DAY_TIME = re.compile(r"interval (day|hour|minute|second).*")


def arrow_type(name: str) -> pa.DataType | None:
    """None: no plain type (an array, a struct, …)."""
    if decimal := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return pa.duration("us") if _DAY_TIME.fullmatch(name) else _PLAIN.get(name)


def other_type(found: object, declared: str) -> CepDataError:
    """The error for a value that is not of the type for which a statement was rewritten: of a view, or in a script, whose input has changed since."""
    return CepDataError(
        f"a value is {found}, where the statement was written for {declared}: a column of the input has another type since",
        code="INPUT_TYPE",
        hint="create the view again; in a script run the statement by EXECUTE IMMEDIATE",
    )

"""Whether what an engine returns has the types that the statement's text declares.

A view keeps the text that was written for its input's types, and so does each statement of a script; an input that has other types since would be
read as if it had the old ones: numbers as strings, whose maximum is another. In: the MatchSpec's schema (Spark's JSON) and an Arrow table. Raises
CepDataError.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from sparkcep.engines.arrow_types import other_type

_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_WIDTHS = {"float": 32, "double": 64}
_STRINGS = ("string", "char", "varchar")


def check_declared(schema: str, table: pa.Table) -> None:
    """Raise where a column of ``table`` is no value of what ``schema`` says of it."""
    for declared, column in zip(_declared(schema), table.schema, strict=True):
        found = column.type
        while kinds.is_list(found) or kinds.is_large_list(found):
            found = found.value_type
        if not _suits(declared, found):
            raise other_type(found, declared)


@lru_cache(maxsize=64)
def _declared(schema: str) -> tuple[str, ...]:
    return tuple(_element(field["type"]) for field in json.loads(schema)["fields"])


def _element(declared: Any) -> str:
    """The type, of an array its elements'."""
    while isinstance(declared, dict) and declared["type"] == "array":
        declared = declared["elementType"]
    return (declared if isinstance(declared, str) else str(declared["type"])).split(" ")[0]


def _suits(declared: str, found: pa.DataType) -> bool:
    """Whether a value of the one type is one of the other, or a number that Arrow casts without loss or not at all."""
    name = declared.split("(")[0]
    if kinds.is_null(found):
        return True
    if (name in _STRINGS) != (kinds.is_string(found) or kinds.is_large_string(found)):
        return False
    if name in _BITS:
        return bool(kinds.is_integer(found) and found.bit_width <= _BITS[name])
    if name in _WIDTHS:
        return bool(kinds.is_integer(found) or kinds.is_floating(found)) and found.bit_width <= _WIDTHS[name]
    if name == "decimal":
        places = int(declared.rstrip(")").rpartition(",")[2])
        return bool(kinds.is_integer(found) or (kinds.is_decimal(found) and found.scale <= places))
    if name == "date":
        return bool(kinds.is_date(found))
    if name.startswith("timestamp"):
        return bool(kinds.is_timestamp(found)) and (found.tz is None) == (name == "timestamp_ntz")
    return True

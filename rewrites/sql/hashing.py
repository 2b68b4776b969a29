"""SQL of a hash by which rows are told apart.

In: SQL of values, and their types. Out: SQL of a BIGINT. Spark's XXHASH64 goes through values and what is in them one by one, passes NULLs over and
sees no borders: it takes (NULL, 1) for (1, NULL), [[1], [2]] for [[1, 2]] and [] for NULL. So what is NULL, and the lengths of arrays, are hashed
beside the values; and the JSON of what it does not take at all (maps, variants).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from rewrites.sql.builder import quoted

_TIME = "yyyy-MM-dd HH:mm:ss.SSSSSS"
_JSON = f"MAP('ignoreNullFields', 'false', 'timestampFormat', '{_TIME}XXX', 'timestampNTZFormat', '{_TIME}')"


@dataclass(frozen=True, slots=True)
class Value:
    """SQL of a value, its type, and whether it may be NULL."""

    text: str
    data_type: DataType
    nullable: bool = True


def hashed(values: Iterable[Value]) -> str:
    """SQL of the hash of ``values``."""
    values = list(values)
    return f"XXHASH64({', '.join([*map(_taken, values), *(text for value in values for text in _beside(value))])})"


def _taken(value: Value) -> str:
    return value.text if _is_taken(value.data_type) else f"TO_JSON({value.text}, {_JSON})"


def _is_taken(data_type: DataType) -> bool:
    """Whether XXHASH64 takes values of the type, and all that is in them has a name of its own."""
    if isinstance(data_type, ArrayType):
        return _is_taken(data_type.elementType)
    if isinstance(data_type, StructType):
        names = {field.name.lower() for field in data_type}
        return len(names) == len(data_type) and all(_is_taken(field.dataType) for field in data_type)
    return not isinstance(data_type, MapType | VariantType)


def _beside(value: Value, depth: int = 0) -> list[str]:
    """SQL of what XXHASH64 does not see of a value; ``depth``: in so many arrays."""
    text, data_type = value.text, value.data_type
    if isinstance(data_type, ArrayType) and _is_taken(data_type):
        inside = _beside(Value(f"`__cep_x{depth}`", data_type.elementType, data_type.containsNull), depth + 1)
        each = [f"TRANSFORM({text}, `__cep_x{depth}` -> STRUCT({', '.join(inside)}))"] if inside else []
        return [f"COALESCE(SIZE({text}), -1)", *each]
    found = [f"{text} IS NULL"] if value.nullable else []
    if isinstance(data_type, StructType) and _is_taken(data_type):
        for field in data_type:
            found += _beside(Value(f"{text}.{quoted(field.name)}", field.dataType, field.nullable), depth)
    return found

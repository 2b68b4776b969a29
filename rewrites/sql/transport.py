"""Transport of month intervals through the engines: Arrow batches between Spark and its Python workers do not support them.

In: SQL of a value and its type. Out: SQL of its encoding (a number of months, or the text of a calendar interval; also inside arrays, maps and
structs), and SQL that decodes it. Values of every other type are unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)
from sqlglot import exp

from rewrites.sql.builder import ALIAS, named, quoted, string


def carried(data_type: DataType) -> DataType:
    """The type that encodes ``data_type``."""
    if isinstance(data_type, YearMonthIntervalType):
        return IntegerType()
    if isinstance(data_type, CalendarIntervalType):
        return StringType()
    parts = [carried(part) for part in _parts(data_type)]
    if parts == _parts(data_type):
        return data_type
    if isinstance(data_type, ArrayType):
        return ArrayType(*parts)
    if isinstance(data_type, MapType):
        return MapType(*parts)
    return StructType([StructField(name, part) for name, part in zip(data_type.names, parts, strict=True)])


def carried_schema(
    fields: Iterable[tuple[str, DataType]], chars: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> StructType:
    """The schema of encoded columns. ``chars``: by their names what Spark notes of those of CHAR(n), to compare them with shorter literals."""
    return StructType(
        [StructField(name, carried(data_type), metadata=dict(chars.get(name, {}))) for name, data_type in fields]
    )


def encoded(text: str, data_type: DataType) -> str:
    """SQL of the encoding of ``text``, a value of ``data_type``."""
    if isinstance(data_type, YearMonthIntervalType):
        whole = f"CAST({text} AS INTERVAL YEAR TO MONTH)"
        return f"CAST(EXTRACT(YEAR FROM {whole}) * 12L + EXTRACT(MONTH FROM {whole}) AS INT)"
    if isinstance(data_type, CalendarIntervalType):
        return f"CAST({text} AS STRING)"
    inside = _inside(text, data_type, encoded)
    return inside if inside == text else f"CAST({inside} AS {_ddl(carried(data_type))})"  # restores nullability


def decoded(text: str, data_type: DataType) -> str:
    """SQL of the value of ``data_type`` encoded as ``text``."""
    if isinstance(data_type, YearMonthIntervalType):
        return f"CAST(MAKE_YM_INTERVAL(0, {text}) AS {data_type.simpleString()})"
    if isinstance(data_type, CalendarIntervalType):
        return f"CAST({text} AS INTERVAL)"
    return _inside(text, data_type, decoded)


def decoded_columns(table: exp.Expression, fields: Iterable[tuple[str, DataType]]) -> exp.Expression:
    """``table`` with its columns decoded."""
    columns = list(fields)
    if all(carried(data_type) == data_type for _, data_type in columns):
        return table
    query = [named(decoded(quoted(name), data_type), name) for name, data_type in columns]
    return exp.Subquery(
        this=exp.select(*query).from_(table),
        alias=exp.TableAlias(this=exp.to_identifier(ALIAS, quoted=True)),
    )


def _inside(text: str, data_type: DataType, change: Callable[[str, DataType], str]) -> str:
    """``text`` with ``change`` applied to the values inside it; unchanged if nothing inside is encoded."""
    if carried(data_type) == data_type:
        return text
    part = f"`__cep_x{_depth(data_type)}`"
    if isinstance(data_type, ArrayType):
        return f"TRANSFORM({text}, {part} -> {change(part, data_type.elementType)})"
    if isinstance(data_type, MapType):
        values = f"TRANSFORM_VALUES({text}, (`__cep_k`, {part}) -> {change(part, data_type.valueType)})"
        return f"TRANSFORM_KEYS({values}, ({part}, `__cep_v`) -> {change(part, data_type.keyType)})"
    assert isinstance(data_type, StructType)
    fields = (f"{string(f.name)}, {change(f'{text}.{quoted(f.name)}', f.dataType)}" for f in data_type)
    return f"CASE WHEN {text} IS NOT NULL THEN NAMED_STRUCT({', '.join(fields)}) END"


def _depth(data_type: DataType) -> int:
    """The nesting depth of a type: distinguishes a lambda's variable from those of nested lambdas."""
    return max((1 + _depth(part) for part in _parts(data_type)), default=0)


def _parts(data_type: DataType) -> list[DataType]:
    """The component types of a type."""
    if isinstance(data_type, ArrayType):
        return [data_type.elementType]
    if isinstance(data_type, MapType):
        return [data_type.keyType, data_type.valueType]
    return [f.dataType for f in data_type] if isinstance(data_type, StructType) else []


def _ddl(data_type: DataType) -> str:
    """A type in SQL syntax."""
    parts = [_ddl(part) for part in _parts(data_type)]
    if not isinstance(data_type, StructType):
        return f"{data_type.typeName()}<{', '.join(parts)}>" if parts else data_type.simpleString()
    fields = (f"{quoted(name)}: {part}" for name, part in zip(data_type.names, parts, strict=True))
    return f"struct<{', '.join(fields)}>"

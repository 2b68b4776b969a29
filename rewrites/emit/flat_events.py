"""Transfer of a match's events from the engine: events that every match has are flattened into one column per field.

Spark copies an Arrow STRUCT field by field into nested rows; a flat column costs less than half. The STRUCTs are rebuilt in the query around the
engine's, where Spark's optimizer simplifies ``NAMED_STRUCT(…).field`` for readers of single fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyspark.sql.types import DataType, StructType
from sqlglot import exp

from rewrites.sql.builder import ALIAS, named, quoted, string
from sparkcep.spec.event import EventStruct, Output, flat_name


def flat_columns(outputs: Iterable[tuple[Output, DataType]]) -> Iterator[tuple[str, DataType]]:
    """The columns transferred, with their types."""
    for output, data_type in outputs:
        if _is_flat(output) and isinstance(data_type, StructType):
            yield from ((flat_name(output, field.name), field.dataType) for field in data_type)
        else:
            yield output.name, data_type


def structs(table: exp.Expression, outputs: tuple[Output, ...], beside: tuple[str, ...] = ()) -> exp.Expression:
    """``table`` with the flattened columns reassembled into STRUCTs, and the columns ``beside`` them."""
    if not any(_is_flat(output) for output in outputs):
        return table
    columns = [*(_column(output) for output in outputs), *(exp.column(name, quoted=True) for name in beside)]
    query = exp.select(*columns).from_(table)
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(ALIAS, quoted=True)))


def _column(output: Output) -> exp.Expression:
    source = output.source
    if not isinstance(source, EventStruct) or not source.flat:
        return exp.column(output.name, quoted=True)
    fields = (f"{string(field)}, {quoted(flat_name(output, field))}" for field, _ in source.fields)
    return named(f"NAMED_STRUCT({', '.join(fields)})", output.name)


def _is_flat(output: Output) -> bool:
    return isinstance(output.source, EventStruct) and output.source.flat

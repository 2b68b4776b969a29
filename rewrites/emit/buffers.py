"""COMPRESSED MATCHES: the result's column ``buffer``, and its type, which tells ``cep_expand`` the variables."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, ByteType, DataType, IntegerType, StructField, StructType

from rewrites.bind.event_pattern import BoundEventPattern
from sparkcep.pattern.event import elements
from sparkcep.spec.event import BufferStruct, Output

BUFFER = "buffer"


def buffer_output(bound: BoundEventPattern) -> tuple[Output, DataType]:
    """The buffer of a clause: every column of the input for each event.

    ``variables`` is NULL; its type names the variables in pattern order, an ARRAY for a closure.
    """
    event = StructType([StructField(field.name, field.dataType) for field in bound.relation.shown])
    positive = elements(bound.pattern, negated=False)
    kinds = [
        StructField(element.variable, ArrayType(ByteType()) if element.kleene else ByteType()) for element in positive
    ]
    buffer = StructType(
        [
            StructField("variable", ArrayType(ByteType())),
            StructField("event", ArrayType(event)),
            StructField("previous", ArrayType(IntegerType())),
            StructField("other", ArrayType(IntegerType())),
            StructField("variables", StructType(kinds)),
        ]
    )
    names = tuple((name, name) for name in event.names)
    return Output(BUFFER, BufferStruct(names)), buffer

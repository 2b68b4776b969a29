"""Types that Arrow batches between Spark and its Python workers cannot carry: refused by name before anything runs.

In: a MatchSpec. Out: nothing, or CepUnsupportedError.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    StructType,
    YearMonthIntervalType,
)

from sparkcep.errors import CepUnsupportedError, Span
from sparkcep.spec import MatchSpec

_REFUSED = (YearMonthIntervalType, CalendarIntervalType)


def require_transportable(spec: MatchSpec, span: Span) -> None:
    """Raise for a result column that holds an interval of months, itself or somewhere inside."""
    for field in StructType.fromJson(json.loads(spec.schema)):
        refused = next((part for part in _parts(field.dataType) if isinstance(part, _REFUSED)), None)
        if refused is not None:
            of = "" if field.name.startswith("__cep_") else f" (column {field.name})"
            raise CepUnsupportedError(
                f"a value of type {refused.simpleString()} in the result{of}",
                code="INTERVAL",
                span=span,
                hint="select the other columns in a subquery, or carry the interval as a number: extract(MONTH FROM x), CAST(x AS STRING)",
            )


def _parts(data_type: DataType) -> Iterator[DataType]:
    """The type and all types inside it."""
    yield data_type
    if isinstance(data_type, ArrayType):
        yield from _parts(data_type.elementType)
    elif isinstance(data_type, MapType):
        yield from _parts(data_type.keyType)
        yield from _parts(data_type.valueType)
    elif isinstance(data_type, StructType):
        for field in data_type:
            yield from _parts(field.dataType)

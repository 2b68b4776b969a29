"""``cep_expand(buffer)``: the matches in a buffer of COMPRESSED MATCHES, as a table function for LATERAL joins.

    SELECT m.match_end, x.* FROM t MATCH PATTERN (… COMPRESSED MATCHES) AS m, LATERAL cep_expand(m.buffer) AS x

In: one buffer per row. Out: one row per match, with one column per variable, as with ALL MATCHES. A plain Python UDTF, because Spark does not support
lateral joins with Arrow UDTFs. The type of the buffer's field ``variables`` determines the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    StructField,
    StructType,
    YearMonthIntervalType,
)
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

from sparkcep.engines.event_pattern.output.expansion import expand
from sparkcep.errors import CepAnalysisError, CepUnsupportedError

FIELDS = ("variable", "event", "previous", "other", "variables")


class ExpandFunction:
    """Base of the classes made by ``expand_function``, one for each combination of single events and closures."""

    kleene: ClassVar[tuple[bool, ...]] = ()

    def eval(self, buffer: Any) -> Iterator[tuple[Any, ...]]:
        """The matches of one buffer; none of NULL."""
        return _matches(buffer, self.kleene)


class AnalyzedExpandFunction:
    """The same function for Spark Connect, where Spark asks the function itself for its columns."""

    def __init__(self, analyzed: AnalyzeResult) -> None:
        self._kleene = closures(analyzed.schema)

    @staticmethod
    def analyze(buffer: AnalyzeArgument) -> AnalyzeResult:
        """The columns for a buffer of this type. Raises CepUnsupportedError for intervals of months: only a classic session encodes them."""
        columns = expanded_type(buffer.dataType)
        if _has_months(columns):
            raise CepUnsupportedError(
                "cep_expand over Spark Connect where events have an INTERVAL of years and months",
                code="CONNECT",
                hint="cast it below the clause: FROM (SELECT * EXCEPT (i), CAST(i AS STRING) AS i FROM …) MATCH PATTERN …",
            )
        return AnalyzeResult(columns)

    def eval(self, buffer: Any) -> Iterator[tuple[Any, ...]]:
        """The matches of one buffer; none of NULL."""
        return _matches(buffer, self._kleene)


def expand_function(kleene: tuple[bool, ...]) -> type[ExpandFunction]:
    """The UDTF class for buffers whose variables are closures (True) or single events."""
    return type("CepExpand", (ExpandFunction,), {"kleene": kleene})


def expanded_type(buffer: DataType) -> StructType:
    """The result's columns. Raises CepAnalysisError for a type that is not that of a buffer."""
    if not isinstance(buffer, StructType) or tuple(buffer.names) != FIELDS:
        raise CepAnalysisError(
            f"cep_expand takes the column buffer of COMPRESSED MATCHES, not {buffer.simpleString()[:60]}",
            code="BUFFER",
            hint="SELECT … FROM t MATCH PATTERN (… COMPRESSED MATCHES) AS m, LATERAL cep_expand(m.buffer)",
        )
    events, variables = buffer["event"].dataType, buffer["variables"].dataType
    assert isinstance(events, ArrayType) and isinstance(variables, StructType)
    return StructType(
        [
            StructField(one.name, events if isinstance(one.dataType, ArrayType) else events.elementType)
            for one in variables
        ]
    )


def _has_months(data_type: DataType) -> bool:
    """Whether there are values in it that Python workers cannot have."""
    if isinstance(data_type, StructType):
        return any(_has_months(field.dataType) for field in data_type)
    if isinstance(data_type, MapType):
        return _has_months(data_type.keyType) or _has_months(data_type.valueType)
    if isinstance(data_type, ArrayType):
        return _has_months(data_type.elementType)
    return isinstance(data_type, YearMonthIntervalType | CalendarIntervalType)


def closures(columns: StructType) -> tuple[bool, ...]:
    """Which of the result's columns are closures."""
    return tuple(isinstance(field.dataType, ArrayType) for field in columns)


def _matches(buffer: Any, kleene: tuple[bool, ...]) -> Iterator[tuple[Any, ...]]:
    if buffer is not None:
        yield from expand(buffer["variable"], buffer["event"], buffer["previous"], buffer["other"], kleene)

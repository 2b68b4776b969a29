"""``cep_expand(buffer)``: the matches in a buffer that COMPRESSED MATCHES made, as a table function for LATERAL joins.

    SELECT m.match_end, x.* FROM t MATCH PATTERN (… COMPRESSED MATCHES) AS m, LATERAL cep_expand(m.buffer) AS x

In: a buffer a row. Out: a row a match, with a column for each variable, as ALL MATCHES has them. A plain Python UDTF: Spark joins no Arrow
UDTF laterally. What the columns are is told by the type of the buffer's field ``variables``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pyspark.sql.types import ArrayType, DataType, StructField, StructType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

from sparkcep.engines.event_pattern.output.expansion import expand
from sparkcep.errors import CepAnalysisError

FIELDS = ("variable", "event", "previous", "other", "variables")


class ExpandFunction:
    """Base of the classes that ``expand_function`` makes, one for each combination of single events and closures."""

    kleene: ClassVar[tuple[bool, ...]] = ()

    def eval(self, buffer: Any) -> Iterator[tuple[Any, ...]]:
        """The matches of one buffer; none of NULL."""
        return _matches(buffer, self.kleene)


class AnalyzedExpandFunction:
    """The same where Spark asks the function itself for its columns (Spark Connect)."""

    def __init__(self, analyzed: AnalyzeResult) -> None:
        self._kleene = closures(analyzed.schema)

    @staticmethod
    def analyze(buffer: AnalyzeArgument) -> AnalyzeResult:
        """The columns for a buffer of this type."""
        return AnalyzeResult(expanded_type(buffer.dataType))

    def eval(self, buffer: Any) -> Iterator[tuple[Any, ...]]:
        """The matches of one buffer; none of NULL."""
        return _matches(buffer, self._kleene)


def expand_function(kleene: tuple[bool, ...]) -> type[ExpandFunction]:
    """The UDTF class for buffers whose variables are closures (True) or single events."""
    return type("CepExpand", (ExpandFunction,), {"kleene": kleene})


def expanded_type(buffer: DataType) -> StructType:
    """The result's columns. Raises CepAnalysisError for a type that is no buffer's."""
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


def closures(columns: StructType) -> tuple[bool, ...]:
    """Which of the result's columns are closures."""
    return tuple(isinstance(field.dataType, ArrayType) for field in columns)


def _matches(buffer: Any, kleene: tuple[bool, ...]) -> Iterator[tuple[Any, ...]]:
    if buffer is not None:
        yield from expand(buffer["variable"], buffer["event"], buffer["previous"], buffer["other"], kleene)

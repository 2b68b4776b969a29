"""EVENT TYPE of MATCH PATTERN: the column that holds the events' types, and tests of it."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, CalendarIntervalType, MapType, StructType, VariantType

from rewrites.bind.relation import Relation, suggestion
from rewrites.dialect.clause import MatchPatternClause
from rewrites.sql.builder import quoted, string
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern import event as pattern

DEFAULT_TYPE_COLUMNS = ("event_type", "type")


def type_column(clause: MatchPatternClause, relation: Relation, elements: tuple[pattern.Element, ...]) -> str | None:
    """The input column of the clause's EVENT TYPE; None: no element asks for a type. Raises CepAnalysisError."""
    if clause.event_type is not None:
        named = relation.require(clause.event_type)
        return _comparable(named, relation, clause.event_type.span) if _typed(elements) else named
    if not _typed(elements):
        return None
    found = next((column for name in DEFAULT_TYPE_COLUMNS if (column := relation.column(name))), None)
    if found is None:
        raise CepAnalysisError(
            "the input has no column event_type or type",
            code="EVENT_TYPE",
            span=clause.site.input,
            hint=f"name the column that holds the event type: EVENT TYPE column; {suggestion('event_type', relation.schema.names)}",
        )
    return _comparable(found, relation, clause.site.input)


def _comparable(column: str, relation: Relation, span: Span) -> str:
    """The column. Raises CepAnalysisError where Spark compares its values with no name of a type."""
    kind = relation.schema[column].dataType
    if isinstance(kind, ArrayType | MapType | StructType | VariantType | CalendarIntervalType):
        raise CepAnalysisError(
            f"values of {column}, {kind.simpleString()}, are no types of events",
            code="EVENT_TYPE",
            span=span,
            hint="compute the type, a STRING, in a subquery, and name it: EVENT TYPE column",
        )
    return column


def _typed(elements: tuple[pattern.Element, ...]) -> bool:
    return any(element.types for element in elements)


def types_of(elements: tuple[pattern.Element, ...]) -> tuple[str, ...]:
    """The types that a pattern may take; none: all, as it has ANY or a loop of several events."""
    if not all(element.types for element in elements):
        return ()
    return tuple(dict.fromkeys(name for element in elements for name in element.types))


def type_in(type_column: str, types: tuple[str, ...]) -> str:
    """``type = 'A'`` or ``type IN ('A', 'B')``."""
    literals = ", ".join(string(name) for name in types)
    return f"{quoted(type_column)} = {literals}" if len(types) == 1 else f"{quoted(type_column)} IN ({literals})"

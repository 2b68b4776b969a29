"""PARTITION BY and ORDER BY of a clause, and how the rows of its partitions come together."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pyspark.sql.types import ArrayType, CalendarIntervalType, DataType, MapType, StructType, VariantType
from sqlglot import exp

from rewrites.bind.relation import Relation
from rewrites.dialect import column_path
from rewrites.dialect.clause import OrderItem, PartitionItem
from rewrites.dialect.tokens import tokenize
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.spec.order import OrderColumn


@dataclass(frozen=True, slots=True)
class Key:
    """A PARTITION BY expression: its SQL, its column (None: not a bare one), the column sent to the engine, its name in the result, its type."""

    text: str
    column: str | None
    sent: str
    name: str
    data_type: DataType
    span: Span


@dataclass(frozen=True, slots=True)
class Together:
    """``keys``: the columns whose change begins a partition, once workers have sorted the rows by them (none: all rows are one). ``tasks``: into how
    many the partitions are distributed; None: as Spark finds best."""

    keys: tuple[str, ...]
    tasks: int | None = None


def bind_keys(items: tuple[PartitionItem, ...], relation: Relation, source: Source) -> tuple[Key, ...]:
    """PARTITION BY expressions with their names and types."""
    texts = [(source.text(item.expr.span), item.expr.span) for item in items]
    types = relation.types_of(texts)
    keys = []
    for i, (item, (text, span), data_type) in enumerate(zip(items, texts, types, strict=True)):
        _require_order("PARTITION BY", text, data_type, span)
        column = plain_column(item.expr.node, relation)
        name = item.name.value if item.name else column or text
        keys.append(Key(text, column, column or f"__cep_k{i}", name, data_type, span))
    return tuple(keys)


def check_key_names(keys: Iterable[Key], results: Collection[str]) -> None:
    """Raise CepAnalysisError at a key with the name of one of the ``results`` or of another key: both are columns of the result."""
    taken = {name: f"has the name of the result column {name}" for name in results}
    for key in keys:
        if clash := taken.get(key.name.lower()):
            raise CepAnalysisError(
                f"the PARTITION BY column {key.name} {clash}",
                code="DUPLICATE_NAME",
                span=key.span,
                hint=f"name it: PARTITION BY {key.text} AS other",
            )
        taken[key.name.lower()] = "occurs twice"


def event_time(order_by: tuple[OrderItem, ...]) -> OrderItem:
    """The first ORDER BY item, which is the events' time. Raises CepAnalysisError if it is DESC."""
    first = order_by[0]
    if first.descending:
        raise CepAnalysisError(
            "event time runs forward: the first ORDER BY item cannot be DESC",
            code="ORDER",
            span=first.span,
            hint="write ORDER BY without DESC: an earlier event comes first",
        )
    return first


def bind_order(items: tuple[OrderItem, ...], relation: Relation, source: Source) -> tuple[tuple[str, str], ...]:
    """ORDER BY items, each as (SQL, direction)."""
    texts = [(source.text(item.expr.span), item.expr.span) for item in items]
    for (text, span), data_type in zip(texts, relation.types_of(texts), strict=True):
        _require_order("ORDER BY", text, data_type, span)
    return tuple(
        (text, source.text(Span(span.end, item.span.end))) for (text, span), item in zip(texts, items, strict=True)
    )


def _require_order(place: str, text: str, data_type: DataType, span: Span) -> None:
    """Raise CepAnalysisError at an expression whose values Spark cannot sort, as it does by PARTITION BY, too."""
    if not _has_order(data_type):
        raise CepAnalysisError(
            f"{place} {text}: values of {data_type.simpleString()} have no order",
            code="ORDER_TYPE",
            span=span,
            hint="name a part of it (a key's value, a field), or its text: to_json(…)",
        )


def _has_order(data_type: DataType) -> bool:
    if isinstance(data_type, ArrayType):
        return _has_order(data_type.elementType)
    if isinstance(data_type, StructType):
        return all(_has_order(field.dataType) for field in data_type)
    return not isinstance(data_type, MapType | VariantType | CalendarIntervalType)


def sorting(column: str, direction: str) -> OrderColumn:
    """A column of ORDER BY; ``direction``: the text behind it."""
    words = [token.key for token in tokenize(direction).items]
    descending = "DESC" in words
    nulls_last = "LAST" in words or (descending and "FIRST" not in words)
    return OrderColumn(column, descending, nulls_last)


def plain_column(node: exp.Expression, relation: Relation) -> str | None:
    """The input column that an expression consists of, if it does; ``t.ts`` is ``ts``."""
    path = column_path(node)
    if path is None or len(path) > 2:
        return None
    return relation.column(path[-1].value) if len(path) == 1 or not relation.column(path[0].value) else None

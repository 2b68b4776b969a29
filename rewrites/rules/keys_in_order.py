"""keys_in_order: rows of equal keys follow each other, so the worker sees where a partition begins; no window function tells it.

``ROW_NUMBER() OVER (PARTITION BY user ORDER BY ts)`` → the same exchange and sort by ``user`` and ``ts``. Spark's window copies each partition into a
buffer before it numbers the rows, 5 to 15 % of what such a query takes (``benchmarks/keys_in_order.py``).

Applies to keys whose equality is that of their bytes (not DOUBLE, no collations), where nothing else needs a window: ranks follow from the time
(``engines.ranks``). And only to an input that is read from a file or a cache: another one may come with a partitioning by the same keys, which a
window uses and an exchange that is asked for does not.
"""

from __future__ import annotations

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from rewrites.bind.event_pattern import BoundEventPattern

NAME = "keys_in_order"


def keys_in_order(bound: BoundEventPattern) -> tuple[str, ...]:
    """The columns that begin a partition where they change; none where the rule does not apply."""
    if bound.relation.streaming or bound.inferred or bound.emit_changes is not None or not ranked_by_time(bound):
        return ()
    if bound.strategy not in ("any", "next"):
        return ()
    types = {field.name: field.dataType for field in bound.relation.schema}
    keys = {key.sent: key.data_type for key in bound.keys}
    keys |= {column: types[column] for column in bound.equivalences}
    plain = keys and all(_is_plain(kind) for kind in keys.values())
    return tuple(keys) if plain and _is_read(bound) else ()


def ranked_by_time(bound: BoundEventPattern) -> bool:
    """Whether the rank of an event in its partition follows from its time, which the engine has for WITHIN."""
    by_time = bound.window is not None and bound.window.events is None and len(bound.order) == 1
    exact = IntegralType | DoubleType | DateType | TimestampType | TimestampNTZType
    return by_time and isinstance(bound.time_type, exact)


def _is_plain(kind: DataType) -> bool:
    """Whether values are equal where their bytes are."""
    if isinstance(kind, StringType):
        return type(kind) is StringType and kind.isUTF8BinaryCollation()
    return isinstance(kind, IntegralType | BooleanType | DateType | TimestampType | TimestampNTZType)


def _is_read(bound: BoundEventPattern) -> bool:
    """Whether Spark reads the events from files or a cache, with no exchange of its own."""
    resources, rows = bound.relation.resources, f"SELECT * FROM {bound.relation.text}\n"
    return resources is not None and resources(bound.relation.scope(rows)).cheap

"""EMIT CHANGES with ``[attr]``: the events of a partition class by class, where the engine joins the classes' values at every time.

Without EMIT CHANGES a class is a partition like any other. With it, a result row describes the whole partition, so all of its classes go to one call
of the engine: one exchange by PARTITION BY, one sort by class and order.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.emit.masks import ROW_NUMBER
from rewrites.sql.builder import named, over, quoted, select

CLASS = "__cep_class"
"""A number that identifies a class within its partition."""


def by_class(
    events: exp.Select, partition: list[str], attributes: list[str], order: list[str], names: tuple[str, str]
) -> exp.Select:
    """The events with RANK, the number of their time in the partition (``names``), CLASS and ROW_NUMBER."""
    rank, moment = names
    timed = select([exp.Star(), named(over("RANK()", partition, order[:1]), moment)], events)
    classed = select([exp.Star(), named(over("RANK()", partition, attributes), CLASS)], timed)
    whole = [*attributes, *order]
    numbered = [
        named(over("RANK()", partition, whole), rank),
        named(over("ROW_NUMBER()", partition, whole), ROW_NUMBER),
    ]
    return select([exp.Star(), *numbered], classed)


def of_class(mask: str, bound: BoundEventPattern) -> str:
    """The mask, cleared for events without a class: NULL satisfies no ``[attr]``."""
    if not bound.equivalences:
        return mask
    known = " AND ".join(f"{quoted(column)} IS NOT NULL" for column in bound.equivalences)
    return f"CASE WHEN {known} THEN {mask} ELSE 0 END"

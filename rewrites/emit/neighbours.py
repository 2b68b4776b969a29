"""Contiguity as a bit: which events are not adjacent to their predecessor.

In: all events of a clause. Out: those that can take part, each with its number in its partition and the flag ``APART``, set if a dropped event lies
between it and its predecessor. So the engine never sees events that merely break contiguity.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.emit.masks import ROW_NUMBER
from rewrites.sql.builder import named, over, quoted, raw, select

PLACE, APART = "__cep_place", "__cep_apart"


@dataclass(frozen=True, slots=True)
class Line:
    """``partition`` and ``order`` as SQL; ``rank``: the RANK column; ``any_bit``: which events can take part; ``strict``: adjacency is defined on the
    whole input. ``not_null``: columns without which an event is in no partition."""

    partition: list[str]
    order: list[str]
    rank: exp.Expression
    any_bit: str
    strict: bool
    not_null: list[str]


def is_contiguous(bound: BoundEventPattern) -> bool:
    """Whether the selection strategy depends on the events between two events of a match."""
    return bound.strategy in ("partition_contiguity", "strict_contiguity")


def neighbours(events: exp.Select, line: Line) -> exp.Select:
    """The events that can take part, with APART. Positions are numbered in one order (of the partition, or of the input), so that ties break the same
    way everywhere."""
    place = named(over("ROW_NUMBER()", [] if line.strict else line.partition, line.order), PLACE)
    placed = select([exp.Star(), line.rank, place], events)
    taking_part = select([exp.Star()], placed).where(raw(line.any_bit))
    for column in line.not_null:
        taking_part = taking_part.where(raw(f"{column} IS NOT NULL"))
    before = over(f"LAG({quoted(PLACE)})", line.partition, [quoted(PLACE)])
    apart = named(f"COALESCE({quoted(PLACE)} - {before} <> 1, TRUE)", APART)
    row_number = named(over("ROW_NUMBER()", line.partition, [quoted(PLACE)]), ROW_NUMBER)
    return select([exp.Star(), apart, row_number], taking_part)

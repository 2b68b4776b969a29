"""Small streams and clauses for the engine's tests: rows as dicts in, spec and table out, matches back as dicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sparkcep.engines.event_pattern.engine import compile
from sparkcep.pattern.event import EventPattern, elements
from sparkcep.spec.event import (
    EventPatternSpec,
    EventStruct,
    FirstEvent,
    LastEvent,
    Output,
    Predicate,
    WithinEvents,
    WithinTime,
)
from sparkcep.spec.expression import Call, ColumnOf, Expression, Operator

Row = dict[str, Any]
Match = dict[str, str]
MASK_BITS = 62


@dataclass(frozen=True)
class Clause:
    """A pattern with its window (an int: time; ``events``: number of events) and predicates."""

    pattern: EventPattern
    within: int | None = None
    events: int | None = None
    predicates: tuple[Predicate, ...] = ()

    def spec(self) -> EventPatternSpec:
        names = tuple(element.variable for element in elements(self.pattern))
        window: WithinTime | WithinEvents | None = None
        if self.within is not None:
            window = WithinTime("time", "deadline")
        if self.events is not None:
            window = WithinEvents(self.events)
        positive = [element.variable for element in elements(self.pattern, negated=False)]
        return EventPatternSpec(
            variables=names,
            pattern=self.pattern,
            masks=tuple(f"mask{i}" for i in range((len(names) + MASK_BITS) // MASK_BITS)),
            rank="rank",
            outputs=(
                Output("match_start", FirstEvent("time")),
                Output("match_end", LastEvent("time")),
                *(Output(name, EventStruct(name, (("id", "id"), ("time", "time")))) for name in positive),
            ),
            schema="",
            predicates=self.predicates,
            within=window,
        )


def stream(text: str, **columns: Sequence[Any]) -> list[Row]:
    """``a1 b2@7 c``: events of types A, B, C; the time is the position unless given; ``columns`` add attributes."""
    rows: list[Row] = []
    for position, word in enumerate(text.split()):
        name, _, time = word.partition("@")
        values = {column: cells[position] for column, cells in columns.items()}
        rows.append({"id": word, "type": name[0].upper(), "time": int(time or position), "key": 0, **values})
    return rows


def prepared(rows: Sequence[Row], within: int | None = None) -> list[Row]:
    """The rows by partition and time, with rank, partition start and deadline, as Spark would send them."""
    ordered = sorted(rows, key=lambda row: (row["key"], row["time"]))
    result: list[Row] = []
    for row in ordered:
        mates = [other for other in ordered if other["key"] == row["key"]]
        rank = 1 + sum(other["time"] < row["time"] for other in mates)
        deadline = row.get("deadline", row["time"] + (within or 0))
        result.append({**row, "rank": rank, "deadline": deadline, "first": mates[0] is row})
    return result


def table(clause: Clause, rows: Sequence[Row], types: dict[str, pa.DataType] | None = None) -> pa.Table:
    """The engine's input for ``rows``; ``types`` overrides the Arrow types of columns."""
    events = prepared(rows, clause.within)
    flags = [_flags(clause.pattern, row) for row in events]
    spec = clause.spec()
    masks = {
        name: pa.array([flag >> (MASK_BITS * i) & (1 << MASK_BITS) - 1 for flag in flags], pa.int64())
        for i, name in enumerate(spec.masks)
    }
    names = {column for row in events for column in row} - {"first"} or {"id", "time", "rank", "deadline"}
    types = {"time": pa.int64(), "deadline": pa.int64(), "rank": pa.int32(), "id": pa.string(), **(types or {})}
    columns = {name: pa.array([row[name] for row in events], types.get(name)) for name in sorted(names)}
    return pa.table({**masks, **columns})


def answer(
    clause: Clause, rows: Sequence[Row], types: dict[str, pa.DataType] | None = None, **options: int
) -> list[Match]:
    """The engine's matches as variable → event id, sorted; a variable that took no event is left out."""
    tables = list(compile(clause.spec()).run(table(clause, rows, types), **options))
    return sorted((_match(row) for part in tables for row in part.to_pylist()), key=lambda match: sorted(match.items()))


def texts(matches: Sequence[Match]) -> list[str]:
    """Each match as its event ids in variable order: ``a1 b2``."""
    return sorted(" ".join(match.values()) for match in matches)


def call(operator: Operator, *arguments: Expression | str) -> Call:
    """``call("lt", "a.x", "b.x")``."""
    return Call(operator, tuple(_term(part) if isinstance(part, str) else part for part in arguments))


def where(*conditions: Call) -> tuple[Predicate, ...]:
    """The conditions as conjuncts of WHERE."""
    return tuple(Predicate(condition, str(condition)) for condition in conditions)


def _term(text: str) -> ColumnOf:
    variable, _, column = text.partition(".")
    return ColumnOf(variable, column)


def _flags(pattern: EventPattern, row: Row) -> int:
    flags = int(row["first"])
    for index, element in enumerate(elements(pattern)):
        flags |= (not element.types or row["type"] in element.types) << (1 + index)
    return flags


def _match(row: Row) -> Match:
    taken = {name: value for name, value in row.items() if isinstance(value, dict)}
    assert row["match_start"] == min(event["time"] for event in taken.values())
    assert row["match_end"] == max(event["time"] for event in taken.values())
    return {name: event["id"] for name, event in taken.items()}

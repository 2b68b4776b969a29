"""The corpus: (pattern, rows or events, options → exact matches) as TOML files that every engine runs.

``row_cases()``, ``event_cases()`` and ``automaton_cases()`` load it; ``schema.md`` explains the notation. Loading knows no engine and no
pattern IR.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class RowCase:
    """A MATCH_RECOGNIZE case.

    ``partitions``: the labels (variables that a row satisfies) of each row, by partition. ``columns``: input columns,
    one value per row over all partitions. ``define``: variables with a condition text; any other variable is decided by the labels, or is true if
    ``labelled`` is False. ``matches``: per partition, (start row from 0, ((variable,
    excluded), …)).
    """

    name: str
    pattern: str
    partitions: tuple[tuple[frozenset[str], ...], ...]
    labelled: bool = True
    columns: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    define: Mapping[str, str] = field(default_factory=dict)
    subset: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skip: tuple[str, str | None] = ("past_last_row", None)
    initial: bool = False
    matches: tuple[tuple[int, tuple[tuple[str, bool], ...]], ...] | None = None
    measures: Mapping[str, str] = field(default_factory=dict)
    rows_per_match: str = "one"
    output: tuple[tuple[Any, ...], ...] | None = None
    error: str | None = None
    needs: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class EventCase:
    """A MATCH PATTERN case. ``events``: id, type, ts and attributes; ``matches``: the expected ids by variable."""

    name: str
    pattern: str
    events: tuple[Mapping[str, Any], ...]
    strategy: str = "any"
    within: float | None = None
    within_events: int | None = None
    where: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    order: tuple[str, ...] = ("ts",)
    non_overlapping: bool = False
    matches: tuple[tuple[str | tuple[str, ...] | None, ...], ...] | None = None
    aggregates: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[tuple[float, Any], ...] | None = None
    error: str | None = None
    needs: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class AutomatonCase:
    """A MATCH AUTOMATON case. ``arcs`` and ``registers`` are texts of the clause; ``matches``: (first event, last event, final state,
    register values); ``lifetimes`` in the order of ``matches``."""

    name: str
    events: tuple[Mapping[str, Any], ...]
    start: str
    final: tuple[str, ...]
    arcs: tuple[str, ...]
    registers: str = ""
    within: float | None = None
    partition: tuple[str, ...] = ()
    order: tuple[str, ...] = ("ts",)
    matches: tuple[tuple[Any, ...], ...] | None = None
    lifetimes: tuple[tuple[float, float], ...] | None = None
    error: str | None = None
    needs: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.name


def row_cases() -> list[RowCase]:
    """Every case of ``row/*.toml``, named ``subject: case``."""
    return [_row_case(subject, entry) for subject, entry in _entries("row")]


def event_cases() -> list[EventCase]:
    """Every case of ``event/*.toml``."""
    return [_event_case(subject, entry) for subject, entry in _entries("event")]


def automaton_cases() -> list[AutomatonCase]:
    """Every case of ``automaton/*.toml``."""
    return [_automaton_case(subject, entry) for subject, entry in _entries("automaton")]


def _entries(folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(subject, case); the file's ``[all]`` table provides defaults for its cases."""
    for path in sorted((FOLDER / folder).glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in content["case"]:
            yield path.stem, content.get("all", {}) | entry


def _row_case(subject: str, entry: dict[str, Any]) -> RowCase:
    values = dict(entry)
    values["name"] = f"{subject}: {entry['name']}"
    labels = values.pop("rows", None)
    columns = {name: tuple(_null(item) for item in items) for name, items in values.pop("columns", {}).items()}
    values["labelled"] = labels is not None
    length = len(next(iter(columns.values()))) if columns else 0
    values["partitions"] = _partitions(labels if labels is not None else " ".join("-" * length))
    values["columns"] = columns
    values["subset"] = {name: tuple(members) for name, members in values.pop("subset", {}).items()}
    values["skip"] = _skip(values.pop("skip", "past last row"))
    if "matches" in values:
        values["matches"] = tuple(_row_match(text) for text in values["matches"])
    if "output" in values:
        values["output"] = tuple(tuple(_null(item) for item in line) for line in values["output"])
    return RowCase(**values | {"needs": frozenset(values.get("needs", ()))})


def _null(item: Any) -> Any:
    return None if item == "NULL" else item


def _partitions(text: str) -> tuple[tuple[frozenset[str], ...], ...]:
    return tuple(tuple(frozenset(row.strip("-")) for row in part.split()) for part in text.split("/"))


def _skip(text: str) -> tuple[str, str | None]:
    words = text.split()
    if words[0] in ("past", "next") or words == ["to", "next", "row"]:
        return ("next_row" if "next" in words else "past_last_row"), None
    return ("first" if words[0] == "first" else "last"), words[-1]


def _row_match(text: str) -> tuple[int, tuple[tuple[str, bool], ...]]:
    start, _, labels = text.partition(":")
    words = [] if labels.strip() == "()" else labels.split()
    return int(start) - 1, tuple((word.strip("{}"), word.startswith("{")) for word in words)


_EVENT = re.compile(r"\s*([A-Za-z]+)(\w*?)(?:@(-?[\d.]+))?(?:\{([^}]*)\})?(?=\s|$)")


def _event_case(subject: str, entry: dict[str, Any]) -> EventCase:
    values = dict(entry)
    values["name"] = f"{subject}: {entry['name']}"
    values["events"] = _events(entry["events"])
    if "matches" in values:
        values["matches"] = tuple(tuple(_event_value(word) for word in text.split()) for text in values["matches"])
    if "changes" in values:
        values["changes"] = tuple(tuple(_null(item) for item in pair) for pair in values["changes"])
    for name in ("where", "partition", "order"):
        if name in values:
            values[name] = tuple(values[name])
    values["aggregates"] = {name: _null(value) for name, value in values.get("aggregates", {}).items()}
    return EventCase(**values | {"needs": frozenset(values.get("needs", ()))})


def _automaton_case(subject: str, entry: dict[str, Any]) -> AutomatonCase:
    values = dict(entry)
    values["name"] = f"{subject}: {entry['name']}"
    values["events"] = _events(entry["events"])
    if "matches" in values:
        values["matches"] = tuple(_automaton_match(text) for text in values["matches"])
    if "lifetimes" in values:
        values["lifetimes"] = tuple(tuple(_scalar(word) for word in text.split()) for text in values["lifetimes"])
    for name in ("final", "arcs", "partition", "order"):
        if name in values:
            values[name] = tuple(values[name])
    return AutomatonCase(**values | {"needs": frozenset(values.get("needs", ()))})


def _automaton_match(text: str) -> tuple[Any, ...]:
    """``a1 b2 f 0 NULL``: first event, last event, final state, registers."""
    first, last, state, *values = text.split()
    return first, last, state, *(_scalar(value) for value in values)


def _events(text: str) -> tuple[Mapping[str, Any], ...]:
    """``a1 b1@5 c2{x=3, y=NULL}``: id, type = its letters in capitals, time = ``@`` or one more than before."""
    events: list[Mapping[str, Any]] = []
    time: float = 0
    at = 0
    while text[at:].strip():
        found = _EVENT.match(text, at)
        if not found:
            raise ValueError(f"cannot read the events {text[at:]!r}")
        letters, number, moment, attributes = found.groups()
        time = _scalar(moment) if moment else time + 1
        pairs = (pair.split("=") for pair in (attributes or "").split(",") if pair.strip())
        extra = {name.strip(): _scalar(value.strip()) for name, value in pairs}
        events.append({"id": letters + number, "type": letters.upper(), "ts": time} | extra)
        at = found.end()
    return tuple(events)


def _scalar(text: str) -> Any:
    if text == "NULL":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _event_value(word: str) -> str | tuple[str, ...] | None:
    """``-`` NULL, ``[]`` an empty array, ``[b1,b2]`` a closure, anything else an event."""
    if word == "-":
        return None
    return tuple(part for part in word.strip("[]").split(",") if part) if word.startswith("[") else word

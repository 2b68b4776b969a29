"""The corpus of row patterns in windows (ISO R020): ``window_cases()`` loads ``window/*.toml``; ``schema.md`` explains the notation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.corpus import _entries, _null, _partitions, _skip

UNBOUNDED = 1 << 30


@dataclass(frozen=True, slots=True)
class WindowCase:
    """A window with a pattern.

    The keys of ``RowCase``, and: ``following``: for each row how many rows its frame has behind it; ``found``: for each row what it has:
    (rows from it to the match's first, ((variable, excluded), …)), None without a match; ``functions``: called over the window;
    ``output``: for each row the measures and then the functions.
    """

    name: str
    pattern: str
    partitions: tuple[tuple[frozenset[str], ...], ...]
    following: tuple[int, ...]
    labelled: bool = True
    columns: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    define: Mapping[str, str] = field(default_factory=dict)
    subset: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skip: tuple[str, str | None] = ("past_last_row", None)
    seek: bool = False
    found: tuple[tuple[int, tuple[tuple[str, bool], ...]] | None, ...] | None = None
    measures: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    output: tuple[tuple[Any, ...], ...] | None = None
    error: str | None = None

    def __str__(self) -> str:
        return self.name


def window_cases() -> list[WindowCase]:
    """Every case of ``window/*.toml``, named ``subject: case``."""
    return [_case(subject, entry) for subject, entry in _entries("window")]


def _case(subject: str, entry: dict[str, Any]) -> WindowCase:
    values = dict(entry)
    values["name"] = f"window {subject}: {entry['name']}"
    labels = values.pop("rows", None)
    values["columns"] = {name: tuple(map(_null, items)) for name, items in values.pop("columns", {}).items()}
    values["labelled"] = labels is not None
    length = len(next(iter(values["columns"].values()))) if values["columns"] else 0
    values["partitions"] = _partitions(labels if labels is not None else " ".join("-" * length))
    values["following"] = _following(values.get("following"), sum(map(len, values["partitions"])))
    values["subset"] = {name: tuple(members) for name, members in values.pop("subset", {}).items()}
    values["skip"] = _skip(values.pop("skip", "past last row"))
    values["functions"] = tuple(values.pop("functions", ()))
    if "found" in values:
        values["found"] = tuple(map(_found, values["found"]))
    if "output" in values:
        values["output"] = tuple(tuple(map(_null, line)) for line in values["output"])
    return WindowCase(**values)


def _following(value: int | list[int] | None, rows: int) -> tuple[int, ...]:
    if isinstance(value, list):
        return tuple(value)
    return (UNBOUNDED if value is None else value,) * rows


def _found(text: str) -> tuple[int, tuple[tuple[str, bool], ...]] | None:
    """``-``, ``()``, ``A B {C}``, ``+1 A B`` (the match begins one row on)."""
    words = text.split()
    if words == ["-"]:
        return None
    ahead = int(words.pop(0)) if words[0].startswith("+") else 0
    return ahead, () if words == ["()"] else tuple((word.strip("{}"), word.startswith("{")) for word in words)

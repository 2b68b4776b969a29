"""A plainly right matcher for row patterns over labelled rows: backtracking, straight from ISO/IEC 19075-5.

In: a spec and rows (which variables each satisfies, and a value). Out: the output rows as dictionaries. Exponential:
for short rows only. Shares no code with the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from sparkcep.pattern.row import (
    Alternate,
    Concat,
    Empty,
    Excluded,
    PartitionEnd,
    PartitionStart,
    Permute,
    Quantified,
    RowPattern,
    Variable,
)
from sparkcep.spec.row import (
    Aggregate,
    ClassifierAt,
    ColumnAt,
    CurrentRow,
    MatchNumber,
    Navigation,
    RowPatternSpec,
    Source,
)

Step = tuple[str, bool]
"""A matched row: its variable, and whether it is excluded from the output."""


class SkipError(Exception):
    """AFTER MATCH SKIP TO has nowhere to go."""


@dataclass
class Match:
    """``path[i]`` is the row ``start + i``; ``number`` None: a row outside of all matches."""

    start: int
    path: tuple[Step, ...]
    number: int | None


def ways(part: RowPattern, rows: list[str], at: int, excluded: bool = False) -> Iterator[tuple[Step, ...]]:
    """All ways to match ``part`` from row ``at`` on, most preferred first."""
    match part:
        case Variable(name=name):
            if at < len(rows) and name in rows[at]:
                yield ((name, excluded),)
        case Concat(items=items):
            yield from _in_order(items, rows, at, excluded)
        case Alternate(items=items):
            for item in items:
                yield from ways(item, rows, at, excluded)
        case Permute(items=items):
            for order in permutations(items):
                yield from _in_order(order, rows, at, excluded)
        case Quantified():
            yield from _iterations(part, 0, rows, at, excluded)
        case Excluded(item=item):
            yield from ways(item, rows, at, True)
        case Empty():
            yield ()
        case PartitionStart():
            if at == 0:
                yield ()
        case PartitionEnd():
            if at == len(rows):
                yield ()


def _in_order(items: tuple[RowPattern, ...], rows: list[str], at: int, excluded: bool) -> Iterator[tuple[Step, ...]]:
    if not items:
        yield ()
        return
    for head in ways(items[0], rows, at, excluded):
        for tail in _in_order(items[1:], rows, at + len(head), excluded):
            yield head + tail


def _iterations(part: Quantified, done: int, rows: list[str], at: int, excluded: bool) -> Iterator[tuple[Step, ...]]:
    def again() -> Iterator[tuple[Step, ...]]:
        for head in ways(part.item, rows, at, excluded):
            if not head and done + 1 >= part.low:
                yield ()  # ISO/IEC 19075-5, 7.2.8: an iteration without a row is the last one
            else:
                for tail in _iterations(part, done + 1, rows, at + len(head), excluded):
                    yield head + tail

    if done < part.low:
        yield from again()
    elif done == part.high:
        yield ()
    elif part.greedy:
        yield from again()
        yield ()
    else:
        yield ()
        yield from again()


def matches(spec: RowPatternSpec, rows: list[str]) -> Iterator[Match]:
    """The matches of one partition in order, and (number None) the rows outside of all matches."""
    at, number, covered = 0, 0, 0
    while at < len(rows):
        attempt = at == 0 or not spec.initial
        path = next(ways(spec.pattern, rows, at), None) if attempt else None
        if path is None:
            if at >= covered:
                yield Match(at, (), None)
            at += 1
            continue
        number += 1
        yield Match(at, path, number)
        covered = max(covered, at + len(path))
        at = _next_start(spec, at, path)


def _next_start(spec: RowPatternSpec, at: int, path: tuple[Step, ...]) -> int:
    if not path or spec.skip.to == "next_row":
        return at + 1
    if spec.skip.to == "past_last_row":
        return at + len(path)
    found = [at + i for i, (name, _) in enumerate(path) if name in spec.skip.variables]
    if not found:
        raise SkipError("absent")
    target = found[0] if spec.skip.to == "first" else found[-1]
    if target == at:
        raise SkipError("start")
    return target


def answer(spec: RowPatternSpec, rows: list[str], data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The output rows for one partition; ``data[r]`` are the columns of row r."""
    out = []
    for match in matches(spec, rows):
        for row, upto in _output_rows(spec, match):
            out.append({o.name: _value(o.source, spec, match, row, upto, data) for o in spec.outputs})
    return out


def _output_rows(spec: RowPatternSpec, match: Match) -> Iterator[tuple[int, int]]:
    """(the input row shown, how many rows of the match are seen by a running value)"""
    mode = spec.rows_per_match
    if match.number is None:
        if mode == "all_with_unmatched":
            yield match.start, 0
    elif mode == "one":
        yield match.start, len(match.path)
    elif not match.path:
        if mode != "all_omit_empty":
            yield match.start, 0
    else:
        yield from ((match.start + i, i + 1) for i, (_, excluded) in enumerate(match.path) if not excluded)


def _value(source: Source, spec: RowPatternSpec, match: Match, row: int, upto: int, data: list[dict[str, Any]]) -> Any:
    if isinstance(source, CurrentRow):
        return data[row][source.column]
    if match.number is None:
        return None
    match source:
        case MatchNumber():
            return match.number
        case ColumnAt(column=column, at=at):
            found = _located(match, at, upto)
            return data[found][column] if found is not None and 0 <= found < len(data) else None
        case ClassifierAt(at=at):
            found = _located(match, at, upto)
            if found is None or not 0 <= found - match.start < len(match.path):
                return None
            name = match.path[found - match.start][0]
            return name if at.variables is None or name in at.variables else None
        case Aggregate():
            return _aggregate(source, _mapped(match, source.variables, upto if source.running else None), data)


def _mapped(match: Match, variables: tuple[str, ...] | None, upto: int | None) -> list[int]:
    path = match.path if upto is None else match.path[:upto]
    return [match.start + i for i, (name, _) in enumerate(path) if variables is None or name in variables]


def _located(match: Match, at: Navigation, upto: int) -> int | None:
    found = _mapped(match, at.variables, upto if at.running else None)
    if at.logical >= len(found):
        return None
    return found[-1 - at.logical if at.last else at.logical] + at.physical


def _aggregate(source: Aggregate, rows: list[int], data: list[dict[str, Any]]) -> Any:
    if source.filter is not None:
        rows = [row for row in rows if data[row][source.filter]]
    if source.column is None:
        return len(rows)
    values = [data[row][source.column] for row in rows if data[row][source.column] is not None]
    if source.distinct:
        values = list(dict.fromkeys(values))
    if source.function == "count":
        return len(values)
    if source.function == "array_agg":
        return values
    if not values:
        return None
    return {"sum": sum, "min": min, "max": max}[source.function](values)

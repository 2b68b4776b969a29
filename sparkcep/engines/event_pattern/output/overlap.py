"""NON OVERLAPPING MATCHES, selected from all matches.

In: all ``Matches`` of a table, whichever automaton or branch found them. Out: the matches to output: of those that start after the previous one, the
one that ends first; ties go to the one that starts first, then takes the earliest events, then by variable in pattern order. (A single automaton
without negation selects while it runs, see ``advance_kernels``.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.event_pattern.output.output import Lists, Matches

Preference = tuple[object, ...]


def non_overlapping(
    found: Iterable[Matches], place: NDArray[np.int64], partition: NDArray[np.int64], variables: Sequence[str]
) -> Iterator[Matches]:
    """The chosen matches, in the parts they came in. ``place``/``partition`` [rows]: the position of an event in its partition (concurrent events
    share one), and the number of the partition."""
    rank = partition * (int(place.max(initial=0)) + 1) + place
    parts = [part.chosen(_first_to_end(rank[part.first], rank[part.last])) for part in found]
    if not parts:
        return
    owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    number = np.concatenate([np.arange(len(part)) for part in parts])
    start, end = (rank[np.concatenate([getattr(part, name) for part in parts])] for name in ("first", "last"))
    left = _first_to_end(start, end)
    order = left[np.lexsort((start[left], end[left]))]
    kept: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    for tied in _candidates(start[order], end[order]):
        choice = min(order[tied], key=lambda i: _preference(parts[owner[i]], int(number[i]), place, variables))
        kept.append(np.array([choice]))
    chosen = np.concatenate(kept)
    for at, part in enumerate(parts):
        rows = np.sort(number[chosen[owner[chosen] == at]])
        if len(rows):
            yield part.chosen(rows)


def _first_to_end(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """The matches without those that are never chosen, as one that starts no earlier ends before them: for each start one is left, and its ties."""
    order = np.lexsort((end, -start))
    return np.sort(order[end[order] <= np.minimum.accumulate(end[order])])


def _candidates(start: NDArray[np.int64], end: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """In order of end and start, in which the starts rise with the ends: the next match that starts late enough, together with its ties."""
    at = 0
    borders = np.flatnonzero((np.diff(start) != 0) | (np.diff(end) != 0)) + 1
    while at < len(start):
        tied = int(np.searchsorted(borders, at, side="right"))
        yield np.arange(at, borders[tied] if tied < len(borders) else len(start))
        at = int(np.searchsorted(start, end[at], side="right"))


def _preference(part: Matches, i: int, place: NDArray[np.int64], variables: Sequence[str]) -> Preference:
    """The match's events in order; then variable by variable; of concurrent events the one whose row comes first."""
    rows = [_rows(part, i, name) for name in variables]
    by_variable = [[int(place[row]) for row in taken] for taken in rows]
    return sorted(event for events in by_variable for event in events), by_variable, rows


def _rows(part: Matches, i: int, name: str) -> list[int]:
    column = part.taken.get(name)
    if column is None:
        return []
    rows = column.cut(i, i + 1).rows if isinstance(column, Lists) else column[i : i + 1]
    return [int(row) for row in rows]

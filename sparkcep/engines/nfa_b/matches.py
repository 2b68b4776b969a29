"""Ends of matches → matches, in bounded sets.

In: ``Ends`` over the shared match buffer. Out: ``event_pattern.output.Matches``: for each match the events of every
variable, as rows of the table; or for each last event its part of the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.event_pattern.output.output import OUTPUT_EVENTS, Lists, Matches, Rows
from sparkcep.engines.event_pattern.output.parts import Parts
from sparkcep.engines.nfa_b import codes
from sparkcep.engines.nfa_b import match_kernels as kernels
from sparkcep.engines.nfa_b.search import Ends
from sparkcep.engines.nfa_b.structure import Line
from sparkcep.engines.nfa_b.structures import PartArrays, Walk, Written

IntArray = NDArray[np.int32]


def matches(ends: Ends, line: Line, output_rows: int, output_events: int = OUTPUT_EVENTS) -> Iterator[Matches]:
    """The matches of ``ends``, at most ``output_rows`` at a time, with at most ``output_events`` events (one match may
    have more). Matches that end with one event come one after another."""
    for rows, sizes in _written(ends, len(line.components), output_rows, output_events):
        yield _matches(rows, sizes, line)


def parts(ends: Ends) -> Iterator[Parts]:
    """The buffer below each last event."""
    number = np.zeros(ends.used, np.int32)
    todo = np.empty(2 * ends.used + 2, np.int32)
    room = max(OUTPUT_EVENTS, 4 * (ends.used + ends.count))
    state = np.zeros(kernels.W_SIZE, np.int64)
    status = codes.ROWS_FULL
    while status == codes.ROWS_FULL:
        last, sizes = (np.empty(ends.count, np.int32) for _ in range(2))
        rows, previous, others = (np.empty(room, np.int32) for _ in range(3))
        found = PartArrays(last, sizes, np.empty(room, np.int8), rows, previous, others)
        number[:], state[kernels.W_DEPTH] = 0, 1
        status = kernels.write_parts(ends.count, ends.arrays, ends.nodes, number, todo, found, state)
        count, filled = int(state[kernels.W_MATCHES]), int(state[kernels.W_ROWS])
        if count:
            yield Parts(
                found.last[:count],
                found.sizes[:count],
                found.components[:filled],
                found.rows[:filled],
                found.previous[:filled],
                found.others[:filled],
            )


def _written(
    ends: Ends, components: int, output_rows: int, output_events: int
) -> Iterator[tuple[IntArray, NDArray[np.int32]]]:
    walk, state = _walk(ends.used), np.zeros(kernels.W_SIZE, np.int64)
    status = codes.ROWS_FULL
    while status == codes.ROWS_FULL:
        room = max(output_events, int(state[kernels.W_DEPTH]))
        found = Written(np.empty(room, np.int32), np.empty((output_rows, components), np.int32))
        state[kernels.W_MATCHES] = state[kernels.W_ROWS] = 0
        status = kernels.write_matches(ends.count, ends.arrays, ends.nodes, walk, found, state)
        count = int(state[kernels.W_MATCHES])
        if count:
            yield found.events[: int(state[kernels.W_ROWS])], found.sizes[:count]


def _walk(used: int) -> Walk:
    branches, depths, path = (np.empty(used + 1, np.int32) for _ in range(3))
    return Walk(branches, depths, path, np.empty(used + 1, np.int8))


def _matches(rows: IntArray, sizes: NDArray[np.int32], line: Line) -> Matches:
    lengths = sizes.sum(axis=1)
    ends = np.cumsum(lengths)
    begins = ends - lengths
    taken: dict[str, Rows | Lists] = {}
    at = begins
    owner = None
    for k, component in enumerate(line.components):
        if not component.kleene:
            taken[component.variable] = rows[at]
        else:
            if owner is None and len(line.components) > 1:
                owner = np.repeat(np.tile(np.arange(sizes.shape[1], dtype=np.int8), len(sizes)), sizes.ravel())
            own = rows if owner is None else rows[owner == k]
            taken[component.variable] = Lists(sizes[:, k], own)
        at = at + sizes[:, k]
    return Matches(rows[begins], rows[ends - 1], taken, line.branch.absent)

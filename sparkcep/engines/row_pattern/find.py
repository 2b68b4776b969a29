"""Runs the kernels over a slice of the input.

In: a ``Program``, the mask columns of a slice of whole partitions, the skip rule. Out: batches of ``Matches``.
Raises CepDataError where AFTER MATCH SKIP TO has nowhere to go, CepLimitError where the bit sets outgrow memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.matches import BATCH_MATCHES, BATCH_NODES, Matches
from sparkcep.engines.row_pattern.program import FIRST_ROW_NODE, Program
from sparkcep.errors import CepError, CepLimitError

MAX_VIABLE_BYTES = 4 << 30
"""Bit sets of one partition: rows x words of 8 bytes."""


@dataclass(frozen=True, slots=True)
class Search:
    """How matches are looked for. ``skip``: one of the kernels' SKIP numbers; ``skip_to`` [codes]: the variables that
    SKIP TO FIRST / LAST names; ``unmatched``: rows outside of all matches are wanted."""

    program: Program
    skip: int
    skip_to: NDArray[np.bool_]
    initial: bool
    unmatched: bool


LEAST_NODES = 1 << 12
"""Matched rows held at a time, at least, where overlapping matches may be many more than the rows."""

SkipError = Callable[[int, int, bool], CepError]
"""(row where the match starts, its number, True if SKIP TO would return to that row) → the error to raise."""


def partition_bounds(masks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each partition's first row, and the number of rows."""
    from sparkcep.engines.row_pattern import kernels

    bounds = np.empty(kernels.partition_starts(masks, np.empty(0, np.int64)) + 1, np.int64)
    kernels.partition_starts(masks, bounds)
    bounds[-1] = masks.shape[1]
    return bounds


def viable_nodes(program: Program, masks: NDArray[np.int64]) -> NDArray[np.uint64]:
    """[rows + 1, words]: from which nodes a match can be completed at each row, and
    beyond a partition's last row. ``masks`` is [columns, rows]."""
    from sparkcep.engines.row_pattern import kernels

    rows = masks.shape[1]
    if rows * program.words * 8 > MAX_VIABLE_BYTES:
        raise CepLimitError(
            f"a partition of {rows} rows and a pattern of {program.nodes} steps need more than "
            f"{MAX_VIABLE_BYTES >> 30} GiB of state",
            code="PATTERN_STATE",
            hint="partition more finely, or lower the bounds of the pattern's quantifiers",
        )
    out = np.empty((rows + 1, program.words), np.uint64)
    out[rows] = program.end
    where = (masks, program.mask_column, program.mask_bit)
    if program.narrow:
        kernels.viable_narrow(*where, program.follow, out)
    else:
        kernels.viable_wide(*where, program.list_start, program.list_items, out)
    return out


def find(search: Search, masks: NDArray[np.int64], starts: NDArray[np.int64], error: SkipError) -> Iterator[Matches]:
    """The matches of a slice in order. ``starts``: each partition's first row, and the number of rows."""
    from sparkcep.engines.row_pattern import kernels

    program, rows = search.program, masks.shape[1]
    viable = viable_nodes(program, masks)
    state = np.zeros(kernels.S_SIZE, np.int64)
    room = min(BATCH_NODES, max(rows + 1, LEAST_NODES))
    while True:
        buffers = Buffers.of(room, min(BATCH_MATCHES, room))
        status = kernels.walk(
            starts, viable, FIRST_ROW_NODE + program.positions, program.list_start, program.list_items,
            program.codes, search.skip, search.skip_to, search.initial, search.unmatched, state, *buffers.arrays,
        )  # fmt: skip
        if status in (kernels.SKIP_ABSENT, kernels.SKIP_TO_START):
            raise error(int(state[kernels.S_ROW]), int(state[kernels.S_NUMBER]), status == kernels.SKIP_TO_START)
        found = int(state[kernels.S_MATCHES])
        if found:
            yield buffers.matches(found, int(state[kernels.S_NODES]))
        if status == kernels.DONE:
            return
        if not found:
            room *= 4


@dataclass(frozen=True, slots=True)
class Buffers:
    """Where ``walk`` writes: node_row, node_code, node_back; match_node, match_number, match_low, match_high."""

    arrays: tuple[NDArray, ...]

    @classmethod
    def of(cls, nodes: int, matches: int) -> Buffers:
        """Room for so many nodes and matches."""
        node = (np.empty(nodes, np.int32), np.empty(nodes, np.int16), np.empty(nodes, np.int32))
        match = (np.empty(matches + 1, np.int32), *(np.empty(matches, np.int32) for _ in range(3)))
        return cls((*node, *match))

    def matches(self, found: int, nodes: int) -> Matches:
        """What a kernel has written."""
        row, code, back, match_node, number, low, high = self.arrays
        first = match_node[:found]
        return Matches(
            row=row[:nodes],
            code=code[:nodes],
            back=back[:nodes],
            final=match_node[1 : found + 1] - np.int32(1),
            first=first,
            start=row[first],
            number=number[:found],
            low=low[:found],
            high=high[:found],
        )

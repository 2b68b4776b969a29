"""Runs the kernels over a slice of the input.

In: a ``Program``, the mask columns of a slice of whole partitions, the skip rule. Out: batches of ``Matches``.
Raises CepDataError if AFTER MATCH SKIP TO has no valid target, CepLimitError if the bit sets would exceed the memory limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.matches import BATCH_MATCHES, BATCH_NODES, Matches, room, written
from sparkcep.engines.row_pattern.program import Program
from sparkcep.engines.row_pattern.structures import Progress, Rules
from sparkcep.errors import CepError, CepLimitError

MAX_VIABLE_BYTES = 4 << 30
"""The limit for the bit sets of one partition: rows x words of 8 bytes."""


@dataclass(frozen=True, slots=True)
class Search:
    """How to search for matches."""

    program: Program
    rules: Rules


LEAST_NODES = 1 << 12
"""The least room for matched rows when overlapping matches may far outnumber the rows."""

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
    """[rows + 1, words]: the nodes from which a match can be completed, at each row and beyond a partition's last row. ``masks`` is [columns,
    rows]."""
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
    if program.narrow:
        kernels.viable_narrow(masks, program.tests, program.follow, out)
    else:
        kernels.viable_wide(masks, program.tests, program.targets, out)
    return out


def find(
    search: Search, masks: NDArray[np.int64], starts: NDArray[np.int64], progress: Progress, error: SkipError
) -> Iterator[Matches]:
    """The matches of a slice in order. ``starts``: each partition's first row, and the number of rows."""
    from sparkcep.engines.row_pattern import kernels

    rows, targets = masks.shape[1], search.program.targets
    viable = viable_nodes(search.program, masks)
    del masks
    state = np.zeros(kernels.S_SIZE, np.int64)
    state[kernels.S_ROW], state[kernels.S_NUMBER], state[kernels.S_COVERED] = progress.first()
    nodes = min(BATCH_NODES, max(rows + 1, LEAST_NODES))
    while True:
        path, found = room(nodes, min(BATCH_MATCHES, nodes))
        status = kernels.walk(starts, viable, targets, search.rules, progress, state, path, found)
        if status in (kernels.SKIP_ABSENT, kernels.SKIP_TO_START):
            raise error(int(state[kernels.S_ROW]), int(state[kernels.S_NUMBER]), status == kernels.SKIP_TO_START)
        matches = int(state[kernels.S_MATCHES])
        if matches:
            yield written(path, found, int(state[kernels.S_NODES]), matches)
        if status == kernels.DONE:
            return
        if not matches:
            nodes *= 4

"""Row patterns in windows where every condition is a boolean of the rows: the match of each row in its frame.

In: what ``find.find`` takes, for a spec with a ``Frame``, and the lengths of the frames. Out: batches of ``Matches``, one for each row of the
slice in order (``start``: the row itself; ``low``, ``high``: its frame); a row without a match has an empty one with the number 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.columns import Columns, masks_of
from sparkcep.engines.row_pattern.find import LEAST_NODES, Search, SkipError, viable_nodes
from sparkcep.engines.row_pattern.frames import FrameProgram, compile_frames
from sparkcep.engines.row_pattern.matches import BATCH_MATCHES, BATCH_NODES, Matches, room, written
from sparkcep.engines.row_pattern.overlap import grown, needs_rows, targets
from sparkcep.engines.row_pattern.program import Program
from sparkcep.engines.row_pattern.structures import Frames
from sparkcep.errors import CepDataError
from sparkcep.spec.row import RowPatternSpec


@dataclass(frozen=True, slots=True)
class FrameRows:
    """The masks of a slice, each partition's first row (and the number of rows), and for each row how many its frame has behind it
    (empty: all of the partition)."""

    masks: NDArray[np.int64]
    starts: NDArray[np.int64]
    following: NDArray[np.int64]

    @classmethod
    def of(cls, spec: RowPatternSpec, columns: Columns, starts: NDArray[np.int64]) -> FrameRows:
        """The rows of a slice. Raises CepDataError where a frame's length is NULL or negative."""
        assert spec.frame is not None
        masks = masks_of(columns.table, spec.masks)
        if spec.frame.following is None:
            return cls(masks, starts, np.empty(0, np.int64))
        column = columns.column(spec.frame.following)
        lengths = np.ascontiguousarray(column.fill_null(-1).to_numpy(), dtype=np.int64)
        if len(lengths) and lengths.min() < 0:
            raise CepDataError("a window frame ends a negative number of rows FOLLOWING, or NULL", code="FRAME_END")
        return cls(masks, starts, np.minimum(lengths, masks.shape[1]))


def find_windows(search: Search, spec: RowPatternSpec, rows: FrameRows, error: SkipError) -> Iterator[Matches]:
    """The match of each row of a slice."""
    frames = compile_frames(spec)
    overlapping = _overlapping(search, frames, rows, error) if _suits(spec, frames) else None
    return _walked(search, frames, rows, error) if overlapping is None else overlapping


def kernel_frames(frames: FrameProgram, rows: FrameRows, program: Program, viable: NDArray[np.uint64]) -> Frames:
    """What the kernels know of the frames."""
    from sparkcep.engines.row_pattern import window_kernels as kernels

    begins = np.empty(0, np.int64)
    if frames.frame.seek and frames.frame.following is None:
        begins = np.empty(rows.masks.shape[1] + 1, np.int64)
        kernels.all_begins(rows.starts, viable, program.targets, begins)
    now, then = np.zeros(program.nodes, np.bool_), np.zeros(program.nodes, np.bool_)
    return Frames(frames.frame.seek, frames.near, rows.following, begins, now, then)


def _suits(spec: RowPatternSpec, frames: FrameProgram) -> bool:
    """True if rows share the ends of their matches, and every output can be taken from what they share."""
    near = frames.frame.following is not None or (frames.frame.seek and frames.prev > 1)
    return (
        not near and spec.skip.to != "past_last_row" and not any(needs_rows(output.source) for output in spec.outputs)
    )


def _walked(search: Search, frames: FrameProgram, rows: FrameRows, error: SkipError) -> Iterator[Matches]:
    """Each row's match written out."""
    from sparkcep.engines.row_pattern import kernels, window_kernels

    program, size = frames.plain, rows.masks.shape[1]
    viable = viable_nodes(program, rows.masks)
    given = kernel_frames(frames, rows, program, viable)
    state = np.zeros(window_kernels.W_SIZE, np.int64)
    nodes = min(BATCH_NODES, max(size + 1, LEAST_NODES))
    while True:
        path, found = room(nodes, min(BATCH_MATCHES, nodes))
        begin = int(state[window_kernels.W_ROW])
        status = window_kernels.walk_frames(
            rows.starts, rows.masks, given, viable, program.targets, search.rules, state, path, found
        )
        if status in (kernels.SKIP_ABSENT, kernels.SKIP_TO_START):
            row, number = int(state[window_kernels.W_ROW]), int(state[window_kernels.W_NUMBER])
            raise error(row, number, status == kernels.SKIP_TO_START)
        matches = int(state[window_kernels.W_MATCHES])
        if matches:
            yield of_rows(written(path, found, int(state[window_kernels.W_NODES]), matches), begin)
        if status == kernels.DONE:
            return
        if not matches:
            nodes *= 4


def of_rows(matches: Matches, begin: int) -> Matches:
    """``matches`` as those of the rows from ``begin`` on."""
    return replace(matches, start=np.arange(begin, begin + len(matches.first), dtype=np.int32), cache={})


def _overlapping(search: Search, frames: FrameProgram, rows: FrameRows, error: SkipError) -> Iterator[Matches] | None:
    """All matches over one forest; None where it grows too large."""
    found = grown(replace(search, program=frames.counted), rows.masks, rows.starts)
    if found is None:
        return None
    forest, start_node = found
    if frames.frame.seek:
        far = found if frames.prev == 0 else grown(search, rows.masks, rows.starts)
        if far is None:
            return None
        forest, start_node = _sought(found, far, rows.starts)
    target = targets(search, forest)
    forest = _joined(
        forest, np.zeros(1, np.int32), np.full(1, len(search.rules.skip_to) - 2, np.int16), np.full(1, -1, np.int32)
    )
    return _batches(_assigned(search, forest, start_node, target, rows, error), forest)


def _joined(forest: Matches, row: NDArray[np.int32], code: NDArray[np.int16], back: NDArray[np.int32]) -> Matches:
    """``forest`` with more nodes behind its own."""
    return replace(
        forest,
        row=np.append(forest.row, row),
        code=np.append(forest.code, code),
        back=np.append(forest.back, back),
        cache={},
    )


def _sought(
    near: tuple[Matches, NDArray[np.int32]], far: tuple[Matches, NDArray[np.int32]], starts: NDArray[np.int64]
) -> tuple[Matches, NDArray[np.int32]]:
    """SEEK: the match that begins at the row (``near``), else the first one that begins behind it (``far`` from the frame's first row)."""
    forest, own = near
    offset = np.int32(0)
    if far is not near:
        offset = np.int32(len(forest.row))
        back = np.where(far[0].back < 0, np.int32(-1), far[0].back + offset)
        forest = _joined(forest, far[0].row, far[0].code, back)
    rows = len(own)
    begins = np.where(far[1] < 0, rows, np.arange(rows))
    behind = np.append(np.minimum.accumulate(begins[::-1])[::-1], rows)[1:]
    there = behind < np.repeat(starts[1:], np.diff(starts))
    later = np.where(there, far[1][np.where(there, behind, 0)] + offset, -1) if rows else own
    return forest, np.where(own < 0, later, own).astype(np.int32)


def _assigned(
    search: Search,
    forest: Matches,
    start_node: NDArray[np.int32],
    target: NDArray[np.int32],
    rows: FrameRows,
    error: SkipError,
) -> tuple[NDArray[np.int32], ...]:
    """[rows]: the node of each row's match, its number, the end of the row's frame."""
    from sparkcep.engines.row_pattern import kernels, window_kernels

    node, number, high = (np.empty(rows.masks.shape[1], np.int32) for _ in range(3))
    state = np.zeros(window_kernels.W_SIZE, np.int64)
    status = window_kernels.assign(
        rows.starts, start_node, forest.row, forest.code, search.rules, target, state, node, number, high
    )
    if status != kernels.DONE:
        row, match = int(state[window_kernels.W_ROW]), int(state[window_kernels.W_NUMBER])
        raise error(row, match, status == kernels.SKIP_TO_START)
    return node, number, high


def _batches(of: tuple[NDArray[np.int32], ...], forest: Matches) -> Iterator[Matches]:
    node, number, high = of
    row = np.arange(len(node), dtype=np.int32)
    for begin in range(0, len(node), BATCH_MATCHES):
        part = slice(begin, begin + BATCH_MATCHES)
        yield replace(
            forest,
            final=node[part],
            first=node[part],
            start=row[part],
            number=number[part],
            low=row[part],
            high=high[part],
        )

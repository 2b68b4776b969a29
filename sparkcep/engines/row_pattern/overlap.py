"""Overlapping matches with ONE ROW PER MATCH, in time linear in the rows: see ``forest_kernels``.

In: what ``find.find`` takes. Out: batches of ``Matches`` with ``forest`` set, over one set of paths. Not for measures
that list a match's rows (ARRAY_AGG), tell its values apart (DISTINCT), or step back from a row to the match's row
before (CLASSIFIER under PREV): ``find.find`` writes out those matches row by row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.aggregates import tells_apart
from sparkcep.engines.row_pattern.find import Search, SkipError, find, viable_nodes
from sparkcep.engines.row_pattern.matches import BATCH_MATCHES, Matches
from sparkcep.engines.row_pattern.program import FIRST_ROW_NODE
from sparkcep.spec.row import Aggregate, ClassifierAt, RowPatternSpec

GROWTH = 2
"""Room at first for that many forest nodes a row; the arrays double when full."""

MAX_FOREST_NODES = 1 << 25
"""Nodes of one forest (14 bytes each, and 4 to 16 a measure), or MAX_NODES_A_ROW times the rows if that is more."""

MAX_NODES_A_ROW = 4


def suits(spec: RowPatternSpec) -> bool:
    """True if matches may overlap and every measure can be taken from the forest."""
    if spec.rows_per_match != "one" or spec.skip.to == "past_last_row":
        return False
    return not any(needs_rows(output.source) for output in spec.outputs)


def needs_rows(source: object) -> bool:
    """True if an output lists a match's rows, tells its values apart, or steps back."""
    if isinstance(source, Aggregate):
        return source.function == "array_agg" or tells_apart(source)
    return isinstance(source, ClassifierAt) and source.at.physical < 0


def find_overlapping(
    search: Search, masks: NDArray[np.int64], starts: NDArray[np.int64], error: SkipError
) -> Iterator[Matches]:
    """The matches of a slice in order, like ``find.find``, which takes over where the forest outgrows its limit."""
    from sparkcep.engines.row_pattern import forest_kernels as kernels

    shared = grown(search, masks, starts)
    if shared is None:
        yield from find(search, masks, starts, error)
        return
    forest, start_node = shared
    target = targets(search, forest)
    state = np.zeros(kernels.J_SIZE, np.int64)
    status = kernels.FULL
    while status == kernels.FULL:
        node, number, low, high = (np.empty(min(BATCH_MATCHES, len(start_node)), np.int32) for _ in range(4))
        status = kernels.jump(
            starts, start_node, forest.code, len(search.skip_to) - 2, search.skip, target,
            state, node, number, low, high,
        )  # fmt: skip
        if status in (kernels.SKIP_ABSENT, kernels.SKIP_TO_START):
            raise error(int(state[kernels.J_ROW]), int(state[kernels.J_NUMBER]), status == kernels.SKIP_TO_START)
        found = int(state[kernels.J_MATCHES])
        if found:
            yield _batch(forest, node[:found], number[:found], low[:found], high[:found])


def _batch(
    forest: Matches, node: NDArray[np.int32], number: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
) -> Matches:
    return Matches(
        row=forest.row,
        code=forest.code,
        back=forest.back,
        final=node,
        first=node,
        start=forest.row[node],
        number=number,
        low=low,
        high=high,
        forest=True,
        cache=forest.cache,
    )


def grown(
    search: Search, masks: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[Matches, NDArray[np.int32]] | None:
    """The forest, turned round so that ``back`` is the row after, and [rows] the node where a match would start; None
    beyond MAX_FOREST_NODES (a bounded pattern of thousands of steps: its matches never meet, and are short)."""
    from sparkcep.engines.row_pattern import forest_kernels as kernels

    program, rows = search.program, masks.shape[1]
    viable = viable_nodes(program, masks)
    state = np.zeros(kernels.F_SIZE, np.int64)
    slot = np.full(program.nodes, -1, np.int64)
    active, start_node = np.empty(program.nodes + 1, np.int32), np.empty(rows, np.int32)
    arrays = _sized(rows * GROWTH + program.nodes + 1)
    while True:
        status = kernels.grow(
            starts, viable, FIRST_ROW_NODE + program.positions, program.list_start, program.list_items, program.codes,
            search.initial, len(search.skip_to) - 2, state, slot, active, start_node, *arrays,
        )  # fmt: skip
        if status == kernels.DONE:
            break
        if len(arrays[0]) > max(MAX_FOREST_NODES, MAX_NODES_A_ROW * rows):
            return None
        arrays = tuple(np.concatenate([array, np.empty_like(array)]) for array in arrays)
    nodes = int(state[kernels.F_NODES])
    row, _, code, after = (array[:nodes] for array in arrays)
    back = np.where(after < 0, np.int32(-1), np.int32(nodes - 1) - after)[::-1]
    start_node = np.where(start_node < 0, np.int32(-1), np.int32(nodes - 1) - start_node)
    none = np.empty(0, np.int32)
    forest = Matches(
        row=np.ascontiguousarray(row[::-1]),
        code=np.ascontiguousarray(code[::-1]),
        back=np.ascontiguousarray(back),
        final=none, first=none, start=none, number=none, low=none, high=none, forest=True,
    )  # fmt: skip
    return forest, start_node


def _sized(nodes: int) -> tuple[NDArray[np.int32] | NDArray[np.int16], ...]:
    """node_row, node_state, node_code, node_next."""
    return np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.int16), np.empty(nodes, np.int32)


def targets(search: Search, forest: Matches) -> NDArray[np.int32]:
    """[nodes]: the row that SKIP TO FIRST / LAST leads to from a match that begins at the node, or -1."""
    from sparkcep.engines.row_pattern import forest_kernels, kernels, path_kernels

    if search.skip < forest_kernels.SKIP_FIRST:
        return np.empty(0, np.int32)
    node = np.empty(len(forest.row), np.int32)
    if search.skip == kernels.SKIP_FIRST:
        path_kernels.nearest(forest.back, forest.code, search.skip_to, node)
    else:
        used = search.skip_to[forest.code]
        count = np.empty(len(used), np.int64)
        path_kernels.counts(forest.back, used, count)
        path_kernels.ordinal(forest.back, used, count, 1, node)
    return np.where(node < 0, np.int32(-1), forest.row[node])

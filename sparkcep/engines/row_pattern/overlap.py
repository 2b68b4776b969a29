"""Overlapping matches with ONE ROW PER MATCH, in time linear in the rows: see ``forest_kernels``.

In: what ``find.find`` takes. Out: batches of ``Matches`` with ``forest`` set, over one set of shared paths. Not for measures that
list a match's rows (ARRAY_AGG), take their values in order (variances), need its distinct values (DISTINCT), or step back to the previous row of the
match (CLASSIFIER under PREV): for those, ``find.find`` writes out each match row by row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.aggregates import tells_apart
from sparkcep.engines.row_pattern.find import Search, SkipError, find, viable_nodes
from sparkcep.engines.row_pattern.matches import BATCH_MATCHES, Matches
from sparkcep.engines.row_pattern.structures import Forest, Found, Progress
from sparkcep.spec.row import MOMENTS, Aggregate, ClassifierAt, RowPatternSpec

GROWTH = 2
"""The initial room, in forest nodes per row; the arrays double when full."""

MAX_FOREST_NODES = 1 << 25
"""The most nodes of one forest (14 bytes each, plus 4 to 16 per measure), or MAX_NODES_A_ROW times the rows if that is more."""

MAX_NODES_A_ROW = 4


def suits(spec: RowPatternSpec) -> bool:
    """True if matches may overlap and every measure can be computed from the forest."""
    if spec.rows_per_match != "one" or spec.skip.to == "past_last_row":
        return False
    return not any(needs_rows(output.source) for output in spec.outputs)


def needs_rows(source: object) -> bool:
    """True if an output lists a match's rows or takes their values in order, tells them apart, or steps back."""
    if isinstance(source, Aggregate):
        return source.function in ("array_agg", *MOMENTS) or tells_apart(source)
    return isinstance(source, ClassifierAt) and source.at.physical < 0


def find_overlapping(
    search: Search, masks: NDArray[np.int64], starts: NDArray[np.int64], progress: Progress, error: SkipError
) -> Iterator[Matches]:
    """The matches of a slice in order, like ``find.find``, the fallback if the forest exceeds its limit."""
    shared = grown(search, masks, starts, len(progress.begin) > 0)
    if shared is None:
        return find(search, masks, starts, progress, error)
    return of_forest(search, *shared, starts, progress, error)


def of_forest(
    search: Search,
    forest: Matches,
    start_node: NDArray[np.int32],
    starts: NDArray[np.int64],
    progress: Progress,
    error: SkipError,
) -> Iterator[Matches]:
    """The matches of a forest, which begin at ``start_node`` (see ``grown``), in order."""
    from sparkcep.engines.row_pattern import forest_kernels, kernels

    target = targets(search, forest)
    state = np.zeros(forest_kernels.J_SIZE, np.int64)
    state[forest_kernels.J_ROW], state[forest_kernels.J_NUMBER], _ = progress.first()
    status = kernels.FULL
    while status == kernels.FULL:
        found = _found(min(BATCH_MATCHES, len(start_node)))
        status = forest_kernels.jump(starts, start_node, forest.code, search.rules, target, progress, state, found)
        if status in (kernels.SKIP_ABSENT, kernels.SKIP_TO_START):
            raise error(
                int(state[forest_kernels.J_ROW]), int(state[forest_kernels.J_NUMBER]), status == kernels.SKIP_TO_START
            )
        matches = int(state[forest_kernels.J_MATCHES])
        if matches:
            yield _batch(forest, *(array[:matches] for array in found))


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
    search: Search, masks: NDArray[np.int64], starts: NDArray[np.int64], open_end: bool = False
) -> tuple[Matches, NDArray[np.int32]] | None:
    """The reversed forest, in which ``back`` is the next row, and [rows] the node where a match would start (-1: none; UNDECIDED: one that may
    go on behind an open end); None beyond MAX_FOREST_NODES (a bounded pattern of thousands of steps, whose matches are short and never merge)."""
    from sparkcep.engines.row_pattern import forest_kernels as kernels

    program, rows = search.program, masks.shape[1]
    viable = viable_nodes(program, masks)
    state = np.zeros(kernels.F_SIZE, np.int64)
    slot = np.full(program.nodes, -1, np.int64)
    active, start_node = np.empty(program.nodes + 1, np.int32), np.empty(rows, np.int32)
    into = _sized(rows * GROWTH + program.nodes + 1)
    while True:
        status = kernels.grow(starts, viable, program.targets, search.rules, state, slot, active, start_node, into)
        if status == kernels.DONE:
            break
        if len(into.row) > max(MAX_FOREST_NODES, MAX_NODES_A_ROW * rows):
            return None
        into = Forest(*(np.concatenate([array, np.empty_like(array)]) for array in into))
    nodes = int(state[kernels.F_NODES])
    row, _, code, after = (array[:nodes] for array in into)
    back = np.where(after < 0, np.int32(-1), np.int32(nodes - 1) - after)[::-1]
    undecided = np.zeros(nodes + 1, np.bool_)  # the last: of no node
    if open_end:
        kernels.unfinished(masks, viable, program.targets, into, undecided[:-1])
    undecided = undecided[start_node]
    start_node = np.where(start_node < 0, np.int32(-1), np.int32(nodes - 1) - start_node)
    start_node[undecided] = kernels.UNDECIDED
    none = np.empty(0, np.int32)
    forest = Matches(
        row=np.ascontiguousarray(row[::-1]),
        code=np.ascontiguousarray(code[::-1]),
        back=np.ascontiguousarray(back),
        final=none, first=none, start=none, number=none, low=none, high=none, forest=True,
    )  # fmt: skip
    return forest, start_node


def _sized(nodes: int) -> Forest:
    row, state, after = (np.empty(nodes, np.int32) for _ in range(3))
    return Forest(row, state, np.empty(nodes, np.int16), after)


def _found(matches: int) -> Found:
    node, number, low, high = (np.empty(matches, np.int32) for _ in range(4))
    return Found(node, number, low, high)


def targets(search: Search, forest: Matches) -> NDArray[np.int32]:
    """[nodes]: the row that SKIP TO FIRST / LAST leads to from a match that begins at the node, or -1."""
    from sparkcep.engines.row_pattern import forest_kernels, kernels, path_kernels

    rules = search.rules
    if rules.skip < forest_kernels.SKIP_FIRST:
        return np.empty(0, np.int32)
    node = np.empty(len(forest.row), np.int32)
    if rules.skip == kernels.SKIP_FIRST:
        path_kernels.nearest(forest.back, forest.code, rules.skip_to, node)
    else:
        used = rules.skip_to[forest.code]
        count = np.empty(len(used), np.int64)
        path_kernels.counts(forest.back, used, count)
        path_kernels.ordinal(forest.back, used, count, 1, node)
    return np.where(node < 0, np.int32(-1), forest.row[node])

"""WITHIN of row patterns: how far matches may go, and the matches of clauses of which it is all that is match-dependent.

In: a slice of whole partitions. Out: an ``Inside`` for the search, or ``Matches`` without a search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_match.structures import Inside
from sparkcep.engines.row_match.values import Data, Pool
from sparkcep.engines.row_pattern.find import Search, SkipError, find, viable_nodes
from sparkcep.engines.row_pattern.matches import Matches
from sparkcep.engines.row_pattern.overlap import grown, of_forest, suits
from sparkcep.engines.row_pattern.program import Program
from sparkcep.engines.row_pattern.structures import whole
from sparkcep.errors import CepError
from sparkcep.spec.row import RowPatternSpec, Within

MOST_BYTES = 256 << 20
"""Of the soonest ends of a slice; a partition or a pattern that takes more is searched without them."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The masks of a slice, each partition's first row (and the number of rows), and ``Inside.last``."""

    masks: NDArray[np.int64]
    starts: NDArray[np.int64]
    last: NDArray[np.int32]


def last_rows(within: Within, starts: NDArray[np.int64], data: Data, pool: Pool) -> NDArray[np.int32]:
    """``Inside.last``."""
    from sparkcep.engines.row_match import within_kernels

    last = np.empty(data.words.values.shape[1], np.int32)
    time, deadline = pool.columns[within.time], pool.columns[within.deadline]
    within_kernels.last_inside(starts, data.words, time, deadline, last)
    return last


def unlimited() -> Inside:
    """Matches may go as far as there are rows."""
    return Inside(np.empty(0, np.int32), np.empty((0, 0), np.int32))


def limited(rows: Rows, program: Program, viable: NDArray[np.uint64]) -> Inside:
    """``viable``: see ``find.viable_nodes``."""
    from sparkcep.engines.row_match import within_kernels

    size = len(viable), program.nodes
    if size[0] * size[1] * 4 > MOST_BYTES:
        return unlimited()
    soonest = np.empty(size, np.int32)
    within_kernels.soonest(rows.masks, program.tests, program.targets, viable, soonest)
    return Inside(rows.last, soonest)


def matches_without_search(
    search: Search, spec: RowPatternSpec, rows: Rows, error: SkipError
) -> Iterator[Matches] | None:
    """The matches of a slice in time linear in the rows where WITHIN is all that conditions say of other rows, and turns none away that there
    would be without it; None otherwise.

    A preferred match that ends before its deadline is preferred with WITHIN, too. If one does not and no other could, there is none.
    """
    within = spec.within
    if within is None or any(define.condition != within.condition for define in spec.defines):
        return None
    if suits(spec):
        return _overlapping(search, rows, error)
    return _disjoint(search, rows, error) if spec.skip.to == "past_last_row" else None


def _disjoint(search: Search, rows: Rows, error: SkipError) -> Iterator[Matches] | None:
    try:
        found = list(find(search, rows.masks, rows.starts, whole(), error))
    except CepError:  # of a match that may go too far
        return None
    for matches in found:
        late = matches.row[matches.final] > rows.last[matches.start]
        if (late & _takes_rows(search, matches)[matches.first]).any():
            return None
    return iter(found)


def _overlapping(search: Search, rows: Rows, error: SkipError) -> Iterator[Matches] | None:
    from sparkcep.engines.row_match import within_kernels

    shared = grown(search, rows.masks, rows.starts)
    if shared is None:
        return None
    forest, start_node = shared
    ends = np.empty(len(forest.row), np.int32)
    within_kernels.path_ends(forest.back, forest.row, ends)
    begins = np.flatnonzero(start_node >= 0)
    node = start_node[begins]
    late = begins[(ends[node] > rows.last[begins]) & _takes_rows(search, forest)[node]]
    if len(late):
        inside = limited(rows, search.program, viable_nodes(search.program, rows.masks))
        if not len(inside.soonest) or (_soonest_ends(search.program, inside, rows, late) <= rows.last[late]).any():
            return None
        start_node[late] = -1
    return of_forest(search, forest, start_node, rows.starts, whole(), error)


def _takes_rows(search: Search, matches: Matches) -> NDArray[np.bool_]:
    """[nodes]: whether the node takes a row; those of empty matches and of rows outside do not."""
    return matches.code < len(search.rules.skip_to) - 2


def _soonest_ends(program: Program, inside: Inside, rows: Rows, begins: NDArray[np.int64]) -> NDArray[np.int32]:
    """The least last row of a match that begins at each of the rows ``begins``."""
    ends = np.empty(len(begins), np.int32)
    at_start = np.isin(begins, rows.starts)
    for these, root in ((~at_start, program.nodes), (at_start, program.nodes + 1)):
        first = program.list_items[program.list_start[root] : program.list_start[root + 1]]
        ends[these] = inside.soonest[np.ix_(begins[these], first)].min(axis=1, initial=len(rows.last))
    return ends

"""Numba kernel: which rows the partial matches of a row pattern reach, left to right.

In: arrays of a ``Program`` and of the table. Out: counts per node. Only EXPLAIN ANALYZE PATTERN runs it.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import BOOL, I64, MASKS
from sparkcep.engines.row_pattern.kernel_types import TARGETS, TESTS


@inner(nb.void(BOOL, nb.int64, TARGETS, I64))
def spread(at, node, targets, stack):  # type: ignore[no-untyped-def]
    """Marks in ``at`` what follows ``node``: nodes that take a row, 0 and 1 where a match is complete, and the splits between."""
    stack[0] = node
    depth = 1
    while depth > 0:
        depth -= 1
        here = stack[depth]
        for k in range(targets.start[here], targets.start[here + 1]):
            target = np.int64(targets.items[k])
            if not at[target]:
                at[target] = True
                if target >= targets.first_split:
                    stack[depth] = target
                    depth += 1


@kernel(nb.void(MASKS, TESTS, TARGETS, nb.boolean, I64, I64, I64), allocates=True)
def reach(masks, tests, targets, initial, tried, taken, ends):  # type: ignore[no-untyped-def]
    """Adds to ``tried[p]`` the rows at which some partial match stands before position p, to ``taken[p]`` those whose mask
    lets it go on, and to ``ends[0]`` the rows with which some match is complete.

    Partial matches begin at every row (``initial``: at the first of a partition alone).
    """
    column, bit = tests.column, tests.bit
    rows, positions, nodes = masks.shape[1], len(column), len(targets.codes)
    at, after = np.zeros(nodes + 2, nb.boolean), np.zeros(nodes + 2, nb.boolean)
    stack = np.empty(len(targets.items) + nodes + 4, nb.int64)
    for r in range(rows):
        first = masks[0, r] & 1 != 0
        if first:
            at[:] = False
        if first or not initial:
            spread(at, nodes + np.int64(first), targets, stack)
        after[:] = False
        for p in range(positions):
            if at[p + 2]:
                tried[p] += 1
                if masks[column[p], r] >> bit[p] & 1:
                    taken[p] += 1
                    spread(after, np.int64(p + 2), targets, stack)
        last = r + 1 == rows or masks[0, r + 1] & 1 != 0
        if after[0] or (last and after[1]):
            ends[0] += 1
        at, after = after, at

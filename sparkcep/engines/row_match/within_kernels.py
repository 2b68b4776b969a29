"""Numba kernels: how far WITHIN lets matches go.

In: the words of times and deadlines, the mask bits and a ``Program``. Out: the arrays of ``structures.Inside``. The rows of a partition are in order
of their times, so those before a deadline are an interval; and from a node a match can be completed inside of it exactly if its soonest end is: where
the mask bits and WITHIN are all that conditions say, no choice is ever undone.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I32, I32X2, I64, MASKS
from sparkcep.engines.row_match.kernel_types import WORDS
from sparkcep.engines.row_match.word_kernels import is_null
from sparkcep.engines.row_pattern.kernel_types import TARGETS, TESTS
from sparkcep.engines.row_pattern.kernels import SETS, has

NEVER = np.int32((1 << 31) - 1)
"""The end of what cannot be completed."""

AT_ONCE = np.int32(-1)
"""That of what takes no more rows."""


@kernel(nb.void(I64, WORDS, nb.int64, nb.int64, I32))
def last_inside(starts, words, time, deadline, out):  # type: ignore[no-untyped-def]
    """``Inside.last`` from the columns ``time`` and ``deadline``. Rows whose time is NULL, the first or last of a partition, are in no match."""
    values = words.values
    for part in range(len(starts) - 1):
        end = starts[part + 1]
        while end > starts[part] and is_null(words, time, end - 1):
            end -= 1
        for row in range(starts[part], starts[part + 1]):
            out[row] = row - 1
            if row >= end or is_null(words, time, row) or is_null(words, deadline, row):
                continue
            low, high = row, end  # the first row from here on that is not before the deadline
            while low < high:
                middle = (low + high) >> 1
                if values[time, middle] < values[deadline, row]:
                    low = middle + 1
                else:
                    high = middle
            out[row] = low - 1


@kernel(nb.void(MASKS, TESTS, TARGETS, SETS, I32X2))
def soonest(masks, tests, targets, viable, out):  # type: ignore[no-untyped-def]
    """``Inside.soonest``; ``viable``: see ``row_pattern.find.viable_nodes``."""
    rows, nodes = masks.shape[1], len(targets.codes)
    for n in range(nodes):
        out[rows, n] = AT_ONCE if has(viable, rows, n) else NEVER
    for r in range(rows - 1, -1, -1):
        after = rows if r + 1 == rows or masks[0, r + 1] & 1 else r + 1
        out[r, 0], out[r, 1] = AT_ONCE, NEVER
        for n in range(2, nodes):
            found = NEVER
            if has(viable, r, n):
                at = after if n < targets.first_split else r
                for k in range(targets.start[n], targets.start[n + 1]):
                    found = min(found, out[at, targets.items[k]])
                if n < targets.first_split:
                    found = max(found, np.int32(r))
            out[r, n] = found


@kernel(nb.void(I32, I32, I32))
def path_ends(back, row, out):  # type: ignore[no-untyped-def]
    """``out[i]``: the last row of the path that begins at node i of a forest (``Matches.forest``)."""
    for i in range(len(back)):
        out[i] = out[back[i]] if back[i] >= 0 else row[i]

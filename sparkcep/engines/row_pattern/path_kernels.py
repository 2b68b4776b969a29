"""Numba kernels over paths: for every node, something about the nodes from the path's first processed one up to it.

A path is a chain of nodes linked by ``back`` (the node processed before, or -1), always with ``back[i] < i``. In the
paths of ``walk`` that is the row before, so the value at a node is the running value, and at the match's last node the
final one. In the forest of overlapping matches (``forest.py``) it is the row after, shared by all matches that
continue alike, so the value at a match's first node is its final one. Nothing here knows which.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import BOOL, F64, I16, I32, I64

KEYS = nb.types.Array(nb.int64, 1, "C", readonly=True)
FLOATS = nb.types.Array(nb.float64, 1, "C", readonly=True)


@kernel(nb.void(I16, BOOL, I32, I32, nb.int64, nb.int64, I32))
def seek(code, member, start, stop, step, skip, out):  # type: ignore[no-untyped-def]
    """``out[m]``: going from node ``start[m]`` to ``stop[m]`` by ``step``, the first member after ``skip`` others."""
    for m in range(len(start)):
        at, left, found = np.int64(start[m]), skip, np.int64(-1)
        while (stop[m] - at) * step >= 0:
            if member[code[at]]:
                if left == 0:
                    found = at
                    break
                left -= 1
            at += step
        out[m] = found


@kernel(nb.void(I32, I16, BOOL, I32))
def nearest(back, code, member, out):  # type: ignore[no-untyped-def]
    """``out[i]``: the last member at or before node i, or -1."""
    for i in range(len(back)):
        if member[code[i]]:
            out[i] = i
        else:
            out[i] = out[back[i]] if back[i] >= 0 else -1


@kernel(nb.void(I32, BOOL, I64))
def counts(back, use, out):  # type: ignore[no-untyped-def]
    """``out[i]``: the number of used nodes up to node i."""
    for i in range(len(back)):
        out[i] = np.int64(use[i]) + (out[back[i]] if back[i] >= 0 else 0)


@kernel(nb.void(I32, BOOL, I64, nb.int64, I32))
def ordinal(back, use, count, n, out):  # type: ignore[no-untyped-def]
    """``out[i]``: the n-th (from 1) used node of the path, if it comes at or before node i, or -1."""
    for i in range(len(back)):
        if count[i] < n:
            out[i] = -1
        elif count[i] == n and use[i]:
            out[i] = i
        else:
            out[i] = out[back[i]]


@kernel(nb.void(I32, I32, BOOL, KEYS, I32))
def least(back, row, use, keys, out):  # type: ignore[no-untyped-def]
    """``out[i]``: the row with the least key among the used nodes up to node i (the first such), or -1."""
    for i in range(len(back)):
        best = out[back[i]] if back[i] >= 0 else -1
        if use[i] and (best < 0 or keys[row[i]] < keys[best]):
            best = row[i]
        out[i] = best


@kernel(nb.void(I32, I32, BOOL, FLOATS, F64))
def float_sums(back, row, use, values, out):  # type: ignore[no-untyped-def]
    """``out[i]``: the sum of the used nodes' values up to node i."""
    for i in range(len(back)):
        total = out[back[i]] if back[i] >= 0 else 0.0
        out[i] = total + values[row[i]] if use[i] else total


@kernel(nb.void(I32, I32, BOOL, FLOATS, I64, F64, F64))
def moments(back, row, use, values, count, mean, squares):  # type: ignore[no-untyped-def]
    """The mean of the used nodes' values up to node i (``count[i]`` of them), and the sum of their squared distances from it: step by step as Spark's
    CentralMomentAgg (after Pébay 2008, formulas 2.1 and 2.2)."""
    for i in range(len(back)):
        before, distances = (mean[back[i]], squares[back[i]]) if back[i] >= 0 else (0.0, 0.0)
        if use[i]:
            delta = values[row[i]] - before
            step = delta / count[i]
            before += step
            distances += delta * (delta - step)
        mean[i], squares[i] = before, distances


@kernel(nb.void(I32, I32, BOOL, KEYS, KEYS, I64, I64))
def wide_sums(back, row, use, low, high, out_low, out_high):  # type: ignore[no-untyped-def]
    """The sum of the used nodes' 128-bit values up to node i, modulo 2^128, as two words (``high`` empty: 64-bit)."""
    for i in range(len(back)):
        sum_low, sum_high = np.uint64(0), np.int64(0)
        if back[i] >= 0:
            sum_low, sum_high = np.uint64(out_low[back[i]]), out_high[back[i]]
        if use[i]:
            add = low[row[i]]
            total = sum_low + np.uint64(add)
            sum_high += high[row[i]] if len(high) > 0 else add >> 63
            sum_high += np.int64(total < sum_low)
            sum_low = total
        out_low[i] = np.int64(sum_low)
        out_high[i] = sum_high

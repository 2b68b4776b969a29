"""Numba kernels: viable nodes per row, right to left, and the preferred matches, left to right.

In: arrays of a ``Program`` and of the table. Out: arrays; nothing here knows Arrow, names or measures. Kernels are
generic: no code is generated from a pattern. Signatures are explicit, so that one compilation is cached on disk.

Sets of nodes are [rows + 1, words]: the last one, given, is the set beyond the last row of any partition.
A node is viable at a row if some sequence of rows from there on completes the match. Where every choice takes the
first viable target, no choice is ever undone: that is Perl's preference without backtracking (the two passes are
those of Frisch and Cardelli, "Greedy regular expression matching", ICALP 2004).
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

I16, I32, I64, U64, BOOL = (types.Array(t, 1, "C") for t in (nb.int16, nb.int32, nb.int64, nb.uint64, nb.boolean))
MASKS = types.Array(nb.int64, 2, "C", readonly=True)
SETS = types.Array(nb.uint64, 2, "C")

SKIP_PAST_LAST_ROW, SKIP_NEXT_ROW, SKIP_FIRST, SKIP_LAST = 0, 1, 2, 3

DONE, FULL, SKIP_ABSENT, SKIP_TO_START = 0, 1, 2, 3
"""How a kernel ended: all rows read; no room for the next match; SKIP TO a variable without a row; or to the start."""

S_ROW, S_PARTITION, S_NUMBER, S_COVERED, S_MATCHES, S_NODES, S_SIZE = 0, 1, 2, 3, 4, 5, 6
"""Slots of the state that ``walk`` resumes from: next row, its partition, matches so far in it, first row beyond all
matches so far; and, set by each call, the matches and nodes written."""


@nb.njit(nb.int64(MASKS, I64), cache=True, nogil=True)
def partition_starts(masks, out):  # type: ignore[no-untyped-def]
    """Writes the first row of every partition; returns how many there are (``out`` may be empty: count only)."""
    found = 0
    for r in range(masks.shape[1]):
        if masks[0, r] & 1:
            if len(out) > 0:
                out[found] = r
            found += 1
    return found


@nb.njit(nb.void(MASKS, I32, I64, U64, SETS), cache=True, nogil=True)
def viable_narrow(masks, column, bit, follow, out):  # type: ignore[no-untyped-def]
    """``out[r, 0]``: the viable nodes at row r, from the follow sets (one word)."""
    rows, positions = masks.shape[1], len(column)
    end = out[rows, 0]
    after = end
    for r in range(rows - 1, -1, -1):
        mask = masks[0, r]
        viable = np.uint64(1)
        for p in range(positions):
            held = mask if column[p] == 0 else masks[column[p], r]
            holds = np.uint64(held >> bit[p]) & np.uint64(follow[p + 2] & after != 0)
            viable |= (holds & np.uint64(1)) << np.uint64(p + 2)
        out[r, 0] = viable
        after = end if mask & 1 else viable


@nb.njit(nb.boolean(SETS, nb.int64, nb.int64), cache=True, nogil=True)
def has(sets, at, node):  # type: ignore[no-untyped-def]
    """True if ``node`` is in the set ``at``."""
    return sets[at, node >> 6] >> np.uint64(node & 63) & np.uint64(1) != 0


@nb.njit(nb.void(MASKS, I32, I64, I32, I32, SETS), cache=True, nogil=True)
def viable_wide(masks, column, bit, list_start, list_items, out):  # type: ignore[no-untyped-def]
    """``out[r]``: the viable nodes at row r, from the target lists (any number of words)."""
    rows, positions = masks.shape[1], len(column)
    nodes = len(list_start) - 3
    for r in range(rows - 1, -1, -1):
        after = rows if r + 1 == rows or masks[0, r + 1] & 1 else r + 1
        out[r, :] = 0
        out[r, 0] = 1
        for n in range(2, nodes):
            if n < positions + 2 and masks[column[n - 2], r] >> bit[n - 2] & 1 == 0:
                continue
            at = after if n < positions + 2 else r
            for k in range(list_start[n], list_start[n + 1]):
                if has(out, at, list_items[k]):
                    out[r, n >> 6] |= np.uint64(1) << np.uint64(n & 63)
                    break


@nb.njit(nb.int64(SETS, nb.int64, nb.int64, nb.int64, I32, I32), cache=True, nogil=True)
def choose(viable, at, node, first_split, list_start, list_items):  # type: ignore[no-untyped-def]
    """The most preferred target of ``node`` in the set ``at`` that takes a row or accepts (-1: none, at a root)."""
    while True:
        chosen = np.int64(-1)
        for k in range(list_start[node], list_start[node + 1]):
            if has(viable, at, np.int64(list_items[k])):
                chosen = np.int64(list_items[k])
                break
        if chosen < first_split:
            return chosen
        node = chosen


@nb.njit(
    nb.int64(I64, SETS, nb.int64, I32, I32, I16, nb.int64, BOOL, nb.boolean, nb.boolean, I64,
             I32, I16, I32, I32, I32, I32, I32),
    cache=True,
    nogil=True,
)  # fmt: skip
def walk(  # type: ignore[no-untyped-def]
    starts, viable, first_split, list_start, list_items, codes, skip, skip_to, initial, unmatched,
    state, node_row, node_code, node_back, match_node, match_number, match_low, match_high,
):  # fmt: skip
    """Match after match, resumable: node by node into ``node_*``, match by match into ``match_*``.

    ``starts`` [partitions + 1]: first rows. ``skip_to`` [codes]: the variables that SKIP TO FIRST / LAST names. Every
    match has at least one node: an empty match one with the code len(skip_to) - 2, and, if ``unmatched``, a row
    outside all matches one with the code len(skip_to) - 1. ``node_back``: the node before in the same match, or -1.
    ``match_low``, ``match_high``: the partition's rows. Returns how it ended; the match that did not fit, or that
    cannot be skipped from, begins at ``state[S_ROW]``.
    """
    rows, root = viable.shape[0] - 1, len(list_start) - 3
    code_empty, code_unmatched = len(skip_to) - 2, len(skip_to) - 1
    row, part, number, covered = state[S_ROW], state[S_PARTITION], state[S_NUMBER], state[S_COVERED]
    matches, nodes = 0, 0
    status = DONE
    while part < len(starts) - 1 and status == DONE:
        low, high = starts[part], starts[part + 1]
        while row < high:
            if matches == len(match_low) or nodes == len(node_row):
                status = FULL
                break
            node = -1
            if row == low or not initial:
                node = choose(viable, row, root + (row == low), first_split, list_start, list_items)
            if node < 0 and (not unmatched or row < covered):
                row += 1
                continue
            match_node[matches] = nodes
            match_low[matches] = low
            match_high[matches] = high
            match_number[matches] = number + (node >= 0)
            if node < 2:
                node_row[nodes] = row
                node_code[nodes] = code_unmatched if node < 0 else code_empty
                node_back[nodes] = -1
                nodes += 1
                matches += 1
                number += node >= 0
                row += 1
                continue
            first, r, target = nodes, row, -1
            while node >= 2 and nodes < len(node_row):
                code = codes[node]
                node_row[nodes] = r
                node_code[nodes] = code
                node_back[nodes] = nodes - 1 if nodes > first else -1
                if skip_to[code] and (target < 0 or skip == SKIP_LAST):
                    target = r
                nodes += 1
                r += 1
                node = choose(viable, r if r < high else rows, node, first_split, list_start, list_items)
            if node >= 2:
                nodes = first
                status = FULL
                break
            if skip >= SKIP_FIRST and target <= row:
                status = SKIP_ABSENT if target < 0 else SKIP_TO_START
                number += 1
                nodes = first
                break
            matches += 1
            number += 1
            covered = max(covered, r)
            row = r if skip == SKIP_PAST_LAST_ROW else row + 1 if skip == SKIP_NEXT_ROW else target
        if status == DONE:
            part += 1
            number = 0
    match_node[matches] = nodes
    state[S_ROW], state[S_PARTITION], state[S_NUMBER], state[S_COVERED] = row, part, number, covered
    state[S_MATCHES], state[S_NODES] = matches, nodes
    return status

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

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I64, MASKS, U64, U64X2
from sparkcep.engines.row_pattern.kernel_types import FOUND, PATH, PROGRESS, RULES, TARGETS, TESTS

SETS = U64X2

SKIP_PAST_LAST_ROW, SKIP_NEXT_ROW, SKIP_FIRST, SKIP_LAST = 0, 1, 2, 3

DONE, FULL, SKIP_ABSENT, SKIP_TO_START = 0, 1, 2, 3
"""How a kernel ended: all rows read; no room for the next match; SKIP TO a variable without a row; or to the start."""

S_ROW, S_PARTITION, S_NUMBER, S_COVERED, S_MATCHES, S_NODES, S_SIZE = 0, 1, 2, 3, 4, 5, 6
"""Slots of the state that ``walk`` resumes from: next row, its partition, matches so far in it, first row beyond all
matches so far; and, set by each call, the matches and nodes written."""


@kernel(nb.int64(MASKS, I64))
def partition_starts(masks, out):  # type: ignore[no-untyped-def]
    """Writes the first row of every partition; returns how many there are (``out`` may be empty: count only)."""
    found = 0
    for r in range(masks.shape[1]):
        if masks[0, r] & 1:
            if len(out) > 0:
                out[found] = r
            found += 1
    return found


@kernel(nb.void(MASKS, TESTS, U64, SETS))
def viable_narrow(masks, tests, follow, out):  # type: ignore[no-untyped-def]
    """``out[r, 0]``: the viable nodes at row r, from the follow sets (one word)."""
    column, bit = tests.column, tests.bit
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


@inner(nb.boolean(SETS, nb.int64, nb.int64))
def has(sets, at, node):  # type: ignore[no-untyped-def]
    """True if ``node`` is in the set ``at``."""
    return sets[at, node >> 6] >> np.uint64(node & 63) & np.uint64(1) != 0


@kernel(nb.void(MASKS, TESTS, TARGETS, SETS))
def viable_wide(masks, tests, targets, out):  # type: ignore[no-untyped-def]
    """``out[r]``: the viable nodes at row r, from the target lists (any number of words)."""
    column, bit = tests.column, tests.bit
    rows, positions = masks.shape[1], len(column)
    nodes = len(targets.codes)
    for r in range(rows - 1, -1, -1):
        after = rows if r + 1 == rows or masks[0, r + 1] & 1 else r + 1
        out[r, :] = 0
        out[r, 0] = 1
        for n in range(2, nodes):
            if n < positions + 2 and masks[column[n - 2], r] >> bit[n - 2] & 1 == 0:
                continue
            at = after if n < positions + 2 else r
            for k in range(targets.start[n], targets.start[n + 1]):
                if has(out, at, targets.items[k]):
                    out[r, n >> 6] |= np.uint64(1) << np.uint64(n & 63)
                    break


@inner(nb.int64(SETS, nb.int64, nb.int64, TARGETS))
def choose(viable, at, node, targets):  # type: ignore[no-untyped-def]
    """The most preferred target of ``node`` in the set ``at`` that takes a row or accepts (-1: none, at a root)."""
    start, items = targets.start, targets.items
    while True:
        chosen = np.int64(-1)
        for k in range(start[node], start[node + 1]):
            if has(viable, at, np.int64(items[k])):
                chosen = np.int64(items[k])
                break
        if chosen < targets.first_split:
            return chosen
        node = chosen


@inner()
def write_match(found, at, node, number, low, high):  # type: ignore[no-untyped-def]
    """A match of the partition ``low`` … ``high`` - 1, from ``node`` on."""
    found.node[at] = node
    found.number[at] = number
    found.low[at] = low
    found.high[at] = high


@inner()
def write_node(path, at, row, code, back):  # type: ignore[no-untyped-def]
    """A node of a match; ``back``: the one before, or -1."""
    path.row[at] = row
    path.code[at] = code
    path.back[at] = back


@inner()
def goes_to(rules, code, target):  # type: ignore[no-untyped-def]
    """Whether SKIP TO leads to a row with this code, given the row it would lead to so far, or -1."""
    return rules.skip_to[code] and (target < 0 or rules.skip == SKIP_LAST)


@inner()
def skipped(rules, row, target):  # type: ignore[no-untyped-def]
    """DONE, or why the search cannot go on behind a match that begins at ``row``."""
    if rules.skip < SKIP_FIRST or target > row:
        return DONE
    return SKIP_ABSENT if target < 0 else SKIP_TO_START


@inner()
def row_after(rules, row, end, target):  # type: ignore[no-untyped-def]
    """Where the search goes on behind a match of the rows ``row`` … ``end`` - 1."""
    return end if rules.skip == SKIP_PAST_LAST_ROW else row + 1 if rules.skip == SKIP_NEXT_ROW else target


@inner()
def stopped(progress, part, row, number, covered):  # type: ignore[no-untyped-def]
    """Notes how far the partition has been searched; returns where the next one begins: (row, number, covered)."""
    if len(progress.begin) == 0:
        return row, 0, covered
    progress.begin[part], progress.numbers[part], progress.covered[part] = row, number, covered
    if part + 1 == len(progress.begin):
        return row, number, covered
    return progress.begin[part + 1], progress.numbers[part + 1], progress.covered[part + 1]


@kernel(nb.int64(I64, SETS, TARGETS, RULES, PROGRESS, I64, PATH, FOUND))
def walk(starts, viable, targets, rules, progress, state, path, found):  # type: ignore[no-untyped-def]
    """Match after match, resumable: node by node into ``path``, match by match into ``found``.

    ``starts`` [partitions + 1]: first rows. Every match has at least one node. Returns how it ended; the match that did
    not fit, or that cannot be skipped from, begins at ``state[S_ROW]``.
    """
    rows, root = viable.shape[0] - 1, len(targets.codes)
    code_empty, code_unmatched = len(rules.skip_to) - 2, len(rules.skip_to) - 1
    row, part, number, covered = state[S_ROW], state[S_PARTITION], state[S_NUMBER], state[S_COVERED]
    matches, nodes = 0, 0
    status = DONE
    while part < len(starts) - 1 and status == DONE:
        low, high = starts[part], starts[part + 1]
        while row < high:
            if matches == len(found.low) or nodes == len(path.row):
                status = FULL
                break
            node = -1
            if row == low or not rules.initial:
                node = choose(viable, row, root + (row == low), targets)
            if node < 0 and (not rules.unmatched or row < covered):
                row += 1
                continue
            write_match(found, matches, nodes, number + (node >= 0), low, high)
            if node < 2:
                write_node(path, nodes, row, code_unmatched if node < 0 else code_empty, -1)
                nodes += 1
                matches += 1
                number += node >= 0
                row += 1
                continue
            first, end, target = nodes, row, -1
            while node >= 2 and end < high and nodes < len(path.row):
                code = targets.codes[node]
                write_node(path, nodes, end, code, nodes - 1 if nodes > first else -1)
                if goes_to(rules, code, target):
                    target = end
                nodes += 1
                end += 1
                node = choose(viable, end if end < high else rows, node, targets)
            if node >= 2 and end == high:  # a row that has not come decides
                nodes = first
                break
            status = FULL if node >= 2 else skipped(rules, row, target)
            if status != DONE:
                number += status != FULL
                nodes = first
                break
            matches += 1
            number += 1
            covered = max(covered, end)
            row = row_after(rules, row, end, target)
        if status == DONE:
            row, number, covered = stopped(progress, part, row, number, covered)
            part += 1
    found.node[matches] = nodes
    state[S_ROW], state[S_PARTITION], state[S_NUMBER], state[S_COVERED] = row, part, number, covered
    state[S_MATCHES], state[S_NODES] = matches, nodes
    return status

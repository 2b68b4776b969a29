"""Numba kernels for row patterns in windows: which nodes are viable inside a row's frame, and the match of every row.

A frame begins at its row and ends ``following`` rows behind it, or with the partition. Near its bounds a condition may be another one
(``near``, see ``frames``), so what is viable there is written anew for every frame: for an unbounded frame the first rows only, over what
holds for all of them; for a bounded one its rows, as far as a match could come.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

from sparkcep.engines.row_pattern.kernels import (
    BOOL,
    DONE,
    FULL,
    I16,
    I32,
    I64,
    MASKS,
    SETS,
    SKIP_ABSENT,
    SKIP_FIRST,
    SKIP_LAST,
    SKIP_NEXT_ROW,
    SKIP_PAST_LAST_ROW,
    SKIP_TO_START,
    choose,
    has,
)

NEAR = types.Array(nb.int64, 3, "C")
FRAMES = types.Tuple((MASKS, NEAR, I64, I64, BOOL, BOOL))
"""Masks; near [positions, prev + 1, next + 1]: mask column << 6 | bit; following [rows], empty where frames are unbounded; begins [rows + 1]:
a row from here on, with none before it where a match may begin far from a frame's first row; the row itself where one may, and at the end
(read by SEEK in unbounded frames only); two sets of nodes to work with."""

W_ROW, W_PARTITION, W_NUMBER, W_RESUME, W_MATCHES, W_NODES, W_SIZE = 0, 1, 2, 3, 4, 5, 6
"""Slots of the state that ``walk_frames`` resumes from: next row, its partition, matches so far in it, the first row that is not skipped;
and, set by each call, the rows and nodes written."""

NO_END = 1 << 40
"""Where an unbounded frame ends: far from every row."""


@nb.njit(nb.void(MASKS, NEAR, *[nb.int64] * 5, I32, I32, SETS), cache=True, nogil=True)
def fill(masks, near, begin, end, first, last, behind, list_start, list_items, out):  # type: ignore[no-untyped-def]
    """``out[r]`` for rows first … last of the frame begin … end: the viable nodes; ``behind``: the set beyond row ``last``."""
    positions, nodes = near.shape[0], len(list_start) - 3
    for r in range(last, first - 1, -1):
        after = behind if r == last else r + 1
        before, ahead = min(r - begin, near.shape[1] - 1), min(end - r, near.shape[2] - 1)
        out[r, :] = 0
        out[r, 0] = 1
        for n in range(2, nodes):
            if n < positions + 2:
                bit = near[n - 2, before, ahead]
                if masks[bit >> 6, r] >> (bit & 63) & 1 == 0:
                    continue
            at = after if n < positions + 2 else r
            for k in range(list_start[n], list_start[n + 1]):
                if has(out, at, nb.int64(list_items[k])):
                    out[r, n >> 6] |= np.uint64(1) << np.uint64(n & 63)
                    break


@nb.njit(nb.int64(MASKS, NEAR, nb.int64, nb.int64, I32, I32, BOOL, BOOL), cache=True, nogil=True)
def reach(masks, near, begin, end, list_start, list_items, now, then):  # type: ignore[no-untyped-def]
    """The last row that a partial match beginning at row ``begin`` takes (begin - 1: none)."""
    positions, nodes = near.shape[0], len(list_start) - 3
    now[:] = False
    for k in range(list_start[nodes], list_start[nodes + 1]):
        now[list_items[k]] = True
    r = begin
    while r <= end:
        for n in range(nodes - 1, positions + 1, -1):
            if now[n]:
                for k in range(list_start[n], list_start[n + 1]):
                    now[list_items[k]] = True
        before, ahead = min(r - begin, near.shape[1] - 1), min(end - r, near.shape[2] - 1)
        then[:] = False
        taken = False
        for n in range(2, positions + 2):
            if now[n]:
                bit = near[n - 2, before, ahead]
                if masks[bit >> 6, r] >> (bit & 63) & 1 != 0:
                    taken = True
                    for k in range(list_start[n], list_start[n + 1]):
                        then[list_items[k]] = True
        if not taken:
            break
        now[:] = then
        r += 1
    return r - 1


@nb.njit(nb.int64(nb.int64, nb.int64, nb.boolean, FRAMES, I32, I32, SETS), cache=True, nogil=True)
def enter(row, high, seek, frames, list_start, list_items, viable):  # type: ignore[no-untyped-def]
    """Writes into ``viable`` what holds inside the frame of ``row``; returns the row beyond the frame."""
    masks, near, following, _, now, then = frames
    beyond = viable.shape[0] - 1
    if len(following) == 0:
        last = min(row + near.shape[1] - 1, high) - 1
        behind = last + 1 if last + 1 < high else beyond
        fill(masks, near, row, NO_END, row, last, behind, list_start, list_items, viable)
        return high
    end = min(row + following[row], high - 1)
    last = end if seek else reach(masks, near, row, end, list_start, list_items, now, then)
    fill(masks, near, row, end, row, last, beyond, list_start, list_items, viable)
    if last < end:
        viable[last + 1, :] = viable[beyond, :]
    return end + 1


@nb.njit(nb.int64(nb.int64, nb.int64, nb.int64, FRAMES), cache=True, nogil=True)
def next_begin(row, begin, near, frames):  # type: ignore[no-untyped-def]
    """For SEEK in the frame of ``row``: where to try from row ``begin`` on; rows where no match begins are left out, from ``near`` rows
    behind the frame's first on, where a frame makes no difference."""
    if len(frames[2]) > 0 or begin < row + near:
        return begin
    begins = frames[3]
    found = begins[begin]
    while begins[found] != found:
        found = begins[found]
    while begins[begin] != found:  # the next one takes the short way
        after = begins[begin]
        begins[begin] = found
        begin = after
    return found


@nb.njit(nb.void(I64, SETS, I32, I32, I64), cache=True, nogil=True)
def all_begins(starts, viable, list_start, list_items, out):  # type: ignore[no-untyped-def]
    """``out[r]``: the first row from r on, in its partition, where the mask bits let a match begin; else the number of rows."""
    rows, root = viable.shape[0] - 1, len(list_start) - 3
    out[rows] = rows
    for part in range(len(starts) - 2, -1, -1):
        found = rows
        for row in range(starts[part + 1] - 1, starts[part] - 1, -1):
            for k in range(list_start[root], list_start[root + 1]):
                if has(viable, row, nb.int64(list_items[k])):
                    found = row
                    break
            out[row] = found


@nb.njit(
    nb.int64(I64, FRAMES, SETS, nb.int64, I32, I32, I16, nb.int64, BOOL, nb.boolean, I64,
             I32, I16, I32, I32, I32, I32, I32),
    cache=True,
    nogil=True,
)  # fmt: skip
def walk_frames(  # type: ignore[no-untyped-def]
    starts, frames, viable, first_split, list_start, list_items, codes, skip, skip_to, seek,
    state, node_row, node_code, node_back, match_node, match_number, match_low, match_high,
):  # fmt: skip
    """Row after row, resumable, its match written as ``row_pattern.kernels.walk`` writes them.

    A row without a match has a node of an empty one, and the number 0. ``match_low``, ``match_high``: the row's frame.
    """
    rows, root = viable.shape[0] - 1, len(list_start) - 3
    code_empty, near = len(skip_to) - 2, frames[1].shape[1] - 1
    row, part, number, resume = state[W_ROW], state[W_PARTITION], state[W_NUMBER], state[W_RESUME]
    matches, nodes = 0, 0
    status = DONE
    while part < len(starts) - 1 and status == DONE:
        high = starts[part + 1]
        while row < high:
            if matches == len(match_low) or nodes == len(node_row):
                status = FULL
                break
            begin, beyond, node = row, high, nb.int64(-1)
            if row >= resume:
                beyond = enter(row, high, seek, frames, list_start, list_items, viable)
                node = choose(viable, row, root, first_split, list_start, list_items)
                while node < 0 and seek:
                    begin = next_begin(row, begin + 1, near, frames)
                    if begin >= beyond:
                        break
                    node = choose(viable, begin, root, first_split, list_start, list_items)
            first, r, target = nodes, begin, -1
            while node >= 2 and nodes < len(node_row):
                code = codes[node]
                node_row[nodes] = r
                node_code[nodes] = code
                node_back[nodes] = nodes - 1 if nodes > first else -1
                if skip_to[code] and (target < 0 or skip == SKIP_LAST):
                    target = r
                nodes += 1
                r += 1
                node = choose(viable, r if r < beyond else rows, node, first_split, list_start, list_items)
            if node >= 2:
                nodes = first
                status = FULL
                break
            number += node >= 0
            match_node[matches] = first
            match_number[matches] = number if node >= 0 else 0
            match_low[matches] = row
            match_high[matches] = beyond
            if nodes == first:
                node_row[nodes] = row
                node_code[nodes] = code_empty
                node_back[nodes] = -1
                nodes += 1
            elif skip == SKIP_PAST_LAST_ROW:
                resume = r
            elif skip != SKIP_NEXT_ROW:
                if target <= begin:
                    status = SKIP_ABSENT if target < 0 else SKIP_TO_START
                    break
                resume = target
            matches += 1
            row += 1
        if status == DONE:
            part += 1
            number = 0
    match_node[matches] = nodes
    state[W_ROW], state[W_PARTITION], state[W_NUMBER], state[W_RESUME] = row, part, number, resume
    state[W_MATCHES], state[W_NODES] = matches, nodes
    return status


@nb.njit(nb.int64(I64, I32, I32, I16, nb.int64, nb.int64, I32, I64, I32, I32, I32), cache=True, nogil=True)
def assign(  # type: ignore[no-untyped-def]
    starts, start_node, node_row, node_code, code_empty, skip, target, state, row_node, row_number, row_high
):
    """[rows] the forest node where the match of each row begins (the last node of the forest: none), its number or 0, its partition's end.

    ``start_node``, ``target``: as in ``forest_kernels.jump``. Returns DONE, or why AFTER MATCH SKIP has nowhere to go.
    """
    nothing = len(node_code) - 1
    for part in range(len(starts) - 1):
        resume, number = starts[part], 0
        for row in range(starts[part], starts[part + 1]):
            node = nb.int64(start_node[row]) if row >= resume else nb.int64(-1)
            row_high[row] = starts[part + 1]
            row_node[row] = node if node >= 0 else nothing
            number += node >= 0
            row_number[row] = number if node >= 0 else 0
            if node >= 0 and skip >= SKIP_FIRST and node_code[node] != code_empty:
                resume = nb.int64(target[node])
                if resume <= node_row[node]:
                    state[W_ROW], state[W_NUMBER] = row, number
                    return SKIP_ABSENT if resume < 0 else SKIP_TO_START
    return DONE

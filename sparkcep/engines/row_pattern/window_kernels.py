"""Numba kernels for row patterns in windows: which nodes are viable inside a row's frame, and the match of every row.

A frame begins at its row and ends ``following`` rows behind it, or with the partition. Near its bounds a condition may be another one
(``near``, see ``frames``), so the viable nodes there are written anew for every frame: for an unbounded frame at its first rows only, over
what holds for all frames; for a bounded one at all of its rows, as far as a match could reach.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I32, I64, MASKS
from sparkcep.engines.row_pattern.kernel_types import FOUND, FRAMES, I16, PATH, RULES, TARGETS
from sparkcep.engines.row_pattern.kernels import (
    DONE,
    FULL,
    SETS,
    SKIP_FIRST,
    SKIP_NEXT_ROW,
    choose,
    goes_to,
    has,
    row_after,
    skipped,
    write_match,
    write_node,
)

W_ROW, W_PARTITION, W_NUMBER, W_RESUME, W_MATCHES, W_NODES, W_SIZE = 0, 1, 2, 3, 4, 5, 6
"""Slots of the state that ``walk_frames`` resumes from: next row, its partition, matches so far in it, the first row that is not skipped;
and, set by each call, the rows and nodes written."""

NO_END = 1 << 40
"""Where an unbounded frame ends: far from every row."""


@inner(nb.boolean(MASKS, FRAMES, *[nb.int64] * 4))
def may_take(masks, frames, position, row, begin, end):  # type: ignore[no-untyped-def]
    """Whether the masks let ``position`` take ``row`` in the frame ``begin`` … ``end``."""
    near = frames.near
    bit = near[position, min(row - begin, near.shape[1] - 1), min(end - row, near.shape[2] - 1)]
    return masks[bit >> 6, row] >> (bit & 63) & 1 != 0


@inner(nb.void(MASKS, FRAMES, *[nb.int64] * 5, TARGETS, SETS))
def fill(masks, frames, begin, end, first, last, behind, targets, out):  # type: ignore[no-untyped-def]
    """``out[r]`` for rows first … last of the frame begin … end: the viable nodes; ``behind``: the set beyond row ``last``."""
    positions, nodes = frames.near.shape[0], len(targets.codes)
    for r in range(last, first - 1, -1):
        after = behind if r == last else r + 1
        out[r, :] = 0
        out[r, 0] = 1
        for n in range(2, nodes):
            if n < positions + 2 and not may_take(masks, frames, n - 2, r, begin, end):
                continue
            at = after if n < positions + 2 else r
            for k in range(targets.start[n], targets.start[n + 1]):
                if has(out, at, nb.int64(targets.items[k])):
                    out[r, n >> 6] |= np.uint64(1) << np.uint64(n & 63)
                    break


@inner(nb.int64(MASKS, FRAMES, nb.int64, nb.int64, TARGETS))
def reach(masks, frames, begin, end, targets):  # type: ignore[no-untyped-def]
    """The last row that a partial match beginning at row ``begin`` takes (begin - 1: none)."""
    positions, nodes = frames.near.shape[0], len(targets.codes)
    now, then = frames.now, frames.then
    now[:] = False
    for k in range(targets.start[nodes], targets.start[nodes + 1]):
        now[targets.items[k]] = True
    r = begin
    while r <= end:
        for n in range(nodes - 1, positions + 1, -1):
            if now[n]:
                for k in range(targets.start[n], targets.start[n + 1]):
                    now[targets.items[k]] = True
        then[:] = False
        taken = False
        for n in range(2, positions + 2):
            if now[n] and may_take(masks, frames, n - 2, r, begin, end):
                taken = True
                for k in range(targets.start[n], targets.start[n + 1]):
                    then[targets.items[k]] = True
        if not taken:
            break
        for n in range(nodes):
            now[n] = then[n]
        r += 1
    return r - 1


@inner(nb.int64(nb.int64, nb.int64, MASKS, FRAMES, TARGETS, SETS))
def enter(row, high, masks, frames, targets, viable):  # type: ignore[no-untyped-def]
    """Writes into ``viable`` what holds inside the frame of ``row``; returns the row beyond the frame."""
    beyond = viable.shape[0] - 1
    if len(frames.following) == 0:
        last = min(row + frames.near.shape[1] - 1, high) - 1
        behind = last + 1 if last + 1 < high else beyond
        fill(masks, frames, row, NO_END, row, last, behind, targets, viable)
        return high
    end = min(row + frames.following[row], high - 1)
    last = end if frames.seek else reach(masks, frames, row, end, targets)
    fill(masks, frames, row, end, row, last, beyond, targets, viable)
    if last < end:
        for word in range(viable.shape[1]):
            viable[last + 1, word] = viable[beyond, word]
    return end + 1


@inner(nb.int64(nb.int64, nb.int64, nb.int64, FRAMES))
def next_begin(row, begin, near, frames):  # type: ignore[no-untyped-def]
    """For SEEK in the frame of ``row``: where to try from row ``begin`` on; rows where no match begins are left out, from ``near`` rows
    behind the frame's first on, where a frame makes no difference."""
    if len(frames.following) > 0 or begin < row + near:
        return begin
    begins = frames.begins
    found = begins[begin]
    while begins[found] != found:
        found = begins[found]
    while begins[begin] != found:  # the next one takes the short way
        after = begins[begin]
        begins[begin] = found
        begin = after
    return found


@kernel(nb.void(I64, SETS, TARGETS, I64))
def all_begins(starts, viable, targets, out):  # type: ignore[no-untyped-def]
    """``out[r]``: the first row from r on, in its partition, where the mask bits let a match begin; else the number of rows."""
    rows, root = viable.shape[0] - 1, len(targets.codes)
    out[rows] = rows
    for part in range(len(starts) - 2, -1, -1):
        found = rows
        for row in range(starts[part + 1] - 1, starts[part] - 1, -1):
            for k in range(targets.start[root], targets.start[root + 1]):
                if has(viable, row, nb.int64(targets.items[k])):
                    found = row
                    break
            out[row] = found


@kernel(nb.int64(I64, MASKS, FRAMES, SETS, TARGETS, RULES, I64, PATH, FOUND))
def walk_frames(starts, masks, frames, viable, targets, rules, state, path, found):  # type: ignore[no-untyped-def]
    """Row after row, resumable, its match written as ``row_pattern.kernels.walk`` writes them.

    A row without a match has a node of an empty one, and the number 0. ``found.low``, ``found.high``: the row's frame.
    """
    rows, root = viable.shape[0] - 1, len(targets.codes)
    code_empty, near = len(rules.skip_to) - 2, frames.near.shape[1] - 1
    row, part, number, resume = state[W_ROW], state[W_PARTITION], state[W_NUMBER], state[W_RESUME]
    matches, nodes = 0, 0
    status = DONE
    while part < len(starts) - 1 and status == DONE:
        high = starts[part + 1]
        while row < high:
            if matches == len(found.low) or nodes == len(path.row):
                status = FULL
                break
            begin, beyond, node = row, high, nb.int64(-1)
            if row >= resume:
                beyond = enter(row, high, masks, frames, targets, viable)
                node = choose(viable, row, root, targets)
                while node < 0 and frames.seek:
                    begin = next_begin(row, begin + 1, near, frames)
                    if begin >= beyond:
                        break
                    node = choose(viable, begin, root, targets)
            first, r, target = nodes, begin, -1
            while node >= 2 and nodes < len(path.row):
                code = targets.codes[node]
                write_node(path, nodes, r, code, nodes - 1 if nodes > first else -1)
                if goes_to(rules, code, target):
                    target = r
                nodes += 1
                r += 1
                node = choose(viable, r if r < beyond else rows, node, targets)
            if node >= 2:
                nodes = first
                status = FULL
                break
            number += node >= 0
            write_match(found, matches, first, number if node >= 0 else 0, row, beyond)
            if nodes == first:
                write_node(path, nodes, row, code_empty, -1)
                nodes += 1
            elif (
                rules.skip != SKIP_NEXT_ROW
            ):  # the next row is the one behind ``row``, also where SEEK found a later one
                status = skipped(rules, begin, target)
                if status != DONE:
                    break
                resume = row_after(rules, begin, r, target)
            matches += 1
            row += 1
        if status == DONE:
            part += 1
            number = 0
    found.node[matches] = nodes
    state[W_ROW], state[W_PARTITION], state[W_NUMBER], state[W_RESUME] = row, part, number, resume
    state[W_MATCHES], state[W_NODES] = matches, nodes
    return status


@kernel(nb.int64(I64, I32, I32, I16, RULES, I32, I64, I32, I32, I32))
def assign(  # type: ignore[no-untyped-def]
    starts, start_node, node_row, node_code, rules, target, state, row_node, row_number, row_high
):
    """[rows] the forest node where the match of each row begins (the last node of the forest: none), its number or 0, its partition's end.

    ``start_node``, ``target``: as in ``forest_kernels.jump``. Returns DONE, or why AFTER MATCH SKIP has nowhere to go.
    """
    nothing, code_empty = len(node_code) - 1, len(rules.skip_to) - 2
    for part in range(len(starts) - 1):
        resume, number = starts[part], 0
        for row in range(starts[part], starts[part + 1]):
            node = nb.int64(start_node[row]) if row >= resume else nb.int64(-1)
            row_high[row] = starts[part + 1]
            row_node[row] = node if node >= 0 else nothing
            number += node >= 0
            row_number[row] = number if node >= 0 else 0
            if node >= 0 and rules.skip >= SKIP_FIRST and node_code[node] != code_empty:
                resume = nb.int64(target[node])
                status = skipped(rules, nb.int64(node_row[node]), resume)
                if status != DONE:
                    state[W_ROW], state[W_NUMBER] = row, number
                    return status
    return DONE

"""Numba kernel: the match of every row in its frame, where conditions look at other rows of the match.

``search_kernels.search`` row by row: each frame is a partition of its own to the conditions.
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.row_match.codes import (
    C_ADDED,
    C_COVERED,
    C_HITS,
    C_MATCHES,
    C_NEAR,
    C_NEED,
    C_NODES,
    C_NUMBER,
    C_PARTITION,
    C_ROW,
    LEAN,
)
from sparkcep.engines.row_match.condition_kernels import BOOL, CHANGES, CODE, DATA, I16, I32, I64, STACK
from sparkcep.engines.row_match.memory_kernels import KEYS, MEMORY, forget, weigh
from sparkcep.engines.row_match.search_kernels import NO_MATCH, PROGRAM, TRAIL, first_match, may_begin
from sparkcep.engines.row_pattern.kernels import (
    DONE,
    FULL,
    SETS,
    SKIP_ABSENT,
    SKIP_LAST,
    SKIP_NEXT_ROW,
    SKIP_PAST_LAST_ROW,
    SKIP_TO_START,
)
from sparkcep.engines.row_pattern.window_kernels import FRAMES, enter, next_begin


@nb.njit(
    nb.int64(I64, FRAMES, SETS, PROGRAM, CODE, CHANGES, KEYS, DATA, STACK, MEMORY, TRAIL, I64, nb.int64, nb.int64,
             nb.int64, BOOL, nb.boolean, I64, I32, I16, I32, I32, I32, I32, I32),
    **LEAN,
)  # fmt: skip
def search_frames(  # type: ignore[no-untyped-def]
    starts, frames, viable, program, code, changes, keys, data, stack, memory, trail, failures, most_steps, row_steps,
    skip, skip_to, seek,
    state, node_row, node_code, node_back, match_node, match_number, match_low, match_high,
):  # fmt: skip
    """Row after row, resumable, as ``row_pattern.window_kernels.walk_frames``; ``state[C_COVERED]``: the first row that is not skipped.

    What fails in one bounded frame may not fail in another: the memory is of one frame then.
    """
    list_start, list_items = program[1], program[2]
    path = trail[1]
    root = len(list_start) - 3
    bounded = len(frames[2]) > 0
    code_empty, near = len(skip_to) - 2, state[C_NEAR]
    row, part, number, resume = state[C_ROW], state[C_PARTITION], state[C_NUMBER], state[C_COVERED]
    matches, nodes = 0, 0
    status = DONE
    state[C_NEED] = 0
    while part < len(starts) - 1 and status == DONE:
        high = starts[part + 1]
        while row < high:
            if matches == len(match_low) or nodes == len(node_row):
                status = FULL
                break
            begin, beyond, length = row, high, nb.int64(NO_MATCH)
            if row >= resume:
                beyond = enter(row, high, seek, frames, list_start, list_items, viable)
                budget = most_steps + row_steps * (beyond - row)
                if bounded:
                    forget(state)
                while begin < beyond:
                    if may_begin(viable, begin, root, list_start, list_items):
                        hits, added = state[C_HITS], state[C_ADDED]
                        length = first_match(
                            begin, row, beyond, number + 1, budget, viable, program, code, changes, keys, data, stack,
                            memory, trail, failures, state,
                        )  # fmt: skip
                        weigh(hits, added, state)
                    if length != NO_MATCH or not seek:
                        break
                    if not bounded and begin >= row + near:
                        frames[3][begin] = begin + 1  # nor does one for the rows to come
                    begin = next_begin(row, begin + 1, near, frames)
            if length < NO_MATCH:
                status = -2 - length
                break
            if nodes + length > len(node_row):
                state[C_NEED] = length
                status = FULL
                break
            number += length >= 0
            match_node[matches] = nodes
            match_number[matches] = number if length >= 0 else 0
            match_low[matches] = row
            match_high[matches] = beyond
            target = -1
            for i in range(length):
                node_row[nodes + i] = begin + i
                node_code[nodes + i] = path[i]
                node_back[nodes + i] = nodes + i - 1 if i > 0 else -1
                if skip_to[path[i]] and (target < 0 or skip == SKIP_LAST):
                    target = begin + i
            if length <= 0:
                node_row[nodes] = row
                node_code[nodes] = code_empty
                node_back[nodes] = -1
                nodes += 1
            elif skip == SKIP_PAST_LAST_ROW:
                resume = begin + length
            elif skip != SKIP_NEXT_ROW:
                if target <= begin:
                    status = SKIP_ABSENT if target < 0 else SKIP_TO_START
                    break
                resume = target
            nodes += max(length, 0)
            matches += 1
            row += 1
        if status == DONE:
            part += 1
            number = 0
    match_node[matches] = nodes
    state[C_ROW], state[C_PARTITION], state[C_NUMBER], state[C_COVERED] = row, part, number, resume
    state[C_MATCHES], state[C_NODES] = matches, nodes
    return status

"""Numba kernel: the match of every row in its frame, where conditions look at other rows of the match.

``search_kernels.search`` row by row: to the conditions, each frame is a partition of its own.
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I64, MASKS
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
)
from sparkcep.engines.row_match.kernel_types import CONDITIONS, INSIDE, LIMITS, WORDS, WORKSPACE
from sparkcep.engines.row_match.memory_kernels import forget, weigh
from sparkcep.engines.row_match.search_kernels import NO_MATCH, first_match, may_begin
from sparkcep.engines.row_match.structures import Start
from sparkcep.engines.row_pattern.kernel_types import FOUND, FRAMES, PATH, RULES, TARGETS
from sparkcep.engines.row_pattern.kernels import (
    DONE,
    FULL,
    SETS,
    SKIP_NEXT_ROW,
    goes_to,
    row_after,
    skipped,
    write_match,
    write_node,
)
from sparkcep.engines.row_pattern.window_kernels import enter, next_begin


@kernel(
    nb.int64(
        I64, MASKS, FRAMES, SETS, INSIDE, TARGETS, RULES, CONDITIONS, WORDS, LIMITS, WORKSPACE, I64, I64, PATH, FOUND
    ),
)  # fmt: skip
def search_frames(  # type: ignore[no-untyped-def]
    starts, masks, frames, viable, inside, targets, rules, conditions, words, limits, work, failures, state, path, found
):
    """Row after row, resumable, as ``row_pattern.window_kernels.walk_frames``; ``state[C_COVERED]``: the first row that is not skipped.

    What fails in one bounded frame may not fail in another: the memory is of one frame then.
    """
    root, taken = len(targets.codes), work.taken.path
    bounded = len(frames.following) > 0
    code_empty, near = len(rules.skip_to) - 2, state[C_NEAR]
    row, part, number, resume = state[C_ROW], state[C_PARTITION], state[C_NUMBER], state[C_COVERED]
    matches, nodes = 0, 0
    status = DONE
    state[C_NEED] = 0
    while part < len(starts) - 1 and status == DONE:
        high = starts[part + 1]
        while row < high:
            if matches == len(found.low) or nodes == len(path.row):
                status = FULL
                break
            begin, beyond, length = row, high, nb.int64(NO_MATCH)
            if row >= resume:
                beyond = enter(row, high, masks, frames, targets, viable)
                budget = limits.steps + limits.row_steps * (beyond - row)
                if bounded:
                    forget(state)
                while begin < beyond:
                    if may_begin(viable, begin, root, targets):
                        hits, added = state[C_HITS], state[C_ADDED]
                        start = Start(begin, row, beyond, number + 1, budget, False)
                        length = first_match(start, viable, inside, targets, conditions, words, work, failures, state)
                        weigh(hits, added, state)
                    if length != NO_MATCH or not frames.seek:
                        break
                    if not bounded and begin >= row + near:
                        frames.begins[begin] = begin + 1  # nor does a match begin there for the rows to come
                    begin = next_begin(row, begin + 1, near, frames)
            if length < NO_MATCH:
                status = -2 - length
                break
            if nodes + length > len(path.row):
                state[C_NEED] = length
                status = FULL
                break
            number += length >= 0
            write_match(found, matches, nodes, number if length >= 0 else 0, row, beyond)
            target = -1
            for i in range(length):
                write_node(path, nodes + i, begin + i, taken[i], nodes + i - 1 if i > 0 else -1)
                if goes_to(rules, taken[i], target):
                    target = begin + i
            if length <= 0:
                write_node(path, nodes, row, code_empty, -1)
                nodes += 1
            elif (
                rules.skip != SKIP_NEXT_ROW
            ):  # the next row is the one behind ``row``, also where SEEK found a later one
                status = skipped(rules, begin, target)
                if status != DONE:
                    break
                resume = row_after(rules, begin, begin + length, target)
            nodes += max(length, 0)
            matches += 1
            row += 1
        if status == DONE:
            part += 1
            number = 0
    found.node[matches] = nodes
    state[C_ROW], state[C_PARTITION], state[C_NUMBER], state[C_COVERED] = row, part, number, resume
    state[C_MATCHES], state[C_NODES] = matches, nodes
    return status

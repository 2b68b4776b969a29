"""Numba kernels: the preferred matches by depth-first search with memory.

In: arrays of a ``Program`` (``row_pattern.program``) and of its conditions. Out: the arrays of ``Matches``. The search
tries targets in order of preference and goes back when none is left, so the first match it completes is the preferred
one. It leaves out targets from which the mask bits alone let no match be completed (``viable``, see
``row_pattern.kernels``), and what has failed before (``memory_kernels``). The stack is explicit: its size, like that
of the registers, is linear in the match.
"""

from __future__ import annotations

import numba as nb
from numba import types

from sparkcep.engines.row_match.codes import (
    BUDGET,
    C_ADDED,
    C_COVERED,
    C_FAULT_ROW,
    C_FURTHEST,
    C_HITS,
    C_IDLE,
    C_MATCHES,
    C_NEAR,
    C_NEED,
    C_NODES,
    C_NUMBER,
    C_PARTITION,
    C_ROW,
    C_VARIABLE,
    FALSE,
    FAULT,
    LEAN,
    MATCH_GROWS,
    TRUE,
)
from sparkcep.engines.row_match.condition_kernels import (
    BOOL,
    CHANGES,
    CODE,
    DATA,
    I16,
    I32,
    I32X2,
    I64,
    I64X2,
    STACK,
    count_in,
    fill_slots,
    holds,
)
from sparkcep.engines.row_match.memory_kernels import KEYS, MEMORY, forget, known, remember, weigh, write_key
from sparkcep.engines.row_pattern.kernels import (
    DONE,
    FULL,
    SETS,
    SKIP_ABSENT,
    SKIP_FIRST,
    SKIP_LAST,
    SKIP_NEXT_ROW,
    SKIP_PAST_LAST_ROW,
    SKIP_TO_START,
    has,
)

PROGRAM = types.Tuple((nb.int64, I32, I32, I16))
"""The first split node, list_start, list_items, codes: see ``Program``."""

TRAIL = types.Tuple((I32X2, I16, I64X2))
"""Frames [n, 4]: node, next target, rows taken before it, whether a target was entered; path [rows of the match]: codes;
registers [rows of the match + 1, words]."""

LONG_SEARCH = 1 << 16
"""Steps after which a search counts its failures anew: what turned rows away in shorter ones is not of interest."""

NO_MATCH = -1
"""What ``first_match`` returns, beside a length; below that: -2 - status."""


@nb.njit(
    nb.int64(nb.int64, nb.int64, nb.int64, nb.int64, nb.int64, SETS, PROGRAM, CODE, CHANGES, KEYS, DATA, STACK, MEMORY,
             TRAIL, I64, I64),
    **LEAN,
)  # fmt: skip
def first_match(  # type: ignore[no-untyped-def]
    begin, low, high, number, budget, viable, program, code, changes, keys, data, stack, memory, trail, failures, state
):  # fmt: skip
    """The rows of the preferred match that begins at row ``begin`` (0: an empty one); its codes are in the path.

    Without a memory (``weigh``), failures are remembered once every row could have been tried with every target.
    ``failures`` [variables] counts the rows that a condition turned away, for the message if the budget is spent. Where it is
    longer, [variables + 2 * nodes + …], it counts for each node the rows that its condition was asked of, and turned away.
    """
    first_split, list_start, list_items, codes = program
    frames, path, registers = trail
    values, nullable, nulls, counted, sets, labels = data
    conditioned, operations = code
    filled, slots, totalled, totals = changes
    same, live, key_start, key_items = keys
    entries, epochs, key = memory
    word, null = stack
    beyond = viable.shape[0] - 1
    root = len(list_start) - 3 + (begin == low)
    variables, nodes = len(conditioned) - 1, root - (begin == low)
    counted_nodes = len(failures) > variables
    top, steps = 0, 0
    patience = len(list_items) * (high - low) if state[C_IDLE] > 0 else 0
    near = state[C_NEAR]
    frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3] = root, list_start[root], 0, 0
    while top >= 0:
        node, target, depth = nb.int64(frames[top, 0]), frames[top, 1], nb.int64(frames[top, 2])
        row = begin + depth
        if target == list_start[node + 1]:
            if frames[top, 3] and top > 0 and steps >= patience and depth >= near:
                size = write_key(
                    node, row, depth, low, high, registers, path, same, live, key_start, key_items,
                    values, nullable, nulls, sets, key,
                )  # fmt: skip
                remember(entries, epochs, key, size, row, begin, state)
            top -= 1
            continue
        frames[top, 1] = target + 1
        item = nb.int64(list_items[target])
        if not has(viable, row if row < high else beyond, item):
            continue
        if item < 2:
            return depth
        steps += 1
        if steps == LONG_SEARCH:
            for v in range(variables):
                failures[v] = 0
        if steps > budget:
            state[C_ROW] = begin
            return -2 - BUDGET
        if item < first_split:
            if depth >= len(path):
                return -2 - MATCH_GROWS
            variable = codes[item] >> 1
            count_in(variable, row, depth, registers, totalled, totals, values, counted)
            if conditioned[variable] < conditioned[variable + 1]:
                held = holds(
                    conditioned[variable], conditioned[variable + 1], variable, row, depth, low, high, number,
                    registers, path, operations, values, nullable, nulls, sets, labels, word, null,
                )  # fmt: skip
                if counted_nodes:
                    failures[variables + item] += 1
                    failures[variables + nodes + item] += held == FALSE
                if held == FALSE:
                    failures[variable] += 1
                    continue
                if held != TRUE:
                    state[C_VARIABLE], state[C_FAULT_ROW] = variable, row
                    return -2 - FAULT - held
            if filled[variable] < filled[variable + 1]:
                fill_slots(variable, row, depth, registers, filled, slots)
            path[depth] = codes[item]
            depth += 1
            row += 1
        if row <= state[C_FURTHEST] and depth >= near:
            size = write_key(
                item, row, depth, low, high, registers, path, same, live, key_start, key_items,
                values, nullable, nulls, sets, key,
            )  # fmt: skip
            if known(entries, epochs, key, size, row, begin, state):
                continue
        frames[top, 3] = 1
        top += 1
        if top >= len(frames):
            return -2 - MATCH_GROWS
        frames[top, 0], frames[top, 1], frames[top, 2], frames[top, 3] = item, list_start[item], depth, 0
    return NO_MATCH


@nb.njit(nb.boolean(SETS, nb.int64, nb.int64, I32, I32), **LEAN)
def may_begin(viable, row, root, list_start, list_items):  # type: ignore[no-untyped-def]
    """True if the mask bits let a match begin at the row."""
    found = False
    for k in range(list_start[root], list_start[root + 1]):
        found |= has(viable, row, nb.int64(list_items[k]))
    return found


@nb.njit(
    nb.int64(I64, SETS, PROGRAM, CODE, CHANGES, KEYS, DATA, STACK, MEMORY, TRAIL, I64, nb.int64, nb.int64, nb.boolean,
             nb.int64, BOOL, nb.boolean, nb.boolean, I64, I32, I16, I32, I32, I32, I32, I32),
    **LEAN,
)  # fmt: skip
def search(  # type: ignore[no-untyped-def]
    starts, viable, program, code, changes, keys, data, stack, memory, trail, failures, most_steps, row_steps, numbered,
    skip, skip_to, initial, unmatched,
    state, node_row, node_code, node_back, match_node, match_number, match_low, match_high,
):  # fmt: skip
    """Match after match, resumable, as ``row_pattern.kernels.walk``, which see for the arguments from ``skip`` on.

    Where ``failures`` counts nodes too, its last 2 * nodes entries keep what they were before the start row at hand: a search
    that must be made again, for want of room, is not counted twice.
    A start row may take ``most_steps`` + ``row_steps`` * (rows of its partition) steps. ``numbered``: some condition
    reads MATCH_NUMBER(). If the match at ``state[C_ROW]`` does not fit, ``state[C_NEED]`` is how many nodes it takes.
    """
    list_start, list_items = program[1], program[2]
    path = trail[1]
    root = len(list_start) - 3
    variables = len(code[0]) - 1
    counted = (len(failures) - variables) // 2
    code_empty, code_unmatched = len(skip_to) - 2, len(skip_to) - 1
    row, part, number, covered = state[C_ROW], state[C_PARTITION], state[C_NUMBER], state[C_COVERED]
    matches, nodes = 0, 0
    status = DONE
    state[C_NEED] = 0
    while part < len(starts) - 1 and status == DONE:
        low, high = starts[part], starts[part + 1]
        budget = most_steps + row_steps * (high - low)
        while row < high:
            if matches == len(match_low) or nodes == len(node_row):
                status = FULL
                break
            length = NO_MATCH
            at_root = root + (row == low)
            if (row == low or not initial) and may_begin(viable, row, at_root, list_start, list_items):
                hits, added = state[C_HITS], state[C_ADDED]
                for n in range(counted):
                    failures[variables + counted + n] = failures[variables + n]
                length = first_match(
                    row, low, high, number + 1, budget, viable, program, code, changes, keys, data, stack, memory,
                    trail, failures, state,
                )  # fmt: skip
                weigh(hits, added, state)
            if length < NO_MATCH or nodes + length > len(node_row):
                for n in range(counted):
                    failures[variables + n] = failures[variables + counted + n]
            if length < NO_MATCH:
                status = -2 - length
                break
            if length < 0 and (not unmatched or row < covered):
                row += 1
                continue
            if nodes + length > len(node_row):
                state[C_NEED] = length
                status = FULL
                break
            match_node[matches] = nodes
            match_low[matches] = low
            match_high[matches] = high
            match_number[matches] = number + (length >= 0)
            if length <= 0:
                node_row[nodes] = row
                node_code[nodes] = code_unmatched if length < 0 else code_empty
                node_back[nodes] = -1
                nodes += 1
                matches += 1
                if length == 0:
                    number += 1
                    if numbered:
                        forget(state)
                row += 1
                continue
            target = -1
            for i in range(length):
                node_row[nodes + i] = row + i
                node_code[nodes + i] = path[i]
                node_back[nodes + i] = nodes + i - 1 if i > 0 else -1
                if skip_to[path[i]] and (target < 0 or skip == SKIP_LAST):
                    target = row + i
            number += 1
            if skip >= SKIP_FIRST and target <= row:
                status = SKIP_ABSENT if target < 0 else SKIP_TO_START
                break
            if numbered:
                forget(state)
            nodes += length
            matches += 1
            covered = max(covered, row + length)
            row = row + length if skip == SKIP_PAST_LAST_ROW else row + 1 if skip == SKIP_NEXT_ROW else target
        if status == DONE:
            part += 1
            number = 0
            if numbered:
                forget(state)
    match_node[matches] = nodes
    state[C_ROW], state[C_PARTITION], state[C_NUMBER], state[C_COVERED] = row, part, number, covered
    state[C_MATCHES], state[C_NODES] = matches, nodes
    return status

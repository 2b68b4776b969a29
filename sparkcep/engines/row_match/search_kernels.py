"""Numba kernels: the preferred matches by depth-first search with memory.

In: arrays of a ``Program`` (``row_pattern.program``) and of its conditions. Out: the arrays of ``Matches``. The search
tries targets in order of preference and goes back when none is left, so the first match it completes is the preferred
one. It leaves out targets from which the mask bits alone let no match be completed (``viable``, see
``row_pattern.kernels``), and what has failed before (``memory_kernels``). The stack is explicit: its size, like that
of the registers, is linear in the match.
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I64
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
    MATCH_GROWS,
    TRUE,
    UNDECIDED,
)
from sparkcep.engines.row_match.condition_kernels import holds
from sparkcep.engines.row_match.kernel_types import CONDITIONS, INSIDE, LIMITS, START, WORDS, WORKSPACE
from sparkcep.engines.row_match.memory_kernels import forget, known, remember, weigh, write_key
from sparkcep.engines.row_match.register_kernels import count_in, fill_slots
from sparkcep.engines.row_match.structures import Start, Tested
from sparkcep.engines.row_pattern.kernel_types import FOUND, PATH, PROGRESS, RULES, TARGETS
from sparkcep.engines.row_pattern.kernels import (
    DONE,
    FULL,
    SETS,
    goes_to,
    has,
    row_after,
    skipped,
    stopped,
    write_match,
    write_node,
)

LONG_SEARCH = 1 << 16
"""Steps after which a search counts its failures anew: what turned rows away in shorter ones is not of interest."""

NO_MATCH = -1
"""What ``first_match`` returns, beside a length; below that: -2 - status."""


@inner(nb.int64(START, SETS, INSIDE, TARGETS, CONDITIONS, WORDS, WORKSPACE, I64, I64))
def first_match(start, viable, inside, targets, conditions, words, work, failures, state):  # type: ignore[no-untyped-def]
    """The rows of the preferred match that begins at the row (0: an empty one); its codes are in the path.

    Without a memory (``weigh``), failures are remembered once every row could have been tried with every target.
    ``failures`` [variables] counts the rows that a condition turned away, for the message if the budget is spent. Where it is
    longer, [variables + 2 * nodes + …], it counts for each node the rows that its condition was asked of, and turned away.
    """
    begin, low, high, number, budget, is_open = start
    code, changes, keys = conditions.code, conditions.changes, conditions.keys
    frames, taken = work.frames, work.taken
    stack, memory = work.stack, work.memory
    path, registers = taken
    first, items = targets.start, targets.items
    conditioned, filled = code.start, changes.slot_start
    beyond = viable.shape[0] - 1
    variables, nodes = len(conditioned) - 1, len(targets.codes)
    root = nodes + (begin == low)
    soonest = inside.soonest
    last = nb.int64(inside.last[begin]) if len(soonest) > 0 else high
    counted_nodes = len(failures) > variables
    top, steps, depth = 0, 0, nb.int64(0)
    near = state[C_NEAR]
    patience = len(items) * (high - low) if state[C_IDLE] > 0 else 0
    frames[0, 0], frames[0, 1] = root, first[root]
    while top >= 0:
        node, target = nb.int64(frames[top, 0]), frames[top, 1]
        entered = node < 0
        if entered:
            node = ~node
        row = begin + depth
        if target == first[node + 1]:
            if entered and top > 0 and steps >= patience and depth >= near:
                size = write_key(node, row, depth, low, high, taken, keys, words, memory.key)
                remember(memory, size, row, begin, state)
            top -= 1
            depth -= node < targets.first_split
            continue
        frames[top, 1] = target + 1
        item = nb.int64(items[target])
        at = row if row < high else beyond
        if not has(viable, at, item) or (len(soonest) > 0 and soonest[at, item] > last):
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
        takes = item < targets.first_split
        if takes:
            if row >= high:  # the row has not come
                if is_open:
                    return -2 - UNDECIDED
                continue
            if depth >= len(path):
                return -2 - MATCH_GROWS
            variable = targets.codes[item] >> 1
            count_in(variable, row, depth, registers, changes, words)
            if conditioned[variable] < conditioned[variable + 1]:
                tested = Tested(variable, row, depth, low, high, number)
                held = holds(variable, code, tested, taken, words, stack)
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
                fill_slots(variable, row, depth, registers, changes)
            path[depth] = targets.codes[item]
        row += takes
        if row <= state[C_FURTHEST] and depth + takes >= near:
            size = write_key(item, row, depth + takes, low, high, taken, keys, words, memory.key)
            if known(memory, size, row, begin, state):
                continue
        frames[top, 0] = ~node
        top += 1
        if top >= len(frames):
            return -2 - MATCH_GROWS
        frames[top, 0], frames[top, 1] = item, first[item]
        depth += takes
    return NO_MATCH


@inner(nb.boolean(SETS, nb.int64, nb.int64, TARGETS))
def may_begin(viable, row, root, targets):  # type: ignore[no-untyped-def]
    """True if the mask bits let a match begin at the row."""
    found = False
    for k in range(targets.start[root], targets.start[root + 1]):
        found |= has(viable, row, nb.int64(targets.items[k]))
    return found


@kernel(
    nb.int64(I64, PROGRESS, SETS, INSIDE, TARGETS, RULES, CONDITIONS, WORDS, LIMITS, WORKSPACE, I64, I64, PATH, FOUND),
)
def search(  # type: ignore[no-untyped-def]
    starts, progress, viable, inside, targets, rules, conditions, words, limits, work, failures, state, path, found
):
    """Match after match, resumable, as ``row_pattern.kernels.walk``.

    Where ``failures`` counts nodes too, its last 2 * nodes entries keep what they were before the start row at hand: a search
    that must be made again, for want of room, is not counted twice.
    If the match at ``state[C_ROW]`` does not fit, ``state[C_NEED]`` is how many nodes it takes: its codes stay in ``work`` for the next call.
    """
    root, variables = len(targets.codes), len(conditions.code.start) - 1
    counted = (len(failures) - variables) // 2
    code_empty, code_unmatched = len(rules.skip_to) - 2, len(rules.skip_to) - 1
    row, part, number, covered = state[C_ROW], state[C_PARTITION], state[C_NUMBER], state[C_COVERED]
    taken = work.taken.path
    on_stream, some_closed = len(progress.begin) > 0, len(progress.closed) > 0
    stale = some_closed
    matches, nodes = 0, 0
    status = DONE
    while part < len(starts) - 1 and status == DONE:
        low, high = starts[part], starts[part + 1]
        budget = limits.steps + limits.row_steps * (high - low)
        while row < high:
            if matches == len(found.low) or nodes == len(path.row):
                status = FULL
                break
            length = state[C_NEED] if state[C_NEED] > 0 else NO_MATCH
            state[C_NEED] = 0
            at_root = root + (row == low)
            if length == NO_MATCH and (row == low or not rules.initial) and may_begin(viable, row, at_root, targets):
                hits, added = state[C_HITS], state[C_ADDED]
                for n in range(counted):
                    failures[variables + counted + n] = failures[variables + n]
                is_open = on_stream and not (some_closed and progress.closed[row])
                if is_open and stale:
                    forget(state)  # what failed for want of rows that are too late may not fail here
                stale = some_closed and not is_open
                start = Start(row, low, high, number + 1, budget, is_open)
                length = first_match(start, viable, inside, targets, conditions, words, work, failures, state)
                weigh(hits, added, state)
            if length < NO_MATCH:
                for n in range(counted):
                    failures[variables + n] = failures[variables + counted + n]
            if length == -2 - UNDECIDED:
                break
            if length < NO_MATCH:
                status = -2 - length
                break
            if length < 0 and (not rules.unmatched or row < covered):
                row += 1
                continue
            if nodes + length > len(path.row):
                state[C_NEED] = length
                status = FULL
                break
            write_match(found, matches, nodes, number + (length >= 0), low, high)
            if length <= 0:
                write_node(path, nodes, row, code_unmatched if length < 0 else code_empty, -1)
                nodes += 1
                matches += 1
                if length == 0:
                    number += 1
                    if limits.numbered:
                        forget(state)
                row += 1
                continue
            target = -1
            for i in range(length):
                write_node(path, nodes + i, row + i, taken[i], nodes + i - 1 if i > 0 else -1)
                if goes_to(rules, taken[i], target):
                    target = row + i
            number += 1
            status = skipped(rules, row, target)
            if status != DONE:
                break
            if limits.numbered:
                forget(state)
            nodes += length
            matches += 1
            covered = max(covered, row + length)
            row = row_after(rules, row, row + length, target)
        if status == DONE:
            row, number, covered = stopped(progress, part, row, number, covered)
            part += 1
            if limits.numbered:
                forget(state)
    found.node[matches] = nodes
    state[C_ROW], state[C_PARTITION], state[C_NUMBER], state[C_COVERED] = row, part, number, covered
    state[C_MATCHES], state[C_NODES] = matches, nodes
    return status

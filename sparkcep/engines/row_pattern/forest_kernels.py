"""Numba kernels for overlapping matches: one forest of all matches' rows instead of a list of rows a match.

What a match does from (row, node) on depends on nothing before, so two matches that meet go on alike: all matches
together are a forest of at most rows x nodes nodes, found in one sweep, although their lengths may add up to
rows x rows. A measure's value for a whole match is then found at its first node (see ``path_kernels``).
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import BOOL, I16, I32, I64, MASKS
from sparkcep.engines.row_pattern.kernel_types import FOREST, FOUND, PROGRESS, RULES, TARGETS
from sparkcep.engines.row_pattern.kernels import (
    DONE,
    FULL,
    SETS,
    SKIP_FIRST,
    choose,
    skipped,
    stopped,
    write_match,
)

F_ROW, F_PARTITION, F_ACTIVE, F_NODES, F_SIZE = 0, 1, 2, 3, 4
"""Slots of the state that ``grow`` resumes from: next row, its partition, open nodes, nodes so far."""

UNDECIDED = -2
"""The start node of a match that would take a row that has not come."""

J_ROW, J_PARTITION, J_NUMBER, J_MATCHES, J_SIZE = 0, 1, 2, 3, 4
"""Slots of the state that ``jump`` resumes from: next row, its partition, matches so far in it, matches written."""


@kernel(nb.int64(I64, SETS, TARGETS, RULES, I64, I64, I32, I32, FOREST))
def grow(starts, viable, targets, rules, state, slot, active, start_node, forest):  # type: ignore[no-untyped-def]
    """Adds the nodes of the matches that start at each row, row by row, until the arrays may not hold another row's.

    ``slot`` [program nodes]: the last forest node of each program node. ``active``: forest nodes of the row before.
    ``start_node`` [rows]: where the match that would start at the row begins, or -1. Returns DONE or FULL.
    """
    rows, root = viable.shape[0] - 1, len(targets.codes)
    row, part, open_nodes, nodes = state[F_ROW], state[F_PARTITION], state[F_ACTIVE], state[F_NODES]
    status = DONE
    while row < rows:
        if nodes + len(targets.codes) + 1 > len(forest.row):
            status = FULL
            break
        if part + 1 < len(starts) - 1 and row == starts[part + 1]:
            part += 1
        low = starts[part]
        created = nodes
        for k in range(open_nodes + 1):
            at = rows if k < open_nodes and row == low else row
            if k < open_nodes:
                node = choose(viable, at, nb.int64(forest.state[active[k]]), targets)
            elif row == low or not rules.initial:
                node = choose(viable, row, root + (row == low), targets)
            else:
                node = -1
            link = -1
            if node >= 2 and at < rows:
                link = slot[node]
                if link < created:
                    link = nodes
                    slot[node] = nodes
            elif node >= 0 and k == open_nodes:
                link = nodes  # an empty match: a node of its own
            if link == nodes:
                forest.row[nodes] = row
                forest.state[nodes] = node
                forest.code[nodes] = targets.codes[node] if node >= 2 else len(rules.skip_to) - 2
                forest.after[nodes] = -1
                nodes += 1
            if k < open_nodes:
                forest.after[active[k]] = link
            else:
                start_node[row] = link
        open_nodes = 0
        for n in range(created, nodes):
            if forest.state[n] >= 2:
                active[open_nodes] = n
                open_nodes += 1
        row += 1
    state[F_ROW], state[F_PARTITION], state[F_ACTIVE], state[F_NODES] = row, part, open_nodes, nodes
    return status


@kernel(nb.void(MASKS, SETS, TARGETS, FOREST, BOOL))
def unfinished(masks, viable, targets, forest, out):  # type: ignore[no-untyped-def]
    """``out`` [forest nodes]: whether a match that comes by the node would take a row behind the partition's last (``program.open_end``)."""
    rows = masks.shape[1]
    for n in range(len(out) - 1, -1, -1):
        row, after = nb.int64(forest.row[n]), nb.int64(forest.after[n])
        if after >= 0:
            out[n] = out[after]
        elif forest.state[n] < 2 or (row + 1 < rows and masks[0, row + 1] & 1 == 0):
            out[n] = False
        else:
            out[n] = choose(viable, rows, nb.int64(forest.state[n]), targets) >= 2


@kernel(nb.int64(I64, I32, I16, RULES, I32, PROGRESS, I64, FOUND))
def jump(starts, start_node, node_code, rules, target, progress, state, found):  # type: ignore[no-untyped-def]
    """Which of the possible matches are found, by AFTER MATCH SKIP; resumable like ``walk``.

    ``start_node`` [rows]: as ``grow`` writes it, or UNDECIDED: there the search of the partition stops.
    ``target`` [nodes]: the row to skip to after the match that begins at the node, or -1.
    """
    row, part, number, matches = state[J_ROW], state[J_PARTITION], state[J_NUMBER], 0
    status = DONE
    while part < len(starts) - 1 and status == DONE:
        while row < starts[part + 1]:
            node = start_node[row]
            if node == UNDECIDED:
                break
            if node < 0:
                row += 1
                continue
            if matches == len(found.node):
                status = FULL
                break
            after = row + 1
            if rules.skip >= SKIP_FIRST and node_code[node] != len(rules.skip_to) - 2:
                after = nb.int64(target[node])
                status = skipped(rules, row, after)
                if status != DONE:
                    number += 1
                    break
            number += 1
            write_match(found, matches, node, number, starts[part], starts[part + 1])
            matches += 1
            row = after
        if status == DONE:
            row, number, _ = stopped(progress, part, row, number, 0)
            part += 1
    state[J_ROW], state[J_PARTITION], state[J_NUMBER], state[J_MATCHES] = row, part, number, matches
    return status

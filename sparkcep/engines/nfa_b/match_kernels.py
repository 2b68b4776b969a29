"""Numba kernels: from the shared match buffer to matches, and the buffer's own upkeep.

In: nodes and the ends of matches. Out: each match as the events of its components; or for each last event the part of
the buffer below it; or the buffer without what no run can reach. All are linear in what they write: a walk never enters
what leads to no match (see ``run_kernels``).
"""

from __future__ import annotations

import numba as nb

from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import kernel
from sparkcep.engines.kernel_types import I32, I64
from sparkcep.engines.nfa_b.codes import DONE, NOTHING, ROWS_FULL, UNION
from sparkcep.engines.nfa_b.kernel_types import ENDS, NODES, PARTS, WALK, WRITTEN

W_END, W_TOP, W_DEPTH, W_COMPLETE, W_MATCHES, W_ROWS, W_SIZE = 0, 1, 2, 3, 4, 5, 6
"""Slots of a walk: the next end; branches still to be walked; the length of the path; whether it is complete but not
written; matches and events written."""


@kernel(nb.int64(nb.int64, ENDS, NODES, WALK, WRITTEN, I64))
def write_matches(count, ends, nodes, walk, matches, state):  # type: ignore[no-untyped-def]
    """Write the matches of the ends from ``state[W_END]`` to ``count`` until there is no room: DONE or ROWS_FULL."""
    events, components, left = nodes.events, nodes.components, nodes.left
    right, reaches = nodes.right, nodes.reaches
    branch, depths = walk.branches, walk.depths
    path, named = walk.path, walk.named
    rows, sizes = matches.events, matches.sizes
    top, depth, written, filled = state[W_TOP], state[W_DEPTH], state[W_MATCHES], state[W_ROWS]
    complete = state[W_COMPLETE] != 0
    end = state[W_END]
    while True:
        if complete:
            if written == len(sizes) or filled + depth > len(rows):
                state[W_TOP], state[W_DEPTH], state[W_MATCHES], state[W_ROWS] = top, depth, written, filled
                state[W_COMPLETE], state[W_END] = 1, end
                return ROWS_FULL
            for k in range(sizes.shape[1]):
                sizes[written, k] = 0
            for i in range(depth - 1, -1, -1):
                rows[filled] = path[i]
                sizes[written, named[i]] += 1
                filled += 1
            written += 1
            complete = False
        if top == 0:
            if end == count:
                break
            branch[0], depths[0] = ends.nodes[end], 0
            top = 1
            end += 1
        last = ends.events[end - 1]
        top -= 1
        at, depth = nb.int64(branch[top]), nb.int64(depths[top])
        while at >= 0:
            if components[at] == UNION:
                if reaches[right[at]] > last:
                    branch[top], depths[top] = right[at], depth
                    top += 1
            else:
                path[depth], named[depth] = events[at], components[at]
                depth += 1
            at = nb.int64(left[at])
        complete = True
    state[W_TOP], state[W_DEPTH], state[W_MATCHES], state[W_ROWS] = top, depth, written, filled
    state[W_COMPLETE], state[W_END] = 0, end
    return DONE


@inner(nb.int64(nb.int64, nb.int64, nb.int64, NODES, I32, I32, PARTS, nb.int64, nb.int64))
def _write_below(root, last, first, nodes, number, todo, parts, filled, mark):  # type: ignore[no-untyped-def]
    """The nodes below ``root`` that reach ``last``, those before others first; how many nodes are written now.

    ``number[i]``: the place of node i among those written, from ``mark`` on (so that it need not be cleared).
    """
    events, components, left = nodes.events, nodes.components, nodes.left
    right, reaches = nodes.right, nodes.reaches
    names, rows = parts.components, parts.rows
    previous, others = parts.previous, parts.others
    top = 1
    todo[0] = root
    while top:
        at = nb.int64(todo[top - 1])
        if number[at] >= mark:
            top -= 1
            continue
        one = nb.int64(left[at])
        while components[at] != UNION and one >= 0 and number[one] < mark:
            at = one
            todo[top] = at
            top += 1
            one = nb.int64(left[at])
        other = NOTHING
        if components[at] == UNION:
            other = nb.int64(right[at]) if reaches[right[at]] > last else NOTHING
            wait = top
            for below in (one, other):
                if below >= 0 and number[below] < mark:
                    todo[top] = below
                    top += 1
            if top > wait:
                continue
        top -= 1
        if components[at] == UNION and other < 0:
            number[at] = number[one]
            continue
        names[filled] = components[at]
        rows[filled] = events[at]
        previous[filled] = number[one] - mark if one >= 0 else NOTHING
        others[filled] = number[other] - mark if other >= 0 else NOTHING
        number[at] = mark + filled - first
        filled += 1
    return filled


@kernel(nb.int64(nb.int64, ENDS, NODES, I32, I32, PARTS, I64))
def write_parts(count, ends, nodes, number, todo, parts, state):  # type: ignore[no-untyped-def]
    """For each last event the buffer below it, its root last, until there is no room: DONE or ROWS_FULL.

    ``number`` [nodes]: less than ``state[W_DEPTH]`` everywhere. ``todo``: room for twice the nodes.
    """
    last_events, sizes, names = parts.last, parts.sizes, parts.components
    rows, previous, others = parts.rows, parts.previous, parts.others
    end, written, filled, mark = state[W_END], 0, 0, state[W_DEPTH]
    room = nb.int64(len(names))
    result = DONE
    while end < count:
        last, first = ends.events[end], filled
        if written == len(last_events) or filled >= room // 2:
            result = ROWS_FULL
            break
        root = NOTHING
        while end < count and ends.events[end] == last:
            filled = _write_below(nb.int64(ends.nodes[end]), last, first, nodes, number, todo, parts, filled, mark)
            this = nb.int64(number[ends.nodes[end]]) - mark
            if root >= 0 and root != this:
                names[filled], rows[filled] = UNION, last
                previous[filled], others[filled] = root, this
                this = filled - first
                filled += 1
            root = this
            end += 1
        last_events[written] = last
        sizes[written] = filled - first
        mark += filled - first
        written += 1
    state[W_END], state[W_MATCHES], state[W_ROWS], state[W_DEPTH] = end, written, filled, mark
    return result


@kernel(nb.int64(nb.int64, nb.int64, nb.int64, I32, NODES, I32))
def compacted(count, event, tails, versions, nodes, place):  # type: ignore[no-untyped-def]
    """The buffer without the nodes that no version needs for events from ``event`` on; how many are left.

    ``versions[:tails]`` are changed to the nodes' new places; ``place`` [nodes]: room to work. A node is older than
    those that stand behind it, so one walk from the newest to the oldest marks all, one the other way moves them.
    """
    events, components, left = nodes.events, nodes.components, nodes.left
    right, reaches = nodes.right, nodes.reaches
    for i in range(count):
        place[i] = 0
    for i in range(tails):
        if versions[i] >= 0:
            place[versions[i]] = 1
    for i in range(count - 1, -1, -1):
        if place[i] == 0:
            continue
        if left[i] >= 0:
            place[left[i]] = 1
        if components[i] == UNION and reaches[right[i]] > event:
            place[right[i]] = 1
    kept = 0
    for i in range(count):
        if place[i] == 0:
            place[i] = NOTHING
            continue
        one = place[left[i]] if left[i] >= 0 else NOTHING
        if components[i] == UNION and reaches[right[i]] <= event:
            place[i] = one
            continue
        other = place[right[i]] if components[i] == UNION else NOTHING
        events[kept], components[kept], reaches[kept] = events[i], components[i], reaches[i]
        left[kept], right[kept] = one, other
        place[i] = kept
        kept += 1
    for i in range(tails):
        if versions[i] >= 0:
            versions[i] = place[versions[i]]
    return kept

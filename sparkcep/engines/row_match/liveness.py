"""Which registers matter at each node of the program: what a key of ``memory_kernels`` holds.

In: a ``Program``, the registers of its conditions. Out: ``KeyParts``. A register matters at a node if some way on
from there reads it before it is overwritten; the fewer matter, the more searches are found to have failed before. A
slot matters by the values that are read from its row, not by the row, so that equal values count as the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_match import codes
from sparkcep.engines.row_match.registers import Layout, Slots
from sparkcep.engines.row_match.structures import KeyParts
from sparkcep.engines.row_match.values import Pool
from sparkcep.engines.row_pattern.program import FIRST_ROW_NODE, Program
from sparkcep.spec.row import Aggregate, ClassifierAt, ColumnAt, Define, leaves

MOST_VALUES = 2
"""Values of a slot's row in a key; if more are read, the row itself stands for them."""

MOST_ITEMS = 60
"""Items of a key of which each may be NULL: one word of flags. With more, rows stand for their values."""

Item = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Keys:
    """``width``: the words of the longest key."""

    parts: KeyParts
    width: int


def keys(
    program: Program, layout: Layout, defines: tuple[Define, ...], pool: Pool, opaque: frozenset[str] = frozenset()
) -> Keys:
    """What tells two searches at one node and row apart. ``opaque``: columns whose words do not tell their values apart."""
    live = _live(program, layout, defines)
    numbers: dict[int, int] = {}
    of_node = np.array([numbers.setdefault(bits, len(numbers)) for bits in live], np.int32)
    lists = [_items(bits, layout, pool, opaque) for bits in numbers]
    start = np.cumsum([0, *(len(items) for items in lists)]).astype(np.int32)
    items = np.array([item for items in lists for item in items], np.int64).reshape(-1, 4)
    return Keys(KeyParts(_same(program), of_node, start, items), 2 + max(len(items) for items in lists))


def _same(program: Program) -> NDArray[np.int32]:
    """For each node (and the two roots), the first node with the same targets: what follows is the same."""
    first: dict[tuple[int, ...], int] = {}
    lists = (program.list_items[low:high] for low, high in pairwise(program.list_start))
    return np.array([first.setdefault(tuple(items.tolist()), node) for node, items in enumerate(lists)], np.int32)


def _live(program: Program, layout: Layout, defines: tuple[Define, ...]) -> list[int]:
    """For each node (and the two roots), the words that matter after it, as bits: the least fixed point."""
    nodes = program.nodes + 2
    targets = [
        [int(t) for t in program.list_items[program.list_start[n] : program.list_start[n + 1]] if t >= FIRST_ROW_NODE]
        for n in range(nodes)
    ]
    before: list[list[int]] = [[] for _ in range(nodes)]
    for node, following in enumerate(targets):
        for target in following:
            before[target].append(node)
    reads = _reads(layout, defines)
    live, waiting = [0] * nodes, list(range(nodes))
    while waiting:
        node = waiting.pop()
        bits = 0
        for target in targets[node]:
            if target < FIRST_ROW_NODE + program.positions:
                variable = int(program.codes[target]) >> 1
                bits |= reads[variable] | _taken(live[target], variable, layout)
            else:
                bits |= live[target]
        if bits != live[node]:
            live[node] = bits
            waiting.extend(before[node])
    return live


def _reads(layout: Layout, defines: tuple[Define, ...]) -> list[int]:
    """For each variable, the words that its condition reads."""
    reads = dict.fromkeys(layout.variables, 0)
    for (variable, at), place in layout.places.items():
        if place.word is not None:
            # of the first rows also those before: how many there are decides which row will be this one
            slots = 1 << place.index if at.last else (2 << place.index) - 1
            reads[variable] |= slots << place.word
    for define in defines:
        for leaf in leaves(define.condition):
            if isinstance(leaf, Aggregate):
                reads[define.variable] |= 1 << layout.totals[layout.total(leaf)].word
    return list(reads.values())


def _taken(live: int, variable: int, layout: Layout) -> int:
    """The words that matter before a row of the variable, given those that matter after it: slots move on by one."""
    name = layout.variables[variable]
    for group in layout.slots:
        if group.last and name in group.members:
            mask = ((1 << group.size) - 1) << group.word
            live = (live & ~mask) | ((live & mask) >> 1 & mask)
    return live


def _items(live: int, layout: Layout, pool: Pool, opaque: frozenset[str]) -> list[Item]:
    items = [item for group in layout.slots for item in _slot_items(group, live, layout, pool, opaque)]
    if len(items) > MOST_ITEMS:
        words = {item[1]: None for item in items}
        items = [(codes.RAW, word, 0, 0) for word in words] + [item for item in items if item[0] == codes.LABEL]
    for total in layout.totals:
        if live >> total.word & 1:
            items += [(codes.RAW, total.word + i, 0, 0) for i in range(total.size)]
    return items


def _slot_items(group: Slots, live: int, layout: Layout, pool: Pool, opaque: frozenset[str]) -> Iterator[Item]:
    for index in range(group.size):
        word = group.word + index
        if not live >> word & 1:
            continue
        # a row among the last ones moves on to the slots that are read; one of the first ones stays where it is
        reads = [leaf for at, leaf in group.reads if group.last or at == index]
        if not group.last:
            yield codes.FILLED, word, 0, 0
        values = {(leaf.column, leaf.at.physical) for leaf in reads if isinstance(leaf, ColumnAt)}
        labels = {leaf.at for leaf in reads if isinstance(leaf, ClassifierAt)}
        by_row = any(column in opaque for column, _ in values)
        if by_row or len(values) > MOST_VALUES or any(at.physical > 0 for at in labels):
            yield codes.RAW, word, 0, 0
        else:
            for column, physical in sorted(values):
                yield codes.VALUE, word, pool.column(column), physical
        for members, physical in sorted({(at.variables, at.physical) for at in labels}, key=str):
            named = layout.variables if members is None else members
            yield codes.LABEL, word, pool.set(frozenset(named)), physical

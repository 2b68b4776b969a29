"""Epsilon graph → the arrays that the kernels read.

In: a ``Graph``. Out: a ``Program`` of numpy arrays. Not done here: rows, matches, measures.

Up to 62 row-taking nodes, epsilon closures are computed at compile time (Glushkov's form): one word of bits per row and one follow set per node.
Larger programs keep splits as separate nodes (Thompson's form), so that their size stays linear in that of the pattern: (A?){1000} has half a million
follow pairs, but four thousand nodes.

``^`` can hold only before the first row of a match at its partition's start, so it is compiled into a second root;
``$`` can hold only after the last row of the partition, so it becomes ACCEPT_AT_END.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.graph import (
    ACCEPT,
    ACCEPT_AT_END,
    GUARD_END,
    GUARD_START,
    Graph,
    build_graph,
    row_nodes,
)
from sparkcep.engines.row_pattern.structures import Targets, Tests
from sparkcep.spec.row import MASK_BITS, RowPatternSpec

WORD_BITS = 64
FIRST_ROW_NODE = 2
"""Node numbers 0 and 1 are ACCEPT and ACCEPT_AT_END; row-taking nodes follow, then the splits, targets first."""


@dataclass(frozen=True, slots=True)
class Program:
    """A pattern as arrays. N nodes, P of them take rows (numbers 2 … P + 1); W words of 64 bits hold a set of nodes.

    ``mask_column``, ``mask_bit`` [P]: where a row's mask says that the node's variable holds. ``codes`` [N] int16:
    2 * variable + excluded. ``list_start`` [N + 3], ``list_items``: the targets of node n, most preferred first, are
    ``list_items[list_start[n]:list_start[n + 1]]``; lists N and N + 1 are the roots of a match inside a partition and
    at its first row. ``follow`` [N + 2] uint64: the same lists as bit sets (empty unless ``narrow``). ``end`` [W]
    uint64: the set of viable nodes after a partition's last row.
    """

    positions: int
    mask_column: NDArray[np.int32]
    mask_bit: NDArray[np.int64]
    codes: NDArray[np.int16]
    list_start: NDArray[np.int32]
    list_items: NDArray[np.int32]
    follow: NDArray[np.uint64]
    end: NDArray[np.uint64]

    @property
    def nodes(self) -> int:
        """N."""
        return len(self.codes)

    @property
    def targets(self) -> Targets:
        """What follows what, for the kernels."""
        return Targets(FIRST_ROW_NODE + self.positions, self.list_start, self.list_items, self.codes)

    @property
    def tests(self) -> Tests:
        """Where the masks say what a row may be, for the kernels."""
        return Tests(self.mask_column, self.mask_bit)

    @property
    def words(self) -> int:
        """W."""
        return len(self.end)

    @property
    def narrow(self) -> bool:
        """True if a set of nodes is one word and every target takes a row or accepts."""
        return len(self.follow) > 0


def compile_pattern(spec: RowPatternSpec) -> Program:
    """The program of ``spec.pattern``. Raises CepLimitError if the pattern unrolls to too many steps."""
    return compile_graph(build_graph(spec.pattern, spec.variables))


def compile_graph(graph: Graph) -> Program:
    """The program of a graph; position i is ``row_nodes(graph)[i]``."""
    steps = row_nodes(graph)
    if len(steps) + FIRST_ROW_NODE <= WORD_BITS:
        return _narrow(graph, steps)
    return _wide(graph, steps)


def _narrow(graph: Graph, steps: list[int]) -> Program:
    number = {node: FIRST_ROW_NODE + i for i, node in enumerate(steps)}
    follows = [_closure(graph, number, graph.targets[node][0], False) for node in steps]
    roots = [_closure(graph, number, graph.entry, at_start) for at_start in (False, True)]
    lists = [[], [], *follows, *roots]
    follow = np.array([_bits(targets) for targets in lists], dtype=np.uint64)
    end = np.array([_bits([ACCEPT, ACCEPT_AT_END])], dtype=np.uint64)
    return _program(graph, steps, lists, follow, end)


def _closure(graph: Graph, number: dict[int, int], entry: int, at_start: bool) -> list[int]:
    """The epsilon closure of ``entry``, most preferred first; nothing follows ACCEPT, which never fails."""
    seen: set[int] = set()
    found: list[int] = []
    stack = [entry]
    while stack:
        node = stack.pop()
        if node in seen:
            continue  # already reached by a preferred path with the same future
        seen.add(node)
        if node == ACCEPT:
            return [*found, ACCEPT]
        code = graph.codes[node]
        if code >= 0:
            found.append(number[node])
        elif code == GUARD_END:
            if ACCEPT_AT_END not in found and _accepts(graph, node, at_start):
                found.append(ACCEPT_AT_END)
        elif code != GUARD_START or at_start:
            stack.extend(reversed(graph.targets[node]))
    return found


def _accepts(graph: Graph, entry: int, at_start: bool) -> bool:
    """True if ``entry`` reaches ACCEPT without taking a row, given that ``$`` holds."""
    seen, stack = {entry}, [entry]
    while stack:
        node = stack.pop()
        if node == ACCEPT:
            return True
        code = graph.codes[node]
        if code >= 0 or (code == GUARD_START and not at_start):
            continue
        stack.extend(target for target in graph.targets[node] if target not in seen)
        seen.update(graph.targets[node])
    return False


def _wide(graph: Graph, steps: list[int]) -> Program:
    lowering = _Lowering(graph, {node: FIRST_ROW_NODE + i for i, node in enumerate(steps)})
    follows = [lowering.lower(graph.targets[node][0], False) for node in steps]
    roots = [lowering.lower(graph.entry, at_start) for at_start in (False, GUARD_START in graph.codes)]
    end = _set_at_end(lowering.splits, FIRST_ROW_NODE + len(steps))
    return _program(graph, steps, [[], [], *follows, *lowering.splits, *roots], np.empty(0, np.uint64), end)


class _Lowering:
    """Numbers the splits that remain once guards are decided: targets first, splits with a single target elided."""

    def __init__(self, graph: Graph, number: dict[int, int]) -> None:
        self.graph = graph
        self.number = number
        self.first_split = FIRST_ROW_NODE + len(number)
        self.splits: list[list[int]] = []
        self.done: dict[tuple[int, bool], int | None] = {}

    def lower(self, entry: int, at_start: bool) -> list[int]:
        """``entry`` as a list of one node number, or of none if nothing can follow."""
        stack = [entry]
        while stack:
            node = stack[-1]
            waiting = [t for t in self._inner(node, at_start) if (t, at_start) not in self.done]
            if waiting and (node, at_start) not in self.done:
                stack.extend(waiting)
                continue
            stack.pop()
            if (node, at_start) not in self.done:
                self.done[node, at_start] = self._number(node, at_start)
        lowered = self.done[entry, at_start]
        return [] if lowered is None else [lowered]

    def _inner(self, node: int, at_start: bool) -> tuple[int, ...]:
        code = self.graph.codes[node]
        if code >= 0 or code == GUARD_END or (code == GUARD_START and not at_start):
            return ()
        return self.graph.targets[node]

    def _number(self, node: int, at_start: bool) -> int | None:
        if node == ACCEPT:
            return ACCEPT
        code = self.graph.codes[node]
        if code >= 0:
            return self.number[node]
        if code == GUARD_END:
            return ACCEPT_AT_END if _accepts(self.graph, node, at_start) else None
        lowered = (self.done[target, at_start] for target in self._inner(node, at_start))
        targets = list(dict.fromkeys(target for target in lowered if target is not None))
        if ACCEPT in targets:
            targets = targets[: targets.index(ACCEPT) + 1]
        if len(targets) < 2:
            return targets[0] if targets else None
        self.splits.append(targets)
        return self.first_split + len(self.splits) - 1


def _set_at_end(splits: list[list[int]], first_split: int) -> NDArray[np.uint64]:
    viable = {ACCEPT, ACCEPT_AT_END}
    for i, targets in enumerate(splits):
        if not viable.isdisjoint(targets):
            viable.add(first_split + i)
    words = (first_split + len(splits) + WORD_BITS - 1) // WORD_BITS
    return _words(_bits(sorted(viable)), words)


def _program(
    graph: Graph, steps: list[int], lists: list[list[int]], follow: NDArray[np.uint64], end: NDArray[np.uint64]
) -> Program:
    codes = np.zeros(len(lists) - 2, dtype=np.int16)
    codes[FIRST_ROW_NODE : FIRST_ROW_NODE + len(steps)] = [graph.codes[node] for node in steps]
    bits = [1 + graph.codes[node] // 2 for node in steps]
    return Program(
        positions=len(steps),
        mask_column=np.array([bit // MASK_BITS for bit in bits], dtype=np.int32),
        mask_bit=np.array([bit % MASK_BITS for bit in bits], dtype=np.int64),
        codes=codes,
        list_start=np.cumsum([0, *(len(items) for items in lists)]).astype(np.int32),
        list_items=np.array([item for items in lists for item in items], dtype=np.int32),
        follow=follow,
        end=end,
    )


def open_end(program: Program) -> Program:
    """The same for partitions that may go on: behind their last row anything may come, but never their end."""
    bits = ((1 << program.nodes) - 1) & ~_bits([ACCEPT_AT_END])
    return replace(program, end=_words(bits, program.words))


def _words(bits: int, words: int) -> NDArray[np.uint64]:
    return np.array([bits >> WORD_BITS * w & (1 << WORD_BITS) - 1 for w in range(words)], dtype=np.uint64)


def _bits(nodes: list[int]) -> int:
    return sum(1 << node for node in nodes)

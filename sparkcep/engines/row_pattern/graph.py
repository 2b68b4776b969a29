"""Row pattern → ordered epsilon graph.

In: the pattern tree of a RowPatternSpec. Out: a ``Graph`` whose nodes each take one row (``codes[n] >= 0``), split into targets in order of
preference, or guard an edge of the partition. Not here: epsilon closures, bit sets, rows.

A quantifier is unrolled; only the part without an upper bound becomes a loop. ISO/IEC 19075-5, 7.2.8 (Perl's rule)
ends a quantifier after an iteration that took no row once the lower bound is met. So every node is built with two
continuations: ``taken``, when the enclosing iteration has taken a row, and ``empty``, when it has not. This keeps the graph free of epsilon cycles: a
loop is re-entered only after a row was taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations

from sparkcep.errors import CepInternalError, CepLimitError
from sparkcep.pattern.row import (
    Alternate,
    Concat,
    Empty,
    Excluded,
    PartitionEnd,
    PartitionStart,
    Permute,
    Quantified,
    RowPattern,
    Variable,
)

MAX_NODES = 50_000
"""The most nodes of a pattern after unrolling. Every row keeps one bit per node: beyond this a task's memory is at risk."""

MAX_PERMUTED = 7
"""The most items of a PERMUTE that are more than plain variables: all n! orders are expanded (PERMUTE of variables is 2^n)."""

ACCEPT = 0
"""The node where a match is complete."""

ACCEPT_AT_END = 1
"""The node where a match is complete if the partition has no more rows (the pattern ended in ``$``)."""

SPLIT = -1
GUARD_START = -2
GUARD_END = -3


@dataclass(frozen=True, slots=True)
class Graph:
    """``codes[n]``: 2 * variable + excluded for a node that takes a row, else SPLIT or a GUARD.

    ``targets[n]``: the nodes after ``n``, most preferred first (exactly one unless SPLIT). Nodes 0 and 1 are ACCEPT
    and ACCEPT_AT_END. ``entry`` is where a match starts.
    """

    codes: list[int]
    targets: list[tuple[int, ...]]
    entry: int


def build_graph(pattern: RowPattern, variables: Sequence[str]) -> Graph:
    """The graph of ``pattern``; ``variables`` numbers the primary variables. Raises CepLimitError beyond MAX_NODES."""
    builder = _Builder({name: i for i, name in enumerate(variables)})
    entry = builder.build(pattern, False, ACCEPT, ACCEPT)
    return Graph(builder.codes, builder.targets, entry)


def row_nodes(graph: Graph) -> list[int]:
    """The row-taking nodes that some match may use, in order of discovery."""
    seen, stack, rows = {graph.entry}, [graph.entry], []
    while stack:
        node = stack.pop()
        if graph.codes[node] >= 0:
            rows.append(node)
        fresh = [target for target in graph.targets[node] if target not in seen]
        seen.update(fresh)
        stack.extend(reversed(fresh))
    return rows


def state_names(graph: Graph, variables: Sequence[str]) -> dict[int, str]:
    """The names of ``row_nodes``: their variable, numbered (``A#1``, ``A#2``) if it has several nodes."""
    plain = {node: variables[graph.codes[node] >> 1] for node in row_nodes(graph)}
    found: dict[str, list[int]] = {}
    for node, name in plain.items():
        found.setdefault(name, []).append(node)
    numbered = {node: i for nodes in found.values() for i, node in enumerate(nodes, 1)}
    return {node: name if len(found[name]) == 1 else f"{name}#{numbered[node]}" for node, name in plain.items()}


@dataclass(slots=True)
class _Builder:
    """Nodes are memoised by (pattern part, continuations), so that equal futures share one node."""

    numbers: dict[str, int]
    codes: list[int] = field(default_factory=lambda: [SPLIT, SPLIT])
    targets: list[tuple[int, ...]] = field(default_factory=lambda: [(), ()])
    memo: dict[tuple[int, bool, int, int], int] = field(default_factory=dict)
    keep: list[RowPattern] = field(default_factory=list)

    def build(self, part: RowPattern, excluded: bool, taken: int, empty: int) -> int:
        """The node from which ``part`` leads to ``taken`` if it takes a row, and to ``empty`` if it takes none."""
        key = (id(part), excluded, taken, empty)
        node = self.memo.get(key)
        if node is None:
            node = self.memo[key] = self._build(part, excluded, taken, empty)
            self.keep.append(part)  # ids are unique only while the parts are alive
        return node

    def _build(self, part: RowPattern, excluded: bool, taken: int, empty: int) -> int:
        match part:
            case Variable(name=name):
                return self._row(2 * self.numbers[name] + excluded, taken, part)
            case Concat(items=items):
                return self._concat(items, excluded, taken, empty)
            case Alternate(items=items):
                return self._split([self.build(item, excluded, taken, empty) for item in items])
            case Permute(items=items):
                return self._permute(items, excluded, taken, empty)
            case Quantified():
                return self._quantified(part, excluded, taken, empty)
            case Excluded(item=item):
                return self.build(item, True, taken, empty)
            case Empty():
                return empty
            case PartitionStart():
                return self._add(GUARD_START, (empty,))
            case PartitionEnd():
                return self._add(GUARD_END, (empty,))
        raise CepInternalError(f"unknown row pattern part {type(part).__name__}")

    def _add(self, code: int, targets: tuple[int, ...]) -> int:
        if len(self.codes) >= MAX_NODES:
            raise CepLimitError(
                f"the pattern unrolls to more than {MAX_NODES} steps",
                code="PATTERN_SIZE",
                hint="lower the bounds of its quantifiers, or the number of items of its PERMUTE",
            )
        self.codes.append(code)
        self.targets.append(targets)
        return len(self.codes) - 1

    def _row(self, code: int, taken: int, part: RowPattern) -> int:
        key = (id(part), bool(code & 1), taken, -1)  # what follows a row never depends on ``empty``
        if key not in self.memo:
            self.memo[key] = self._add(code, (taken,))
        return self.memo[key]

    def _split(self, targets: Sequence[int]) -> int:
        distinct = tuple(dict.fromkeys(targets))
        return distinct[0] if len(distinct) == 1 else self._add(SPLIT, distinct)

    def _concat(self, items: Sequence[RowPattern], excluded: bool, taken: int, empty: int) -> int:
        after_taken, after_empty = taken, empty
        for item in reversed(items):
            after_taken, after_empty = (
                self.build(item, excluded, after_taken, after_taken),
                self.build(item, excluded, after_taken, after_empty),
            )
        return after_empty

    def _quantified(self, part: Quantified, excluded: bool, taken: int, empty: int) -> int:
        item, low, high = part.item, part.low, part.high
        if high == 0:
            return empty
        if high is None:
            again = self._loop(part, excluded, taken)
        else:
            again = self._optional(part, excluded, taken, high - max(low, 1))
        first = self.build(item, excluded, again, empty)
        if low == 0:
            return self._choice(part.greedy, first, empty)
        after_taken, after_empty = self.build(item, excluded, again, taken), first
        for _ in range(low - 1):
            before = (
                self.build(item, excluded, after_taken, after_taken),
                self.build(item, excluded, after_taken, after_empty),
            )
            if before == (after_taken, after_empty):
                break  # the item takes no row: further copies change nothing
            after_taken, after_empty = before
        return after_empty

    def _loop(self, part: Quantified, excluded: bool, leave: int) -> int:
        """Any number of further iterations, after one that took a row."""
        key = (id(part), excluded, leave, -2)
        if key not in self.memo:
            again = self.memo[key] = self._add(SPLIT, ())
            body = self.build(part.item, excluded, again, leave)
            self.targets[again] = (body, leave) if part.greedy else (leave, body)
        return self.memo[key]

    def _optional(self, part: Quantified, excluded: bool, leave: int, times: int) -> int:
        """Up to ``times`` further iterations, after one that took a row."""
        again = leave
        for _ in range(times):
            before = self._choice(part.greedy, self.build(part.item, excluded, again, leave), leave)
            if before == again:
                break
            again = before
        return again

    def _choice(self, greedy: bool, body: int, leave: int) -> int:
        return self._split((body, leave) if greedy else (leave, body))

    def _permute(self, items: Sequence[RowPattern], excluded: bool, taken: int, empty: int) -> int:
        if all(_rigid(item) for item in items):
            return self._permute_rigid(items, excluded, taken)
        if len(items) > MAX_PERMUTED:
            raise CepLimitError(
                f"PERMUTE of {len(items)} items; at most {MAX_PERMUTED} unless every item is a plain variable",
                code="PERMUTE_SIZE",
                hint="permute plain variables, or fewer items",
            )
        orders = [self._concat(order, excluded, taken, empty) for order in permutations(items)]
        return self._split(orders)

    def _permute_rigid(self, items: Sequence[RowPattern], excluded: bool, taken: int) -> int:
        """2^n nodes instead of n! orders. A rigid item matches in one way only, so the continuation depends only on the set of items taken, not on
        their order; trying the least remaining item first gives the lexicographic preference."""
        whole = (1 << len(items)) - 1
        after = {whole: taken}
        for done in range(whole - 1, -1, -1):
            left = [i for i in range(len(items)) if not done >> i & 1]
            after[done] = self._split([self._after(items[i], excluded, after[done | 1 << i]) for i in left])
        return after[0]

    def _after(self, item: RowPattern, excluded: bool, taken: int) -> int:
        return self.build(item, excluded, taken, taken)


def _rigid(part: RowPattern) -> bool:
    """True if ``part`` is a fixed sequence of variables: it matches rows in one way only, and never matches empty."""
    match part:
        case Variable():
            return True
        case Excluded(item=item):
            return _rigid(item)
        case Concat(items=items):
            return all(_rigid(item) for item in items)
    return False

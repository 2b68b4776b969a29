"""Row patterns (ISO/IEC 19075-5, section 4.14): the tree between PATTERN ( and its closing parenthesis.

``str(node)`` is the pattern as SQL; ``variables`` lists the primary variables in order of first appearance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sparkcep.errors import Span


def _span() -> Span | None:
    return field(default=None, compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Variable:
    """One row that satisfies the variable's DEFINE condition. ``name`` is as written at its first use."""

    name: str
    span: Span | None = _span()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Concat:
    """The items one after another (at least two)."""

    items: tuple[RowPattern, ...]
    span: Span | None = _span()

    def __str__(self) -> str:
        return " ".join(_grouped(item, Alternate) for item in self.items)


@dataclass(frozen=True, slots=True)
class Alternate:
    """One of the items, the leftmost preferred."""

    items: tuple[RowPattern, ...]
    span: Span | None = _span()

    def __str__(self) -> str:
        return " | ".join(str(item) for item in self.items)


@dataclass(frozen=True, slots=True)
class Permute:
    """The items in any order, orders preferred lexicographically by the list."""

    items: tuple[RowPattern, ...]
    span: Span | None = _span()

    def __str__(self) -> str:
        return f"PERMUTE({', '.join(str(item) for item in self.items)})"


@dataclass(frozen=True, slots=True)
class Quantified:
    """``item`` repeated ``low`` to ``high`` times (``high`` None: no bound); greedy prefers more."""

    item: RowPattern
    low: int
    high: int | None
    greedy: bool = True
    span: Span | None = _span()

    def __str__(self) -> str:
        return f"{_grouped(self.item, Alternate, Concat, Quantified)}{quantifier_text(self.low, self.high)}" + (
            "" if self.greedy else "?"
        )


@dataclass(frozen=True, slots=True)
class Excluded:
    """``{- item -}``: matched, but left out of ALL ROWS PER MATCH output."""

    item: RowPattern
    span: Span | None = _span()

    def __str__(self) -> str:
        return f"{{- {self.item} -}}"


@dataclass(frozen=True, slots=True)
class Empty:
    """``()``: matches no row."""

    span: Span | None = _span()

    def __str__(self) -> str:
        return "()"


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """``^``: holds before the first row of the partition."""

    span: Span | None = _span()

    def __str__(self) -> str:
        return "^"


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """``$``: holds after the last row of the partition."""

    span: Span | None = _span()

    def __str__(self) -> str:
        return "$"


RowPattern = Variable | Concat | Alternate | Permute | Quantified | Excluded | Empty | PartitionStart | PartitionEnd


def children(node: RowPattern) -> tuple[RowPattern, ...]:
    """The direct parts of ``node``, left to right."""
    if isinstance(node, Concat | Alternate | Permute):
        return node.items
    if isinstance(node, Quantified | Excluded):
        return (node.item,)
    return ()


def walk(node: RowPattern) -> Iterator[RowPattern]:
    """``node`` and everything below it, parents first, left to right."""
    yield node
    for child in children(node):
        yield from walk(child)


def variables(node: RowPattern) -> tuple[str, ...]:
    """Primary variable names in order of first appearance, each once."""
    return tuple(dict.fromkeys(part.name for part in walk(node) if isinstance(part, Variable)))


def matched_before(node: RowPattern) -> dict[str, frozenset[str]]:
    """By variable the variables that have matched a row whenever its condition is tested."""
    found: dict[str, frozenset[str]] = {}
    _matched_after(node, frozenset(), found)
    return found


def _matched_after(node: RowPattern, before: frozenset[str], found: dict[str, frozenset[str]]) -> frozenset[str]:
    """The variables that have certainly matched when ``node`` has, if those of ``before`` have; adds to ``found``."""
    if isinstance(node, Variable):
        found[node.name] = found.get(node.name, before) & before
        return before | {node.name}
    if isinstance(node, Concat):
        for item in node.items:
            before = _matched_after(item, before, found)
        return before
    ends = [_matched_after(item, before, found) for item in children(node)]
    if not ends or (isinstance(node, Quantified) and not node.low):
        return before
    return frozenset.intersection(*ends) if isinstance(node, Alternate) else frozenset.union(*ends)


def quantifier_text(low: int, high: int | None) -> str:
    """``* + ? {n} {n,} {n,m}`` for a repetition range."""
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    if short:
        return short
    if low == high:
        return f"{{{low}}}"
    return f"{{{low},{'' if high is None else high}}}"


def _grouped(node: RowPattern, *loose: type) -> str:
    return f"({node})" if isinstance(node, loose) else str(node)

"""Event patterns without OR and without optional parts: the disjunctive normal form that ``events`` evaluates.

In: an event pattern (IR). Out: its branches; every branch is a tree of Seq / And / Element / Not in which each positive
element takes at least one event. ``?`` and ``*`` become two branches: with and without (semantics: "that is a match of
its own").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from sparkcep.pattern import event as ir


class UndefinedError(Exception):
    """The semantics give this pattern no meaning (for instance a NOT at the start without WITHIN)."""


def branches(pattern: ir.EventPattern) -> list[ir.EventPattern]:
    """The branches that take at least one event, each once."""
    found = [branch for branch in _expand(pattern) if branch is not None and ir.elements(branch, negated=False)]
    return list(dict.fromkeys(found))  # type: ignore[arg-type]


def _expand(node: ir.EventItem) -> Iterator[ir.EventItem | None]:
    """The ways to read ``node``; None: it takes nothing."""
    match node:
        case ir.Element(low=0):
            yield None
            yield replace(node, low=1)
        case ir.Or(items=items):
            for item in items:
                yield from _expand(item)
        case ir.Seq(items=items):
            for choice in product(*(list(_expand(item)) for item in items)):
                yield _group(ir.Seq, choice)
        case ir.And(items=items):
            for choice in product(*(list(_expand(item)) for item in items)):
                yield _group(ir.And, choice)
        case _:
            yield node


def _group(kind: type[ir.Seq] | type[ir.And], choice: tuple[ir.EventItem | None, ...]) -> ir.EventItem | None:
    """The chosen items as one node: what takes nothing left out, a Seq in a Seq (And in And) flattened."""
    items: list[ir.EventItem] = []
    for item in choice:
        if isinstance(item, kind):
            items += item.items
        elif item is not None:
            items.append(item)
    if not items:
        return None
    return items[0] if len(items) == 1 and not isinstance(items[0], ir.Not) else kind(tuple(items))


def negations(branch: ir.EventPattern) -> Iterator[tuple[ir.Not, frozenset[str], frozenset[str]]]:
    """Each NOT with the variables that precede and follow it along SEQ; without them WITHIN bounds its interval.

    So the NOT of an AND, which no item precedes or follows, reaches over the whole window.
    """
    yield from _negations(branch, frozenset(), frozenset())


def _negations(
    node: ir.EventItem, before: frozenset[str], after: frozenset[str]
) -> Iterator[tuple[ir.Not, frozenset[str], frozenset[str]]]:
    if isinstance(node, ir.Not):
        yield node, before, after
    if isinstance(node, ir.And):
        for item in node.items:
            yield from _negations(item, before, after)
    if isinstance(node, ir.Seq):
        for position, item in enumerate(node.items):
            earlier = before | _variables(node.items[:position])
            later = after | _variables(node.items[position + 1 :])
            yield from _negations(item, earlier, later)


def _variables(items: tuple[ir.EventItem, ...]) -> frozenset[str]:
    return frozenset(element.variable for item in items for element in ir.elements(item, negated=False))

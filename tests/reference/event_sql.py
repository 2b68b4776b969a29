"""WHERE conjuncts over events → conditions of the reference matcher (SASE+ section 2, language page section 2).

``conditions("b[i].x > b[i-1].x", pattern)``. A reference to a Kleene variable without an index is allowed in an
aggregate only.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from sparkcep.pattern import event as ir
from tests.reference.events import Condition, Event, Use
from tests.reference.row_output import reduce_values
from tests.reference.sql import Call, Node, Ref, bounds, evaluate, parse, walk

_USES: dict[str | None, Use] = {"1": "first", "FIRST": "first", "i": "element", "i-1": "element", "..i-1": "element"}


def conditions(text: str, pattern: ir.EventPattern) -> list[Condition]:
    """What must hold for WHERE, or for a part of it between ANDs."""
    return [one for part in _between_ands(parse(text)) for one in _conditions(part, pattern)]


def _between_ands(tree: Node) -> list[Node]:
    if isinstance(tree, Call) and tree.name == "AND":
        return [one for part in tree.arguments for one in _between_ands(part)]
    return [tree]


def _conditions(tree: Node, pattern: ir.EventPattern) -> list[Condition]:
    """The conjuncts of its normal form (SASE+ 3.2), each as soon as its events are there.

    One with ``v[i-1]`` or ``v[..i-1]``, for all elements from the second on, stays whole, as does one on a negated event.
    """
    refs = [node for node in walk(tree) if isinstance(node, Ref)]
    negated = {element.variable for element in ir.elements(pattern, negated=True)}
    whole = any(ref.index in ("i-1", "..i-1") or ref.variable in negated for ref in refs)
    return [_condition(part, pattern) for part in ([tree] if whole else _conjuncts(tree, True))]


def _conjuncts(node: Node, wanted: bool) -> list[Node]:
    if isinstance(node, Call) and node.name == "BETWEEN":
        node = Call("AND", bounds(node))
    if not isinstance(node, Call) or node.name not in ("AND", "OR", "NOT"):
        return [node if wanted else Call("NOT", (node,))]
    if node.name == "NOT":
        return _conjuncts(node.arguments[0], not wanted)
    parts = [_conjuncts(part, wanted) for part in node.arguments]
    if (node.name == "AND") == wanted:
        return [one for part in parts for one in part]
    return [Call("OR", choice) for choice in product(*parts)]


def _condition(tree: Node, pattern: ir.EventPattern) -> Condition:
    refs = [node for node in walk(tree) if isinstance(node, Ref)]
    kleene = {element.variable for element in ir.elements(pattern) if element.kleene}
    uses: dict[str, Use] = {}
    for ref in refs:
        use = _USES.get(ref.index, "whole")
        uses[ref.variable or ""] = max(uses.get(ref.variable or "", use), use, key=["first", "element", "whole"].index)
    looks_back = [ref.variable or "" for ref in refs if ref.index in ("i-1", "..i-1")]

    def holds(bound: Mapping[str, list[Event]]) -> bool:
        if any(len(bound[variable]) < 2 for variable in looks_back):
            return True
        return evaluate(tree, lambda node: _resolve(node, bound, kleene)) is True

    return Condition(uses, holds)


def equivalence(text: str) -> str | None:
    """The attribute of ``[attr]``, None for any other conjunct."""
    tree = parse(text)
    return tree.attribute if isinstance(tree, Ref) and tree.index == "[]" else None


def _resolve(node: Node, bound: Mapping[str, list[Event]], kleene: set[str]) -> Any:
    if isinstance(node, Call):
        (ref,) = node.arguments
        assert isinstance(ref, Ref)
        events = _events(ref, bound)
        values = [event.get(ref.attribute) for event in events if event.get(ref.attribute) is not None]
        return len(events) if ref.attribute == "*" else reduce_values(node.name.lower(), values)
    assert isinstance(node, Ref)
    if node.variable in kleene and node.index is None:
        raise ValueError(f"{node.variable}.{node.attribute} is an array")
    events = _events(node, bound)
    return events[-1].get(node.attribute)


def _events(ref: Ref, bound: Mapping[str, list[Event]]) -> list[Event]:
    events = bound[ref.variable or ""]
    match ref.index:
        case "1" | "FIRST":
            return events[:1]
        case "i-1":
            return events[:-1][-1:]
        case "..i-1":
            return events[:-1]
        case "LAST" | "i":
            return events[-1:]
    return events

"""A brute-force matcher: every assignment of events to variables is tried against the semantics as written.

It shares nothing with the engine: no normal form, no evaluation order; NOT checks each event in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from operator import add, eq, ge, le, lt, ne

from sparkcep.pattern.event import And, Element, EventItem, Not, Or, elements
from sparkcep.spec.expression import ColumnOf, Expression, variables
from tests.engines.event_pattern.streams import Clause, Match, Row, prepared

Binding = dict[str, Row]


def matches(clause: Clause, rows: Sequence[Row]) -> list[Match]:
    """All matches, sorted as ``streams.answer`` sorts them."""
    events = prepared(rows, clause.within)
    found = [
        {name: event["id"] for name, event in binding.items()}
        for key in dict.fromkeys(row["key"] for row in events)
        for binding in _bindings(clause, [row for row in events if row["key"] == key])
    ]
    return sorted(found, key=lambda match: sorted(match.items()))


def _bindings(clause: Clause, events: list[Row]) -> Iterator[Binding]:
    positive = elements(clause.pattern, negated=False)
    choices = [[None, *(event for event in events if _fits(element, event))] for element in positive]
    for chosen in product(*choices):
        binding = {element.variable: event for element, event in zip(positive, chosen, strict=True) if event}
        if binding and _valid(clause, events, binding):
            yield binding


def _valid(clause: Clause, events: list[Row], binding: Binding) -> bool:
    taken = list(binding.values())
    if len({event["id"] for event in taken}) < len(taken) or not _inside(clause, taken):
        return False
    if not all(_true(predicate.condition, binding) for predicate in clause.predicates):
        return False
    return _holds(clause.pattern, clause, events, binding, [], [])


def _holds(
    node: EventItem, clause: Clause, events: list[Row], binding: Binding, before: list[Row], after: list[Row]
) -> bool:
    if isinstance(node, Element):
        return node.variable in binding
    if isinstance(node, Not):
        negated = node.item.items if isinstance(node.item, Or) else (node.item,)
        return not any(_refutes(item, clause, event, binding, before, after) for item in negated for event in events)
    if isinstance(node, Or):
        return any(
            _holds(item, clause, events, binding, before, after)
            and not any(_taken(other, binding) for other in node.items if other is not item)
            for item in node.items
        )
    if isinstance(node, And):
        return all(_holds(item, clause, events, binding, before, after) for item in node.items)
    taken = [_taken(item, binding) for item in node.items]
    for i, item in enumerate(node.items):
        earlier = [event for part in taken[:i] for event in part]
        later = [event for part in taken[i + 1 :] for event in part]
        if any(x["rank"] >= y["rank"] for x in earlier for y in taken[i]):
            return False
        if not _holds(item, clause, events, binding, before + earlier, after + later):
            return False
    return True


def _refutes(
    item: EventItem, clause: Clause, event: Row, binding: Binding, before: list[Row], after: list[Row]
) -> bool:
    assert isinstance(item, Element)
    if not _fits(item, event) or any(event["id"] == taken["id"] for taken in binding.values()):
        return False
    taken = sorted(binding.values(), key=lambda row: row["rank"])
    last_before_end = _span(clause, event, taken[-1])
    first_before_end = _span(clause, taken[0], event)
    if not (all(x["rank"] < event["rank"] for x in before) if before else last_before_end):
        return False
    if not (all(event["rank"] < x["rank"] for x in after) if after else first_before_end):
        return False
    conditions = [p.condition for p in clause.predicates if item.variable in variables(p.condition)]
    return all(_true(condition, {**binding, item.variable: event}) for condition in conditions)


def _taken(node: EventItem, binding: Binding) -> list[Row]:
    return [binding[e.variable] for e in elements(node, negated=False) if e.variable in binding]


def _fits(element: Element, event: Row) -> bool:
    return not element.types or event["type"] in element.types


def _inside(clause: Clause, taken: list[Row]) -> bool:
    ordered = sorted(taken, key=lambda row: row["rank"])
    return _span(clause, ordered[0], ordered[-1])


def _span(clause: Clause, first: Row, last: Row) -> bool:
    if clause.within is not None:
        return bool(last["time"] < first["deadline"])
    return clause.events is None or bool(last["rank"] - first["rank"] < clause.events)


def _true(condition: Expression, binding: Binding) -> bool:
    """A conjunct over a variable that took no event is not evaluated."""
    return any(name not in binding for name in variables(condition)) or _value(condition, binding) is True


def _value(node: Expression, binding: Binding) -> object:
    if isinstance(node, ColumnOf):
        return binding[node.variable][node.column]
    values = [_value(argument, binding) for argument in node.arguments]
    if node.operator == "or":
        return True if True in values else None if None in values else False
    if node.operator == "and":
        return False if False in values else None if None in values else True
    if None in values:
        return None
    return {"eq": eq, "ne": ne, "lt": lt, "le": le, "ge": ge, "add": add}[node.operator](*values)

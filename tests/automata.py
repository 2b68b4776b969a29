"""Automata of the reference → the engine's own contract: an Arrow table and an AutomatonSpec, as the driver sends them.

Conditions and assignments over events alone become mask bits and columns here, as Spark computes them; all else becomes data for the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sparkcep.engines.automaton import engine
from sparkcep.engines.automaton.graph import ALWAYS
from sparkcep.spec import automaton as spec
from sparkcep.spec.event import FirstEvent, LastEvent, WithinTime
from sparkcep.spec.expression import Call, Constant
from tests.reference import sql
from tests.reference.automaton import Arc, Automaton, Event, Found

_OPERATORS = {
    "=": "eq", "!=": "ne", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
    "+": "add", "-": "sub", "*": "mul", "AND": "and", "OR": "or", "NOT": "not", "IS NULL": "is_null", "ABS": "abs",
}  # fmt: skip
_TYPES = {bool: "boolean", int: "bigint", float: "double", str: "string"}
_ARROW = {"boolean": pa.bool_(), "bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}
ROW, TIME, DEADLINE, MASK = "row", "__time", "__deadline", "__mask"


def found(automaton: Automaton, partitions: Sequence[Sequence[Event]], **options: Any) -> list[list[Found]]:
    """The engine's matches by partition, in the order in which they come; rows are numbered from 0 in each."""
    bases = [sum(len(events) for events in partitions[:i]) for i in range(len(partitions) + 1)]
    results: list[list[Found]] = [[] for _ in partitions]
    for table in engine.compile(automaton_spec(automaton, partitions, **options)).run(
        events_table(automaton, partitions)
    ):
        for first, last, state, *values in zip(*(column.to_pylist() for column in table.columns), strict=True):
            place = next(i for i in range(len(partitions)) if bases[i] <= first < bases[i + 1])
            results[place].append((first - bases[place], last - bases[place], state, tuple(values)))
    return results


def automaton_spec(
    automaton: Automaton, partitions: Sequence[Sequence[Event]], max_runs: int | None = None
) -> spec.AutomatonSpec:
    """The MatchSpec."""
    columns = _columns(automaton, partitions)
    states = [automaton.start, *automaton.finals, *(s for arc in automaton.arcs for s in (arc.source, arc.target))]
    outputs = [
        spec.Output("first", FirstEvent(ROW)),
        spec.Output("last", LastEvent(ROW)),
        spec.Output("final_state", spec.FinalState()),
        *(spec.Output(name, spec.RegisterValue(name)) for name in automaton.registers),
    ]
    return spec.AutomatonSpec(
        states=tuple(dict.fromkeys(states)),
        finals=automaton.finals,
        arcs=tuple(_arc(arc, i, automaton, columns) for i, arc in enumerate(automaton.arcs)),
        masks=(MASK,),
        outputs=tuple(outputs),
        schema="{}",
        registers=tuple(
            spec.Register(name, kind, None if (value := automaton.registers[name]) is None else Constant(value, kind))
            for name, kind in register_types(automaton, columns).items()
        ),
        within=None if automaton.within is None else WithinTime(TIME, DEADLINE),
        max_runs=max_runs,
    )


def changing(automaton: Automaton, partitions: Sequence[Sequence[Event]]) -> spec.AutomatonSpec:
    """The same as periods in which arcs hold."""
    bounds = sorted({bound for arc in automaton.arcs for bound in arc.valid if bound is not None})
    periods = tuple(_period(automaton, since) for since in [ALWAYS, *map(int, bounds)])
    return replace(whole(automaton, partitions), periods=periods)


def whole(automaton: Automaton, partitions: Sequence[Sequence[Event]]) -> spec.AutomatonSpec:
    """The same without lifetimes of arcs; the engine asks all conditions itself."""
    found = automaton_spec(automaton, partitions)
    arcs = tuple(
        replace(arc, bit=None, condition=None if own.when is None else _value(own.when, automaton))
        for arc, own in zip(found.arcs, automaton.arcs, strict=True)
    )
    return replace(found, arcs=arcs, clock=TIME)


def _period(automaton: Automaton, since: int) -> spec.Period:
    def holds(arc: Arc) -> bool:
        low, high = arc.valid
        return (low is None or low <= since) and (high is None or since < high)

    numbers = (number for number, arc in enumerate(automaton.arcs) if holds(arc))
    return spec.Period(since, tuple(numbers), automaton.finals)


def events_table(automaton: Automaton, partitions: Sequence[Sequence[Event]]) -> pa.Table:
    """The events of all partitions with masks, times and the columns that arcs read."""
    columns = _columns(automaton, partitions)
    events = [event for part in partitions for event in part]
    data = {name: pa.array([event.get(name) for event in events], _ARROW[kind]) for name, kind in columns.items()}
    masks = []
    for part in partitions:
        for row, event in enumerate(part):
            bits = [_bit(arc, event, automaton) for arc in automaton.arcs]
            masks.append(sum(1 << 1 + i for i, bit in enumerate(bits) if bit) + (row == 0))
    data |= {ROW: pa.array(range(len(events)), pa.int64()), MASK: pa.array(masks, pa.int64())}
    if automaton.within is not None:
        data[TIME] = pa.array([float(event["ts"]) for event in events])
        data[DEADLINE] = pa.array([float(event["ts"]) + automaton.within for event in events])
    return pa.table(data)


def register_types(automaton: Automaton, columns: dict[str, str]) -> dict[str, str]:
    """The registers' types, from their defaults or from what they are assigned first."""
    types = {name: _TYPES[type(value)] for name, value in automaton.registers.items() if value is not None}
    waiting = [name for name in automaton.registers if name not in types]
    for name in waiting:
        given = [value for arc in automaton.arcs for target, value in arc.sets if target == name]
        known = [kind for value in given if (kind := _type(value, types | columns)) is not None]
        types[name] = known[0] if known else "bigint"
    return {name: types[name] for name in automaton.registers}


def _columns(automaton: Automaton, partitions: Sequence[Sequence[Event]]) -> dict[str, str]:
    """The events' attributes and their types."""
    found: dict[str, str] = {}
    for part in partitions:
        for event in part:
            for name, value in event.items():
                kind = _TYPES.get(type(value))
                if kind is not None and not (kind == "bigint" and found.get(name) == "double"):
                    found[name] = kind
    reads = [
        node.attribute
        for arc in automaton.arcs
        for value in _values(arc)
        for node in sql.walk(value)
        if isinstance(node, sql.Ref)
    ]
    return {name: found.get(name, "bigint") for name in [*found, *reads] if name not in automaton.registers}


def _type(node: sql.Node, types: dict[str, str]) -> str | None:
    found = [
        types.get(part.attribute) if isinstance(part, sql.Ref) else _TYPES[type(part.value)]
        for part in sql.walk(node)
        if isinstance(part, sql.Ref) or (isinstance(part, sql.Literal) and part.value is not None)
    ]
    return "double" if "double" in found else next((kind for kind in found if kind), None)


def _values(arc: Arc) -> list[sql.Node]:
    return [*([] if arc.when is None else [arc.when]), *(value for _, value in arc.sets)]


def _conjuncts(arc: Arc) -> list[sql.Node]:
    if arc.when is None:
        return []
    return list(arc.when.arguments) if isinstance(arc.when, sql.Call) and arc.when.name == "AND" else [arc.when]


def _is_local(node: sql.Node, automaton: Automaton) -> bool:
    return not any(isinstance(part, sql.Ref) and part.attribute in automaton.registers for part in sql.walk(node))


def _bit(arc: Arc, event: Event, automaton: Automaton) -> bool:
    """What an arc asks of the event alone, and whether it is valid then; at the window's end: whether it is valid as it ends."""
    low, high = arc.valid
    time = event["ts"] + (automaton.within or 0) if arc.on == "window_end" else event["ts"]
    if not ((low is None or low <= time) and (high is None or time < high)):
        return False
    local = [node for node in _conjuncts(arc) if _is_local(node, automaton)] if arc.on == "event" else []
    return all(sql.evaluate(node, lambda ref: event.get(ref.attribute)) is True for node in local)  # type: ignore[union-attr]


def _arc(arc: Arc, number: int, automaton: Automaton, columns: dict[str, str]) -> spec.Arc:
    parts = [node for node in _conjuncts(arc) if arc.on != "event" or not _is_local(node, automaton)]
    tests = [_value(node, automaton) for node in parts]
    bit = number if arc.valid != (None, None) or len(parts) < len(_conjuncts(arc)) else None
    return spec.Arc(
        f"a{number}",
        arc.source,
        arc.target,
        arc.on,
        bit,
        None if not tests else tests[0] if len(tests) == 1 else Call("and", tuple(tests)),
        tuple(spec.Assignment(name, _value(value, automaton)) for name, value in arc.sets),
    )


def _value(node: sql.Node, automaton: Automaton) -> spec.Value:
    if isinstance(node, sql.Literal):
        return Constant(node.value, _TYPES.get(type(node.value), "void"))
    if isinstance(node, sql.Ref):
        return (
            spec.RegisterValue(node.attribute)
            if node.attribute in automaton.registers
            else spec.EventValue(node.attribute)
        )
    return Call(_OPERATORS[node.name], tuple(_value(argument, automaton) for argument in node.arguments))  # type: ignore[arg-type]

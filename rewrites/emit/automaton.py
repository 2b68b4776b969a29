"""BoundAutomaton → SQL.

``SELECT keys, times, registers FROM cep_match(TABLE(SELECT columns, masks FROM (SELECT *, ROW_NUMBER() OVER w FROM (SELECT *, masks FROM
input))), spec)``: one exchange and one sort, whole partitions in order behind them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import DataType, StringType
from sqlglot import exp

from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.within import DEADLINE, TIME, end_of
from rewrites.emit.masks import ROW_NUMBER, checked, mask_columns
from rewrites.rules.keys_in_order import distributed
from rewrites.sql.builder import filtered, match_call, named, over, quoted, raw, select, string, text_of
from rewrites.sql.transport import carried_schema, decoded_columns, encoded
from sparkcep.spec.automaton import (
    AutomatonSpec,
    EventValue,
    FinalState,
    Output,
    RegisterValue,
    leaves,
    values,
)
from sparkcep.spec.event import FirstEvent, LastEvent, WithinTime
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import LATE

ENDS = "__cep_ends"
EVENT_TIME = "__cep_o0"


def automaton_spec(bound: BoundAutomaton) -> AutomatonSpec:
    """The MatchSpec of a bound clause."""
    outputs = outputs_of(bound)
    return AutomatonSpec(
        states=bound.states.names,
        finals=bound.states.finals,
        arcs=bound.arcs,
        masks=tuple(name for _, name in mask_columns(bound.tests)),
        outputs=tuple(output for output, _ in outputs),
        schema=carried_schema(
            ((output.name, data_type) for output, data_type in outputs), bound.relation.chars(outputs)
        ).json(),
        registers=bound.registers,
        within=_within(bound),
        partition=tuple(key.sent for key in bound.keys),
        text=bound.text,
        clock=TIME if bound.whole else None,
        starts=() if bound.together is None else bound.together.keys,
        sort=() if bound.together is None else (OrderColumn(bound.time_column or EVENT_TIME),),
    )


def _within(bound: BoundAutomaton) -> WithinTime | None:
    """Where the same is added to every time, the event's own time is all that the engine needs."""
    if bound.window is None:
        return None
    if bound.window.amount is None:
        return WithinTime(TIME, DEADLINE)
    return WithinTime(bound.time_column or EVENT_TIME, length=bound.window.amount)


def automaton_query(
    bound: BoundAutomaton, spec: AutomatonSpec, function: str | None = None, *, keep_null_time: bool = True
) -> str:
    """The query that stands in the clause's place, in parentheses. ``keep_null_time``: a NULL event time is an error, else dropped."""
    rows = match_call(engine_input(bound, spec, keep_null_time=keep_null_time), spec, function)
    found = decoded_columns(rows, ((output.name, data_type) for output, data_type in outputs_of(bound)))
    return f"({text_of(exp.select(*results(bound)).from_(found))})"


def engine_input(bound: BoundAutomaton, spec: AutomatonSpec, *, keep_null_time: bool) -> exp.Select:
    """The rows that an engine reads: columns and masks, partition after partition, in order (which workers may have to make)."""
    if bound.together is not None:
        masks = [named(quoted(name), name) for name in spec.masks]
        return select([*read(bound, spec), *masks], distributed(events(bound, keep_null_time), bound.together))
    start = f" + CASE WHEN {quoted(ROW_NUMBER)} = 1 THEN 1 ELSE 0 END"
    masks = [named(f"{quoted(name)}{'' if i else start}", name) for i, name in enumerate(spec.masks)]
    return select([*read(bound, spec), *masks], _windowed(bound, keep_null_time))


def read(bound: BoundAutomaton, spec: AutomatonSpec) -> list[exp.Expression]:
    """The columns that the engine reads, the masks apart, in their encoding for it. Of an automaton whose arcs may change, in an order that does not
    hang on what its arcs read now: a checkpoint knows its stream by the rows that are sent."""
    types = bound.column_types | {EVENT_TIME: bound.time_type, ENDS: bound.ends_type}
    types |= {key.sent: key.data_type for key in bound.keys}
    names = dict.fromkeys([*(name for name in _needed(spec) if name not in bound.whole), *bound.whole])
    return [named(encoded(quoted(name), types[name]) if name in types else quoted(name), name) for name in names]


def _windowed(bound: BoundAutomaton, keep_null_time: bool) -> exp.Select:
    partition = [quoted(key.sent) for key in bound.keys]
    order = [f"{quoted(f'__cep_o{i}')}{direction}" for i, (_, direction) in enumerate(bound.order)]
    return select(
        [exp.Star(), named(over("ROW_NUMBER()", partition, order), ROW_NUMBER)], events(bound, keep_null_time)
    )


def events(bound: BoundAutomaton, keep_null_time: bool, more: Sequence[exp.Expression] = ()) -> exp.Select:
    """The input with bits, times, the columns that arcs read, and ``more``."""
    columns: list[exp.Expression] = [exp.Star(), *more]
    for text, name in mask_columns(bound.tests, start="FALSE"):
        columns.append(named(checked(text, bound.time, bound.window, keep_null_time=keep_null_time), name))
    columns += [named(key.text, key.sent) for key in bound.keys if key.column is None]
    columns += [named(text, f"__cep_o{i}") for i, (text, _) in enumerate(bound.order)]
    if bound.window is not None and bound.window.amount is None:
        columns += [named(bound.window.time, TIME), named(bound.window.deadline, DEADLINE), named(bound.ends, ENDS)]
    columns += [named(text, name) for text, name in bound.columns.items()]
    tests = [] if keep_null_time else [f"({bound.time}) IS NOT NULL"]
    return filtered(select(columns, bound.relation.text), [*bound.key_filters, *tests])


def _needed(spec: AutomatonSpec) -> list[str]:
    """Columns that the engine reads, the masks apart."""
    columns = [*spec.partition]
    if spec.within is not None:
        columns += spec.within.columns
    found = (leaf for arc in spec.arcs for value in values(arc) for leaf in leaves(value))
    columns += [leaf.column for leaf in found if isinstance(leaf, EventValue)]
    columns += [register.column for register in spec.registers if register.column is not None]
    sources = (output.source for output in spec.outputs)
    columns += [source.column for source in sources if isinstance(source, FirstEvent | LastEvent)]
    return list(dict.fromkeys(columns))


def outputs_of(bound: BoundAutomaton) -> list[tuple[Output, DataType]]:
    """The engine's columns with the types that they have for the user."""
    time = bound.time_column or EVENT_TIME
    keys = ((key.sent, key.name, key.data_type) for key in bound.keys)
    found = [(Output(name, FirstEvent(column)), data_type) for column, name, data_type in keys]
    found += [
        (Output("match_start", FirstEvent(time)), bound.time_type),
        (Output("match_end", LastEvent(time)), bound.time_type),
    ]
    if bound.window is not None and bound.window.amount is None:
        found.append((Output("lifetime_end", FirstEvent(ENDS)), bound.ends_type))
    if len(bound.states.finals) > 1 or bound.whole:
        found.append((Output("final_state", FinalState()), StringType()))
    registers = bound.register_types.items()
    return found + [(Output(name, RegisterValue(name)), data_type) for name, data_type in registers]


def results(bound: BoundAutomaton, *, late_rows: bool = False) -> list[exp.Expression]:
    """PARTITION BY columns, times, final state, registers. What is the same in every match, or follows from its first event's time, is not asked
    of the engine: each column costs as much as a tenth of the whole. ``late_rows``: beside matches there are late rows, which have none of that."""
    ends = bound.ends if bound.window is None else quoted("lifetime_end")
    if bound.window is not None and bound.window.amount is not None:
        ends = end_of(bound.window, quoted("match_start"), bound.time_type)
    finals = bound.states.finals
    state = quoted("final_state") if len(finals) > 1 or bound.whole else string(finals[0])
    if late_rows:
        state = f"CASE WHEN {quoted(LATE)} IS NULL THEN {state} END"
    return [
        *(raw(quoted(key.name)) for key in bound.keys),
        *(raw(quoted(name)) for name in ("match_start", "match_end")),
        named(quoted("match_end"), "lifetime_start"),
        named(ends, "lifetime_end"),
        named(state, "final_state"),
        *(raw(quoted(name)) for name in bound.register_types),
    ]

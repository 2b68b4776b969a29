"""Corpus cases → runs of the reference matcher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.corpus import AutomatonCase, EventCase, RowCase
from tests.reference.aggregates import Aggregate, aggregate, changes
from tests.reference.automaton import Automaton, arc, match_automaton, registers
from tests.reference.event_sql import conditions as event_conditions
from tests.reference.event_sql import equivalence
from tests.reference.events import Event, Match, Query, match_events
from tests.reference.row_output import Measure, Row, all_rows, one_row
from tests.reference.row_sql import condition as row_condition
from tests.reference.row_sql import measure
from tests.reference.rows import Binding, Holds, Skip, match_rows
from tests.reference.rows import Match as RowMatch
from tests.reference.sql import Ref, parse
from tests.reference.text import event_pattern, row_pattern


def row_matches(case: RowCase) -> tuple[tuple[int, tuple[tuple[str, bool], ...]], ...]:
    """The matches of every partition, with rows numbered over all partitions as in the corpus."""
    found: list[tuple[int, tuple[tuple[str, bool], ...]]] = []
    base = 0
    for index in range(len(case.partitions)):
        for match in partition_matches(case, index):
            found.append((base + match.start, tuple((step.variable, step.excluded) for step in match.steps)))
        base += len(case.partitions[index])
    return tuple(found)


def row_output(case: RowCase) -> tuple[tuple[Any, ...], ...]:
    """The output rows: the measures; with ALL ROWS the row's number first."""
    output: list[tuple[Any, ...]] = []
    base = 0
    for index, labels in enumerate(case.partitions):
        rows = partition_rows(case, index)
        matches = partition_matches(case, index)
        if case.rows_per_match == "one":
            output += one_row(matches, rows, _measures(case))
        else:
            lines = all_rows(matches, rows, _measures(case), case.rows_per_match)
            output += [(base + line[0] + 1, *line[1:]) for line in lines]
        base += len(labels)
    return tuple(output)


def partition_rows(case: RowCase, index: int) -> list[Row]:
    """The rows of one partition: the case's columns, and ``id`` numbered from 1 over all partitions."""
    base = sum(len(labels) for labels in case.partitions[:index])
    return [
        {"id": base + row + 1} | {name: values[base + row] for name, values in case.columns.items()}
        for row in range(len(case.partitions[index]))
    ]


def partition_matches(case: RowCase, index: int) -> list[RowMatch]:
    """The matches of one partition."""
    to, variable = case.skip
    skip = Skip(to, () if variable is None else case.subset.get(variable, (variable,)))
    holds = _holds(case, index)
    return match_rows(row_pattern(case.pattern), holds, len(case.partitions[index]), skip=skip, initial=case.initial)


def _holds(case: RowCase, index: int) -> Holds:
    rows = partition_rows(case, index)
    labels = case.partitions[index]
    defined = {name: row_condition(text, name, case.subset, rows) for name, text in case.define.items()}

    def holds(variable: str, row: int, bindings: Binding) -> bool:
        if variable in defined:
            return defined[variable](row, bindings)
        return not case.labelled or variable in labels[row]

    return holds


def _measures(case: RowCase) -> list[Measure]:
    running = case.rows_per_match != "one"
    return [measure(text, case.subset, running) for text in case.measures.values()]


def event_query(case: EventCase) -> Query:
    """The case as the reference's query."""
    pattern = event_pattern(case.pattern)
    attributes = tuple(attribute for text in case.where if (attribute := equivalence(text)) is not None)
    return Query(
        pattern,
        case.strategy,  # type: ignore[arg-type]
        tuple(one for text in case.where if equivalence(text) is None for one in event_conditions(text, pattern)),
        case.within,
        case.within_events,
        case.partition,
        attributes,
        case.order,
        case.non_overlapping,
    )


def event_matches(case: EventCase) -> frozenset[tuple[Any, ...]]:
    """The matches as event ids, in the order of the pattern's variables."""
    return frozenset(named(match, case.events) for match in match_events(event_query(case), case.events))


def named(match: Match, events: Sequence[Event]) -> tuple[Any, ...]:
    """A match with event ids for positions."""
    return tuple(
        value
        if value is None
        else tuple(events[event]["id"] for event in value)
        if isinstance(value, tuple)
        else events[value]["id"]
        for _, value in match
    )


def event_aggregate(case: EventCase, text: str) -> Any:
    """``COUNT(*)`` or ``SUM(c.x)`` over all matches."""
    matches = sorted(match_events(event_query(case), case.events), key=repr)
    return aggregate(matches, case.events, _aggregate(text))


def event_changes(case: EventCase) -> tuple[tuple[Any, Any], ...]:
    """EMIT CHANGES of the case's first aggregate (COUNT(*) without any)."""
    wanted = _aggregate(next(iter(case.aggregates), "COUNT(*)"))
    return tuple(changes(event_query(case), case.events, wanted))


def _aggregate(text: str) -> Aggregate:
    call = parse(text)
    ref = call.arguments[0]  # type: ignore[union-attr]
    assert isinstance(ref, Ref)
    return call.name.lower(), ref.variable, None if ref.attribute == "*" else ref.attribute  # type: ignore[union-attr]


def automaton(case: AutomatonCase) -> Automaton:
    """The case as the reference's automaton."""
    return Automaton(case.start, case.final, tuple(map(arc, case.arcs)), registers(case.registers), case.within)


def automaton_partitions(case: AutomatonCase) -> list[list[Event]]:
    """The events of each partition, in order."""
    found: dict[tuple[Any, ...], list[Event]] = {}
    for event in sorted(case.events, key=lambda event: tuple(event[name] for name in case.order)):
        found.setdefault(tuple(event.get(name) for name in case.partition), []).append(event)
    return list(found.values())


def automaton_matches(case: AutomatonCase) -> frozenset[tuple[Any, ...]]:
    """(first event, last event, final state, register values) of all partitions."""
    return frozenset(
        (events[first]["id"], events[last]["id"], state, *values)
        for events in automaton_partitions(case)
        for first, last, state, values in match_automaton(automaton(case), events)
    )

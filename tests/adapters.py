"""Corpus cases → the engines' own contract: an Arrow table and a MatchSpec, as the driver sends them.

``row_outputs`` and ``event_matches`` run a case through an engine and give its answer in the corpus' own terms. Features that a case needs and an
engine lacks are listed in ``*_REFUSED``; ``row_gap`` and ``event_gap`` say which of them excludes a case.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from sparkcep.engines.event_pattern import engine as event_engine
from sparkcep.engines.nfa_b import engine as nfa_engine
from sparkcep.engines.nfa_b.spelling import spelled
from sparkcep.engines.row_match.values import kind_of
from sparkcep.engines.row_pattern import engine as row_engine
from sparkcep.pattern import event as event_ir
from sparkcep.pattern.row import variables as row_variables
from sparkcep.spec import EventPatternSpec, RowPatternSpec, expression
from sparkcep.spec import event as event_spec
from sparkcep.spec import row as row_spec
from tests.corpus import EventCase, RowCase
from tests.reference import row_sql, sql
from tests.reference.corpus import partition_rows
from tests.reference.event_sql import conditions as event_conditions
from tests.reference.event_sql import equivalence
from tests.reference.text import event_pattern, row_pattern

ROW_REFUSED = {"match_dependent": "conditions over rows bound before"}
EVENT_REFUSED = {"aggregate": "aggregates over matches"}


def row_gap(case: RowCase) -> str | None:
    """Why the row engine cannot run the case, None if it can."""
    return next((reason for tag, reason in ROW_REFUSED.items() if tag in case.needs), None)


def row_outputs(case: RowCase, outputs: Sequence[row_spec.Output], *, split: bool = False) -> list[tuple[Any, ...]]:
    """The output rows of the engine; ``split`` sends each partition in a call of its own."""
    spec = row_pattern_spec(case, outputs)
    tables = [row_table(case, index) for index in range(len(case.partitions))]
    if not split:
        tables = [pa.concat_tables(tables)]
    return [line for table in tables for result in row_engine.compile(spec).run(table) for line in _lines(result)]


def row_pattern_spec(case: RowCase, outputs: Sequence[row_spec.Output]) -> RowPatternSpec:
    """The case as a MatchSpec with the given outputs."""
    pattern = row_pattern(case.pattern)
    to, variable = case.skip
    members = () if variable is None else case.subset.get(variable, (variable,))
    return RowPatternSpec(
        variables=row_variables(pattern),
        pattern=pattern,
        masks=_mask_names(len(row_variables(pattern))),
        outputs=tuple(outputs),
        schema="{}",
        rows_per_match=case.rows_per_match,  # type: ignore[arg-type]
        skip=row_spec.Skip(to, tuple(members)),  # type: ignore[arg-type]
        initial=case.initial,
        text=case.pattern,
    )


def row_table(case: RowCase, index: int) -> pa.Table:
    """One partition as the engine reads it: columns, ``id``, masks."""
    rows = partition_rows(case, index)
    names = ("id", *case.columns)
    columns = {name: pa.array([row[name] for row in rows], _arrow_type(case.columns.get(name, (1,)))) for name in names}
    held = [[_row_holds(case, index, variable, row) for row in range(len(rows))] for variable in _row_variables(case)]
    return pa.table(columns | _masks(held, [row == 0 for row in range(len(rows))]))


def measure_outputs(case: RowCase) -> tuple[list[row_spec.Output], list[int]]:
    """The measures that are engine outputs, and their positions among all (Spark finishes the others)."""
    running = case.rows_per_match != "one"
    outputs, kept = [], []
    for position, (name, text) in enumerate(case.measures.items()):
        source = row_source(text, case, running)
        if source is not None:
            outputs.append(row_spec.Output(name, source))
            kept.append(position)
    return outputs, kept


def row_source(text: str, case: RowCase, running: bool) -> row_spec.Source | None:
    """A measure text as an engine output, None where Spark computes it around engine outputs."""
    try:
        source = row_sql.source(sql.parse(text), case.subset, running)
    except ValueError:
        return None
    match source:
        case row_sql.Column(column=column, at=at):
            return row_spec.ColumnAt(column, _navigation(at))
        case row_sql.Classifier(at=at):
            return row_spec.ClassifierAt(_navigation(at))
        case row_sql.Number():
            return row_spec.MatchNumber()
        case row_sql.Total(function="avg"):
            return None
        case row_sql.Total(function=function, variables=members, column=column, running=seen):
            return row_spec.Aggregate(function, column, members, seen)  # type: ignore[arg-type]


def _navigation(at: row_sql.Navigation) -> row_spec.Navigation:
    return row_spec.Navigation(at.variables, at.last, at.running, at.logical, at.physical)


def _row_variables(case: RowCase) -> tuple[str, ...]:
    return row_variables(row_pattern(case.pattern))


def _row_holds(case: RowCase, index: int, variable: str, row: int) -> bool:
    if variable in case.define:
        rows = partition_rows(case, index)
        return row_sql.condition(case.define[variable], variable, case.subset, rows)(row, ((row, variable),))
    return not case.labelled or variable in case.partitions[index][row]


def event_gap(case: EventCase) -> str | None:
    """Why the event engine cannot run the case, None if it can."""
    return next((reason for tag, reason in EVENT_REFUSED.items() if tag in event_features(case)), None)


def event_features(case: EventCase) -> set[str]:
    """The case's tags, and the features visible in its pattern and clauses."""
    found = set(case.needs) | {case.strategy}
    found |= {"kleene" for element in event_ir.elements(event_pattern(case.pattern)) if element.kleene}
    found |= {"non_overlapping"} if case.non_overlapping else set()
    return found | ({"aggregate"} if case.matches is None and case.error is None else set())


def event_matches(
    case: EventCase,
    *,
    split: bool = False,
    engine: event_spec.Engine = "auto",
    negation: event_spec.Negation = "auto",
    slow: bool = False,
    tables: Sequence[pa.Table] | None = None,
    **options: int,
) -> list[tuple[Any, ...]]:
    """The engine's matches as event ids by variable; ``options`` go to the engine's ``run``. ``slow``: Python evaluates all conditions. ``tables``:
    those of ``event_tables``, where the caller has them."""
    runner: Any = event_engine if case.strategy == "any" else nfa_engine
    tables = event_tables(case) if tables is None else tables
    spec = event_pattern_spec(case)
    if slow and tables:
        spec = replace(spec, predicates=tuple(_slowly(predicate, tables[0]) for predicate in spec.predicates))
    compiled = runner.compile(replace(spec, engine=engine, negation=negation))
    if runner is nfa_engine:
        options.pop("chunk", None)
    if tables and not split:
        tables = [pa.concat_tables(tables)]
    lines = (line for table in tables for result in compiled.run(table, **options) for line in _lines(result))
    return [tuple(_ids(value) for value in line) for line in lines]


def _slowly(predicate: event_spec.Predicate, table: pa.Table) -> event_spec.Predicate:
    """The predicate with its comparisons as Spark's functions."""
    kinds = {field.name: kind_of(field.type) for field in table.schema}

    def slow(node: expression.Expression) -> expression.Expression:
        logic = isinstance(node, expression.Call) and node.operator in ("and", "or", "not")
        return replace(node, arguments=tuple(map(slow, node.arguments))) if logic else spelled(node, kinds)

    return replace(predicate, condition=slow(predicate.condition))


def _ids(value: Any) -> Any:
    """NULL, an event's id, or the ids of a closure."""
    if isinstance(value, list):
        return tuple(item["id"] for item in value)
    return None if value is None else value["id"]


def event_pattern_spec(case: EventCase) -> EventPatternSpec:
    """The case as a MatchSpec; its outputs are the positive variables as structs of the event's id."""
    pattern = event_pattern(case.pattern)
    elements = event_ir.elements(pattern)
    within: event_spec.WithinTime | event_spec.WithinEvents | None = None
    if case.within is not None:
        within = event_spec.WithinTime("ts", "deadline")
    elif case.within_events is not None:
        within = event_spec.WithinEvents(case.within_events)
    return EventPatternSpec(
        variables=tuple(element.variable for element in elements),
        pattern=pattern,
        masks=_mask_names(len(elements) + 1),
        rank="rank",
        outputs=tuple(
            event_spec.Output(element.variable, event_spec.EventStruct(element.variable, (("id", "id"),)))
            for element in event_ir.elements(pattern, negated=False)
        ),
        schema="{}",
        predicates=tuple(
            event_spec.Predicate(_expression(sql.parse(text), _anchor(text, pattern), _kleene(pattern)), text)
            for text in _joint(case)
        ),
        within=within,
        strategy=case.strategy,  # type: ignore[arg-type]
        matches="non_overlapping" if case.non_overlapping else "all",
        text=case.pattern,
    )


def event_tables(case: EventCase) -> list[pa.Table]:
    """One table per partition (PARTITION BY and ``[attr]``), in ORDER BY order."""
    attributes = [attribute for text in case.where if (attribute := equivalence(text)) is not None]
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for event in sorted(case.events, key=lambda event: tuple(event[column] for column in case.order)):
        if all(event.get(attribute) is not None for attribute in attributes):
            key = tuple(event.get(column) for column in (*case.partition, *attributes))
            groups.setdefault(key, []).append(event)
    names = dict.fromkeys(name for event in case.events for name in event)
    types = {name: _event_type(case, [event.get(name) for event in case.events]) for name in names}
    return [_event_table(case, members, types) for members in groups.values()]


def _event_table(case: EventCase, members: Sequence[Any], types: Mapping[str, pa.DataType]) -> pa.Table:
    columns = {name: pa.array([event.get(name) for event in members], kind) for name, kind in types.items()}
    keys = [tuple(event[column] for column in case.order) for event in members]
    columns["rank"] = pa.array([1 + bisect_left(keys, key) for key in keys], pa.int64())
    if case.within is not None:
        times = [event["ts"] for event in case.events]
        whole = _arrow_type([*times, case.within])
        columns["ts"] = pa.array([event["ts"] for event in members], whole)
        columns["deadline"] = pa.array([event["ts"] + case.within for event in members], whole)
    for node in (node for text in _joint(case) for node in sql.walk(sql.parse(text))):
        if isinstance(node, sql.Literal):
            columns[_constant(node)] = pa.array([node.value] * len(members), _event_type(case, [node.value]))
    held = [_event_holds(case, element, members) for element in event_ir.elements(event_pattern(case.pattern))]
    held.append(_breaks(case, members))
    return pa.table(columns | _masks(held, [row == 0 for row in range(len(members))]))


def _breaks(case: EventCase, members: Sequence[Any]) -> list[bool]:
    """Whether each event is not adjacent to its predecessor: under strict contiguity, in the whole input."""
    if case.strategy != "strict_contiguity":
        return [False] * len(members)
    line = sorted(case.events, key=lambda event: tuple(event[column] for column in case.order))
    places = [next(place for place, event in enumerate(line) if event is member) for member in members]
    return [after - before != 1 for before, after in zip([-2, *places], places, strict=False)]


def _event_type(case: EventCase, values: Iterable[Any]) -> pa.DataType:
    """The type of a column: the driver casts what is compared with an average to DOUBLE."""
    found = _arrow_type(values)
    averaged = any("AVG(" in text for text in case.where)
    return pa.float64() if averaged and found == pa.int64() else found


def _event_holds(case: EventCase, element: event_ir.Element, members: Sequence[Any]) -> list[bool]:
    """The type test and the conjuncts over this variable alone, for each event."""
    pattern = event_pattern(case.pattern)
    local = [text for text in case.where if _is_local(text, pattern) and _variables(text) == {element.variable}]
    conditions = [one for text in local for one in event_conditions(text, pattern)]
    return [
        (not element.types or event["type"] in element.types)
        and all(condition.holds({element.variable: [event]}) for condition in conditions)
        for event in members
    ]


def _joint(case: EventCase) -> list[str]:
    pattern = event_pattern(case.pattern)
    return [text for text in case.where if equivalence(text) is None and not _is_local(text, pattern)]


@lru_cache(256)
def _is_local(text: str, pattern: event_ir.EventPattern) -> bool:
    """Whether the condition reads a single event (of a closure: each separately), so that Spark computes it."""
    refs = [node for node in sql.walk(sql.parse(text)) if isinstance(node, sql.Ref)]
    alone = all(ref.index == "i" for ref in refs if ref.variable in _kleene(pattern))
    return equivalence(text) is None and alone and len(_variables(text)) == 1


@lru_cache(256)
def _kleene(pattern: event_ir.EventPattern) -> frozenset[str]:
    return frozenset(element.variable for element in event_ir.elements(pattern) if element.kleene)


@lru_cache(256)
def _variables(text: str) -> frozenset[str]:
    return frozenset(node.variable or "" for node in sql.walk(sql.parse(text)) if isinstance(node, sql.Ref))


def _anchor(text: str, pattern: event_ir.EventPattern) -> tuple[str, expression.Place | None]:
    """The variable whose rows carry the constants: preferably a single event, else the element in the condition, or the first one."""
    kleene = _kleene(pattern)
    name = min(_variables(text), key=lambda name: (name in kleene, name))
    if name not in kleene:
        return name, None
    refs = [node for node in sql.walk(sql.parse(text)) if isinstance(node, sql.Ref)]
    return name, "each" if any(ref.variable == name and ref.index in ("i", "i-1") for ref in refs) else "first"


_OPERATORS: dict[str, expression.Operator] = {
    "=": "eq",
    "!=": "ne",
    "<>": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "+": "add",
    "-": "sub",
    "*": "mul",
    "ABS": "abs",
    "AND": "and",
    "OR": "or",
    "NOT": "not",
    "IS NULL": "is_null",
}


_PLACES: dict[str | None, expression.Place] = {
    "i": "each",
    "i-1": "previous",
    "1": "first",
    "FIRST": "first",
    "LAST": "last",
}


def _expression(node: sql.Node, anchor: tuple[str, expression.Place | None], kleene: set[str]) -> expression.Expression:
    """Literals are constant columns of some variable's row, as the driver sends them."""
    match node:
        case sql.Literal():
            name, place = anchor
            found = _constant(node)
            return expression.ColumnOf(name, found) if place is None else expression.ElementOf(name, found, place)
        case sql.Ref(variable=str(variable), attribute=attribute, index=index) if variable in kleene:
            return expression.ElementOf(variable, attribute, _PLACES[index])
        case sql.Ref(variable=str(variable), attribute=attribute):
            return expression.ColumnOf(variable, attribute)
        case sql.Call(name=name, arguments=arguments) if name in _OPERATORS:
            parts = tuple(_expression(argument, anchor, kleene) for argument in arguments)
            return expression.Call(_OPERATORS[name], parts)
        case sql.Call(name=name, arguments=(sql.Ref(variable=str(variable), attribute=attribute, index=index),)):
            column = None if attribute == "*" else attribute
            return expression.AggregateOf(name.lower(), variable, column, index == "..i-1")  # type: ignore[arg-type]
    raise ValueError(f"no engine predicate: {node}")


def _constant(node: sql.Literal) -> str:
    return f"constant {node.value!r}"


def _mask_names(variables: int) -> tuple[str, ...]:
    return tuple(f"mask{index}" for index in range(variables // row_spec.MASK_BITS + 1))


def _masks(held: Sequence[Sequence[bool]], first: Sequence[bool]) -> dict[str, pa.Array]:
    """Bit 0: first row of a partition; bit 1 + i: ``held[i]``; 62 bits a column."""
    bits = [first, *held]
    return {
        name: pa.array(
            [
                sum(
                    bit[row] << offset
                    for offset, bit in enumerate(bits[at * row_spec.MASK_BITS : (at + 1) * row_spec.MASK_BITS])
                )
                for row in range(len(first))
            ],
            pa.int64(),
        )
        for at, name in enumerate(_mask_names(len(held)))
    }


def _arrow_type(values: Iterable[Any]) -> pa.DataType:
    kinds = {type(value) for value in values if value is not None}
    if str in kinds:
        return pa.string()
    return pa.float64() if float in kinds else pa.int64()


def _lines(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows

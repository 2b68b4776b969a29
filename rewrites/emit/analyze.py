"""Bound clause → the query that counts what happens to its rows, for EXPLAIN ANALYZE PATTERN.

The query has the columns of ``ANALYZE_SCHEMA``: the engine's counts and, counted by Spark over the clause's input, how many rows pass each part of
each condition (a part is evaluated only on rows that passed the previous ones, as in the clause itself).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.event_pattern import BoundEventPattern, events_of
from rewrites.bind.partitions import Key
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.emit import aggregates, automaton, event_pattern, row_pattern
from rewrites.emit.neighbours import is_contiguous
from rewrites.sql.builder import ALIAS, match_call, named, quoted, raw, select, string, subquery, text_of
from rewrites.sql.source import Source
from sparkcep.spec import AnalyzeSpec
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.automaton import AutomatonSpec
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.row import RowPatternSpec

COLUMNS = ("place", "section", "item", "tried", "taken")
RESIDUAL_PLACE = 1_000_000
"""Sorts after all lines of an engine."""

Steps = Sequence[tuple[str, str]]
"""(what is tested, SQL of this part and all previous ones)."""


def row_pattern_counts(bound: BoundRowPattern, spec: RowPatternSpec, function: str | None) -> str:
    """The counts of a MATCH_RECOGNIZE clause."""
    steps = {variable: _parts(bound, variable) for variable in bound.variables}
    counted = _conditions(steps, subquery(row_pattern.windowed(bound)))
    engine = _engine(row_pattern.engine_input(bound, spec), AnalyzeSpec(spec), function)
    return _union(counted, engine, _ties(bound, bound.keys, bound.relation.text))


def event_pattern_counts(
    bound: BoundEventPattern,
    spec: EventPatternSpec,
    pushed: AggregateSpec | None,
    source: Source,
    functions: tuple[str | None, str | None],
    *,
    keep_null_time: bool,
) -> str:
    """The counts of a MATCH PATTERN clause; ``pushed``: what A-Seq runs instead. ``functions``: the names for the counts and for the matches."""
    counted = _conditions(bound.test_steps, raw(f"{bound.relation.text}\n"))
    if pushed is not None:
        rows = aggregates.aggregate_input(bound, pushed, keep_null_time=keep_null_time)
        return _union(counted, _engine(rows, AnalyzeSpec(pushed), functions[0]))
    columns = event_pattern.needed(bound, spec)
    rows = event_pattern.engine_input(bound, columns, keep_null_time=keep_null_time)
    engine = _engine(rows, AnalyzeSpec(spec), functions[0])
    if not bound.residual:
        return _union(counted, engine, _event_ties(bound))
    tests = [
        (source.text(part.span), f"({event_pattern.over_matches(part.node, bound, source)})") for part in bound.residual
    ]
    sql = [(label, " AND ".join(test for _, test in tests[: i + 1])) for i, (label, _) in enumerate(tests)]
    matches = event_pattern.all_matches(bound, spec, functions[1], keep_null_time=keep_null_time)
    return _union(counted, engine, _event_ties(bound), _conditions({"": sql}, matches, "residual", RESIDUAL_PLACE))


def automaton_counts(bound: BoundAutomaton, spec: AutomatonSpec, function: str | None, *, keep_null_time: bool) -> str:
    """The query with the counts of a MATCH AUTOMATON clause."""
    counted = _conditions(bound.steps, raw(f"{bound.relation.text}\n"))
    rows = automaton.engine_input(bound, spec, keep_null_time=keep_null_time)
    return _union(counted, _engine(rows, AnalyzeSpec(spec), function), _ties(bound, bound.keys, bound.relation.text))


def _event_ties(bound: BoundEventPattern) -> exp.Expression | None:
    """Those of the events that a strategy takes one after the other."""
    if bound.strategy == "any":
        return None
    if is_contiguous(bound):
        return _ties(bound, bound.keys if bound.strategy == "partition_contiguity" else (), bound.relation.text)
    return _ties(bound, bound.keys, f"({events_of(bound, '*')}) AS {quoted(ALIAS)}", bound.equivalences)


def _ties(
    bound: BoundRowPattern | BoundEventPattern | BoundAutomaton,
    keys: Sequence[Key],
    rows: str,
    more: Sequence[str] = (),
) -> exp.Expression | None:
    """How many of ``rows`` tie in ORDER BY with another one of their partition; no line if none do."""
    if not bound.order:
        return None
    places = [key.text for key in keys] + list(map(quoted, more)) + [text for text, _ in bound.order]
    named_places = [named(text, f"__cep_t{i}") for i, text in enumerate(places)]
    groups = select([raw("COUNT(*) AS `n`")], select(named_places, rows))
    groups = groups.group_by(*(raw(quoted(f"__cep_t{i}")) for i in range(len(places))))
    order = ", ".join(text for text, _ in bound.order)
    values = ("0", "'ties'", string(order), "CAST(SUM(`n`) AS DECIMAL(38, 0))", "CAST(NULL AS DECIMAL(38, 0))")
    columns = [named(value, name) for name, value in zip(COLUMNS, values, strict=True)]
    return select(columns, groups).where(raw("`n` > 1")).having(raw("COUNT(*) > 0"))


def _parts(bound: BoundRowPattern, variable: str) -> Steps:
    """The row-only conjuncts of a condition, each guarded by those before it."""
    condition = bound.conditions.get(variable)
    if condition is None or condition.text is None:
        return ()
    if condition.text in bound.early.values() or len(condition.parts) < 2:
        label = " AND ".join(label for label, _ in condition.parts)
        return ((label, condition.text),)
    steps: list[tuple[str, str]] = []
    for label, text in condition.parts:
        before = steps[-1][1] if steps else None
        steps.append((label, f"CASE WHEN {before} THEN ({text}) END" if before else f"({text})"))
    return steps


def _conditions(
    steps: Mapping[str, Steps], rows: exp.Expression, section: str = "condition", place: int = -RESIDUAL_PLACE
) -> exp.Expression | None:
    """One pass over ``rows`` that counts those that pass each step."""
    lines = [(variable, label, text, i) for variable, found in steps.items() for i, (label, text) in enumerate(found)]
    if not lines:
        return None
    numbers = [f"COUNT_IF({text}) AS {quoted(f'n{i}')}" for i, (_, _, text, _) in enumerate(lines)]
    counted = exp.select(raw("COUNT(*) AS `all`"), *map(raw, numbers)).from_(rows)
    structs = ", ".join(_struct(line, i, section, place) for i, line in enumerate(lines))
    return select([raw(f"INLINE(ARRAY({structs}))")], counted)


def _struct(line: tuple[str, str, str, int], i: int, section: str, place: int) -> str:
    variable, label, _, step = line
    item = string(f"{variable}: {' '.join(label.split())}" if variable else " ".join(label.split()))
    tried = quoted(f"n{i - 1}") if step else "`all`"
    values = [
        str(place + i),
        string(section),
        item,
        f"CAST({tried} AS DECIMAL(38, 0))",
        f"CAST(`n{i}` AS DECIMAL(38, 0))",
    ]
    pairs = [f"{string(name)}, {value}" for name, value in zip(COLUMNS, values, strict=True)]
    return f"NAMED_STRUCT({', '.join(pairs)})"


def _engine(rows: exp.Expression, spec: AnalyzeSpec, function: str | None) -> exp.Expression:
    return exp.select(*(raw(quoted(name)) for name in COLUMNS)).from_(match_call(rows, spec, function))


def _union(*queries: exp.Expression | None) -> str:
    return " UNION ALL ".join(f"({text_of(query)})" for query in _there(queries))


def _there(queries: Sequence[exp.Expression | None]) -> Iterator[exp.Expression]:
    yield from (query for query in queries if query is not None)

"""MEASURES of MATCH PATTERN → a query with one row per partition: PARTITION BY columns, then the measures.

The query is ``SELECT keys, measures FROM (rows) GROUP BY keys``: as in SQL with GROUP BY, a partition without a match has no row; as in SQL without
it, there is always one row if there is no PARTITION BY. EMIT CHANGES also groups by ``emit_time`` and keeps the rows whose measures differ from those
of the previous row.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.types import DataType
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.match_aggregates import EMIT_TIME
from rewrites.emit.event_outputs import UNTIL
from rewrites.emit.event_pattern import NOW, event_times
from rewrites.emit.shards import OWN
from rewrites.sql.builder import named, over, quoted, raw, select, text_of
from sparkcep.spec import EventPatternSpec

PRESENT = "__cep_match"


def measures_query(bound: BoundEventPattern, measures: Iterable[tuple[str, str]], rows: str) -> str:
    """``measures``: (SQL over ``rows``, name). ``rows``: a query with a column per key, in parentheses. The result is in parentheses."""
    keys = [quoted(key.name) for key in bound.keys]
    columns = [*map(raw, keys), *(named(text, name) for text, name in measures)]
    query = select(columns, raw(rows))
    return f"({text_of(query.group_by(*map(raw, keys)) if keys else query)})"


def changes_query(
    bound: BoundEventPattern,
    measures: Iterable[tuple[str, str]],
    rows: str,
    before: Iterable[tuple[str, DataType]],
    apart: Iterable[str] = (),
) -> str:
    """Like ``measures_query``, for ``rows`` with ``emit_time``: one row for every change.

    ``before``: for each measure its SQL over no matches, and its type. ``apart``: additional key columns.
    """
    keys, time = [quoted(name) for name in (*(key.name for key in bound.keys), *apart)], quoted(EMIT_TIME)
    texts = list(measures)
    names = [quoted(name) for _, name in texts]
    grouped = select([*map(raw, keys), raw(time), *(named(*measure) for measure in texts)], raw(rows))
    grouped = grouped.group_by(*map(raw, keys), raw(time))
    lagged: list[exp.Expression] = [exp.Star()]
    for i, (name, (text, data_type)) in enumerate(zip(names, before, strict=True)):
        call = f"LAG({name}, 1, CAST({text} AS {data_type.simpleString()}))"
        lagged.append(named(over(call, keys, [time]), f"__cep_b{i}"))
    same = " AND ".join(f"{name} <=> `__cep_b{i}`" for i, name in enumerate(names))
    query = select([*map(raw, keys), raw(time), *map(raw, names)], select(lagged, grouped)).where(raw(f"NOT ({same})"))
    return f"({text_of(query)})"


def alive_matches(bound: BoundEventPattern, spec: EventPatternSpec, matches: str, *, keep_null_time: bool) -> str:
    """Every event time of a partition joined with the matches alive at it; PRESENT is NULL if there is none."""
    keys = {key.name: f"__cep_k{i}" for i, key in enumerate(bound.keys)}
    shown = [output.name for output in spec.outputs if output.name != OWN]
    columns = [named(quoted(name), keys.get(name, name)) for name in shown]
    right = select([*columns, named("TRUE", PRESENT)], raw(matches)).subquery("__cep_matches", copy=False)
    left = event_times(bound, keep_null_time=keep_null_time).subquery("__cep_times", copy=False)
    tests = [f"{quoted(name)} <=> {quoted(other)}" for name, other in keys.items()]
    tests.append(f"`match_end` <= {quoted(EMIT_TIME)}")
    if bound.window is not None:
        events = bound.window.events
        tests.append(f"{quoted(NOW)} < {quoted(UNTIL)}" + (f" + {events}" if events is not None else ""))
    query = exp.select(exp.Star()).from_(left).join(right, on=raw(" AND ".join(tests)), join_type="left")
    return f"({text_of(query)})"

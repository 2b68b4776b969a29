"""MEASURES of MATCH PATTERN → a query with one row per partition: PARTITION BY columns, then the measures.

The query is ``SELECT keys, measures FROM (rows) GROUP BY keys``: as in SQL with GROUP BY, a partition without a match has no row; as in SQL without
it, there is always one row if there is no PARTITION BY. EMIT CHANGES also groups by ``emit_time`` and keeps the rows whose measures differ from those
of the previous row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pyspark.sql.types import DataType, StructType
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.match_aggregates import EMIT_TIME
from rewrites.emit.event_outputs import UNTIL
from rewrites.emit.event_pattern import NOW, event_times
from rewrites.emit.shards import OWN
from rewrites.sql.builder import named, over, quoted, raw, select, string, text_of
from sparkcep.spec import EventPatternSpec

PRESENT = "__cep_match"
"""A column that is NULL in rows without a match."""
KIND, ELEMENTS = "__cep_kind", "__cep_elements"
"""Of a row that ``with_elements`` makes: 0 or the number of the closure of whose elements it has one, and what aggregates over elements read."""


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


def with_elements(
    bound: BoundEventPattern, rows: str, columns: StructType, closures: Collection[str], walked: Sequence[str]
) -> str:
    """The matches, each followed by a row for each element of the closures ``walked``. ``rows``: the matches, with ``columns``.

    The row of a match has its columns, and PRESENT; that of an element has in ELEMENTS the single events of its match, and the element by its
    closure's name. All have the keys.
    """
    keys = [key.name for key in bound.keys]
    arrays = [name for name in columns.names if name in closures]
    single = [name for name in columns.names if name not in arrays and name not in keys]
    parts = [_exploded(0, arrays, walked)]
    for kind, name in enumerate(walked, 1):
        parts.append(f"TRANSFORM(COALESCE({quoted(name)}, ARRAY()), `__cep_e` -> {_exploded(kind, arrays, walked)})")
    kept = [raw(quoted(name)) for name in (*keys, *single)]
    inner = select([*kept, named(f"EXPLODE(CONCAT(ARRAY({parts[0]}), {', '.join(parts[1:])}))", "__cep_r")], raw(rows))
    is_match = "`__cep_r`.`kind` = 0"
    values = [f"{string(name)}, {quoted(name)}" for name in single]
    values += [f"{string(name)}, `__cep_r`.{quoted(f'element {name}')}" for name in walked]
    made = [
        *(raw(quoted(name)) for name in keys),
        *(named(f"IF({is_match}, {quoted(name)}, NULL)", name) for name in single),
        *(named(f"`__cep_r`.{quoted(name)}", name) for name in arrays),
        named(f"IF({is_match}, TRUE, NULL)", PRESENT),
        named("`__cep_r`.`kind`", KIND),
        named(f"NAMED_STRUCT({', '.join(values)})", ELEMENTS),
    ]
    return f"({text_of(select(made, inner))})"


def _exploded(kind: int, arrays: Sequence[str], walked: Sequence[str]) -> str:
    """What EXPLODE makes a row of: the arrays of a match, or (with ``kind``) an element of one of them."""
    fields = [f"'kind', {kind}"]
    fields += [f"{string(name)}, {quoted(name) if not kind else f'IF(FALSE, {quoted(name)}, NULL)'}" for name in arrays]
    for number, name in enumerate(walked, 1):
        element = "`__cep_e`" if number == kind else f"GET({quoted(name)}, -1)"
        fields.append(f"{string(f'element {name}')}, {element}")
    return f"NAMED_STRUCT({', '.join(fields)})"


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

"""keys_in_order: workers sort the rows of a task, and see where a partition begins; no window function of Spark's does.

``ROW_NUMBER() OVER (PARTITION BY user ORDER BY ts)`` → the same exchange by ``user``, and nothing else. Spark's sort and the window above it, which
copies each partition into a buffer before it numbers the rows, take a quarter to two fifths of a query that sends most rows, and little of one that
sends few. In MATCH_RECOGNIZE the workers also test conditions on a row and rows next to it (``price < PREV(price)``), for which Spark would need a
window.

Applies without PARTITION BY and to keys whose equality is that of their bytes (not DOUBLE, no collations), and to one ORDER BY item that is a
number, a date or a timestamp (MATCH_RECOGNIZE: to such columns), where nothing else needs a window. Spark is told the number of tasks: where it finds
one by itself, two cores may have three tasks to do; not in a view, whose input may grow. And only to an input that comes as it is read:
one that comes from an exchange may be distributed by the same keys, which a window uses and an exchange that is asked for does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
from sqlglot import exp

from rewrites.bind.adjacent_conditions import are_tested
from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.partitions import Together, sorting
from rewrites.bind.reached import NotForWorkers
from rewrites.bind.relation import Relation, Resources
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.sql.builder import ROW_NUMBER, quoted, raw, select
from sparkcep.errors import CepError
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.row import leaves

NAME = "keys_in_order"
_NUMBERED = IntegralType | DateType | TimestampType | TimestampNTZType
"""Types whose values workers sort as numbers."""
TASK_BYTES = 8 << 20
"""The keys and times of a task in a file; its rows take ten times as many bytes in memory."""
LEAST_BYTES = 1 << 20
"""Those of which it takes a task of its own."""


def keys_in_order(bound: BoundEventPattern, numbers_tasks: bool) -> Together | None:
    """How the events of a MATCH PATTERN clause come; None where the rule does not apply."""
    if bound.relation.streaming or bound.inferred or bound.emit_changes is not None or not ranked_by_time(bound):
        return None
    if bound.strategy not in ("any", "next"):
        return None
    types = {field.name: field.dataType for field in bound.relation.schema}
    keys = {key.sent: key.data_type for key in bound.keys}
    keys |= {column: types[column] for column in bound.equivalences}
    texts = [*(key.text for key in bound.keys), *map(quoted, bound.equivalences)]
    return _together(keys, [*texts, bound.time], bound.relation, numbers_tasks)


def automaton_keys(bound: BoundAutomaton, numbers_tasks: bool) -> Together | None:
    """The same of a MATCH AUTOMATON clause."""
    if len(bound.order) > 1 or not is_numbered(bound.time_type):
        return None
    keys = {key.sent: key.data_type for key in bound.keys}
    return _together(keys, [*(key.text for key in bound.keys), bound.time], bound.relation, numbers_tasks)


def row_pattern_keys(bind: Callable[[bool], BoundRowPattern], numbers_tasks: bool) -> BoundRowPattern:
    """A MATCH_RECOGNIZE clause by the rule, if it applies. ``bind``: resolves the clause, with conditions on adjacent rows as data or as windows."""
    try:
        bound = bind(True)
        together = _of_rows(bound, numbers_tasks)
    except (CepError, NotForWorkers):  # a function that only Spark has, or an error in the clause
        return bind(False)
    if together is None:
        return bind(False) if bound.adjacent else bound
    return replace(bound, together=together, sort=_sort(bound))


def _of_rows(bound: BoundRowPattern, numbers_tasks: bool) -> Together | None:
    if not _sort(bound) or _needs_window(bound):
        return None
    ansi, adjacent = bound.relation.is_ansi(), bound.adjacent
    if adjacent and not are_tested(adjacent, bound.column_types, bound.arguments, ansi=ansi):
        return None
    keys = {key.sent: key.data_type for key in bound.keys}
    texts = [*(key.text for key in bound.keys), *(text for text, _ in bound.order)]
    return _together(keys, texts, bound.relation, numbers_tasks)


def _sort(bound: BoundRowPattern) -> tuple[OrderColumn, ...]:
    """How workers sort the rows of a partition; empty if they do not."""
    types = {field.name: field.dataType for field in bound.relation.schema}
    if len(bound.order_columns) < len(bound.order) or not all(is_numbered(types[name]) for name in bound.order_columns):
        return ()
    items = zip(bound.order_columns, bound.order, strict=True)
    return tuple(sorting(name, direction) for name, (_, direction) in items)


def _needs_window(bound: BoundRowPattern) -> bool:
    """Whether something but the conditions on adjacent rows needs a window of Spark's, or has its own."""
    texts = [*bound.arguments, *(condition.text or "" for condition in bound.conditions.values())]
    read = [*bound.outputs.sources, *(leaf for define in bound.defines for leaf in leaves(define.condition))]
    numbered = any(ROW_NUMBER in text for text in texts) or any(
        getattr(one, "column", "") == ROW_NUMBER for one in read
    )
    return numbered or bool(bound.early) or bound.frame is not None or bound.lateral


def ranked_by_time(bound: BoundEventPattern) -> bool:
    """Whether the rank of an event in its partition follows from its time, which the engine has for WITHIN."""
    by_time = bound.window is not None and bound.window.events is None and len(bound.order) == 1
    return by_time and isinstance(bound.time_type, _NUMBERED | DoubleType)


def sorted_by_workers(bound: BoundEventPattern) -> bool:
    """Whether workers sort the events of a clause that is ``ranked_by_time``."""
    return is_numbered(bound.time_type)


def is_numbered(kind: DataType) -> bool:
    """Whether workers sort the values of a type."""
    return isinstance(kind, _NUMBERED)


def _together(
    keys: Mapping[str, DataType], texts: Sequence[str], relation: Relation, numbers_tasks: bool
) -> Together | None:
    """``keys``, if the rule applies to them; ``texts``: the SQL of these and of the time. ``numbers_tasks``: as in ``Options``."""
    if not all(map(_is_plain, keys.values())) or relation.scattered is None:
        return None
    found = relation.scattered(*relation.columns_of(texts))
    return None if found is None else Together(tuple(keys), _tasks(found) if numbers_tasks and keys else None)


def _tasks(found: Resources) -> int | None:
    """None: Spark does not know the size of the input."""
    if found.size is None:
        return None
    many = max(min(2 * found.cores, found.size // LEAST_BYTES + 1), found.size // TASK_BYTES)
    return max(min(many, found.shuffle_partitions), 1)


def _is_plain(kind: DataType) -> bool:
    """Whether values of a type are equal where their bytes are."""
    if isinstance(kind, StringType):
        return type(kind) is StringType and kind.isUTF8BinaryCollation()
    return isinstance(kind, _NUMBERED | BooleanType)


def distributed(rows: exp.Select, together: Together) -> exp.Select:
    """``rows``, those of equal keys in one task; all, if there are no keys. DISTRIBUTE BY is no hint, which a setting lets Spark ignore."""
    keys = list(map(quoted, together.keys)) or ["0"]
    rows.set("distribute", exp.Distribute(expressions=list(map(raw, keys))))
    if together.tasks is None:
        return rows
    return select([exp.Star()], rows).hint(f"REPARTITION({together.tasks}, {', '.join(keys)})", dialect="spark")

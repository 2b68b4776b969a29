"""BoundRowPattern → SQL.

``SELECT keys, measures FROM cep_match(TABLE(SELECT columns, mask FROM (SELECT *, ROW_NUMBER() OVER w, LAG(…) OVER w FROM input)), spec)``:
one exchange and one sort, which deliver whole partitions in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql.types import DataType, LongType
from sqlglot import exp

from rewrites.bind.row_pattern import BoundRowPattern, boolean_conditions
from rewrites.emit.folds import folded
from rewrites.emit.masks import ROW_NUMBER, mask_columns
from rewrites.rules.keys_in_order import distributed
from rewrites.sql.builder import filtered, match_call, named, over, quoted, raw, select, subquery, text_of
from rewrites.sql.transport import carried_schema, decoded_columns, encoded
from sparkcep.spec.expression import Call, SparkFunction
from sparkcep.spec.row import Condition, CurrentRow, MatchNumber, Output, RowPatternSpec


def row_pattern_spec(bound: BoundRowPattern) -> RowPatternSpec:
    """The MatchSpec of a bound clause."""
    outputs = outputs_of(bound)
    return RowPatternSpec(
        variables=bound.variables,
        pattern=bound.pattern,
        masks=tuple(name for _, name in mask_columns(_tests(bound))),
        outputs=tuple(output for output, _ in outputs),
        schema=carried_schema(
            ((output.name, data_type) for output, data_type in outputs), bound.relation.chars(outputs)
        ).json(),
        rows_per_match=bound.rows_per_match,
        skip=bound.skip,
        initial=bound.initial,
        defines=bound.defines,
        partition=tuple(key.sent for key in bound.keys),
        text=bound.text,
        frame=bound.frame,
        starts=() if bound.together is None else bound.together.keys,
        sort=bound.sort,
        adjacent=bound.adjacent,
        within=bound.within,
    )


def row_pattern_query(bound: BoundRowPattern, spec: RowPatternSpec, function: str | None = None) -> str:
    """The query that replaces the clause, in parentheses."""
    boolean_conditions(bound, lambda bound: text_of(subquery(windowed(bound))))
    matches = match_call(engine_input(bound, spec), spec, function)
    rows = decoded_columns(matches, ((output.name, data_type) for output, data_type in outputs_of(bound)))
    return f"({text_of(exp.select(*results(bound)).from_(folded(rows, bound, spec)))})"


def engine_input(bound: BoundRowPattern, spec: RowPatternSpec, rows: exp.Select | None = None) -> exp.Select:
    """The rows that an engine reads: columns and masks, partition after partition, in order (which workers may have to make); of a stream,
    ``rows`` in any order."""
    types = bound.column_types | {key.sent: key.data_type for key in bound.keys}
    columns = [_column(quoted(name), name, types) for name in _needed(bound, spec)]
    columns += [_column(text, name, types) for text, name in bound.arguments.items()]
    if bound.together is not None or rows is not None:
        tests = _tests(bound)
        told = rows is not None or any(
            test is not None for test in tests
        )  # workers know masks of which all bits are set
        masks = [named(*one) for one in mask_columns(tests, start="FALSE")] if told else []
        read = select([*columns, *masks], windowed(bound) if rows is None else rows)
        return read if bound.together is None else distributed(read, bound.together)
    columns += [named(text, name) for text, name in mask_columns(_tests(bound))]
    return select(columns, windowed(bound))


def outputs_of(bound: BoundRowPattern) -> list[tuple[Output, DataType]]:
    """The engine's columns with their user-visible types."""
    outputs = [(Output(name, CurrentRow(column)), data_type) for column, name, data_type in _passed(bound)]
    outputs += [(Output(name, source), bound.outputs.types[name]) for source, name in bound.outputs.sources.items()]
    return outputs or [(Output("__cep_m0", MatchNumber()), LongType())]  # a table function has at least one column


def _column(text: str, name: str, types: Mapping[str, DataType]) -> exp.Expression:
    """A column in its encoding for the engine."""
    return named(encoded(text, types[name]) if name in types else text, name)


def windowed(bound: BoundRowPattern) -> exp.Select:
    """The input with the row's number in its partition, and its neighbours' values, where workers do not look for them."""
    if bound.together is not None:
        return input_rows(bound, [])
    if bound.early:
        return _windowed_above(bound, _early(bound))
    partition = [key.text for key in bound.keys]
    order = [f"{text}{direction}" for text, direction in bound.order]
    columns = [named(key.text, key.sent) for key in bound.keys if key.column is None]
    return _input([exp.Star(), *columns, *_window_columns(bound, partition, order)], bound)


def _early(bound: BoundRowPattern) -> exp.Select:
    """The input with what must be computed below the windows, including keys and order, which may use the input's alias."""
    return input_rows(bound, [named(text, f"__cep_o{i}") for i, (text, _) in enumerate(bound.order)])


def input_rows(bound: BoundRowPattern, more: list[exp.Expression]) -> exp.Select:
    """The input with its keys, what conditions need below them, and ``more``."""
    columns = [named(text, name) for text, name in bound.early.items()]
    columns += [named(key.text, key.sent) for key in bound.keys if key.column is None]
    return _input([exp.Star(), *columns, *more], bound)


def _input(columns: list[exp.Expression], bound: BoundRowPattern) -> exp.Select:
    """The rows of the partitions that the key filters select."""
    return filtered(select(columns, bound.relation.text), bound.key_filters)


def _windowed_above(bound: BoundRowPattern, early: exp.Select) -> exp.Select:
    partition = [quoted(key.sent) for key in bound.keys]
    order = [f"{quoted(f'__cep_o{i}')}{direction}" for i, (_, direction) in enumerate(bound.order)]
    return select([exp.Star(), *_window_columns(bound, partition, order)], early)


def _window_columns(bound: BoundRowPattern, partition: list[str], order: list[str]) -> list[exp.Expression]:
    neighbours = [named(over(call, partition, order), name) for call, name in bound.neighbours.items()]
    return [*neighbours, named(over("ROW_NUMBER()", partition, order), ROW_NUMBER)]


def _tests(bound: BoundRowPattern) -> list[str | None]:
    """What the mask bits say: the variables' conditions, and what they are near a frame's bounds."""
    found = (bound.conditions.get(variable) for variable in bound.variables)
    return [*(None if condition is None else condition.text for condition in found), *bound.near]


def _passed(bound: BoundRowPattern) -> Iterator[tuple[str, str, DataType]]:
    """Input columns in the result: (column, engine output name, type)."""
    if bound.frame is not None:
        yield from ((f.name, f.name, f.dataType) for f in bound.relation.schema if f.name in bound.passed)
        return
    keys = {key.sent: key.data_type for key in bound.keys}
    yield from ((column, column, data_type) for column, data_type in keys.items())
    if bound.rows_per_match != "one":
        types = {field.name: field.dataType for field in bound.relation.schema}
        yield from ((column, column, types[column]) for column in _rest(bound))


def _rest(bound: BoundRowPattern) -> list[str]:
    """The input's columns in the result of ALL ROWS that are no keys."""
    keys = {key.column for key in bound.keys}
    return [
        name for name in bound.relation.schema.names if name not in keys and (bound.used is None or name in bound.used)
    ]


def _needed(bound: BoundRowPattern, spec: RowPatternSpec) -> list[str]:
    """Columns that the engine reads and that already exist below the conditions."""
    added = set(bound.arguments.values())
    read = [column for output in spec.outputs for column in _read(output.source)]
    read += [column for define in (*spec.defines, *spec.adjacent) for column in _read(define.condition)]
    read += [*spec.partition, *spec.starts, *(one.column for one in spec.sort)]
    return [column for column in dict.fromkeys(read) if column not in added]


def _read(source: Condition) -> list[str]:
    if isinstance(source, Call | SparkFunction):
        return [column for argument in source.arguments for column in _read(argument)]
    columns = [getattr(source, "column", None), getattr(source, "filter", None)]
    return [column for column in columns if column is not None]


def results(bound: BoundRowPattern) -> list[exp.Expression]:
    """ISO order. ONE ROW: keys, measures. ALL ROWS: keys, order columns, measures, the rest of the input. Windows: what is passed, measures."""
    if bound.frame is not None:
        return [*(raw(quoted(name)) for name in bound.passed), *(named(text, name) for text, name in bound.measures)]
    keys = [named(quoted(key.sent), key.name) for key in bound.keys]
    measures = [named(text, name) for text, name in bound.measures]
    nothing = [raw("1 AS `match`")]
    if bound.rows_per_match == "one":
        return keys + measures or nothing
    rest = _rest(bound)
    order = [column for column in bound.order_columns if column in rest]
    behind = [column for column in rest if column not in order]
    return [*keys, *(raw(quoted(c)) for c in order), *measures, *(raw(quoted(c)) for c in behind)] or nothing

"""The pattern of a window → BoundRowPattern with a frame, and what is called over the window as its measures.

A measure is what MATCH_RECOGNIZE takes FINAL, NULL where a row has no match. A function sees the rows of the match, the *reduced frame*; the
names in it are the input's, not the pattern's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql.types import ArrayType, IntegralType, LongType
from sqlglot import exp

from rewrites.bind.aggregates import function_name, innermost_call, is_aggregate
from rewrites.bind.measures import MeasureBinder
from rewrites.bind.names import Variables
from rewrites.bind.relation import Relation, suggestion
from rewrites.bind.row_pattern import BoundRowPattern, bind_row_pattern
from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import Expr, FrameClause, MatchRecognizeClause, Measure, Name
from rewrites.dialect.nodes import Navigation
from rewrites.sql.builder import quoted
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.spec import row

_RANKS = "row_number rank dense_rank percent_rank cume_dist ntile lag lead"
IGNORES_FRAMES = frozenset(_RANKS.split())
"""Functions of a row's place in its partition."""

_FIRST = ("first_value", "first", "any_value")
_LAST = ("last_value", "last")
_NTH = "nth_value"
_FRAME_END = "write 5 FOLLOWING, or UNBOUNDED FOLLOWING"
_NO_FUNCTION = (
    "there are the window's measures, Spark's aggregate functions, first_value, last_value, nth_value, and what ignores frames: row_number, rank, "
    "dense_rank, percent_rank, cume_dist, ntile, lag, lead"
)


@dataclass(frozen=True, slots=True)
class Called:
    """What is called over a window: a measure's name or a function's call; ``column``: where its value goes."""

    expr: Expr
    column: str


def bind_window(
    clause: MatchRecognizeClause,
    called: tuple[Called, ...],
    passed: tuple[str, ...],
    relation: Relation,
    source: Source,
) -> BoundRowPattern:
    """The window with the values ``called`` over it, beside the input's columns ``passed``."""
    frame = clause.frame
    assert frame is not None
    own = _measures(clause)
    values = tuple(_measure(each, own) for each in called)
    found: dict[str, str | None] = {}

    def outputs(binder: MeasureBinder) -> tuple[tuple[str, str], ...]:
        found["following"] = _following(frame, binder)
        return tuple((_value(each, value, binder), each.column) for each, value in zip(called, values, strict=True))

    bound = bind_row_pattern(replace(clause, measures=values), relation, source, outputs)
    near, tests = _near(bound)
    return replace(bound, frame=row.Frame(found["following"], frame.seek, near), near=tests, passed=passed)


def measure_name(expr: Expr) -> Name | None:
    """The measure that a call names: ``val OVER w``."""
    path = column_path(expr.node)
    return path[0] if path is not None and len(path) == 1 else None


def _near(bound: BoundRowPattern) -> tuple[tuple[row.Near, ...], tuple[str, ...]]:
    """Where the variants' mask bits stand, and the tests behind those bits that come after the variables' own."""
    texts: list[str] = []
    near = []
    for i, name in enumerate(bound.variables):
        condition = bound.conditions.get(name)
        if condition is None or not condition.near:
            continue
        bits = []
        for _, _, text in condition.near:
            if text != condition.text and text not in texts:
                texts.append(text)
            bits.append(1 + i if text == condition.text else 1 + len(bound.variables) + texts.index(text))
        before, behind, _ = condition.near[-1]
        near.append(row.Near(name, before, behind, tuple(bits)))
    return tuple(near), tuple(texts)


def _following(frame: FrameClause, binder: MeasureBinder) -> str | None:
    """The input column with the rows that a frame has behind its first; None: all of them."""
    if not frame.bounded:
        return None
    inputs, text = binder.inputs, "0L"
    if frame.following is not None:
        expr = frame.following
        text = inputs.source.text(expr.span)
        data_type = inputs.relation.types_of([(text, expr.span)])[0]
        if not isinstance(data_type, IntegralType):
            message = f"the number of rows FOLLOWING is {data_type.simpleString()}, not a whole number"
            raise CepAnalysisError(message, code="FRAME_END", span=expr.span, hint=_FRAME_END)
        if isinstance(expr.node, exp.Neg):
            message = "a frame ends a negative number of rows FOLLOWING"
            raise CepAnalysisError(message, code="FRAME_END", span=expr.span, hint=_FRAME_END)
        text = f"CAST({text} AS BIGINT)"
    return inputs.added.name(text, LongType())


def _measures(clause: MatchRecognizeClause) -> dict[str, Measure]:
    """The window's measures by name, in lower case."""
    found: dict[str, Measure] = {}
    for measure in clause.measures:
        name = measure.name
        if name.value.lower() in found:
            message = f"the measure {name.value} has the name of another measure"
            raise CepAnalysisError(message, code="DUPLICATE_NAME", span=name.span, hint="give it another name")
        found[name.value.lower()] = measure
    return found


def _measure(called: Called, measures: Mapping[str, Measure]) -> Measure:
    """The measure that is called, or the function as one."""
    name = measure_name(called.expr)
    if name is None:
        return Measure(called.expr, Name(called.column, called.expr.span))
    measure = measures.get(name.value.lower())
    if measure is None:
        known = [each.name.value for each in measures.values()]
        raise CepAnalysisError(
            f"the window has no measure {name.value}",
            code="UNKNOWN_MEASURE",
            span=name.span,
            hint=suggestion(name.value, known) if known else "MEASURES … AS name before ROWS BETWEEN",
        )
    return measure


def _value(called: Called, measure: Measure, binder: MeasureBinder) -> str:
    if measure_name(called.expr) is None:
        return _function(measure.expr, replace(binder, inputs=replace(binder.inputs, variables=Variables(()))))
    number = quoted(binder.outputs.name(row.MatchNumber(), LongType()))
    return f"CASE WHEN {number} > 0 THEN {binder.bind(measure)} END"


def _function(expr: Expr, binder: MeasureBinder) -> str:
    """A function over the reduced frame."""
    node, skips = expr.node, False
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        node, skips = node.this, isinstance(node, exp.IgnoreNulls)
    name = function_name(innermost_call(node), binder.inputs.source)
    if name in (*_FIRST, *_LAST, _NTH) and not isinstance(node, exp.Filter):
        return _placed(name, node, skips, binder)
    if not is_aggregate(expr.node):
        raise CepUnsupportedError(
            f"{name} over a window with a pattern", code="WINDOW_FUNCTION", span=expr.span, hint=_NO_FUNCTION
        )
    return binder.bind(Measure(expr, Name(name, expr.span)))


def _placed(name: str, node: exp.Expression, skips: bool, binder: MeasureBinder) -> str:
    """``first_value``, ``last_value``, ``nth_value``: the value in one row of the reduced frame."""
    arguments = _arguments(node)
    if not arguments or len(arguments) > 2 or (name == _NTH and len(arguments) < 2):
        raise CepAnalysisError(
            f"{name} takes {'two arguments' if name == _NTH else 'one or two arguments'}",
            code="ARGUMENTS",
            span=span_of(node),
        )
    place = 0
    if name == _NTH:
        place = _place(arguments[1]) - 1
    elif len(arguments) == 2:
        skips = skips or _flag(arguments[1])
    column, data_type = binder.inputs.column_of(arguments[0], binder.inputs.members(arguments[0]))
    if skips:
        values = quoted(binder.outputs.name(row.Aggregate("array_agg", column), ArrayType(data_type)))
        return f"get({values}, {f'size({values}) - 1' if name in _LAST else place})"
    at = row.Navigation(None, last=name in _LAST, logical=place)
    return quoted(binder.outputs.name(row.ColumnAt(column, at), data_type))


def _arguments(node: exp.Expression) -> list[exp.Expression]:
    """``first(x, true)`` is read as navigation with an offset."""
    if isinstance(node, Navigation):
        offset = node.args.get("offset")
        return [node.this, *([offset] if offset is not None else []), *(node.args.get("extra") or [])]
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return list(node.expressions)
    return list(node.iter_expressions())


def _place(node: exp.Expression) -> int:
    if not isinstance(node, exp.Literal) or node.is_string or not node.name.isdigit() or int(node.name) < 1:
        raise CepAnalysisError(
            "nth_value takes a whole number, 1 or more",
            code="ARGUMENTS",
            span=span_of(node),
            hint="write nth_value(x, 2)",
        )
    return int(node.name)


def _flag(node: exp.Expression) -> bool:
    if not isinstance(node, exp.Boolean):
        raise CepAnalysisError(
            "whether NULLs are ignored is TRUE or FALSE",
            code="ARGUMENTS",
            span=span_of(node),
            hint="write TRUE, FALSE, or IGNORE NULLS behind the call",
        )
    return bool(node.this)

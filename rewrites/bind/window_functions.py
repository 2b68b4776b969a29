"""Window functions in DEFINE: computed for every row inside its partition, in the clause's order.

``price > avg(price) OVER (ROWS 4 PRECEDING)`` → ``avg(price) OVER (PARTITION BY sym ORDER BY ts ROWS 4 PRECEDING)``, a column of the input. The
standard has none; Snowflake has these. OVER () is the whole partition. What names a partition or an order of its own is refused, and so are
window functions in MEASURES, and those in the pattern of a window, whose conditions look at no row outside of the frame.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.bind.names import Variables, references
from rewrites.dialect import span_of
from rewrites.dialect.clause import Define, MatchRecognizeClause
from rewrites.dialect.nodes import ROW_PATTERN, Semantics
from rewrites.dialect.tokens import depths, tokenize
from rewrites.sql.builder import over
from rewrites.sql.source import Edit, Source
from sparkcep.errors import CepUnsupportedError, Span

_BY_POSITION = frozenset(["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"])
"""Functions of a row's place, which take no frame."""

_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def with_windows(clause: MatchRecognizeClause, variables: Variables, source: Source) -> Source:
    """``source`` with the window functions of DEFINE in full. Raises CepUnsupportedError for those that are refused."""
    for measure in clause.measures:
        for window in _windows(measure.expr.node):
            raise _refused(window, source, "in MEASURES", "compute it in a query over the clause, or in its input")
    for define in clause.defines:
        for window in _windows(define.condition.node):
            if clause.frame is not None:
                hint = "a condition looks at no row outside of the frame: compute it as a column of the input, in a subquery"
                raise _refused(window, source, "in DEFINE of a window with a pattern", hint)
            source = source.with_edit(*_in_full(window, define, clause, variables, source))
    return source


def _windows(root: exp.Expression) -> Iterator[exp.Window]:
    """The window functions outside of subqueries."""
    for node in root.walk(prune=lambda part: isinstance(part, exp.Query | exp.Window)):
        if isinstance(node, exp.Window):
            yield node


def _in_full(
    window: exp.Window, define: Define, clause: MatchRecognizeClause, variables: Variables, source: Source
) -> Edit:
    _check(window, define, variables, source)
    span = span_of(window)
    at = _keyword(source, span)
    frame = source.sql[at.end : span.end].strip()[1:-1].strip()
    call = source.splice(
        Span(span.start, at.start), [(ref.span, source.text(ref.rest)) for ref in references(window.this, variables)]
    )
    if not frame and call.split("(")[0].strip().lower() not in _BY_POSITION:
        frame = _WHOLE
    keys = [source.text(item.expr.span) for item in clause.partition_by]
    order = [source.text(item.span) for item in clause.order_by]
    text = over(call.strip(), keys, order)
    return span, f"{text[:-1]} {frame})" if frame else text


def _keyword(source: Source, window: Span) -> Span:
    """Where OVER stands."""
    tokens = tokenize(source.sql).inside(window)
    return [tokens[i].span for i, depth in depths(tokens) if depth == 0 and tokens[i].key == "OVER"][-1]


def _check(window: exp.Window, define: Define, variables: Variables, source: Source) -> None:
    own = variables.require(define.variable)[0]
    if window.args.get("alias"):
        raise _refused(window, source, "over a named window", "write the frame itself: OVER (ROWS 4 PRECEDING)")
    if window.args.get("partition_by") or window.args.get("order"):
        hint = "leave them out: it is computed inside the clause's partition, in its order; any other is a column of the input"
        raise _refused(window, source, "with a PARTITION BY or ORDER BY of its own in DEFINE", hint)
    spec = window.args.get("spec")
    if spec is not None and str(spec.args.get("kind")).upper() != "ROWS":
        raise _refused(window, source, "with a RANGE frame in DEFINE", "write a frame of ROWS")
    for part in window.this.walk():
        inside = part is not window.this or part.args.get("function") in ("PREV", "NEXT")
        if isinstance(part, (*ROW_PATTERN, Semantics)) and inside:
            raise _refused(part, source, "inside a window function", "a window function is computed before any match")
        if isinstance(part, exp.Window):
            raise _refused(part, source, "inside a window function", "compute it as a column of the input")
    for found in references(window.this, variables):
        if own not in found.members:
            what = f"{source.text(found.span)} inside a window function of {own}'s condition"
            raise CepUnsupportedError(
                what,
                code="WINDOW_FUNCTION",
                span=found.span,
                hint="a window function looks at the rows of the partition, whatever variable they are mapped to: leave the variable out",
            )


def _refused(node: exp.Expression, source: Source, what: str, hint: str) -> CepUnsupportedError:
    text = source.text(span_of(node))
    kind = "the window function " if isinstance(node, exp.Window) else ""
    return CepUnsupportedError(f"{kind}{text} {what}", code="WINDOW_FUNCTION", span=span_of(node), hint=hint)

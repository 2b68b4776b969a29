"""A Spark expression parser whose nodes carry their spans.

Every ``_parse_*`` method of sqlglot's Spark parser is wrapped: the node that it returns gets the offsets of the tokens it consumed. The innermost
method that returns a node is the most precise; outer ones only extend the span. Intermediate nodes (``a + b`` inside ``a + b + c``) get spans from
their operands at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token as RawToken
from sqlglot.tokens import TokenType

from sparkcep.errors import CepInternalError, Span

SPAN = "span"
_NOT_RECORDED = ("_parse_wrapped", "_parse_csv", "_parse_batch_statements", "_parse_statement")


def span_of(node: exp.Expr) -> Span:
    """The span of ``node`` in the statement.

    ``sql[span.start:span.end]`` parses to the same node again, with one exception: a node that has no text of its own
    (the ``a IN (1)`` inside ``a NOT IN (1)``) has the span of the smallest text that contains it.
    """
    span = node.meta.get(SPAN)
    if not isinstance(span, Span):
        raise CepInternalError(f"a {type(node).__name__} node has no place in the statement", code="SPAN")
    return span


def set_span(node: exp.Expr, span: Span) -> None:
    """Set the span of ``node``."""
    node.meta[SPAN] = span


class SpanParser(SparkParser):
    """Records spans. Subclasses are decorated with ``recording``, which wraps all their methods."""

    def reset(self) -> None:
        """Forget the previous text."""
        super().reset()
        self._frames: list[int] = []

    def expression(self, instance: Any, token: RawToken | None = None, comments: list[str] | None = None) -> Any:
        """A node made from a single ``token`` has the token's span; ``f(x) WITHIN GROUP (…)`` ends here, before a FILTER behind it."""
        if token:
            set_span(instance, Span(token.start, token.end + 1))
        if isinstance(instance, exp.WithinGroup) and (call := _span(instance.this)):
            set_span(instance, Span(call.start, self._prev.end + 1))
        return super().expression(instance, token, comments)

    def _record(self, node: Any, start: int, first: Any) -> None:
        """Set or extend the span of ``node``. The method began at token ``start``; ``first`` is its argument."""
        if not isinstance(node, exp.Expr):
            return
        old = _span(node)
        if node is first or (old and self._index > start and old.start == self._tokens[start].start):
            if old and self._index > start:
                set_span(node, Span(old.start, max(old.end, self._prev.end + 1)))
            return
        known = _parts(first) if isinstance(first, exp.Expr) else None
        if old is None and (known or self._index > start):
            begin = known.start if known else self._tokens[start].start
            set_span(node, Span(begin, self._prev.end + 1))

    def _force(self, node: exp.Expr, start: int) -> None:
        """Set the span from token ``start`` to the last consumed token."""
        set_span(node, Span(self._tokens[start].start, self._prev.end + 1))

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        # Called after a call has closed: its text began where the caller began (``CAST (`` is consumed before any node).
        if isinstance(this, exp.Expr) and not alias and len(self._frames) > 1 and self._index > self._frames[-2]:
            self._force(this, self._frames[-2])
        return super()._parse_window(this, alias=alias)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        # Called for every step of ``a.b[0].c``, right after the step, before any method has returned it.
        if this is not None and _span(this) is None and (parts := _parts(this)):
            set_span(this, Span(parts.start, self._prev.end + 1))
        return super()._parse_bracket(this)

    def _parse_paren(self) -> exp.Expr | None:
        start = self._index
        node = super()._parse_paren()
        if node is not None:
            self._force(node, start)
        return node

    def _parse_interval(self, require_interval: bool = True, parse_function_unit: bool = True) -> Any:
        start = self._index
        node = super()._parse_interval(require_interval, parse_function_unit)
        if node is None:
            return None
        if isinstance(node, exp.Add) and (left := _span(node.this)):
            set_span(node.this, Span(self._tokens[start].start, left.end))
        self._force(node, start)
        return node

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        start = self._index
        node = super()._parse_in(this, alias=alias)
        if isinstance(query := node.args.get("query"), exp.Expr):
            self._force(query, start)
        return node

    def _parse_parameter(self) -> exp.Parameter:
        start = self._index - 1  # ``$`` is already consumed
        node = super()._parse_parameter()
        self._force(node, start)
        return node

    def _kv_to_prop_eq(self, expressions: list[exp.Expr], parse_map: bool = False) -> list[exp.Expr]:
        return expressions  # ``struct(a AS x)`` keeps its arguments as written

    def _build_json_extract(self, this: exp.Expr | None, path_parts: list[exp.JSONPathPart]) -> Any:
        node, rest = super()._build_json_extract(this, path_parts)
        if isinstance(node, exp.JSONExtract) and node is not this and this is not None and (known := _span(this)):
            set_span(node, Span(known.start, self._path_end()))
        return node, rest

    def _path_end(self) -> int:
        """The end of a ``x:a.b`` path: tokens consumed after it (``::``, another ``:``) do not belong to it."""
        index = self._index - 1
        if self._tokens[index].token_type in (TokenType.COLON, TokenType.DCOLON):
            index -= 1
        return int(self._tokens[index].end) + 1


def recording(parser: type[SpanParser]) -> type[SpanParser]:
    """Wrap every ``_parse_*`` method of ``parser`` so that the nodes it returns carry their spans."""
    for name in dir(parser):
        if name.startswith("_parse_") and not name.startswith(_NOT_RECORDED):
            setattr(parser, name, _recorded(getattr(parser, name)))
    return parser


def fill_spans(root: exp.Expr, tokens: list[RawToken]) -> None:
    """Give every node below ``root`` a span: from its parts or, if it has none, from its parent."""
    set_span(root, _span(root) or Span(tokens[0].start, tokens[-1].end + 1))
    _from_parts(root)
    for node in root.walk():
        if _span(node) is None and node.parent is not None:
            set_span(node, span_of(node.parent))


def _recorded(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def run(self: SpanParser, *args: Any, **kwargs: Any) -> Any:
        start = self._index
        self._frames.append(start)
        try:
            node = method(self, *args, **kwargs)
        finally:
            self._frames.pop()
        self._record(node, start, args[0] if args else kwargs.get("this"))
        return node

    return run


def _from_parts(node: exp.Expr) -> Span | None:
    parts = [span for child in node.iter_expressions() if (span := _from_parts(child))]
    if _span(node) is None and parts:
        set_span(node, Span(min(span.start for span in parts), max(span.end for span in parts)))
    return _span(node)


def _parts(node: exp.Expr) -> Span | None:
    """The node's span, or that of its parts, without recording it: the node may still grow."""
    if known := _span(node):
        return known
    parts = [span for child in node.iter_expressions() if (span := _parts(child))]
    return Span(min(span.start for span in parts), max(span.end for span in parts)) if parts else None


def _span(node: exp.Expr) -> Span | None:
    return node.meta.get(SPAN)

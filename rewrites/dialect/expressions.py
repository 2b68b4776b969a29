"""User expressions: parsed for analysis, never regenerated."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import Token as RawToken

from rewrites.dialect.clause import Expr, Name
from rewrites.dialect.parser import LAMBDA_HINT, new_parser
from rewrites.dialect.sites import find_sites
from rewrites.dialect.spans import set_span, span_of
from rewrites.dialect.tokens import Token, cover, tokenize
from sparkcep.errors import CepSyntaxError, Span


def parse_expression(sql: str, place: Span | tuple[Token, ...], *, kleene: bool = False) -> Expr:
    """The expression that fills ``place``, a span of ``sql`` or some of its tokens.

    ``kleene``: read ``v[i]``, ``v[i-1]``, ``v[1]``, ``v[LAST]`` and ``v[..i-1]`` as references into a Kleene closure.
    Raises CepSyntaxError if the text is not exactly one expression.
    """
    span = place if isinstance(place, Span) else cover(place)
    raw = _without_clauses(sql, tokenize(sql).raw_inside(span))
    if not raw:
        raise CepSyntaxError("an expression is missing", code="EXPRESSION", sql=sql, span=span)
    node = new_parser(kleene=kleene).parse_expression(raw, sql)
    _check_lambdas(sql, node)
    _check_names(sql, node)
    return Expr(node, Span(raw[0].start, raw[-1].end + 1))


def bare(node: exp.Expr) -> exp.Expr:
    """``node`` without parentheses around it; a subquery keeps its own."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def column_path(node: exp.Expr) -> tuple[Name, ...] | None:
    """The identifiers of a column reference, outermost first: ``A.s.f`` → A, s, f; None for anything else."""
    if isinstance(node, exp.Column):
        parts = node.parts
    elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        above = column_path(node.this)
        return None if above is None else (*above, _name(node.expression))
    else:
        return None
    if not all(isinstance(part, exp.Identifier) for part in parts):
        return None  # ``A.*``
    return tuple(_name(part) for part in parts)


def column_at(name: str, place: Span) -> exp.Expr:
    """A column as it would be parsed at ``place``."""
    node = exp.column(exp.to_identifier(name, quoted=True))
    for part in node.walk():
        set_span(part, place)
    return node


def _check_lambdas(sql: str, node: exp.Expr) -> None:
    """``x -> x`` is an argument of a function, and no value."""
    for part in node.find_all(exp.Lambda):
        if not isinstance(part.parent, exp.Func):
            raise CepSyntaxError(
                "a lambda stands where a value should be",
                code="LAMBDA",
                sql=sql,
                span=span_of(part),
                hint=LAMBDA_HINT,
            )


def _check_names(sql: str, node: exp.Expr) -> None:
    """``a."price"`` is a name to sqlglot, not to Spark."""
    for part in node.find_all(exp.Literal):
        column, dot = isinstance(part.parent, exp.Column), isinstance(part.parent, exp.Dot)
        if column or (dot and part.arg_key == "expression"):
            raise CepSyntaxError(
                "quotes make a string, not a name",
                code="EXPRESSION",
                sql=sql,
                span=span_of(part),
                hint=f"a quoted name stands in backticks: `{part.name}`",
            )


def _without_clauses(sql: str, raw: list[RawToken]) -> list[RawToken]:
    """``EXISTS (SELECT 1 FROM t MATCH_RECOGNIZE (…) m)`` is read as ``EXISTS (SELECT 1 FROM t m)``: another site."""
    if not any(token.text.upper() in ("MATCH_RECOGNIZE", "MATCH") for token in raw):
        return raw
    start, end = raw[0].start, raw[-1].end + 1
    inside = [site for site in find_sites(sql) if start <= site.span.start and site.span.end <= end]
    return [t for t in raw if not any(site.keyword.start <= t.start < site.span.end for site in inside)]


def _name(identifier: exp.Expr) -> Name:
    return Name(identifier.name, span_of(identifier))

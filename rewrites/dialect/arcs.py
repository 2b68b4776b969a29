"""``ARC a -> b NAMED n ON EPSILON WHEN c SET r = e VALID FROM t1 TO t2`` → ``clause.Arc``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rewrites.dialect.clause import Arc, Assignment, Expr
from rewrites.dialect.cursor import Cursor
from rewrites.dialect.expressions import parse_expression
from rewrites.dialect.items import TIME_UNITS
from rewrites.dialect.tokens import Token, cover, depths, split_commas
from sparkcep.errors import CepSyntaxError, Span
from sparkcep.spec.automaton import ArcKind

HINT = "ARC state -> state [NAMED arc] [ON EPSILON | ON WINDOW END] [WHEN condition] [SET register = value, …] [VALID FROM t1 TO t2]"


def arc_of(sql: str, tokens: tuple[Token, ...]) -> Arc:
    """The arc that ``tokens`` are, ARC among them."""
    cursor = Cursor.over(sql, tokens, cover(tokens))
    cursor.expect("ARC", hint=HINT)
    source = cursor.name("the state that the arc leaves").name
    cursor.expect("-", ">", hint=HINT)
    target = cursor.name("the state that the arc leads to").name
    name = cursor.name("the arc's name").name if cursor.accept("NAMED") else None
    kind, kind_span = _kind(cursor)
    parts = _parts(sql, cursor.rest())
    valid_from, valid_to = _valid(sql, parts.get("VALID"))
    when = parts.get("WHEN")
    return Arc(
        source=source,
        target=target,
        span=cover(tokens),
        name=name,
        kind=kind,
        kind_span=kind_span,
        condition=_expression(sql, when[0], when[1]) if when else None,
        sets=_assignments(sql, parts["SET"]) if "SET" in parts else (),
        valid_from=valid_from,
        valid_to=valid_to,
    )


def _kind(cursor: Cursor) -> tuple[ArcKind, Span | None]:
    if not cursor.at("ON"):
        return "event", None
    if span := cursor.accept("ON", "EPSILON"):
        return "epsilon", span
    if span := cursor.accept("ON", "WINDOW", "END"):
        return "window_end", span
    on = cursor.take()
    raise _misplaced(cursor.sql, on, "begin anything but ON EPSILON or ON WINDOW END")


Part = tuple[Token, tuple[Token, ...]]
"""A keyword and what it governs."""


def _parts(sql: str, tokens: tuple[Token, ...]) -> dict[str, Part]:
    """WHEN, SET and VALID with their tokens, in this order. The WHENs of a CASE are the condition's."""
    order, starts = ("WHEN", "SET", "VALID"), list[int]()
    found: dict[str, Part] = {}
    cases = 0
    for i, depth in depths(tokens):
        key = tokens[i].key if depth == 0 else ""
        cases += (key == "CASE") - (key == "END" and cases > 0)
        if not cases and key in order and (i == 0 or tokens[i - 1].key != ".") and _begins(tokens, i):
            starts.append(i)
    if tokens and (not starts or starts[0] > 0):
        raise _misplaced(sql, tokens[0], "follow the arc's states")
    for start, end in pairwise([*starts, len(tokens)]):
        token = tokens[start]
        if token.key in found:
            raise CepSyntaxError(
                f"{token.key} is given twice", code="DUPLICATE_CLAUSE", sql=sql, span=token.span, hint=HINT
            )
        if any(order.index(before) > order.index(token.key) for before in found):
            raise CepSyntaxError(
                f"{token.key} stands too late", code="CLAUSE_ORDER", sql=sql, span=token.span, hint=HINT
            )
        found[token.key] = token, tokens[start + 1 : end]
    return found


def _begins(tokens: tuple[Token, ...], i: int) -> bool:
    """Whether a word is a keyword here: VALID before FROM or TO, SET before ``register =``."""
    behind = tokens[i + 1].key if i + 1 < len(tokens) else ""
    return tokens[i].key != "VALID" or behind in ("FROM", "TO")


def _expression(sql: str, keyword: Token, tokens: tuple[Token, ...]) -> Expr:
    if not tokens:
        raise CepSyntaxError(f"{keyword.key} needs an expression", code="EMPTY", sql=sql, span=keyword.span, hint=HINT)
    return parse_expression(sql, tokens)


def _assignments(sql: str, part: Part) -> tuple[Assignment, ...]:
    keyword, tokens = part
    found = []
    for item in split_commas(tokens):
        if not item:
            raise CepSyntaxError("SET needs register = value", code="EMPTY", sql=sql, span=keyword.span, hint=HINT)
        cursor = Cursor.over(sql, item, cover(item))
        name = cursor.name("a register")
        equal = cursor.expect("=", hint="SET register = value")
        rest = cursor.rest()
        if not rest:
            raise CepSyntaxError(f"the value of {name.text} is missing", code="EMPTY", sql=sql, span=equal, hint=HINT)
        found.append(Assignment(name.name, parse_expression(sql, rest), cover(item)))
    return tuple(found)


def _valid(sql: str, part: Part | None) -> tuple[Expr | None, Expr | None]:
    """VALID FROM t1 TO t2; either may be missing. The TO of ``INTERVAL '1 2' DAY TO HOUR`` is the interval's."""
    if part is None:
        return None, None
    _, tokens = part
    to = next(
        (i for i, depth in depths(tokens) if depth == 0 and tokens[i].key == "TO" and not _joins_units(tokens, i)),
        len(tokens),
    )
    low, high = tokens[:to], tokens[to:]
    return (
        _expression(sql, low[0], low[1:]) if low else None,
        _expression(sql, high[0], high[1:]) if high else None,
    )


def _joins_units(tokens: Sequence[Token], to: int) -> bool:
    """Whether a TO is that of ``DAY TO HOUR``."""
    around = [*tokens[max(to - 1, 0) : to], *tokens[to + 1 : to + 2]]
    return len(around) == 2 and all(token.key in TIME_UNITS for token in around)


def _misplaced(sql: str, token: Token, what: str) -> CepSyntaxError:
    text = sql[token.span.start : token.span.end]
    return CepSyntaxError(f"{text!r} cannot {what}", code="ARC", sql=sql, span=token.span, hint=HINT)

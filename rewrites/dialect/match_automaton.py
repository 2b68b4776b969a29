"""The body of MATCH AUTOMATON ( … ) → MatchAutomatonClause (augmented finite automata)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rewrites.dialect.arcs import arc_of
from rewrites.dialect.clause import Arc, MatchAutomatonClause, Name, Register, Site, Within
from rewrites.dialect.cursor import Cursor
from rewrites.dialect.expressions import parse_expression
from rewrites.dialect.hints import parse_hints
from rewrites.dialect.items import (
    EVENT_KEY_FORM,
    SEQUENCE_NUMBER_FORM,
    event_key,
    length,
    list_items,
    order_items,
    partition_items,
    sequence_number,
)
from rewrites.dialect.sections import Grammar, Header, Section, cut
from rewrites.dialect.tokens import Token, cover, depths, split_commas, tokenize
from sparkcep.errors import CepSyntaxError, Span

GRAMMAR = Grammar(
    "MATCH AUTOMATON",
    (
        Header("EVENT KEY", ("EVENT", "KEY"), 0, form=EVENT_KEY_FORM),
        Header("SEQUENCE NUMBER", ("SEQUENCE", "NUMBER"), 0, form=SEQUENCE_NUMBER_FORM),
        Header("PARTITION BY", ("PARTITION", "BY"), 0),
        Header("ORDER BY", ("ORDER", "BY"), 1),
        Header("REGISTERS", ("REGISTERS",), 2, behind=("(",)),
        Header("START", ("START",), 3),
        Header("FINAL", ("FINAL",), 4),
        Header("ARC", ("ARC",), 5),
        Header("WITHIN", ("WITHIN",), 6, unless=("GROUP",)),
    ),
)
_EXAMPLE = (
    "for example MATCH AUTOMATON ( ORDER BY ts START s FINAL f ARC s -> m WHEN type = 'A' ARC m -> f WHEN type = 'B' )"
)


def parse_match_automaton(sql: str, site: Site) -> MatchAutomatonClause:
    """The clause at ``site``, nothing resolved. Only ``site.body`` and ``site.keyword`` are looked at."""
    hints, body = parse_hints(sql, site.body)
    places = _arcs(sql, body)
    if not places:
        raise _missing(sql, site, "an ARC")
    head = cut(sql, Span(body.start, places[0].start), GRAMMAR)
    within, last = _within(sql, places[-1])
    for name in ("ORDER BY", "START", "FINAL"):
        if name not in head:
            raise _missing(sql, site, name)
    if "WITHIN" in head:
        raise CepSyntaxError(
            "WITHIN stands before the arcs; it belongs behind them",
            code="CLAUSE_ORDER",
            sql=sql,
            span=head["WITHIN"].keyword,
            hint=f"the order is {GRAMMAR.order}",
        )
    return MatchAutomatonClause(
        site=site,
        order_by=order_items(sql, head["ORDER BY"]),
        start=_names(sql, head["START"], 1)[0],
        finals=_names(sql, head["FINAL"]),
        arcs=tuple(parse_arc(sql, place) for place in (*places[:-1], last)),
        registers=_registers(sql, head["REGISTERS"]) if "REGISTERS" in head else (),
        partition_by=partition_items(sql, by, named=True) if (by := head.get("PARTITION BY")) else (),
        within=within,
        hints=hints,
        event_key=event_key(sql, key) if (key := head.get("EVENT KEY")) else None,
        sequence=sequence_number(sql, number) if (number := head.get("SEQUENCE NUMBER")) else None,
    )


def parse_arc(sql: str, place: Span) -> Arc:
    """The arc that fills ``place``, its ARC first."""
    return arc_of(sql, tokenize(sql).inside(place))


def _arcs(sql: str, body: Span) -> list[Span]:
    """The places of the arcs, the last one with what follows it."""
    tokens = tokenize(sql).inside(body)
    starts = [
        tokens[i].span.start
        for i, depth in depths(tokens)
        if depth == 0 and tokens[i].key == "ARC" and (i == 0 or tokens[i - 1].key != ".")
    ]
    return [Span(start, end) for start, end in pairwise([*starts, body.end])]


def _within(sql: str, last: Span) -> tuple[Within | None, Span]:
    """WITHIN behind the last arc, and the arc without it."""
    tokens = tokenize(sql).inside(last)
    for i, depth in depths(tokens):
        following = tokens[i + 1].key if i + 1 < len(tokens) else ""
        if depth == 0 and tokens[i].key == "WITHIN" and tokens[i - 1].key != "." and following != "GROUP":
            section = Section("WITHIN", 6, tokens[i].span, tokens[i + 1 :])
            return _window(sql, section), Span(last.start, tokens[i].span.start)
    return None, last


def _window(sql: str, section: Section) -> Within:
    if len(section.tokens) == 2 and section.tokens[1].key == "EVENTS":
        raise CepSyntaxError(
            "WITHIN n EVENTS belongs to MATCH PATTERN",
            code="WITHIN",
            sql=sql,
            span=section.span,
            hint="count events in a register, or number them in a subquery: ORDER BY row_number … WITHIN 100",
        )
    return Within(section.span, length(sql, section))


def _names(sql: str, section: Section, most: int | None = None) -> tuple[Name, ...]:
    """The states of START and FINAL."""
    found = []
    for item in list_items(sql, section):
        if len(item) != 1 or not item[0].is_name:
            cursor = Cursor.over(sql, item, cover(item))
            cursor.name("the name of a state")
            cursor.fail(f"this does not follow {section.name} state", hint=_EXAMPLE)
        found.append(item[0].name)
    if most is not None and len(found) > most:
        raise CepSyntaxError(
            "there is one start state",
            code="START",
            sql=sql,
            span=found[1].span,
            hint="write one START; arcs lead from it to the others",
        )
    return tuple(found)


def _registers(sql: str, section: Section) -> tuple[Register, ...]:
    """``REGISTERS ( name TYPE [DEFAULT literal], … )``."""
    closing = [i for i, depth in depths(section.tokens) if i and depth == 0]
    if not closing or closing[0] + 1 < len(section.tokens):
        place = section.tokens[closing[0] + 1].span if closing else section.keyword
        raise CepSyntaxError(
            "REGISTERS needs one pair of parentheses", code="REGISTERS", sql=sql, span=place, hint=_HINT
        )
    inside = section.tokens[1 : closing[0]]
    return tuple(_register(sql, item, section) for item in _whole_types(split_commas(inside))) if inside else ()


def _whole_types(items: list[tuple[Token, ...]]) -> Iterator[tuple[Token, ...]]:
    """The items between commas, those inside of ``MAP<STRING, INT>`` put together again."""
    whole: tuple[Token, ...] = ()
    for item in items:
        whole += item
        open_angles = sum((token.text == "<") - (token.text == ">") for token in whole)
        if open_angles <= 0 or any(token.key == "DEFAULT" for token in whole):
            yield whole
            whole = ()
    if whole:
        yield whole


_HINT = "for example REGISTERS ( n INT DEFAULT 0, first_price DOUBLE )"


def _register(sql: str, item: tuple[Token, ...], section: Section) -> Register:
    cursor = Cursor.over(sql, item, cover(item) if item else section.place)
    name = cursor.name("the register's name")
    at = next((i for i, depth in depths(item) if depth == 0 and i > 1 and item[i].key == "DEFAULT"), len(item))
    if at < 2 or len(item) < 2:
        cursor.fail(f"the type of the register {name.text} is missing", hint=_HINT)
    rest = item[at + 1 :]
    if at < len(item) and not rest:
        raise CepSyntaxError("DEFAULT needs a value", code="EMPTY", sql=sql, span=item[at].span, hint=_HINT)
    return Register(name.name, cover(item[1:at]), parse_expression(sql, rest) if rest else None)


def _missing(sql: str, site: Site, what: str) -> CepSyntaxError:
    return CepSyntaxError(
        f"MATCH AUTOMATON needs {what}",
        code="CLAUSE",
        sql=sql,
        span=site.keyword,
        hint=f"{_EXAMPLE}; the order is {GRAMMAR.order}",
    )

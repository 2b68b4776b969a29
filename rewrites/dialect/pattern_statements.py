"""The statements of named patterns: CREATE, DROP, ALTER, DESCRIBE PATTERN and SHOW PATTERNS → data.

In: a statement's text. Out: a ``PatternStatement``, or None for any other statement. Bodies are not read here (``stored_bodies`` does).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from rewrites.dialect.clause import Name
from rewrites.dialect.cursor import Cursor
from rewrites.dialect.tokens import Token, cover, depths, tokenize
from sparkcep.errors import CepUnsupportedError, Span

_GAP = r"(?:\s|--[^\n]*\n|/\*.*?\*/)"
_STATEMENT = re.compile(
    rf"{_GAP}*(?:(?:CREATE(?:{_GAP}+OR{_GAP}+REPLACE)?|DROP|ALTER|DESCRIBE|DESC){_GAP}+PATTERN{_GAP}*[\w`]"
    rf"|SHOW{_GAP}+PATTERNS\b)",
    re.IGNORECASE | re.DOTALL,
)
_CREATE = "CREATE [OR REPLACE] PATTERN [IF NOT EXISTS] name AS ( body ) [COMMENT 'text']"
_ALTER = "ALTER PATTERN name { ADD ARC … | DROP ARC arc | REPLACE AS ( … ) } [EFFECTIVE FROM timestamp]"
Change = Literal["add_arc", "drop_arc", "replace", "drop_stream"]


@dataclass(frozen=True, slots=True)
class CreatePattern:
    """``body``: the text between the parentheses."""

    name: Name
    body: Span
    comment: str | None = None
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropPattern:
    """DROP PATTERN [IF EXISTS] name."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterPattern:
    """``argument``: the arcs to add from the word ARC on, the arc or the stream to drop, or the new body. ``effective``: a time, as an expression."""

    name: Name
    change: Change
    argument: Span
    effective: Span | None = None


@dataclass(frozen=True, slots=True)
class ShowPatterns:
    """SHOW PATTERNS [LIKE 'up*|down*']."""

    like: str | None = None


@dataclass(frozen=True, slots=True)
class DescribePattern:
    """DESCRIBE PATTERN [EXTENDED] name."""

    name: Name
    extended: bool = False


PatternStatement = CreatePattern | DropPattern | AlterPattern | ShowPatterns | DescribePattern


def is_pattern_statement(sql: str) -> bool:
    """Whether ``sql`` is one of the statements (cheap)."""
    return _STATEMENT.match(sql) is not None


def parse_pattern_statement(sql: str) -> PatternStatement | None:
    """The statement, None for any other. Raises CepSyntaxError with the place."""
    if not is_pattern_statement(sql):
        return None
    tokens = tokenize(sql).items
    tokens = tokens[:-1] if tokens[-1].key == ";" else tokens
    cursor = Cursor.over(sql, tokens, cover(tokens))
    word = cursor.take().key
    statement = _READ.get(word, _describe)(cursor)
    if cursor.peek() is not None:
        cursor.fail("the statement should end here", hint=_CREATE if word == "CREATE" else None)
    return statement


def _create(cursor: Cursor) -> CreatePattern:
    replace = cursor.accept("OR", "REPLACE") is not None
    cursor.expect("PATTERN")
    found = cursor.accept("IF", "NOT", "EXISTS")
    if found and replace:
        cursor.fail("OR REPLACE and IF NOT EXISTS exclude each other", span=found, hint=_CREATE)
    name = _name(cursor)
    cursor.expect("AS", hint=_CREATE)
    body = _body(cursor)
    comment = _string(cursor, "the comment") if cursor.accept("COMMENT") else None
    return CreatePattern(name, body, comment, replace, found is not None)


def _drop(cursor: Cursor) -> DropPattern:
    cursor.expect("PATTERN")
    if_exists = cursor.accept("IF", "EXISTS") is not None
    return DropPattern(_name(cursor), if_exists)


def _alter(cursor: Cursor) -> AlterPattern:
    cursor.expect("PATTERN")
    name = _name(cursor)
    change: Change = "replace"
    if cursor.accept("ADD"):
        if not cursor.at("ARC"):
            cursor.fail("expected ARC", hint=_ALTER)
        change = "add_arc"
    elif cursor.accept("DROP", "STREAM"):
        return AlterPattern(name, "drop_stream", cursor.take().span)
    elif cursor.accept("DROP"):
        cursor.expect("ARC", hint=_ALTER)
        change = "drop_arc"
    elif not cursor.accept("REPLACE"):
        cursor.fail("expected ADD ARC, DROP ARC or REPLACE AS", hint=_ALTER)
    if change == "replace":
        cursor.expect("AS", hint=_ALTER)
        return AlterPattern(name, change, _body(cursor), _effective(cursor, cursor.rest()))
    rest = cursor.rest()
    split = next(
        (i for i, depth in depths(rest) if depth == 0 and [t.key for t in rest[i : i + 2]] == ["EFFECTIVE", "FROM"]),
        len(rest),
    )
    if not rest[:split]:
        cursor.fail("expected an arc", hint=_ALTER)
    return AlterPattern(name, change, cover(rest[:split]), _effective(cursor, rest[split:]))


def _effective(cursor: Cursor, tokens: tuple[Token, ...]) -> Span | None:
    """``EFFECTIVE FROM expr`` → the expression's place."""
    if not tokens:
        return None
    if [token.key for token in tokens[:2]] != ["EFFECTIVE", "FROM"]:
        cursor.fail("the statement should end here", span=tokens[0].span, hint=_ALTER)
    if not tokens[2:]:
        cursor.fail("EFFECTIVE FROM needs a timestamp", span=cover(tokens), hint="EFFECTIVE FROM TIMESTAMP'2030-01-01'")
    return cover(tokens[2:])


def _show(cursor: Cursor) -> ShowPatterns:
    cursor.expect("PATTERNS")
    cursor.accept("LIKE")
    return ShowPatterns(_string(cursor, "what the names are like") if cursor.peek() else None)


def _describe(cursor: Cursor) -> DescribePattern:
    cursor.expect("PATTERN")
    extended = cursor.key() == "EXTENDED" and cursor.peek(1) is not None
    if extended:
        cursor.take()
    return DescribePattern(_name(cursor), extended)


def _name(cursor: Cursor) -> Name:
    name = cursor.name("the pattern's name").name
    if dot := cursor.accept("."):
        raise CepUnsupportedError(
            "a pattern's name with a schema",
            code="PATTERN_NAME",
            sql=cursor.sql,
            span=name.span.to(dot),
            hint="the setting sparkcep.patterns.table names the table of the patterns; by default it is in the current schema",
        )
    return name


def _body(cursor: Cursor) -> Span:
    opening = cursor.expect("(", hint="the body is written in parentheses, as after MATCH PATTERN")
    depth, closing = 1, None
    while depth:
        if cursor.peek() is None:
            cursor.fail(
                "the parenthesis of the body is not closed",
                span=opening,
                code="UNBALANCED",
                hint="close it before COMMENT or EFFECTIVE FROM, or at the end",
            )
        token = cursor.take()
        depth += (token.key == "(") - (token.key == ")")
        closing = token
    assert closing is not None
    return Span(opening.end, closing.span.start)


def _string(cursor: Cursor, what: str) -> str:
    token = cursor.peek()
    if token is None or token.kind != "string":
        cursor.fail(f"expected {what} as a string", hint="write it in quotes: 'text'")
    text = cursor.take().text
    while cursor.adjacent() and (more := cursor.peek()) and more.kind == "string":
        text += "'" + cursor.take().text  # 'it''s' comes as two strings
    return text


_READ: Mapping[str, Callable[[Cursor], PatternStatement]] = {
    "CREATE": _create,
    "DROP": _drop,
    "ALTER": _alter,
    "SHOW": _show,
}

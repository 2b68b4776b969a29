"""Row pattern text → pattern IR (ISO/IEC 19075-5, section 4.14).

Grammar, loosest first: alternation ``|``, concatenation, quantified primaries. Nested concatenations and alternations
are flattened, groups of one item are unwrapped: ``(A (B C)) | D`` is ``A B C | D``.
"""

from __future__ import annotations

from rewrites.dialect.cursor import Cursor
from rewrites.dialect.quantifiers import read_quantifier
from sparkcep.errors import Span
from sparkcep.pattern.row import (
    Alternate,
    Concat,
    Empty,
    Excluded,
    PartitionEnd,
    PartitionStart,
    Permute,
    Quantified,
    RowPattern,
    Variable,
)

_RESERVED = {"AS", "AND", "OR", "NOT", "PATTERN", "DEFINE", "SUBSET", "MEASURES", "WITHIN"}
_SIDE_BY_SIDE = "rows that follow each other stand side by side: A B C; alternatives are divided by |: A | B"
_EMPTY_HINT = "write () for a branch that matches no row"


def parse_row_pattern(text: str, span: Span | None = None) -> RowPattern:
    """The pattern in ``span`` of ``text`` (all of it by default), with spans on every node."""
    cursor = Cursor(text, span or Span(0, len(text)))
    if cursor.peek() is None:
        cursor.fail("the pattern is empty", hint="PATTERN ( () ) matches the empty sequence of rows")
    pattern = _alternation(cursor)
    if cursor.peek() is not None:
        balanced = cursor.key() not in (")", "}")
        cursor.fail("the pattern does not parse" if balanced else "the pattern is not balanced", hint=_SIDE_BY_SIDE)
    return pattern


def _alternation(cursor: Cursor) -> RowPattern:
    branches = [_branch(cursor)]
    while bar := cursor.accept("|"):
        branches.append(_branch(cursor, bar))
    return _joined(Alternate, branches)


def _branch(cursor: Cursor, bar: Span | None = None) -> RowPattern:
    """A branch behind ``bar``; ``(A |)`` and ``(| A)`` have one that matches no row, whose place is its bar. ``A || B`` is a slip."""
    token = cursor.peek()
    if bar is None and token is not None and token.key == "|":
        return Empty(token.span)
    if bar is not None and _at_end(cursor) and not (cursor.key() == "|" and cursor.adjacent()):
        return Empty(bar)
    return _concatenation(cursor)


def _concatenation(cursor: Cursor) -> RowPattern:
    if _at_end(cursor):
        cursor.fail("an alternative of the pattern is empty", hint=_EMPTY_HINT)
    items = [_quantified(cursor)]
    while not _at_end(cursor):
        items.append(_quantified(cursor))
    return _joined(Concat, items)


def _at_end(cursor: Cursor) -> bool:
    """Whether a branch ends here: at ``|``, ``)``, ``,`` of PERMUTE, ``-}`` or the end."""
    return cursor.peek() is None or cursor.key() in ("|", ")", ",", "}") or cursor.at("-", "}")


def _joined(kind: type[Concat] | type[Alternate], parts: list[RowPattern]) -> RowPattern:
    if len(parts) == 1:
        return parts[0]
    items: list[RowPattern] = []
    for part in parts:
        items.extend(part.items if isinstance(part, kind) else [part])
    return kind(tuple(items), _place(parts[0]).to(_place(parts[-1])))


def _quantified(cursor: Cursor) -> RowPattern:
    item = _primary(cursor)
    quantifier = read_quantifier(cursor)
    if quantifier is None:
        return item
    reluctant = cursor.accept("?")
    span = _place(item).to(reluctant or quantifier.span)
    if cursor.key() in ("*", "+", "?") or (cursor.key() == "{" and cursor.key(1) != "-"):
        cursor.fail("a quantifier follows a quantifier", hint="group what it repeats: (A+)*")
    return Quantified(item, quantifier.low, quantifier.high, reluctant is None, span)


def _primary(cursor: Cursor) -> RowPattern:
    if cursor.at("PERMUTE", "("):
        return _permutation(cursor)
    if cursor.at("{", "-"):
        return _exclusion(cursor)
    if cursor.key() == "(":
        return _group(cursor)
    if start := cursor.accept("^"):
        return PartitionStart(start)
    if end := cursor.accept("$"):
        return PartitionEnd(end)
    if cursor.key() in ("*", "+", "?", "{"):
        cursor.fail("a quantifier stands where a variable should be", hint="a quantifier follows what it repeats: A*")
    if cursor.key() in _RESERVED:
        cursor.fail(
            f"{cursor.key()} is a keyword here, not a pattern variable",
            hint=f"a variable of that name is written `{cursor.key()}`",
        )
    token = cursor.name("a pattern variable, (…), {- … -}, PERMUTE(…), ^ or $")
    return Variable(token.text, token.span)


def _group(cursor: Cursor) -> RowPattern:
    start = cursor.expect("(")
    if end := cursor.accept(")"):
        return Empty(start.to(end))
    pattern = _alternation(cursor)
    return _widened(pattern, start.to(cursor.expect(")")))


def _exclusion(cursor: Cursor) -> RowPattern:
    start = cursor.expect("{", "-")
    token = cursor.peek()
    if token is not None and token.kind == "number":
        cursor.fail(
            "a quantifier's bounds are 0 or more",
            hint="{n}, {n,}, {n,m} or {,m}; {- … -} excludes rows from the output",
        )
    pattern = _alternation(cursor)
    return Excluded(pattern, start.to(cursor.expect("-", "}", hint="an exclusion is written {- … -}")))


def _permutation(cursor: Cursor) -> RowPattern:
    start = cursor.expect("PERMUTE", "(")
    if cursor.key() == ")":
        cursor.fail("PERMUTE has no items", hint="write PERMUTE(A, B, …)")
    items = [_alternation(cursor)]
    while cursor.accept(","):
        items.append(_alternation(cursor))
    span = start.to(cursor.expect(")"))
    return Permute(tuple(items), span)


def _widened(pattern: RowPattern, span: Span) -> RowPattern:
    """The pattern with its span widened to include the group's parentheses."""
    fields = {name: getattr(pattern, name) for name in pattern.__slots__ if name != "span"}
    return type(pattern)(**fields, span=span)


def _place(pattern: RowPattern) -> Span:
    assert pattern.span is not None
    return pattern.span

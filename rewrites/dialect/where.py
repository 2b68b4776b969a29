"""WHERE of MATCH PATTERN: its conjuncts, its equivalence tests, and the papers' form with a leading strategy."""

from __future__ import annotations

from dataclasses import dataclass

from rewrites.dialect.clause import Equivalence, Expr, Name
from rewrites.dialect.cursor import Cursor
from rewrites.dialect.expressions import parse_expression
from rewrites.dialect.items import refuse_semantics
from rewrites.dialect.sections import Section
from rewrites.dialect.tokens import Token, cover, depths
from sparkcep.errors import CepSyntaxError, Span
from sparkcep.spec.event import Strategy

STRATEGY_FUNCTIONS: dict[str, Strategy] = {
    "SKIP_TILL_ANY_MATCH": "any",
    "SKIP_TILL_NEXT_MATCH": "next",
    "PARTITION_CONTIGUITY": "partition_contiguity",
    "STRICT_CONTIGUITY": "strict_contiguity",
}


@dataclass(frozen=True, slots=True)
class Where:
    """``variables`` are those that the papers' form ``skip_till_any_match(a, b[]) { … }`` lists."""

    span: Span
    conjuncts: tuple[Expr, ...]
    equivalences: tuple[Equivalence, ...]
    strategy: Strategy | None = None
    strategy_span: Span | None = None
    variables: tuple[Name, ...] = ()


def parse_where(sql: str, section: Section) -> Where:
    """``[id] AND a.x > 1 AND (b.y = 2 OR …)`` → one equivalence, two conjuncts."""
    if not section.tokens:
        raise CepSyntaxError("WHERE is empty", code="EMPTY", sql=sql, span=section.keyword)
    first = section.tokens[0]
    if first.key not in STRATEGY_FUNCTIONS or len(section.tokens) < 2 or section.tokens[1].key != "(":
        return Where(section.place, *_predicate(sql, section.tokens, section.place))
    cursor = Cursor.over(sql, section.tokens, section.place)
    cursor.take()
    variables = _variables(cursor)
    end = cursor.end()
    inner, place = _braces(cursor)
    return Where(
        section.place,
        *_predicate(sql, inner, place),
        strategy=STRATEGY_FUNCTIONS[first.key],
        strategy_span=Span(first.span.start, end),
        variables=variables,
    )


def split_and(tokens: tuple[Token, ...]) -> list[tuple[Token, ...]]:
    """``a AND b BETWEEN 1 AND 2`` → ``a`` and ``b BETWEEN 1 AND 2``.

    Parentheses around a conjunction are removed; a predicate with a top-level OR is not split.
    """
    tokens = _opened(tokens)
    parts: list[tuple[Token, ...]] = []
    start, cases, betweens = 0, 0, 0
    for i, depth in depths(tokens):
        key = tokens[i].key if depth == 0 and (i == 0 or tokens[i - 1].key != ".") else ""
        cases += (key == "CASE") - (key == "END" and cases > 0)
        if cases:
            continue
        if key == "OR":
            return [tokens]
        betweens += key == "BETWEEN"
        if key == "AND" and betweens:
            betweens -= 1
        elif key == "AND":
            parts.append(tokens[start:i])
            start = i + 1
    parts.append(tokens[start:])
    return parts if len(parts) == 1 else [inner for part in parts for inner in (split_and(part) if part else [part])]


def _opened(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """``(a AND b)`` → ``a AND b``; anything other than one group is unchanged, as is a group with a single operand or an OR."""
    if len(tokens) < 3 or tokens[0].key != "(":
        return tokens
    close = next((i for i, depth in depths(tokens) if i and depth == 0), -1)
    inner = tokens[1:-1]
    if close != len(tokens) - 1 or (len(split_and(inner)) < 2 and inner[0].key != "["):
        return tokens
    return inner


def _predicate(sql: str, tokens: tuple[Token, ...], place: Span) -> tuple[tuple[Expr, ...], tuple[Equivalence, ...]]:
    conjuncts: list[Expr] = []
    equivalences: list[Equivalence] = []
    for part in split_and(tokens):
        if not part:
            raise CepSyntaxError("a condition is missing next to AND", code="EXPRESSION", sql=sql, span=place)
        if part[0].key == "[":
            equivalences.append(_equivalence(sql, part))
            continue
        expr = parse_expression(sql, part, kleene=True)
        refuse_semantics(sql, expr, "WHERE")
        conjuncts.append(expr)
    return tuple(conjuncts), tuple(equivalences)


def _equivalence(sql: str, tokens: tuple[Token, ...]) -> Equivalence:
    """``[attr]`` or ``[attr = literal]``."""
    hint = "an equivalence test is [attribute] or [attribute = literal]"
    if tokens[-1].key != "]" or len(tokens) < 3:
        close = next((token for token in tokens if token.key == "]"), tokens[-1])
        if close is not tokens[-1] and any(token.key == "OR" for token in tokens):
            parse_expression(sql, tokens, kleene=True)  # refuses it by name
        raise CepSyntaxError(
            "the equivalence test does not parse", code="EQUIVALENCE", sql=sql, span=cover(tokens), hint=hint
        )
    cursor = Cursor.over(sql, tokens[1:-1], cover(tokens))
    attribute = cursor.name("an attribute").name
    if cursor.peek() is None:
        return Equivalence(attribute, cover(tokens))
    cursor.expect("=", hint=hint)
    cursor.accept("=")
    value = cursor.rest()
    if not value:
        cursor.fail("the value is missing", hint=hint)
    return Equivalence(attribute, cover(tokens), parse_expression(sql, value))


def _variables(cursor: Cursor) -> tuple[Name, ...]:
    cursor.expect("(")
    names = []
    while True:
        names.append(cursor.name("a variable").name)
        cursor.accept("[", "]")
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(names)


def _braces(cursor: Cursor) -> tuple[tuple[Token, ...], Span]:
    opening = cursor.expect("{", hint="the papers' form is skip_till_any_match(a, b[]) { condition AND … }")
    rest = cursor.rest()
    close = next((i for i, depth in depths(rest) if depth < 0), None)
    if close is None:
        cursor.fail("the { is not closed", span=opening, code="UNBALANCED")
    if rest[close + 1 :]:
        cursor.fail(
            "nothing may follow the }", span=cover(rest[close + 1 :]), hint="put the condition inside the braces"
        )
    if close == 0:
        cursor.fail("the braces are empty", span=opening)
    return rest[:close], cover(rest[:close])

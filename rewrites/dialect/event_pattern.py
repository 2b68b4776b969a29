"""Event pattern text → pattern IR (SASE section 2, SASE+ section 2, A-Seq section 2).

``SEQ(Shelf x, !(Counter y), Exit+ z[])``: elements are ``Type[quantifier] [variable [[]]]``. A type without a variable is its own variable; if a bare
type occurs several times, its occurrences are numbered (``A``, ``A`` → ``A_1``, ``A_2``). A quantifier behind ``SEQ(…)``, ``AND(…)`` or
``OR(…)`` makes it the body of a loop: ``SEQ(A a, B b)+ rounds``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rewrites.dialect.cursor import Cursor
from rewrites.dialect.quantifiers import Quantifier, read_quantifier
from rewrites.dialect.tokens import Token
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.pattern.event import And, Element, EventItem, EventPattern, Loop, Not, Or, Seq, every_element

_OPERATORS: dict[str, type[Seq] | type[And] | type[Or]] = {"SEQ": Seq, "AND": And, "OR": Or}
_NEGATIONS = ("NOT", "!", "~")
_ELEMENT_HINT = "an element is Type variable, Type+ variable[], ANY variable or ANY(Type, …) variable"


def parse_event_pattern(text: str, span: Span | None = None) -> EventPattern:
    """The pattern in ``span`` of ``text`` (default: all of it): every element has a variable, every node a span."""
    cursor = Cursor(text, span or Span(0, len(text)))
    if cursor.peek() is None:
        cursor.fail("the pattern is missing", hint="for example SEQ(A a, B b)")
    pattern = _item(cursor)
    if cursor.peek() is not None:
        cursor.fail("the pattern ends here", hint=_trailing_hint(cursor))
    if isinstance(pattern, Not):
        cursor.fail(
            "a pattern cannot be a negation alone", span=pattern.span, hint="for example SEQ(A a, NOT B b, C c)"
        )
    named = _named(text, pattern)
    _check_distinct(text, named)
    return named


def _item(cursor: Cursor) -> EventItem:
    if cursor.key() not in _NEGATIONS or (cursor.key() == "NOT" and cursor.key(1) == ","):
        return _pattern(cursor)
    start = cursor.take().span
    if cursor.key() in _NEGATIONS:
        cursor.fail("a double negation has no meaning", hint="write NOT once, or not at all")
    item = _pattern(cursor)
    if isinstance(item, Element) and item.low == 0:
        cursor.fail(
            "NOT of what need not occur could never hold", span=_place(item), hint="leave the quantifier out: NOT B b"
        )
    return Not(item, start.to(_place(item)))


def _pattern(cursor: Cursor) -> EventPattern:
    _refuse_named_pattern(cursor)
    if cursor.key() == "(":
        return _looped(cursor, _group(cursor))
    if cursor.key() in _OPERATORS and cursor.key(1) == "(":
        return _looped(cursor, _operator(cursor))
    return _element(cursor)


def _looped(cursor: Cursor, body: EventPattern) -> EventPattern:
    """``body``, or the loop that a quantifier behind it makes of it."""
    quantifier = _quantifier(cursor)
    if quantifier is None:
        return body
    variable = cursor.take() if (token := cursor.peek()) and token.is_name else None
    span = Span(_place(body).start, cursor.end())
    if variable is None:
        cursor.fail(
            "a loop needs a variable for its rounds", span=span, hint=f"{cursor.sql[span.start : span.end]} rounds"
        )
    loop = Loop(variable.text, (), quantifier.low, quantifier.high, span, body=body)
    _closure_brackets(cursor, variable, kleene=loop.kleene)
    return loop


def _group(cursor: Cursor) -> EventPattern:
    """``!(Counter y)``, as the SASE papers write it."""
    start = cursor.expect("(")
    pattern = _item(cursor)
    if isinstance(pattern, Not):
        cursor.fail(
            "a negation cannot be parenthesised by itself",
            span=pattern.span,
            hint="write NOT A a between two others: SEQ(B b, NOT A a, C c)",
        )
    return replace(pattern, span=start.to(cursor.expect(")")))


def _operator(cursor: Cursor) -> EventPattern:
    word = cursor.take()
    cursor.expect("(")
    if cursor.key() == ")":
        cursor.fail(f"{word.key} needs at least one item", hint=f"for example {word.key}(A a, B b)")
    items = [_item(cursor)]
    while cursor.accept(","):
        items.append(_item(cursor))
    end = cursor.expect(")", hint=_trailing_hint(cursor))
    return _OPERATORS[word.key](tuple(items), word.span.to(end))


def _element(cursor: Cursor) -> Element:
    """An element; its variable is '' if omitted and the type is a name (``_named`` fills it in)."""
    first, types = cursor.peek(), _types(cursor)
    assert first is not None
    quantifier = _quantifier(cursor)
    variable = cursor.take() if (token := cursor.peek()) and token.is_name else None
    if quantifier is None and variable and read_quantifier(cursor):
        cursor.fail(
            "the quantifier must follow the type, not the variable",
            span=Span(first.span.start, cursor.end()),
            hint=f"write {first.text}+ {variable.text}",
        )
    low, high = (quantifier.low, quantifier.high) if quantifier else (1, 1)
    _closure_brackets(cursor, variable, kleene=(low, high) not in ((1, 1), (0, 1)))
    span = Span(first.span.start, cursor.end())
    return Element(variable.text if variable else _bare(cursor, first, types, span), types, low, high, span)


def _types(cursor: Cursor) -> tuple[str, ...]:
    if cursor.key() == "ANY":
        cursor.take()
        return _any_list(cursor) if cursor.key() == "(" else ()
    return (_type(cursor),)


def _any_list(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    types = [_type(cursor)]
    while cursor.accept(","):
        types.append(_type(cursor))
    cursor.expect(")")
    return tuple(types)


def _type(cursor: Cursor) -> str:
    token = cursor.peek()
    if token is None or token.kind not in ("word", "quoted", "string"):
        cursor.fail("expected an event type", hint=_ELEMENT_HINT)
    if token.kind == "word" and cursor.key(1) == "(":
        cursor.fail(
            f"{token.text} is not a pattern operator", span=token.span, hint="the operators are SEQ, AND, OR and NOT"
        )
    text = cursor.take().text
    while token.kind == "string" and cursor.adjacent() and (more := cursor.peek()) and more.kind == "string":
        text += "'" + cursor.take().text  # 'O''Brien' is tokenised as two strings
    if cursor.key() == "-" and cursor.adjacent():
        cursor.fail(
            "an event type that is not an identifier must be quoted", span=token.span, hint=f"write '{text}-…' variable"
        )
    return text


def _quantifier(cursor: Cursor) -> Quantifier | None:
    quantifier = read_quantifier(cursor)
    if quantifier and (mark := cursor.accept("?")):
        raise CepUnsupportedError(
            "reluctant quantifiers have no meaning in an event pattern",
            code="RELUCTANT",
            sql=cursor.sql,
            span=quantifier.span.to(mark),
            hint="the selection strategy says which events a closure takes: SKIP TILL ANY MATCH, …",
        )
    return quantifier


def _closure_brackets(cursor: Cursor, variable: Token | None, *, kleene: bool) -> None:
    brackets = cursor.accept("[", "]")
    if brackets and (variable is None or not kleene):
        cursor.fail(
            "[] marks the variable of a Kleene closure, and this element takes one event",
            span=brackets,
            hint="write Type+ variable[]",
        )


def _bare(cursor: Cursor, first: Token, types: tuple[str, ...], span: Span) -> str:
    """'' for a type that can name its variable; otherwise the element needs one."""
    if first.key != "ANY" and len(types) == 1 and types[0].isidentifier():
        return ""
    cursor.fail("this element needs a variable", span=span, hint=f"{cursor.sql[span.start : span.end]} v")
    return None


def _named(sql: str, pattern: EventPattern) -> EventPattern:
    """Give every bare element its variable: the type's name, numbered if the bare type occurs more than once."""
    counts = Counter(element.types[0] for element in every_element(pattern) if not element.variable)
    seen: Counter[str] = Counter()

    def name(item: EventItem) -> EventItem:
        if isinstance(item, Loop):
            body = name(item.body)
            assert not isinstance(body, Not)
            return replace(item, body=body)
        if isinstance(item, Element):
            if item.variable:
                return item
            kind = item.types[0]
            seen[kind] += 1
            return replace(item, variable=kind if counts[kind] == 1 else f"{kind}_{seen[kind]}")
        if isinstance(item, Not):
            inner = name(item.item)
            assert not isinstance(inner, Not)
            return replace(item, item=inner)
        return replace(item, items=tuple(name(part) for part in item.items))

    named = name(pattern)
    assert not isinstance(named, Not)
    return named


def _check_distinct(sql: str, pattern: EventPattern) -> None:
    seen: set[str] = set()
    for element in every_element(pattern):
        if element.variable.lower() in seen:
            raise CepAnalysisError(
                f"the variable {element.variable} is named twice",
                code="DUPLICATE_VARIABLE",
                sql=sql,
                span=element.span,
                hint="variables become columns, so their names must differ (case is ignored)",
            )
        seen.add(element.variable.lower())


def _refuse_named_pattern(cursor: Cursor) -> None:
    name = cursor.peek(1)
    if cursor.key() != "PATTERN" or name is None or not name.is_name:
        return
    if cursor.key(2) in ("+", "*", "?", "{"):
        cursor.fail(
            "a named pattern does not repeat",
            span=name.span,
            hint="put it into a sequence, and name the rounds: SEQ(PATTERN name)+ rounds",
        )
    if cursor.key(2) in ("", ",", ")"):
        span = cursor.take().span.to(name.span)
        raise CepUnsupportedError(
            "a named pattern outside a session",
            code="NAMED_PATTERN",
            sql=cursor.sql,
            span=span,
            hint="write the pattern itself here",
        )


def _trailing_hint(cursor: Cursor) -> str:
    if cursor.key() in ("AND", "OR"):
        return f"{cursor.key()} is written as a function: {cursor.key()}(A a, B b)"
    if cursor.key() == "-":
        return "an event type that is not an identifier must be quoted: 'SHELF-READING' s"
    return _ELEMENT_HINT


def _place(pattern: EventPattern) -> Span:
    assert pattern.span is not None
    return pattern.span

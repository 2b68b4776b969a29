"""The sections that both clauses have: PARTITION BY, ORDER BY, MEASURES, and the length of WITHIN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from rewrites.dialect.clause import EventKey, Expr, Measure, Name, OrderItem, PartitionItem, SequenceNumber
from rewrites.dialect.expressions import parse_expression
from rewrites.dialect.nodes import Classifier, Navigation, Semantics
from rewrites.dialect.sections import Section
from rewrites.dialect.spans import set_span, span_of
from rewrites.dialect.tokens import Token, cover, split_commas
from sparkcep.errors import CepSyntaxError, CepUnsupportedError, Span

PARTITION_FORM = "PARTITION BY expression, …"
ORDER_FORM = "ORDER BY expression [ASC | DESC] [NULLS FIRST | NULLS LAST], …"
MEASURES_FORM = "MEASURES expression AS name, …"
EVENT_KEY_FORM = "EVENT KEY (column, …)"
SEQUENCE_NUMBER_FORM = "SEQUENCE NUMBER (column [FROM 1])"
WITHIN_FORM = "WITHIN INTERVAL 1 HOUR, WITHIN 1 hour, or WITHIN 10 for a numeric time"
"""How the sections are written, for hints."""

_FORMS_OF_AGGREGATES: dict[type[exp.Expr] | type[None], str] = {
    exp.Distinct: "DISTINCT",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
    exp.Filter: "FILTER",
}
_NO_NAME = {"AS", "NULL", "TRUE", "FALSE", "UNKNOWN", "END", "ASC", "DESC"}
_UNITS = ["YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"]
TIME_UNITS = {*_UNITS, *(f"{unit}S" for unit in _UNITS)}


def list_items(sql: str, section: Section) -> Iterator[tuple[Token, ...]]:
    """The comma-separated items of a section, none of them empty."""
    items = split_commas(section.tokens)
    for i, item in enumerate(items):
        if item:
            yield item
        elif len(items) == 1:
            raise CepSyntaxError(f"{section.name} is empty", code="EMPTY", sql=sql, span=section.keyword)
        else:
            raise _stray_comma(sql, section, items, i)


def partition_items(sql: str, section: Section, *, named: bool) -> tuple[PartitionItem, ...]:
    """PARTITION BY. ``named``: ``expr AS name`` is allowed (MATCH PATTERN)."""
    return tuple(_partition_item(sql, item, named) for item in list_items(sql, section))


def order_items(sql: str, section: Section) -> tuple[OrderItem, ...]:
    """``ts DESC NULLS LAST, id``."""
    return tuple(_order_item(sql, item) for item in list_items(sql, section))


def measures(sql: str, section: Section, *, kleene: bool) -> tuple[Measure, ...]:
    """``[RUNNING|FINAL] expr [AS] name``; ``kleene`` as in ``parse_expression``.

    RUNNING or FINAL before a call belongs to the call (ISO) and stays in the expression; before anything else it applies to the measure.
    """
    return tuple(_measure(sql, item, kleene) for item in list_items(sql, section))


def event_key(sql: str, section: Section) -> EventKey:
    """``(column, …)`` behind EVENT KEY."""
    tokens = section.tokens
    if not tokens or tokens[0].key != "(" or tokens[-1].key != ")":
        raise CepSyntaxError(
            "EVENT KEY names columns in parentheses",
            code="EVENT_KEY",
            sql=sql,
            span=section.place if tokens else section.keyword,
            hint=f"write {EVENT_KEY_FORM}",
        )
    names = []
    for item in list_items(sql, replace(section, tokens=tokens[1:-1])):
        if len(item) != 1 or not item[0].is_name:
            raise CepSyntaxError(
                "EVENT KEY names columns of the input",
                code="EVENT_KEY",
                sql=sql,
                span=cover(item),
                hint="compute the key in a subquery: FROM (SELECT *, expr AS key FROM t) …",
            )
        names.append(item[0].name)
    return EventKey(tuple(names), section.span)


def sequence_number(sql: str, section: Section) -> SequenceNumber:
    """``(column [FROM n])`` behind SEQUENCE NUMBER."""
    tokens = section.tokens
    keys = [token.key for token in tokens]
    is_column = len(tokens) in (3, 5) and keys[0] == "(" and tokens[1].is_name and keys[-1] == ")"
    if is_column and len(tokens) == 3:
        return SequenceNumber(tokens[1].name, None, section.span)
    if is_column and keys[2] == "FROM" and tokens[3].text.isdigit():
        return SequenceNumber(tokens[1].name, int(tokens[3].text), section.span)
    raise CepSyntaxError(
        "SEQUENCE NUMBER names a column of the input, and may say what the first number is",
        code="SEQUENCE_NUMBER",
        sql=sql,
        span=section.place if tokens else section.keyword,
        hint=f"write {SEQUENCE_NUMBER_FORM}",
    )


def length(sql: str, section: Section) -> Expr:
    """WITHIN's length: ``INTERVAL 1 HOUR``, a number, a parameter, or ``12 hours``.

    ``12 hours`` is parsed to an ``exp.Interval`` node whose span covers the two words: splice ``INTERVAL 12 hours``.
    """
    if not section.tokens:
        raise CepSyntaxError(
            "WITHIN needs a length",
            code="EMPTY",
            sql=sql,
            span=section.keyword,
            hint="for example WITHIN INTERVAL 1 HOUR",
        )
    if is_bare_interval(section.tokens):
        return _bare_interval(section.tokens)
    return parse_expression(sql, section.tokens)


def is_bare_interval(tokens: tuple[Token, ...]) -> bool:
    """Whether the tokens have the form ``12 hours``."""
    return len(tokens) == 2 and tokens[0].kind == "number" and tokens[1].key in TIME_UNITS


def refuse_semantics(sql: str, expr: Expr, where: str, *, running: bool = False) -> None:
    """Raise CepSyntaxError if ``expr`` contains FINAL (or RUNNING, unless ``running`` allows it)."""
    for node in expr.node.find_all(Navigation, Classifier, Semantics):
        said = node.args.get("running")
        if said is None or (said and running):
            continue
        start = span_of(node).start
        word = "RUNNING" if said else "FINAL"
        raise CepSyntaxError(
            f"{word} has no meaning in {where}",
            code="SEMANTICS",
            sql=sql,
            span=Span(start, start + len(word)),
            hint="a condition is tested while the match is built, so it is always RUNNING"
            if running
            else f"leave {word} out",
        )


def refuse_forms_of_aggregates(sql: str, expr: Expr) -> None:
    """CepUnsupportedError for DISTINCT, IGNORE NULLS and FILTER of a navigation that is no window function: it takes the value of one row."""
    for node in expr.node.find_all(Navigation):
        around = node.parent if type(node.parent) in _FORMS_OF_AGGREGATES else node
        form = _FORMS_OF_AGGREGATES.get(type(node.this)) or _FORMS_OF_AGGREGATES.get(type(around))
        if form is not None and not isinstance(around.parent, exp.Window):
            raise CepUnsupportedError(
                f"{form} of {node.function}: it is the value of one row, found by its place, and no aggregate",
                code="FORM_OF_NAVIGATION",
                sql=sql,
                span=span_of(node),
                hint="an aggregate has it: max_by(x, ts) FILTER (WHERE x IS NOT NULL) is the last x by ts that is not NULL",
            )


def refuse_windows(sql: str, expr: Expr) -> None:
    """CepUnsupportedError where a measure has a window function of its own, outside subqueries."""
    for node in expr.node.walk(prune=lambda part: isinstance(part, exp.Query)):
        if isinstance(node, exp.Window):
            raise CepUnsupportedError(
                "a window function in MEASURES: a measure is computed from the rows of one match",
                code="WINDOW_IN_MEASURES",
                sql=sql,
                span=span_of(node),
                hint="leave OVER out, or put the window function into the query over the clause: "
                "SELECT …, f(…) OVER (…) FROM t MATCH_RECOGNIZE (…)",
            )


def _partition_item(sql: str, item: tuple[Token, ...], named: bool) -> PartitionItem:
    alias = len(item) > 2 and item[-2].key == "AS" and item[-1].is_name
    if not alias:
        return PartitionItem(parse_expression(sql, item))
    if not named:
        raise CepSyntaxError(
            "a PARTITION BY expression of MATCH_RECOGNIZE takes no name",
            code="PARTITION_NAME",
            sql=sql,
            span=cover(item[-2:]),
            hint="compute the column in a subquery: FROM (SELECT *, expr AS name FROM t) MATCH_RECOGNIZE …",
        )
    return PartitionItem(parse_expression(sql, item[:-2]), item[-1].name)


def _order_item(sql: str, item: tuple[Token, ...]) -> OrderItem:
    rest = item
    if len(rest) > 2 and rest[-2].key == "NULLS" and rest[-1].key in ("FIRST", "LAST"):
        rest = rest[:-2]
    descending = len(rest) > 1 and rest[-1].key == "DESC"
    if descending or (len(rest) > 1 and rest[-1].key == "ASC"):
        rest = rest[:-1]
    return OrderItem(parse_expression(sql, rest), cover(item), descending)


def _measure(sql: str, item: tuple[Token, ...], kleene: bool) -> Measure:
    running = None
    body, name = _named(sql, item)
    if len(body) > 1 and body[0].key in ("RUNNING", "FINAL") and _starts_operand(body):
        running, body = body[0].key == "RUNNING", body[1:]
        _refuse_repeated(sql, body)
    expr = parse_expression(sql, body, kleene=kleene)
    if not kleene:
        refuse_forms_of_aggregates(sql, expr)
    return Measure(expr, name, running)


def _refuse_repeated(sql: str, body: tuple[Token, ...]) -> None:
    """CepSyntaxError for RUNNING or FINAL behind one of them: a value has one of the two."""
    first = body[0]
    if len(body) > 1 and first.key in ("RUNNING", "FINAL") and (_starts_operand(body) or body[1].kind != "mark"):
        raise CepSyntaxError(
            f"{first.key} behind RUNNING or FINAL",
            code="SEMANTICS",
            sql=sql,
            span=first.span,
            hint="a value is either of the rows so far or of the whole match: write one of the two",
        )


def _starts_operand(body: tuple[Token, ...]) -> bool:
    """Whether the word after RUNNING or FINAL begins an operand that is not a call: ``FINAL A.x``, ``FINAL (…)``."""
    second, third = body[1], body[2].key if len(body) > 2 else ""
    if second.kind == "mark":
        return second.text == "("
    return third != "(" and second.key not in ("IS", "IN", "LIKE", "BETWEEN", "AND", "OR", "NOT", "DIV")


def _named(sql: str, item: tuple[Token, ...]) -> tuple[tuple[Token, ...], Name]:
    """``expr AS name`` or ``expr name`` → the expression's tokens and the name."""
    _refuse_stray(sql, item)
    if item[-1].is_name and len(item) > 2 and item[-2].key == "AS":
        return item[:-2], item[-1].name
    if len(item) > 1 and item[-1].is_name and item[-1].key not in _NO_NAME and _ends_operand(item[-2]):
        return item[:-1], item[-1].name
    text = sql[item[0].span.start : item[-1].span.end]
    if item[-1].kind == "string" and len(item) > 1:
        body = item[:-2] if item[-2].key == "AS" else item[:-1]
        text = sql[item[0].span.start : body[-1].span.end] if body else "expression"
        raise CepSyntaxError(
            "a measure's name stands in backticks; quotes make a string",
            code="MEASURE_NAME",
            sql=sql,
            span=item[-1].span,
            hint=f"write {text} AS `{item[-1].text}`",
        )
    raise CepSyntaxError(
        "a measure needs a name",
        code="MEASURE_NAME",
        sql=sql,
        span=cover(item),
        hint=f"write {text.removesuffix(' AS')} AS name",
    )


def _refuse_stray(sql: str, item: tuple[Token, ...]) -> None:
    """Raise at what follows ``expr AS name``: an option of the clause that is misspelt, say."""
    depth, at = 0, None
    for i, token in enumerate(item):
        depth += (token.key in ("(", "[")) - (token.key in (")", "]"))
        if token.key == "AS" and not depth:
            at = i
    if at is not None and len(item) > at + 2 and item[at + 1].is_name:
        stray = item[at + 2 :]
        raise CepSyntaxError(
            f"unexpected {sql[stray[0].span.start : stray[-1].span.end]!r} behind the measure {item[at + 1].name.value}",
            code="MEASURE_NAME",
            sql=sql,
            span=cover(stray),
            hint="separate measures by commas; behind them stand ONE ROW PER MATCH, ALL ROWS PER MATCH, AFTER MATCH SKIP, PATTERN",
        )


def _ends_operand(token: Token) -> bool:
    if token.kind == "mark":
        return token.text in (")", "]", "*")
    return token.key not in ("IS", "NOT", "AND", "OR", "IN", "LIKE", "THEN", "ELSE", "AS", "INTERVAL", "COLLATE")


def _bare_interval(tokens: tuple[Token, ...]) -> Expr:
    span = cover(tokens)
    node = exp.Interval(this=exp.Literal.string(tokens[0].text), unit=exp.Var(this=tokens[1].key))
    set_span(node, span)
    set_span(node.this, tokens[0].span)
    set_span(node.args["unit"], tokens[1].span)
    return Expr(node, span)


def _stray_comma(sql: str, section: Section, items: list[tuple[Token, ...]], i: int) -> CepSyntaxError:
    commas = [token for token in section.tokens if token.key == ","]
    last = i == len(items) - 1
    before = sum(1 for item in items[:i] for token in item if token.key == ",") + max(0, i - 1 if last else i)
    span = commas[min(before, len(commas) - 1)].span
    message = f"{section.name} ends with a comma" if last else f"{section.name} has nothing before this comma"
    return CepSyntaxError(message, code="COMMA", sql=sql, span=span, hint="remove the comma")

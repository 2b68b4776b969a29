"""The body of MATCH_RECOGNIZE ( … ) → MatchRecognizeClause (ISO SQL:2016 R010, with WITHIN as in Flink SQL)."""

from __future__ import annotations

from dataclasses import replace

from rewrites.dialect import refused
from rewrites.dialect.clause import Define, Expr, MatchRecognizeClause, Measure, Site, SkipClause, Subset
from rewrites.dialect.cursor import Cursor
from rewrites.dialect.expressions import parse_expression
from rewrites.dialect.hints import parse_hints
from rewrites.dialect.items import (
    EVENT_KEY_FORM,
    MEASURES_FORM,
    ORDER_FORM,
    PARTITION_FORM,
    SEQUENCE_NUMBER_FORM,
    WITHIN_FORM,
    event_key,
    length,
    list_items,
    measures,
    order_items,
    partition_items,
    refuse_forms_of_aggregates,
    refuse_semantics,
    refuse_windows,
    sequence_number,
)
from rewrites.dialect.row_pattern import parse_row_pattern
from rewrites.dialect.sections import Grammar, Header, Section, cut, guess
from rewrites.dialect.synonyms import read_defines, read_measures
from rewrites.dialect.tokens import Token, cover, depths, tokenize
from sparkcep.errors import CepSyntaxError, Span
from sparkcep.spec.row import RowsPerMatch

PATTERN_FORM = "variables in sequence: PATTERN (A B+ (C | D)?)"
SUBSET_FORM = "SUBSET name = (variable, …), …"
DEFINE_FORM = "DEFINE variable AS condition, …"
GRAMMAR = Grammar(
    "MATCH_RECOGNIZE",
    (
        Header("EVENT KEY", ("EVENT", "KEY"), 0, form=EVENT_KEY_FORM),
        Header("SEQUENCE NUMBER", ("SEQUENCE", "NUMBER"), 0, form=SEQUENCE_NUMBER_FORM),
        Header("PARTITION BY", ("PARTITION", "BY"), 0, form=PARTITION_FORM),
        Header("ORDER BY", ("ORDER", "BY"), 1, form=ORDER_FORM),
        Header("MEASURES", ("MEASURES",), 2, form=MEASURES_FORM),
        Header("ROWS PER MATCH", ("ONE", "ROW"), 3),
        Header("ROWS PER MATCH", ("ALL", "ROWS"), 3),
        Header("AFTER MATCH SKIP", ("AFTER", "MATCH"), 4),
        Header("INITIAL", ("INITIAL",), 5, behind=("PATTERN",)),
        Header("INITIAL", ("SEEK",), 5, behind=("PATTERN",)),
        Header("PATTERN", ("PATTERN",), 6, behind=("(",), form=PATTERN_FORM),
        Header("WITHIN", ("WITHIN",), 7, unless=("GROUP",), form=WITHIN_FORM),
        Header("SUBSET", ("SUBSET",), 7, form=SUBSET_FORM),
        Header("DEFINE", ("DEFINE",), 7, form=DEFINE_FORM),
    ),
    elsewhere={
        "WHERE": "the conditions of MATCH_RECOGNIZE stand in DEFINE, at the end: DEFINE B AS x > 1",
        "SKIP": "MATCH_RECOGNIZE has AFTER MATCH SKIP; selection strategies are of MATCH PATTERN",
    },
)
_OPTIONS: dict[tuple[str, ...], RowsPerMatch] = {
    (): "all_show_empty",
    ("SHOW", "EMPTY", "MATCHES"): "all_show_empty",
    ("OMIT", "EMPTY", "MATCHES"): "all_omit_empty",
    ("WITH", "UNMATCHED", "ROWS"): "all_with_unmatched",
}
_ROWS_HINT = "ONE ROW PER MATCH, or ALL ROWS PER MATCH [SHOW EMPTY MATCHES | OMIT EMPTY MATCHES | WITH UNMATCHED ROWS]"
_SKIP_HINT = "AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST variable, TO LAST variable or TO variable"


def parse_match_recognize(sql: str, site: Site) -> MatchRecognizeClause:
    """The clause at ``site``, nothing resolved."""
    refused.check_options(tokenize(sql), site.body)
    _check_pattern(sql, site)
    hints, body = parse_hints(sql, site.body)
    sections = cut(sql, body, GRAMMAR)
    rows = sections.get("ROWS PER MATCH")
    return replace(
        clause_of(sql, site, sections),
        rows_per_match=_rows_per_match(sql, rows) if rows else "one",
        rows_per_match_span=rows.span if rows else None,
        initial=_initial(sql, sections.get("INITIAL")),
        hints=hints,
        event_key=event_key(sql, key) if (key := sections.get("EVENT KEY")) else None,
        sequence=sequence_number(sql, number) if (number := sections.get("SEQUENCE NUMBER")) else None,
    )


def clause_of(sql: str, site: Site, sections: dict[str, Section]) -> MatchRecognizeClause:
    """What the clause and the pattern of a window have in common."""
    pattern_span = _pattern_span(sql, sections)
    order = order_items(sql, by) if (by := sections.get("ORDER BY")) else ()
    measured, read = read_measures(sql, _measures(sql, sections.get("MEASURES")), order)
    defines, read_too = read_defines(sql, _defines(sql, sections.get("DEFINE")))
    skip, within = sections.get("AFTER MATCH SKIP"), sections.get("WITHIN")
    return MatchRecognizeClause(
        site=site,
        pattern=parse_row_pattern(sql, pattern_span),
        pattern_span=pattern_span,
        partition_by=partition_items(sql, by, named=False) if (by := sections.get("PARTITION BY")) else (),
        order_by=order,
        measures=measured,
        skip=_skip(sql, skip) if skip else None,
        within=_within(sql, within) if within else None,
        subsets=_subsets(sql, sections.get("SUBSET")),
        defines=defines,
        readings=(*read, *read_too),
    )


def _pattern_span(sql: str, sections: dict[str, Section]) -> Span:
    """The text between PATTERN's parentheses; nothing may follow them."""
    section = sections["PATTERN"]
    close = next((i for i, depth in depths(section.tokens) if i and depth == 0), None)
    if close is None:
        raise CepSyntaxError(
            "PATTERN's parenthesis is not closed", code="UNBALANCED", sql=sql, span=section.tokens[0].span
        )
    if section.tokens[close + 1 :]:
        raise _leftover(sql, section.tokens[close + 1 :], "PATTERN ( … )")
    return Span(section.tokens[0].span.end, section.tokens[close].span.start)


def _check_pattern(sql: str, site: Site) -> None:
    """Check for PATTERN before anything else: it is what users forget first."""
    body = tokenize(sql).inside(site.body)
    words = [i for i, depth in depths(body) if depth == 0 and body[i].key == "PATTERN"]
    if any(i + 1 < len(body) and body[i + 1].key == "(" and (i == 0 or body[i - 1].key != ".") for i in words):
        return
    message = "PATTERN must be followed by (" if words else "MATCH_RECOGNIZE has no PATTERN"
    span = body[words[0]].span if words else site.keyword
    raise CepSyntaxError(
        message, code="PATTERN", sql=sql, span=span, hint="PATTERN ( … ) is required: for example PATTERN (A B+ C)"
    )


def _measures(sql: str, section: Section | None) -> tuple[Measure, ...]:
    found = measures(sql, section, kleene=False) if section else ()
    for measure in found:
        refuse_windows(sql, measure.expr)
    return found


def _rows_per_match(sql: str, section: Section) -> RowsPerMatch:
    cursor = Cursor.over(sql, section.tokens, section.place)
    cursor.expect("PER", "MATCH", hint=_ROWS_HINT)
    rest = cursor.rest()
    one = sql[section.keyword.start : section.keyword.start + 3].upper() == "ONE"
    option = _OPTIONS.get(tuple(token.key for token in rest))
    if option is None or (one and rest):
        raise CepSyntaxError(
            "this does not follow ROWS PER MATCH" if not one else "this does not follow ONE ROW PER MATCH",
            code="ROWS_PER_MATCH",
            sql=sql,
            span=cover(rest),
            hint=_ROWS_HINT,
        )
    return "one" if one else option


def _skip(sql: str, section: Section) -> SkipClause:
    cursor = Cursor.over(sql, section.tokens, section.place)
    cursor.expect("SKIP", hint=_SKIP_HINT)
    if cursor.at("PAST"):
        cursor.expect("PAST", "LAST", "ROW", hint=_SKIP_HINT)
        return _ended(cursor, SkipClause("past_last_row", section.span))
    if cursor.at("TO", "NEXT"):
        cursor.expect("TO", "NEXT", "ROW", hint=_SKIP_HINT)
        return _ended(cursor, SkipClause("next_row", section.span))
    cursor.expect("TO", hint=_SKIP_HINT)
    to = cursor.take().key if cursor.key() in ("FIRST", "LAST") else "LAST"
    token = cursor.peek()
    if token is None or not token.is_name:
        cursor.fail("expected a pattern variable", hint=_SKIP_HINT)
    return _ended(cursor, SkipClause("first" if to == "FIRST" else "last", section.span, cursor.take().name))


def _ended(cursor: Cursor, clause: SkipClause) -> SkipClause:
    if rest := cursor.rest():
        raise _leftover(cursor.sql, rest, "AFTER MATCH SKIP …")
    return clause


def _initial(sql: str, section: Section | None) -> Span | None:
    if section is None or sql[section.keyword.start : section.keyword.end].upper() == "SEEK":
        return None
    return section.keyword


def _within(sql: str, section: Section) -> Expr:
    if len(section.tokens) == 2 and section.tokens[1].key == "EVENTS":
        raise CepSyntaxError(
            "WITHIN n EVENTS belongs to MATCH PATTERN",
            code="WITHIN",
            sql=sql,
            span=section.span,
            hint="bound the pattern's quantifiers",
        )
    return length(sql, section)


def _subsets(sql: str, section: Section | None) -> tuple[Subset, ...]:
    return tuple(_subset(sql, item) for item in list_items(sql, section)) if section else ()


def _subset(sql: str, item: tuple[Token, ...]) -> Subset:
    hint = "SUBSET name = (variable, …)"
    cursor = Cursor.over(sql, item, cover(item))
    name = cursor.name("the subset's name").name
    cursor.expect("=", hint=hint)
    cursor.expect("(", hint=hint)
    variables = [cursor.name("a pattern variable").name]
    while cursor.accept(","):
        variables.append(cursor.name("a pattern variable").name)
    cursor.expect(")", hint=hint)
    if rest := cursor.rest():
        raise _leftover(sql, rest, "SUBSET … = (…)")
    return Subset(name, tuple(variables))


def _defines(sql: str, section: Section | None) -> tuple[Define, ...]:
    return tuple(_define(sql, item) for item in list_items(sql, section)) if section else ()


def _define(sql: str, item: tuple[Token, ...]) -> Define:
    cursor = Cursor.over(sql, item, cover(item))
    variable = cursor.name("a pattern variable")
    cursor.expect("AS", hint=f"DEFINE {variable.text} AS condition")
    condition = cursor.rest()
    if not condition:
        cursor.fail(f"the condition of {variable.text} is missing", hint=f"DEFINE {variable.text} AS condition")
    expr = parse_expression(sql, condition)
    refuse_semantics(sql, expr, "DEFINE", running=True)
    refuse_forms_of_aggregates(sql, expr)
    return Define(variable.name, expr)


def _leftover(sql: str, tokens: tuple[Token, ...], behind: str) -> CepSyntaxError:
    return CepSyntaxError(
        f"unexpected {sql[tokens[0].span.start : tokens[0].span.end]!r} after {behind}",
        code="CLAUSE",
        sql=sql,
        span=tokens[0].span,
        hint=guess(tokens[0].text, GRAMMAR) or f"the order is {GRAMMAR.order}",
    )

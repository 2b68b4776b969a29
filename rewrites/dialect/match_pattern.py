"""The body of MATCH PATTERN ( … ) → MatchPatternClause (SASE, SASE+, A-Seq)."""

from __future__ import annotations

from rewrites.dialect.clause import MatchPatternClause, Measure, Name, Site, Within
from rewrites.dialect.cursor import Cursor
from rewrites.dialect.event_pattern import parse_event_pattern
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
    measures,
    order_items,
    partition_items,
    refuse_semantics,
    sequence_number,
)
from rewrites.dialect.sections import Grammar, Header, Section, cut, guess
from rewrites.dialect.several_patterns import parse_named_patterns
from rewrites.dialect.tokens import tokenize
from rewrites.dialect.where import Where, parse_where
from sparkcep.errors import CepAnalysisError, CepSyntaxError, Span
from sparkcep.pattern.event import EventPattern, every_element
from sparkcep.spec.event import MatchOutput, Strategy

_STRATEGY, _MATCHES = "selection strategy", "ALL or NON OVERLAPPING MATCHES"
GRAMMAR = Grammar(
    "MATCH PATTERN",
    (
        Header("EVENT TYPE", ("EVENT", "TYPE"), 0, form="EVENT TYPE column"),
        Header("EVENT KEY", ("EVENT", "KEY"), 0, form=EVENT_KEY_FORM),
        Header("SEQUENCE NUMBER", ("SEQUENCE", "NUMBER"), 0, form=SEQUENCE_NUMBER_FORM),
        Header("PARTITION BY", ("PARTITION", "BY"), 1, form=PARTITION_FORM),
        Header("ORDER BY", ("ORDER", "BY"), 2, form=ORDER_FORM),
        Header(_STRATEGY, ("SKIP", "TILL"), 3),
        Header(_STRATEGY, ("PARTITION", "CONTIGUITY"), 3),
        Header(_STRATEGY, ("STRICT", "CONTIGUITY"), 3),
        Header(
            "WHERE", ("WHERE",), 4, form="WHERE condition AND condition …, [attribute] for one that all events share"
        ),
        Header("WITHIN", ("WITHIN",), 5, unless=("GROUP",), form=f"{WITHIN_FORM}, or WITHIN 10 EVENTS"),
        Header(_MATCHES, ("ALL", "MATCHES"), 6),
        Header(_MATCHES, ("NON", "OVERLAPPING"), 6),
        Header(_MATCHES, ("NON", "-", "OVERLAPPING"), 6),
        Header(_MATCHES, ("COMPRESSED", "MATCHES"), 6),
        Header("MEASURES", ("MEASURES",), 7, form=MEASURES_FORM),
        Header("EMIT CHANGES", ("EMIT", "CHANGES"), 8),
    ),
    lead="a pattern of events: SEQ(Type variable, NOT Type variable, Type+ variable[])",
    elsewhere={
        "DEFINE": "the conditions of MATCH PATTERN stand in WHERE, before WITHIN: WHERE b.x > a.x",
        "AFTER": "MATCH PATTERN has ALL MATCHES or NON OVERLAPPING MATCHES for AFTER MATCH SKIP",
        "ONE": "a match of MATCH PATTERN is one row",
    },
)
_OUTPUTS: dict[str, MatchOutput] = {"ALL": "all", "NON": "non_overlapping", "COMPRESSED": "compressed"}
_STRATEGY_HINT = "SKIP TILL ANY MATCH, SKIP TILL NEXT MATCH, PARTITION CONTIGUITY or STRICT CONTIGUITY"


def parse_match_pattern(sql: str, site: Site) -> MatchPatternClause:
    """The clause at ``site``, nothing resolved."""
    hints, body = parse_hints(sql, site.body)
    sections = cut(sql, body, GRAMMAR, first="PATTERN")
    several = site.kind == "MATCH PATTERNS"
    read = parse_named_patterns if several else _pattern
    patterns = read(sql, site, sections["PATTERN"])
    where = parse_where(sql, section) if (section := sections.get("WHERE")) else None
    strategy, strategy_span = _strategy(sql, sections.get(_STRATEGY), where)
    _check_variables(sql, where, [tree for _, tree, _ in patterns])
    if several and "MEASURES" not in sections:
        raise CepSyntaxError(
            "MATCH PATTERNS needs MEASURES",
            code="MEASURES",
            sql=sql,
            span=site.keyword,
            hint="MEASURES COUNT(*) AS n; for the matches themselves write one MATCH PATTERN per pattern",
        )
    return MatchPatternClause(
        site=site,
        patterns=patterns,
        order_by=order_items(sql, _order_by(sql, site, sections)),
        event_type=_event_type(sql, sections.get("EVENT TYPE")),
        partition_by=partition_items(sql, by, named=True) if (by := sections.get("PARTITION BY")) else (),
        strategy=strategy,
        strategy_span=strategy_span,
        where=where.span if where else None,
        conjuncts=where.conjuncts if where else (),
        equivalences=where.equivalences if where else (),
        within=_within(sql, sections.get("WITHIN")),
        matches=_matches(sql, sections.get(_MATCHES)),
        matches_span=sections[_MATCHES].span if _MATCHES in sections else None,
        measures=_measures(sql, sections.get("MEASURES")),
        emit_changes=_emit_changes(sql, sections),
        hints=hints,
        event_key=event_key(sql, key) if (key := sections.get("EVENT KEY")) else None,
        sequence=sequence_number(sql, number) if (number := sections.get("SEQUENCE NUMBER")) else None,
    )


def _pattern(sql: str, site: Site, section: Section) -> tuple[tuple[Name | None, EventPattern, Span], ...]:
    if not section.tokens:
        raise CepSyntaxError(
            "MATCH PATTERN begins with the pattern",
            code="PATTERN",
            sql=sql,
            span=site.keyword,
            hint="for example MATCH PATTERN ( SEQ(A a, B b) ORDER BY ts )",
        )
    place = section.place
    return ((None, parse_event_pattern(sql, place), place),)


def _order_by(sql: str, site: Site, sections: dict[str, Section]) -> Section:
    if section := sections.get("ORDER BY"):
        return section
    raise CepSyntaxError(
        "MATCH PATTERN needs ORDER BY",
        code="ORDER_BY",
        sql=sql,
        span=site.keyword,
        hint=f"the event time comes first: ORDER BY ts; the order is pattern, {GRAMMAR.order}",
    )


def _event_type(sql: str, section: Section | None) -> Name | None:
    if section is None:
        return None
    cursor = Cursor.over(sql, section.tokens, section.place)
    name = cursor.name("the column that holds the event type").name
    _ended(cursor, "EVENT TYPE column")
    return name


def _strategy(sql: str, section: Section | None, where: Where | None) -> tuple[Strategy, Span | None]:
    published = where.strategy if where else None
    if section is None:
        return published or "any", where.strategy_span if where else None
    strategy = _strategy_words(sql, section)
    if published and published != strategy:
        assert where is not None
        raise CepSyntaxError(
            f"WHERE names a selection strategy other than {sql[section.span.start : section.span.end]}",
            code="STRATEGY",
            sql=sql,
            span=where.strategy_span,
            hint="specify the strategy once",
        )
    return strategy, section.span


def _strategy_words(sql: str, section: Section) -> Strategy:
    cursor = Cursor.over(sql, section.tokens, section.place)
    word = next(iter(tokenize(sql).inside(section.keyword))).key
    if word != "SKIP":
        strategy: Strategy = "strict_contiguity" if word == "STRICT" else "partition_contiguity"
    elif cursor.accept("ANY", "MATCH"):
        strategy = "any"
    elif cursor.accept("NEXT", "MATCH"):
        strategy = "next"
    else:
        cursor.fail("expected ANY MATCH or NEXT MATCH", hint=_STRATEGY_HINT)
    _ended(cursor, "the selection strategy")
    return strategy


def _check_variables(sql: str, where: Where | None, patterns: list[EventPattern]) -> None:
    known = {element.variable.lower() for pattern in patterns for element in every_element(pattern)}
    for name in where.variables if where else ():
        if name.value.lower() not in known:
            raise CepAnalysisError(
                f"the pattern has no variable {name.value}", code="VARIABLE", sql=sql, span=name.span
            )


def _within(sql: str, section: Section | None) -> Within | None:
    if section is None:
        return None
    tokens = section.tokens
    if len(tokens) == 2 and tokens[1].key in ("EVENT", "EVENTS"):
        if not tokens[0].text.isdigit():
            raise CepSyntaxError("the number of events must be an integer", code="WITHIN", sql=sql, span=tokens[0].span)
        return Within(section.span, events=int(tokens[0].text))
    return Within(section.span, length=length(sql, section))


def _matches(sql: str, section: Section | None) -> MatchOutput:
    if section is None:
        return "all"
    cursor = Cursor.over(sql, section.tokens, section.place)
    word = sql[section.keyword.start :][: section.keyword.end - section.keyword.start].upper()
    if word.startswith("NON"):
        cursor.expect("MATCHES", hint="NON OVERLAPPING MATCHES")
    _ended(cursor, " ".join(word.split()))
    return next(output for first, output in _OUTPUTS.items() if word.startswith(first))


def _measures(sql: str, section: Section | None) -> tuple[Measure, ...]:
    found = measures(sql, section, kleene=True) if section else ()
    for measure in found:
        refuse_semantics(sql, measure.expr, "the MEASURES of MATCH PATTERN")
        if measure.running is not None:
            raise CepSyntaxError(
                "RUNNING and FINAL have no meaning in the MEASURES of MATCH PATTERN",
                code="SEMANTICS",
                sql=sql,
                span=measure.expr.span,
                hint="a measure aggregates over all matches",
            )
    return found


def _emit_changes(sql: str, sections: dict[str, Section]) -> Span | None:
    section = sections.get("EMIT CHANGES")
    if section is None:
        return None
    if "MEASURES" not in sections:
        raise CepSyntaxError(
            "EMIT CHANGES belongs to MEASURES",
            code="EMIT",
            sql=sql,
            span=section.keyword,
            hint="MEASURES COUNT(*) AS n EMIT CHANGES",
        )
    _ended(Cursor.over(sql, section.tokens, section.place), "EMIT CHANGES")
    return section.keyword


def _ended(cursor: Cursor, behind: str) -> None:
    token = cursor.peek()
    if token is None:
        return
    hint = guess(token.text, GRAMMAR) or f"the order is pattern, {GRAMMAR.order}"
    found = cursor.sql[token.span.start : token.span.end]
    cursor.fail(f"unexpected {found!r} after {behind}", span=token.span, code="CLAUSE", hint=hint)

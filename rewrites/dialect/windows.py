"""The text between the parentheses of a window with a pattern → MatchRecognizeClause with a frame (ISO SQL:2016 R020).

``[base] [PARTITION BY …] [ORDER BY …] [MEASURES …] ROWS BETWEEN CURRENT ROW AND … [AFTER MATCH SKIP …] [INITIAL | SEEK] PATTERN (…)
[SUBSET …] [DEFINE …]``
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from rewrites.dialect.clause import FrameClause, MatchRecognizeClause, Name, Site
from rewrites.dialect.expressions import parse_expression
from rewrites.dialect.items import (
    MEASURES_FORM,
    ORDER_FORM,
    PARTITION_FORM,
    WITHIN_FORM,
    order_items,
    partition_items,
)
from rewrites.dialect.match_recognize import DEFINE_FORM, PATTERN_FORM, SUBSET_FORM, clause_of
from rewrites.dialect.nodes import MatchNumber
from rewrites.dialect.parameter_values import ValueOf, parameter_values
from rewrites.dialect.sections import Grammar, Header, Section, cut, guessed
from rewrites.dialect.spans import span_of
from rewrites.dialect.tokens import Token, cover
from sparkcep.errors import CepSyntaxError, CepUnsupportedError, Span
from sparkcep.pattern.row import PartitionEnd, PartitionStart, walk

_FRAME = "ROWS BETWEEN"
_PER_MATCH = "ROWS PER MATCH"
_FRAME_WORDS = ("BETWEEN", "UNBOUNDED", "CURRENT", "")
GRAMMAR = Grammar(
    "a window with a pattern",
    (
        Header("PARTITION BY", ("PARTITION", "BY"), 0, form=PARTITION_FORM),
        Header("ORDER BY", ("ORDER", "BY"), 1, form=ORDER_FORM),
        Header("MEASURES", ("MEASURES",), 2, form=MEASURES_FORM),
        Header(_FRAME, ("ROWS",), 3, behind=_FRAME_WORDS),
        Header(_FRAME, ("RANGE",), 3, behind=_FRAME_WORDS),
        Header(_FRAME, ("GROUPS",), 3, behind=_FRAME_WORDS),
        Header(_PER_MATCH, ("ONE", "ROW"), 3),
        Header(_PER_MATCH, ("ALL", "ROWS"), 3),
        Header("AFTER MATCH SKIP", ("AFTER", "MATCH"), 4),
        Header("INITIAL", ("INITIAL",), 5, behind=("PATTERN",)),
        Header("INITIAL", ("SEEK",), 5, behind=("PATTERN",)),
        Header("PATTERN", ("PATTERN",), 6, behind=("(",), form=PATTERN_FORM),
        Header("WITHIN", ("WITHIN",), 7, unless=("GROUP",), form=WITHIN_FORM),
        Header("SUBSET", ("SUBSET",), 7, form=SUBSET_FORM),
        Header("DEFINE", ("DEFINE",), 7, form=DEFINE_FORM),
    ),
)
_FRAME_HINT = (
    "write ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING (or AND n FOLLOWING, or AND CURRENT ROW) before PATTERN"
)


def window_sections(sql: str, body: Span) -> dict[str, Section]:
    """The parts of a window's text; ``BASE`` is what stands before the first keyword."""
    return cut(sql, body, GRAMMAR, first="BASE")


def base_name(sql: str, section: Section) -> Name | None:
    """The window that another one is built on: ``OVER (w MEASURES …)``."""
    if not section.tokens:
        return None
    if len(section.tokens) > 1 or not section.tokens[0].is_name:
        _fail(sql, section.tokens, "unexpected {} at the start of a window with a pattern", "CLAUSE")
    return section.tokens[0].name


def parse_window(
    sql: str, site: Site, base: dict[str, Section], parameter: ValueOf | None = None
) -> MatchRecognizeClause:
    """The window at ``site``; ``base``: the parts of the window that it is built on; ``parameter``: see ``parse_clause``."""
    try:
        with parameter_values(parameter):
            return _parsed(sql, site, window_sections(sql, site.body), base)
    except CepSyntaxError as error:
        raise guessed(error, sql, site.body, GRAMMAR) from error


def _parsed(sql: str, site: Site, sections: dict[str, Section], base: dict[str, Section]) -> MatchRecognizeClause:
    if _PER_MATCH in sections:
        section = sections[_PER_MATCH]
        message = "ROWS PER MATCH in a window: it has a row for each row of its input"
        raise CepSyntaxError(message, code="ROWS_PER_MATCH", sql=sql, span=section.span, hint="leave it out")
    frame = _frame(sql, site, sections)
    seek = sections.get("INITIAL")
    seeks = seek is not None and sql[seek.keyword.start : seek.keyword.end].upper() == "SEEK"
    clause = _inherited(sql, clause_of(sql, site, sections), sections, base)
    _check_pattern(sql, clause)
    return replace(clause, rows_per_match="window", frame=replace(frame, seek=seeks))


def _inherited(
    sql: str, clause: MatchRecognizeClause, sections: dict[str, Section], base: dict[str, Section]
) -> MatchRecognizeClause:
    """PARTITION BY and ORDER BY of the base, as in any window: what it has may not be given again."""
    for name in ("PARTITION BY", "ORDER BY"):
        if name in base and name in sections:
            message = f"{name} is given by the window that this one is built on"
            raise CepSyntaxError(message, code="DUPLICATE_CLAUSE", sql=sql, span=sections[name].span)
    if by := base.get("PARTITION BY"):
        clause = replace(clause, partition_by=partition_items(sql, by, named=False))
    if by := base.get("ORDER BY"):
        clause = replace(clause, order_by=order_items(sql, by))
    return clause


def _frame(sql: str, site: Site, sections: dict[str, Section]) -> FrameClause:
    section = sections.get(_FRAME)
    if section is None:
        message = "a window with a pattern needs a frame"
        raise CepSyntaxError(message, code="FRAME", sql=sql, span=sections["PATTERN"].keyword, hint=_FRAME_HINT)
    unit = sql[section.keyword.start : section.keyword.end].upper()
    if unit != "ROWS":
        _refuse(sql, section.keyword, f"a frame of {unit} in a window with a pattern", "FRAME_UNIT", _FRAME_HINT)
    keys = [token.key for token in section.tokens]
    if keys[:4] != ["BETWEEN", "CURRENT", "ROW", "AND"]:
        message = "the frame of a window with a pattern begins at the CURRENT ROW"
        raise CepSyntaxError(message, code="FRAME", sql=sql, span=section.span, hint=_FRAME_HINT)
    end = _without_exclusion(sql, section.tokens[4:])
    keys = [token.key for token in end]
    if keys == ["UNBOUNDED", "FOLLOWING"]:
        return FrameClause(section.span)
    if keys == ["CURRENT", "ROW"]:
        return FrameClause(section.span, current_row=True)
    if len(keys) < 2 or keys[-1] != "FOLLOWING":
        message = "the frame of a window with a pattern ends at the CURRENT ROW or behind it"
        raise CepSyntaxError(message, code="FRAME", sql=sql, span=section.span, hint=_FRAME_HINT)
    return FrameClause(section.span, parse_expression(sql, end[:-1]))


def _without_exclusion(sql: str, end: tuple[Token, ...]) -> tuple[Token, ...]:
    at = next((i for i, token in enumerate(end) if token.key == "EXCLUDE"), len(end))
    if at < len(end) and [token.key for token in end[at:]] != ["EXCLUDE", "NO", "OTHERS"]:
        message = "EXCLUDE in the frame of a window with a pattern"
        _refuse(sql, cover(end[at:]), message, "FRAME_EXCLUSION", "EXCLUDE NO OTHERS is allowed, and may be left out")
    return end[:at]


def _check_pattern(sql: str, clause: MatchRecognizeClause) -> None:
    """What ISO forbids here: a frame is no partition, and its match has no number."""
    for part in walk(clause.pattern):
        if isinstance(part, PartitionStart | PartitionEnd):
            assert part.span is not None
            hint = "a match begins at the current row as it is; test PREV or NEXT for NULL to look for a frame's end"
            _refuse(sql, part.span, f"{part} in the pattern of a window", "WINDOW_ANCHOR", hint)
    for expr in clause.expressions:
        for node in expr.node.find_all(MatchNumber):
            hint = "count the rows of the match: COUNT(*) is above 0 where there is one"
            _refuse(sql, span_of(node), "MATCH_NUMBER() in a window", "WINDOW_MATCH_NUMBER", hint)


def _fail(sql: str, tokens: tuple[Token, ...], message: str, code: str) -> NoReturn:
    first = tokens[0].span
    text = message.format(repr(sql[first.start : first.end]))
    raise CepSyntaxError(text, code=code, sql=sql, span=first, hint=f"expected one of {GRAMMAR.order}")


def _refuse(sql: str, span: Span, message: str, code: str, hint: str) -> NoReturn:
    raise CepUnsupportedError(message, code=code, sql=sql, span=span, hint=hint)

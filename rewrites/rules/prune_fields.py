"""prune_fields: a clause's result carries only what the statement uses.

``SELECT a.airport FROM t MATCH PATTERN (SEQ(arrival a, departure d) …)`` → ``a`` is a STRUCT of ``airport`` alone, and it is the only column.
``SELECT id, n FROM t MATCH_RECOGNIZE (… ALL ROWS PER MATCH …)`` → of the input only ``id`` and the PARTITION BY columns.
Reads the statement's tokens outside the clause, and those of residual conditions: a column or variable that they do not mention is dropped.
A variable keeps all its columns unless every mention is ``v.col``, ``v[…].col`` or ``size(v)``; with a ``*`` or a second clause everything is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.dialect.clause import Site
from rewrites.dialect.pipes import pipe_end
from rewrites.dialect.tokens import Token, Tokens, tokenize
from sparkcep.errors import CepAnalysisError
from sparkcep.pattern.event import elements

_WHOLE_ROW_WORDS = {"TABLE", "NATURAL", "USING", "PIVOT", "UNPIVOT", "IDENTIFIER"}
"""Words that imply the use of columns that the statement does not name."""
_SET_OPERATIONS = {"UNION", "EXCEPT", "INTERSECT", "MINUS", "SETMINUS"}


NAME = "prune_fields"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a clause's result carries. ``events``: for each variable in it the input columns of its STRUCT, in the input's order (at least one).
    ``columns``: the other columns that may be used (PARTITION BY columns, match_start, match_end); None: all."""

    events: Mapping[str, tuple[str, ...]]
    columns: frozenset[str] | None = None


def used_columns(bound: BoundEventPattern, site: Site, sql: str, *, only_clause: bool) -> Shown:
    """What the statement uses of the clause's result."""
    tokens = tokenize(sql)
    outside = _outside(tokens, site)
    variables = [element.variable for element in elements(bound.pattern, negated=False)]
    if not only_clause or _shows_everything(tokens, outside, site):
        return every_column(bound, site)
    outside += _in_residual(tokens, bound)
    mentioned = {tokens.items[i].text.lower() for i in outside if tokens.items[i].is_name}
    keys = [key.name for key in bound.keys]
    columns = frozenset(name for name in (*keys, "match_start", "match_end") if name.lower() in mentioned)
    found = {variable: _columns(variable, tokens, outside, bound) for variable in variables}
    return Shown({variable: columns for variable, columns in found.items() if columns}, columns)


def used_input(bound: BoundRowPattern, site: Site, sql: str) -> frozenset[str] | None:
    """The input's columns that the statement, which has no other clause, may use of the result of ALL ROWS PER MATCH; None: all."""
    tokens = tokenize(sql)
    outside = _outside(tokens, site)
    if _shows_everything(tokens, outside, site):
        return None
    mentioned = {tokens.items[i].text.lower() for i in outside if tokens.items[i].is_name}
    return frozenset(name for name in bound.relation.schema.names if name.lower() in mentioned)


def _outside(tokens: Tokens, site: Site) -> list[int]:
    return [i for i, token in enumerate(tokens.items) if not site.span.start <= token.span.start < site.span.end]


def every_column(bound: BoundEventPattern, site: Site) -> Shown:
    """All that there is, as ``SELECT *`` has it. Raises CepAnalysisError where two columns of the input have one name."""
    _require_distinct([field.name for field in bound.relation.shown], site)
    variables = [element.variable for element in elements(bound.pattern, negated=False)]
    return Shown({variable: tuple(bound.fields_of(variable)) for variable in variables})


def _shows_everything(tokens: Tokens, outside: list[int], site: Site) -> bool:
    keys = {tokens.items[i].key for i in outside}
    if keys & _WHOLE_ROW_WORDS or not _is_selected_from(tokens, site) or _renamed(tokens, outside, site):
        return True
    if any(pipe_end(tokens, i) is not None for i in outside):
        return True
    return any(_is_star(tokens.items, i) for i in outside)


def _is_selected_from(tokens: Tokens, site: Site) -> bool:
    """Whether the clause is in the FROM of a SELECT, perhaps in parentheses that rename nothing; else the query has all its columns."""
    place = tokens.index(site.span.start)
    while place >= 0:
        outer = tokens.outer[place]
        before = [tokens.items[i].key for i in range(place - 1, outer, -1) if tokens.outer[i] == outer]
        before = list(takewhile(lambda key: key not in _SET_OPERATIONS, before))
        if "FROM" in before:
            return "SELECT" in before[before.index("FROM") :] or "SELECT" in _behind(tokens, site, outer)
        if outer >= 0 and _names_columns(tokens, tokens.partner[outer] + 1):
            return False
        place = outer
    return False


def _behind(tokens: Tokens, site: Site, outer: int) -> list[str]:
    """The words behind a clause on a level of brackets, up to the end of its query."""
    places = range(tokens.index(site.span.end), len(tokens.items))
    keys = [
        tokens.items[i].key for i in takewhile(lambda i: i != tokens.partner[outer], places) if tokens.outer[i] == outer
    ]
    return list(takewhile(lambda key: key not in _SET_OPERATIONS, keys))


def _is_star(items: tuple[Token, ...], i: int) -> bool:
    """Whether a ``*`` stands for columns: not a product, not COUNT(*)."""
    if items[i].key != "*" or i == 0:
        return False
    before = items[i - 1].key
    if before == "(":
        return i < 2 or items[i - 2].key != "COUNT"
    return before in ("SELECT", "DISTINCT", "ALL", ",", ".")


def _renamed(tokens: Tokens, outside: list[int], site: Site) -> bool:
    """Whether a column list renames the variables: ``) AS m (k, s, e, x)``."""
    behind = next((i for i in outside if tokens.items[i].span.start >= site.span.end), len(tokens.items))
    return _names_columns(tokens, behind)


def _names_columns(tokens: Tokens, place: int) -> bool:
    """Whether ``[AS] name (`` stands at ``place``."""
    words = tokens.items[place : place + 3]
    words = words[1:] if words and words[0].key == "AS" else words
    return len(words) > 1 and words[0].is_name and words[1].key == "("


def _columns(variable: str, tokens: Tokens, outside: list[int], bound: BoundEventPattern) -> tuple[str, ...]:
    """The variable's used columns; none if it is not mentioned."""
    names = bound.fields_of(variable)
    used: set[str] = set()
    for i in outside:
        token = tokens.items[i]
        if token.is_name and token.text.lower() == variable.lower():
            column = _column_behind(tokens, i)
            if column is None:
                return tuple(names)
            used.add(column.lower())
    kept = tuple(name for name in names if name.lower() in used)
    return kept or tuple(names[:1] if used else ())


def _column_behind(tokens: Tokens, i: int) -> str | None:
    """``v.col`` and ``v[0].col`` → col; ``size(v)`` → ''; anything else → None (the whole struct)."""
    items = tokens.items
    after = i + 1
    if after < len(items) and items[after].key == "[":
        after = tokens.partner[after] + 1
    if after + 1 < len(items) and items[after].key == "." and items[after + 1].is_name:
        return items[after + 1].text
    call = [items[j].key for j in (i - 2, i - 1, i + 1) if 0 <= j < len(items)]
    return "" if call == ["SIZE", "(", ")"] else None


def _in_residual(tokens: Tokens, bound: BoundEventPattern) -> list[int]:
    """The tokens of the conditions that Spark tests on the result: they use its columns as the statement does."""
    spans = [conjunct.span for conjunct in bound.residual]
    return [i for span in spans for i in range(tokens.index(span.start), tokens.index(span.end))]


def _require_distinct(names: list[str], site: Site) -> None:
    folded = [name.lower() for name in names]
    twice = next((name for name in names if folded.count(name.lower()) > 1), None)
    if twice is not None:
        raise CepAnalysisError(
            f"the input has two columns named {twice}",
            code="DUPLICATE_COLUMN",
            span=site.input,
            hint="rename one of them in a subquery",
        )

"""The columns that a stream adds to the result of a clause: no other has the name of one, and ``AS m (a, b)`` may leave them out.

In: a clause over a stream. Out: an error at what has such a name; the edit that completes the list of names behind the clause.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from rewrites.bind.partitions import Key
from rewrites.bind.relation import Relation
from rewrites.bind.revisions import CHANGE_TYPE
from rewrites.dialect.clause import Clause, MatchAutomatonClause, MatchPatternClause, MatchRecognizeClause
from rewrites.dialect.tokens import split_commas, tokenize
from rewrites.settings import StreamSettings
from rewrites.sql.builder import quoted
from rewrites.sql.source import Edit
from sparkcep.errors import CepAnalysisError, Span
from sparkcep.pattern.event import elements
from sparkcep.spec.stream import LATE

MATCH_ID = "match_id"


def added_columns(settings: StreamSettings) -> tuple[str, ...]:
    """Their names, the last ones of the result."""
    return (MATCH_ID, CHANGE_TYPE, LATE) if settings.late_rows == "keep" else (MATCH_ID, CHANGE_TYPE)


def check_added_names(clause: Clause, keys: Iterable[Key], relation: Relation, added: Collection[str]) -> None:
    """Raise CepAnalysisError at the first column with the name of one of ``added``. Below a list of names only ``_late`` must be the only one."""
    taken = {LATE}.intersection(added) if clause.site.columns else set(added)
    for what, name, span, hint in (*_keys(clause, keys), *_columns(clause, relation)):
        if name.lower() in taken:
            raise _taken(f"{what} {name}", span, hint)


def listed(clause: Clause, sql: str, count: int, added: Collection[str]) -> tuple[Edit, ...]:
    """The edit that adds ``added`` to the list of names behind the clause, if it has a name for each of the ``count`` columns of the result over a
    table. Raises CepAnalysisError at a list that has not, and at a name of ``added`` in it."""
    span = clause.site.columns
    if span is None:
        return ()
    names = split_commas(tokenize(sql).inside(Span(span.start + 1, span.end - 1)))
    if len(names) == count + len(added):
        return ()
    *most, last = added
    if len(names) != count:
        raise CepAnalysisError(
            f"the list has {len(names)} names, and the result {count} columns and, over a stream, {', '.join(most)} and {last}",
            code="COLUMN_LIST",
            span=span,
            hint=f"give {count} names, and the last columns keep theirs; or name all {count + len(added)}",
        )
    for token in (one for name in names for one in name):
        if token.text.lower() in added:
            raise _taken(f"the name {token.text}", token.span, "choose another, or name those columns too")
    closing = Span(span.end - 1, span.end)
    return ((closing, f", {', '.join(map(quoted, added))})"),)


_Column = tuple[str, str, Span, str]
"""What a column of the result is, its name, its place, and what to do about it."""


def _keys(clause: Clause, keys: Iterable[Key]) -> Iterator[_Column]:
    for key in keys:
        other = f"name it: PARTITION BY {key.text} AS other"
        hint = _in_subquery(key.name) if isinstance(clause, MatchRecognizeClause) else other
        yield "the PARTITION BY column", key.name, key.span, hint


def _columns(clause: Clause, relation: Relation) -> Iterator[_Column]:
    """Those that are no keys."""
    if isinstance(clause, MatchAutomatonClause):
        named = [("the register", register.name) for register in clause.registers]
    else:
        named = [("the measure", measure.name) for measure in clause.measures]
    yield from ((what, name.value, name.span, "give it another name") for what, name in named)
    if isinstance(clause, MatchPatternClause) and not clause.measures and clause.matches != "compressed":
        for element in elements(clause.patterns[0][1], negated=False):
            place = element.span or clause.patterns[0][2]
            yield "the variable", element.variable, place, "give it another name: SEQ(Type name, …)"
    if isinstance(clause, MatchRecognizeClause) and clause.rows_per_match_span and clause.rows_per_match != "one":
        for name in relation.schema.names:
            yield "the input column", name, clause.rows_per_match_span, _in_subquery(name)


def _in_subquery(name: str) -> str:
    return f"rename it in a subquery: FROM (SELECT * EXCEPT ({name}), {name} AS other FROM …)"


def _taken(what: str, span: Span, hint: str) -> CepAnalysisError:
    message = f"{what}: over a stream the result has a column of this name"
    return CepAnalysisError(message, code="DUPLICATE_NAME", span=span, hint=hint)

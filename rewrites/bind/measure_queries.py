"""Subqueries in MEASURES: they stay Spark's, with the match's values in the places of what they name of it.

``(SELECT max(name) FROM names n WHERE n.sym = a.sym)`` → the engine's output for ``a.sym`` instead of it. A bare name means a column of the
subquery where it has one of that name, else the input's, as in any correlated subquery: Spark says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyspark.errors import PySparkException
from sqlglot import exp

from rewrites.bind.names import Variables, reference
from rewrites.bind.relation import Relation
from rewrites.dialect import column_path, span_of
from rewrites.dialect.nodes import Classifier, MatchNumber, MatchSequenceNumber
from rewrites.sql.source import Edit, Source, replaced
from sparkcep.errors import Span

_ENGINE_VALUES = (Classifier, MatchNumber, MatchSequenceNumber)


def query_edits(
    query: exp.Expression,
    variables: Variables,
    relation: Relation,
    source: Source,
    value: Callable[[exp.Expression], str | None],
) -> Iterator[Edit]:
    """Edits for what of ``query`` looks at the match; ``value`` gives their SQL."""

    def of_variable(part: exp.Expression) -> bool:
        return isinstance(part, _ENGINE_VALUES) or reference(part, variables) is not None

    outer = _outer_columns(query, relation, source, of_variable)

    def part_text(part: exp.Expression) -> str | None:
        return value(part) if of_variable(part) or id(part) in outer else None

    yield from replaced(query, part_text)


def _outer_columns(
    query: exp.Expression, relation: Relation, source: Source, of_variable: Callable[[exp.Expression], bool]
) -> set[int]:
    """The bare columns (by ``id``) that the subquery has not: Spark complains of them one after the other, and says where."""
    bare = [part for part in query.walk() if _is_bare(part, relation)]
    outer: set[int] = set()

    def stand_in(part: exp.Expression) -> str | None:
        return "NULL" if of_variable(part) or id(part) in outer else None

    for _ in bare:
        edits = list(replaced(query, stand_in))
        text = source.splice(span_of(query), edits)
        asked = f"SELECT EXISTS ({text}\n) AS `r`"
        at = _complaint(asked, relation) - relation.scope(asked).find(text)
        begin = span_of(query).start
        known = [part for part in bare if id(part) not in outer]
        missing = next((p for p in known if len(source.splice(Span(begin, span_of(p).start), edits)) == at), None)
        if missing is None:
            break
        outer.add(id(missing))
    return outer


def _complaint(query: str, relation: Relation) -> int:
    """Where Spark finds a name that nothing has; -1 where it does not."""
    try:
        relation.describe(query)
    except PySparkException as error:
        if str(error.getCondition()).startswith("UNRESOLVED_COLUMN") and (found := error.getQueryContext()):
            return int(found[0].startIndex())
    return -1


def _is_bare(part: exp.Expression, relation: Relation) -> bool:
    """Whether a bare name may mean an input column."""
    path = column_path(part)
    return path is not None and len(path) == 1 and relation.column(path[0].value) is not None

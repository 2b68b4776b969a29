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

_ENGINE_VALUES = (Classifier, MatchNumber, MatchSequenceNumber)


def query_edits(
    query: exp.Expression,
    variables: Variables,
    relation: Relation,
    source: Source,
    value: Callable[[exp.Expression], str | None],
) -> Iterator[Edit]:
    """Edits for what of ``query`` looks at the match; ``value`` gives their SQL."""
    own = _own_names(query)

    def of_variable(part: exp.Expression) -> bool:
        path = column_path(part)
        shadowed = path is not None and path[0].value.lower() in own
        return isinstance(part, _ENGINE_VALUES) or (not shadowed and reference(part, variables) is not None)

    outer = _outer_names(query, relation, source, of_variable)

    def part_text(part: exp.Expression) -> str | None:
        return value(part) if of_variable(part) or _bare_name(part, relation) in outer else None

    yield from replaced(query, part_text)


def _own_names(query: exp.Expression) -> set[str]:
    """Names of the tables inside a subquery."""
    return {table.alias_or_name.lower() for table in query.find_all(exp.Table, exp.Subquery)}


def _bare_name(part: exp.Expression, relation: Relation) -> str | None:
    """The input column that a bare name may mean."""
    path = column_path(part)
    return relation.column(path[0].value) if path is not None and len(path) == 1 else None


def _outer_names(
    query: exp.Expression, relation: Relation, source: Source, of_variable: Callable[[exp.Expression], bool]
) -> set[str | None]:
    """The bare names that the subquery has not: Spark complains of them one after the other."""
    bare = {name for part in query.walk() if (name := _bare_name(part, relation)) is not None}
    outer: set[str | None] = set()

    def stand_in(part: exp.Expression) -> str | None:
        return "NULL" if of_variable(part) or _bare_name(part, relation) in outer else None

    for _ in range(len(bare)):
        text = source.splice(span_of(query), replaced(query, stand_in))
        try:
            relation.describe(f"SELECT EXISTS ({text}\n) AS `r`")
            break
        except PySparkException as error:
            named = str((error.getMessageParameters() or {}).get("objectName", "")).strip("`")
            missing = relation.column(named)
            if missing not in bare - outer:
                break
            outer.add(missing)
    return outer

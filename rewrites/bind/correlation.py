"""Columns of the queries around a clause where an engine needs them: as columns of the clause's input, and hidden keys of its partitions.

``SELECT … FROM names n, LATERAL (SELECT * FROM ticks MATCH_RECOGNIZE (… DEFINE b AS price < n.level))`` → the clause ``(PARTITION BY `__cep_r0` …
DEFINE b AS price < `__cep_r0`)`` over ticks with every value of ``n.level``, and ``WHERE `__cep_r0` <=> n.level`` behind it, an equality with which
Spark can plan the subquery. A correlated input is computed for each of the values by a LATERAL join. What Spark computes by itself (a measure's
expression outside of navigations and aggregates) stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rewrites.bind.outer_columns import clause_references, input_references
from rewrites.bind.outer_values import OuterValues, outer_reference, outer_values
from rewrites.bind.relation import Describe, InputError, Relation, relation
from rewrites.dialect import column_at
from rewrites.dialect.clause import Clause, Expr, MatchPatternClause, MatchRecognizeClause, PartitionItem
from rewrites.dialect.table_refs import table_name
from rewrites.sql.builder import quoted
from rewrites.sql.source import Edit, Source
from sparkcep.errors import CepUnsupportedError

_ROW = "`__cep_s`"


@dataclass(frozen=True, slots=True)
class Correlated:
    """A clause over ``rows``, whose first partition keys are ``hidden`` columns; ``equalities``: what a row around asks of them."""

    clause: Clause
    rows: Relation
    source: Source
    hidden: tuple[str, ...] = ()
    equalities: tuple[str, ...] = ()

    def query(self, inner: str) -> str:
        """The clause's query ``inner`` without what is hidden. The equalities see no column that could have the name of a table around."""
        if not self.hidden:
            return inner
        hidden = ", ".join(map(quoted, self.hidden))
        shown = "1 AS `match`" if self._shows_nothing() else f"* EXCEPT ({hidden})"
        rows = f"SELECT {hidden}, struct({shown}) AS {_ROW} FROM {inner}"
        return f"(SELECT {_ROW}.* FROM ({rows}) WHERE {' AND '.join(self.equalities)})"

    def _shows_nothing(self) -> bool:
        """Whether the clause has no columns but the hidden ones."""
        clause = self.clause
        one_row = isinstance(clause, MatchRecognizeClause) and clause.rows_per_match == "one" and not clause.measures
        return one_row and len(clause.partition_by) == len(self.hidden)


def correlated(clause: Clause, source: Source, describe: Describe) -> Correlated:
    """The clause with its input, where an engine reads no column of a query around any more.

    Raises InputError if Spark cannot read the input, CepUnsupportedError at an outer reference that cannot be one.
    """
    values = outer_values(clause.site, source, describe)
    try:
        rows = relation(clause.site, source, describe)
    except (InputError, CepUnsupportedError):
        inside = () if values is None else tuple(input_references(clause, values))
        if values is None or not inside:
            raise
        return _correlated(clause, source, describe, values, inside)
    if values is None or not clause_references(clause, values, {name.lower() for name in rows.schema.names}):
        return Correlated(clause, rows, source)
    return _correlated(clause, source, describe, values, ())


def _correlated(
    clause: Clause, source: Source, describe: Describe, values: OuterValues, inside: tuple[Edit, ...]
) -> Correlated:
    """``inside``: the references in the clause's input, if there are any."""
    if inside:
        clause_references(clause, values, set())
    for why, hint in _kept(clause):
        raise outer_reference(values.places[0][0], why, hint)
    tables, name = values.tables(), None if clause.site.pipe else table_name(source.sql, clause.site.input)

    def beside(text: str) -> str:
        joined = f"{tables}, LATERAL (SELECT * FROM {text}\n)" if inside else f"{tables} CROSS JOIN {text}\n"
        return f"(SELECT * FROM {joined})" + (f" AS {quoted(name)}" if name else "")

    rows = relation(clause.site, source.with_edits(inside), describe, beside)
    if rows.streaming:
        raise outer_reference(values.places[0][0], "over a stream", "write the stream to a table first")
    edits = [(path[0].span.to(path[-1].span), quoted(column)) for path, column in values.places]
    first = {column: span for span, column in reversed([(span, text.strip("`")) for span, text in edits])}
    keys = tuple(
        PartitionItem(Expr(column_at(column, first[column]), first[column])) for column in values.references.values()
    )
    clause = replace(clause, partition_by=(*keys, *clause.partition_by))
    hidden = tuple(values.references.values())
    return Correlated(clause, rows, source.with_edits(edits), hidden, tuple(values.equalities()))


def _kept(clause: Clause) -> Iterator[tuple[str, str]]:
    """Clauses that mean something else with another partition key: (why, hint)."""
    if not isinstance(clause, MatchPatternClause):
        return
    if clause.site.kind == "MATCH PATTERNS":
        yield "in MATCH PATTERNS", "write a MATCH PATTERN for each pattern"
    if clause.strategy == "strict_contiguity":
        yield (
            "under STRICT CONTIGUITY",
            "PARTITION CONTIGUITY with PARTITION BY looks at the events of a partition only",
        )
    if clause.measures and not clause.partition_by:
        yield "in MATCH PATTERN with MEASURES and without PARTITION BY", "leave MEASURES out, and aggregate in SELECT"

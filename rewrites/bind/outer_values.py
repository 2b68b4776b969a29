"""The values that a correlated clause reads of the queries around it, as a table of its own.

``n.level`` in ``FROM names n, LATERAL (SELECT * FROM ticks MATCH_RECOGNIZE (… DEFINE b AS price < n.level))`` → ``(SELECT DISTINCT n.level AS
`__cep_r0` FROM names n)``: each of the values is a partition of the clause, and each row around finds its own by ``<=>``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.errors import PySparkException
from pyspark.sql.types import StringType

from rewrites.bind.relation import HIDDEN, Describe, in_scope
from rewrites.dialect import find_sites
from rewrites.dialect.clause import Name, Site
from rewrites.dialect.outer_queries import OuterQuery, outer_queries
from rewrites.dialect.scopes import find_withs, visible
from rewrites.dialect.tokens import tokenize
from rewrites.dialect.window_blocks import find_window_blocks
from rewrites.sql.builder import quoted
from rewrites.sql.source import Source
from sparkcep.errors import CepUnsupportedError, Span

_ONCE = {
    *("TABLESAMPLE", "LIMIT", "RAND", "RANDOM", "RANDN", "RANDSTR", "UNIFORM", "UUID", "SHUFFLE"),
    *("MONOTONICALLY_INCREASING_ID", "ANY_VALUE", "FIRST", "LAST", "FIRST_VALUE", "LAST_VALUE"),
}
"""What may answer otherwise when it is evaluated again: then rows around would not find their values."""


@dataclass(slots=True)
class OuterValues:
    """``references``: (number of the query around, SQL of the reference) → column; ``places``: each reference with its column."""

    source: Source
    site: Site
    describe: Describe
    queries: tuple[OuterQuery, ...]
    references: dict[tuple[int, str], str] = field(default_factory=dict)
    places: list[tuple[tuple[Name, ...], str]] = field(default_factory=list)

    def column(self, path: tuple[Name, ...]) -> str | None:
        """The column for a reference, None if it is none. Raises CepUnsupportedError where the query around cannot be repeated."""
        text = self.source.text(path[0].span.to(path[-1].span))
        for number, query in enumerate(self.queries):
            if path[0].value.lower() not in query.names:
                continue
            rows = self._repeatable(query, path)
            if self._is_readable(f"SELECT {text} FROM {rows}"):
                if number:
                    raise outer_reference(path, "two queries further out", "select it in the query between them")
                column = self.references.setdefault((number, text), f"{HIDDEN}{len(self.references)}")
                self.places.append((path, column))
                return column
        return None

    def edit(self, path: tuple[Name, ...]) -> str | None:
        """The SQL of a reference in the clause's input."""
        column = self.column(path)
        if column is None:
            return None
        number = next(number for (number, _), name in self.references.items() if name == column)
        return f"{_alias(number)}.{quoted(column)}"

    def tables(self) -> str:
        """The values as a FROM list. Raises CepUnsupportedError where they cannot be compared."""
        numbers = dict.fromkeys(number for number, _ in self.references)
        text = " CROSS JOIN ".join(f"({self._values(number)}) AS {_alias(number)}" for number in numbers)
        try:
            schema = self.describe(self._scoped(f"SELECT * FROM {text}\n"))
        except PySparkException:
            raise outer_reference(self.places[0][0], "whose values cannot be compared", "name a field of it") from None
        if any(isinstance(f.dataType, StringType) and f.dataType.collation != "UTF8_BINARY" for f in schema):
            raise outer_reference(
                self.places[0][0], "with a collation", "COLLATE UTF8_BINARY in the query around drops it"
            )
        return text

    def equalities(self) -> list[str]:
        """The condition that a row around meets its own values."""
        return [f"{quoted(column)} <=> {text}" for (_, text), column in self.references.items()]

    def _values(self, number: int) -> str:
        columns = [f"{text} AS {quoted(column)}" for (of, text), column in self.references.items() if of == number]
        query = self.queries[number]
        assert query.rows is not None
        rows = self.source.text(query.rows)
        filters = self._filters(query, rows)
        where = f"\nWHERE {' AND '.join(filters)}" if filters else ""
        return f"SELECT DISTINCT {', '.join(columns)} FROM {rows}{where}\n"

    def _filters(self, query: OuterQuery, rows: str) -> list[str]:
        """Filters of the query around that read only its rows: others need no matches."""
        tokens = tokenize(self.source.sql)
        plain = [
            span for span in query.filters if not {t.key for t in tokens.inside(span)} & {*_ONCE, "SELECT", "OVER"}
        ]
        texts = [f"({self.source.text(span)}\n)" for span in plain]
        return [text for text in texts if self._is_readable(f"SELECT 1 FROM {rows} WHERE {text}")]

    def _repeatable(self, query: OuterQuery, path: tuple[Name, ...]) -> str:
        """FROM of a query around, for a second time."""
        if query.rows is None:
            raise outer_reference(
                path, "where its FROM cannot be repeated", "put the subquery into SELECT, WHERE or LATERAL"
            )
        rows = self.source.text(query.rows)
        words = {token.text.upper() for token in tokenize(self.source.sql).inside(query.rows) if token.is_name}
        if find_sites(f"FROM {self.source.sql[query.rows.start : query.rows.end]}") or find_window_blocks(
            f"SELECT * FROM {rows}"
        ):
            raise outer_reference(path, "beside a pattern clause in its FROM", "store the rows around in a table first")
        again = sorted(words & _ONCE)
        if again:
            raise outer_reference(path, f"whose rows {again[0]} may choose anew", "store its rows in a table first")
        hidden = sorted(words & self._defined_inside(query.rows))
        if hidden:
            raise outer_reference(
                path, f"where {hidden[0].lower()} is another table inside", "give the WITH inside other names"
            )
        return rows

    def _defined_inside(self, rows: Span) -> set[str]:
        """The CTEs that the clause sees and the query around does not."""
        tokens = tokenize(self.source.sql)
        outside, _ = visible(find_withs(tokens), rows.start)
        seen = {span for scope in outside for span in scope}
        return {tokens.inside(span)[0].text.upper() for scope in self.site.scopes for span in scope if span not in seen}

    def _is_readable(self, query: str) -> bool:
        try:
            self.describe(self._scoped(query + "\n"))
        except PySparkException:
            return False
        return True

    def _scoped(self, query: str) -> str:
        return in_scope(query, self.site, self.source)


def outer_values(site: Site, source: Source, describe: Describe) -> OuterValues | None:
    """The values of the queries around a site, none read so far; None if there are no such queries."""
    queries = outer_queries(source.sql, site)
    return OuterValues(source, site, describe, queries) if queries else None


def outer_reference(path: tuple[Name, ...], where: str, hint: str) -> CepUnsupportedError:
    """The error for a column of a query around where it cannot be one."""
    name = ".".join(step.value for step in path)
    return CepUnsupportedError(
        f"{name}, a column of the query around, {where}",
        code="OUTER_REFERENCE",
        span=path[0].span.to(path[-1].span),
        hint=hint,
    )


def _alias(number: int) -> str:
    return quoted(f"__cep_o{number}")

"""Aggregates over the elements of closures that have no SQL over the matches: ``STDDEV(b.x)``, ``COUNT(DISTINCT b.x)``, ``SUM(b.x - a.x)``.

In: MEASURES that are computed from the matches. Out: which of their aggregates range over elements, and their SQL over rows that
``emit.measures.with_elements`` adds to those of the matches. Spark is asked about types: where a function takes no element but takes
the array of all of them, as ``array_max(b.x)`` does, the aggregate ranges over the matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType
from sqlglot import exp

from rewrites.bind.aggregate_calls import OVER_ROWS
from rewrites.bind.aggregates import filtered, is_aggregate, mark, suffixes
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.names import Variables, references, starred
from rewrites.bind.relation import spark_message
from rewrites.dialect import column_path, span_of
from rewrites.dialect.nodes import KleeneRef
from rewrites.emit.measures import ELEMENTS, KIND, PRESENT, with_elements
from rewrites.pushdown.from_matches import indexed
from rewrites.sql.builder import quoted
from rewrites.sql.source import Source, lambda_names, replaced
from sparkcep.errors import CepAnalysisError, CepUnsupportedError

_NO_FILTER = "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"
"""What Spark says of FILTER behind a Python aggregate."""


@dataclass(slots=True)
class ElementCalls:
    """The aggregates of a clause's measures that ``MatchCalls`` lacks. ``closures``: the pattern's; ``typed``: a match of NULLs.

    ``walked``: the closures over whose elements some of them range, in the order of their kinds of rows.
    """

    bound: BoundEventPattern
    source: Source
    closures: frozenset[str]
    typed: str
    walked: list[str] = field(default_factory=list)
    _closure_of: dict[int, str] = field(default_factory=dict)

    def find(self, is_known: Callable[[exp.Expression], bool]) -> None:
        """Note which aggregates range over elements, of those that are not known otherwise. Raises CepError at one that has no meaning."""
        unknown = [node for measure in self.bound.measures for node in _unknown(measure.expr.node, is_known)]
        if not any(self._read(node) for node in unknown):
            return
        for node in unknown:
            if not is_aggregate(node) and self._is_refused_as_aggregate(node):
                mark(node, beside_others=True)
        for node in filter(is_aggregate, unknown):
            if self._read(node):
                self._place(node)

    def text(self, node: exp.Expression) -> str | None:
        """SQL of an aggregate over the rows; None: ``node`` is none."""
        if not is_aggregate(node):
            return None
        closure = self._closure_of.get(id(node))
        if closure is not None:
            return self._over_elements(node, closure)
        return self._over_matches(node, f"{quoted(PRESENT)} IS NOT NULL" if self.walked else None)

    def rows(self, matches: str) -> str:
        """The rows over which measures are computed."""
        return self._walked(matches, self.walked)

    def _walked(self, matches: str, walked: list[str]) -> str:
        return with_elements(self.bound, matches, self._columns, self.closures, walked) if walked else matches

    @property
    def _columns(self) -> StructType:
        """Those of a match."""
        return self.bound.relation.describe(f"SELECT * FROM {self.typed}")

    def _read(self, node: exp.Expression) -> tuple[str, ...]:
        """The closures of which ``node`` reads what each element has."""
        variables = Variables(self.bound.variables)
        names = [found.members[0] for found in references(node, variables) if not found.indexed]
        stars = [star.name for part in node.walk() if (star := starred(part)) is not None]
        names += [members[0] for name in stars if (members := variables.members(name)) is not None]
        return tuple(dict.fromkeys(name for name in names if name in self.closures))

    def _place(self, node: exp.Expression) -> None:
        """Decide what ``node`` ranges over."""
        closure, *others = self._read(node)
        index = node.find(KleeneRef)
        complaint = None
        if not others and index is None:
            text = self._over_elements(node, closure, [closure])
            complaint = self._complaint(f"SELECT {text}\n AS `r` FROM {self._walked(self.typed, [closure])}")
            if complaint is None:
                self.walked += [closure] if closure not in self.walked else []
                self._closure_of[id(node)] = closure
                return
            if str(complaint.getCondition()) == _NO_FILTER:
                raise _refusal(node, f"the aggregate {self.source.text(span_of(node))}, which has no FILTER,")
        if self._complaint(f"SELECT {self._over_matches(node, None)}\n AS `r` FROM {self.typed}") is None:
            return
        if complaint is not None:
            raise CepAnalysisError(spark_message(complaint), code="MEASURE", span=span_of(node))
        beside = f"{others[0]}.…" if others else f"{self.source.text(span_of(index or node))}.…"
        raise _refusal(node, f"an aggregate of {closure}.…, with {beside} beside it,")

    def _complaint(self, query: str) -> PySparkException | None:
        try:
            self.bound.relation.describe(query)
        except PySparkException as error:
            return error
        return None

    def _is_refused_as_aggregate(self, call: exp.Expression) -> bool:
        """Whether Spark says of a function that no condition of a row can have it."""
        read = list(self._read(call)[:1])
        text = self._element(call, *read) if read else self._match(call)
        found = self._complaint(f"SELECT 1 AS `r` FROM {self._walked(self.typed, read)} WHERE ({text}\n) IS NULL")
        return found is not None and found.getCondition() == OVER_ROWS

    def _over_elements(self, node: exp.Expression, closure: str, walked: list[str] | None = None) -> str:
        call, where, behind = suffixes(node, self.source)
        kind = (walked or self.walked).index(closure) + 1
        condition = None if where is None else self._element(where, closure)
        return filtered(self._element(call, closure), [f"{quoted(KIND)} = {kind}", condition], behind)

    def _over_matches(self, node: exp.Expression, there: str | None) -> str:
        call, where, behind = suffixes(node, self.source)
        return filtered(self._match(call), [there, None if where is None else self._match(where)], behind)

    def _match(self, node: exp.Expression) -> str:
        """``node`` over the row of a match."""

        def part(inner: exp.Expression) -> str | None:
            star = starred(inner)
            return indexed(inner) if star is None else quoted(star.name)

        return self.source.splice(span_of(node), replaced(node, part))

    def _element(self, node: exp.Expression, closure: str) -> str:
        """``node`` over the row of an element."""

        def part(inner: exp.Expression) -> str | None:
            star = starred(inner)
            if star is not None:
                return "*" if star.name.lower() == closure.lower() else f"{quoted(ELEMENTS)}.{quoted(star.name)}"
            path = column_path(inner)
            if path is None or path[0].value.lower() in self._keys or path[0].value.lower() in lambda_names(inner):
                return None
            if path[0].value.lower() not in self._fields:
                return None
            behind = self.source.sql[path[0].span.end : span_of(inner).end]
            return f"{quoted(ELEMENTS)}.{quoted(path[0].value)}{behind}"

        return self.source.splice(span_of(node), replaced(node, part))

    @property
    def _keys(self) -> frozenset[str]:
        return frozenset(key.name.lower() for key in self.bound.keys)

    @property
    def _fields(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self._columns.names) - self._keys


def _refusal(node: exp.Expression, what: str) -> CepUnsupportedError:
    return CepUnsupportedError(
        f"{what} over each event of a closure",
        code="AGGREGATE",
        span=span_of(node),
        hint="beside the events of one closure stand those of single events, and Spark's own aggregates take them; compute others in a query around "
        "the clause, from the arrays or over explode(b)",
    )


def _unknown(node: exp.Expression, is_known: Callable[[exp.Expression], bool]) -> Iterator[exp.Expression]:
    """The outermost aggregates that are not known, and the functions that may be some."""
    if is_known(node):
        return
    may_be = isinstance(node, exp.Anonymous) and not any(map(is_aggregate, node.walk()))
    if is_aggregate(node) or may_be:
        yield node
        return
    for child in node.iter_expressions():
        yield from _unknown(child, is_known)

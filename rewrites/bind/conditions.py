"""DEFINE conditions: parts that read only the row under test and its neighbours become SQL for Spark.

``B.v > PREV(B.v)`` in B's own condition → ``v > `__cep_n0``` with ``LAG(v, 1)`` as column ``__cep_n0``. If a condition also reads other rows of the
match, its row-only conjuncts are handled here and the rest is left to ``match_conditions``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql.types import DataType
from sqlglot import exp

from rewrites.bind.aggregates import is_aggregate
from rewrites.bind.engine_values import has_engine_value
from rewrites.bind.names import Variables, is_early, is_exists, outside_queries, reference, require_known, row_text
from rewrites.bind.reached import NotForWorkers, may_fail
from rewrites.bind.relation import Relation
from rewrites.dialect import bare, column_path, span_of
from rewrites.dialect.clause import Define
from rewrites.dialect.nodes import Classifier, MatchNumber, MatchSequenceNumber, Navigation, Semantics
from rewrites.sql.builder import quoted, string
from rewrites.sql.source import Source, replaced
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span

FARTHEST = (1 << 31) - 1
"""A partition has fewer rows, and LAG takes no more."""


class _MatchDependent(Exception):
    """The expression reads a row of the match other than the one under test."""


class _Adjacent(Exception):
    """The expression reads a neighbour of the row under test, which Spark is not to look for."""


@dataclass(slots=True)
class Columns:
    """Columns added to the input, one per distinct SQL text: text → name; ``types``: name → type, if known."""

    prefix: str
    texts: dict[str, str] = field(default_factory=dict)
    types: dict[str, DataType] = field(default_factory=dict)

    def name(self, text: str, data_type: DataType | None = None) -> str:
        """The column that holds ``text``, added if it is new."""
        name = self.texts.setdefault(text, f"{self.prefix}{len(self.texts)}")
        if data_type is not None:
            self.types[name] = data_type
        return name

    def copy(self) -> Columns:
        """The same columns, for what may be given up."""
        return Columns(self.prefix, dict(self.texts), dict(self.types))

    def take(self, tried: Columns) -> None:
        """The columns of a copy."""
        self.texts.update(tried.texts)
        self.types.update(tried.types)


@dataclass(frozen=True, slots=True)
class Condition:
    """The row-only part of a condition as SQL over the input and the neighbour columns, and the conjuncts that are match-dependent.

    ``text`` is None if no conjunct is row-only. ``parts``: the row-only conjuncts as (the user's text, SQL). ``near``: in a window, what
    ``text`` is near a frame's bounds, as (rows before, rows behind, SQL), the last as ``text`` itself; empty if it is the same everywhere.
    ``adjacent``: the conjuncts that read neighbours, where workers look for them.
    """

    text: str | None
    span: Span
    match_dependent: tuple[exp.Expression, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    near: tuple[tuple[int, int, str], ...] = ()
    adjacent: tuple[exp.Expression, ...] = ()

    @property
    def guard(self) -> str | None:
        """What holds wherever the row-only part does."""
        return (
            self.text if not self.near else "(" + ") OR (".join(dict.fromkeys(text for _, _, text in self.near)) + ")"
        )


@dataclass(frozen=True, slots=True)
class ConditionBinder:
    """Binds the conditions of one clause.

    ``neighbours`` collects ``LAG``/``LEAD`` calls (without their OVER), ``early`` expressions with a subquery.
    ``adjacent``: workers look for neighbours.
    """

    variables: Variables
    source: Source
    relation: Relation
    neighbours: Columns
    early: Columns
    adjacent: bool = False

    def bind(self, define: Define) -> Condition:
        """The condition, split. Errors: PREV with a bad offset, navigation inside a subquery's comparison. Raises NotForWorkers with ``adjacent``."""
        own = self.variables.require(define.variable)[0]
        nodes = conjuncts(define.condition.node)
        adjacent = [node for node in nodes if self.adjacent and self._is_adjacent(node, own)]
        if adjacent and any(may_fail(node) for node in nodes[nodes.index(adjacent[0]) :] if node not in adjacent):
            raise NotForWorkers
        whole = None if adjacent else self._row_only(define.condition.node, own)
        parts = [(node, self._row_only(node, own)) for node in nodes if node not in adjacent]
        row_only = tuple((self.source.text(span_of(node)), text) for node, text in parts if text is not None)
        if whole is not None:
            return Condition(whole, define.condition.span, parts=row_only)
        texts = [f"({text})" for _, text in parts if text is not None]
        rest = tuple(node for node, text in parts if text is None)
        return Condition(" AND ".join(texts) or None, define.condition.span, rest, row_only, adjacent=tuple(adjacent))

    def _is_adjacent(self, node: exp.Expression, own: str) -> bool:
        """Whether workers are to look for the neighbours that a conjunct reads."""
        try:
            self._row_only(node, own)
        except _Adjacent:
            return True
        return False

    def _row_only(self, node: exp.Expression, own: str) -> str | None:
        """The condition as SQL, if it reads only the row under test and its neighbours."""
        try:
            edits = list(replaced(node, lambda part: self._replacement(part, own)))
        except _MatchDependent:
            return None
        return self.source.splice(span_of(node), edits)

    def _replacement(self, node: exp.Expression, own: str) -> str | None:
        if isinstance(node, Semantics):
            return None
        if is_query(node):
            return self._query(node, own)
        if isinstance(node, Navigation):
            return self._navigation(node, own)
        if isinstance(node, Classifier):
            return self._classifier(node, own)
        special = isinstance(node, MatchNumber | MatchSequenceNumber) or is_aggregate(node)
        if special and not node.find_ancestor(exp.Query):
            raise _MatchDependent
        found = reference(node, self.variables)
        if found is None:
            self._check_foreign(node)
            return None
        self.relation.require(found.column)
        if own not in found.members:
            raise _MatchDependent
        return self.source.column(found.rest)

    def _query(self, node: exp.Expression, own: str) -> str:
        """A column with the subquery's value, computed below the windows: a join above them would lose their order."""
        refuse_navigation(node)
        return self._row(node, own)

    def _check_foreign(self, node: exp.Expression) -> None:
        """Check names that are not variables: an input column or a name of Spark's; inside a subquery or a lambda they may be anything."""
        if not node.find_ancestor(exp.Query, exp.Lambda):
            require_known(column_path(node), self.variables, self.relation)

    def _navigation(self, node: Navigation, own: str) -> str:
        offset = offset_of(node)
        if has_engine_value(node):
            raise _MatchDependent
        if node.function in ("FIRST", "LAST"):
            if node.function == "FIRST" or offset:
                raise _MatchDependent
            return f"({self._row(node.this, own)})"
        inner = node.this
        if isinstance(inner, Navigation):
            if inner.function != "LAST" or offset_of(inner):
                raise _MatchDependent
            inner = inner.this
        return self._neighbour(node, inner, own, offset)

    def _neighbour(self, node: Navigation, inner: exp.Expression, own: str, offset: int | None) -> str:
        text = self._row(inner, own)
        distance = 1 if offset is None else offset
        if distance == 0:
            return f"({text})"
        if self.relation.streaming:  # Spark has no LAG over a stream
            raise _MatchDependent
        if self.adjacent:
            raise _Adjacent
        function = "LAG" if node.function == "PREV" else "LEAD"
        return quoted(self.neighbours.name(f"{function}({text}, {distance})"))

    def _row(self, node: exp.Expression, own: str) -> str:
        """The argument of a navigation: an expression over the row under test."""
        for part in outside_queries(node):
            if isinstance(part, Navigation | Classifier | MatchNumber) or is_aggregate(part):
                raise nested(part)
        for part in node.walk():
            found = reference(part, self.variables)
            if found is not None and own not in found.members:
                raise _MatchDependent
        text = row_text(node, self.variables, self.source)
        return quoted(self.early.name(text)) if is_early(node) else text

    def _classifier(self, node: Classifier, own: str) -> str:
        """CLASSIFIER: in A's own condition the row under test is already mapped to A."""
        if node.this is not None:
            members = self.variables.members(node.this.name)
            if members is None or own not in members:
                raise _MatchDependent
        return string(own)


def conjuncts(node: exp.Expression) -> list[exp.Expression]:
    """The operands of the top-level ANDs, left to right."""
    node = bare(node)
    if isinstance(node, exp.And):
        return [*conjuncts(node.left), *conjuncts(node.right)]
    return [node]


def offset_of(node: Navigation) -> int | None:
    """The navigation's offset, None if omitted; beyond FARTHEST there is no row. Errors: no number, negative, more than two arguments."""
    offset = node.args.get("offset")
    if node.args.get("extra"):
        raise CepAnalysisError(
            f"{node.function} takes one or two arguments",
            code="NAVIGATION",
            span=span_of(node),
            hint=f"write {node.function}(A.x), or {node.function}(A.x, 2)",
        )
    if offset is None:
        return None
    if not isinstance(offset, exp.Literal) or offset.is_string or not offset.name.isdigit():
        raise CepAnalysisError(
            f"the offset of {node.function} must be a non-negative integer",
            code="NAVIGATION_OFFSET",
            span=span_of(offset),
            hint=f"write {node.function}(…, 1), or a parameter",
        )
    return min(int(offset.name), FARTHEST)


def nested(node: exp.Expression) -> CepAnalysisError:
    """The error for a nesting that the standard forbids."""
    return CepAnalysisError(
        "navigation, CLASSIFIER, MATCH_NUMBER and aggregates cannot be nested like this inside a navigation or an aggregate",
        code="NESTED_NAVIGATION",
        span=span_of(node),
        hint="PREV or NEXT may stand around FIRST or LAST, as in PREV(LAST(A.x, 1), 2), an aggregate around an expression over a row; "
        "anything else goes over the result, in a query around the clause",
    )


def is_query(node: exp.Expression) -> bool:
    """Whether ``node`` is computed apart: a scalar subquery, EXISTS, IN with its left operand, or a window function."""
    if isinstance(node, exp.In):
        return node.args.get("query") is not None
    return is_exists(node) or isinstance(node, exp.Subquery | exp.Window)


def refuse_navigation(node: exp.Expression) -> None:
    """Raise if the subquery expression ``node`` reads other rows of the match."""
    if any(
        isinstance(part, Navigation | Classifier | MatchNumber | MatchSequenceNumber)
        for part in node.walk(prune=lambda part: isinstance(part, exp.Window))
    ):
        raise CepUnsupportedError(
            "navigation inside a subquery, or before its IN",
            code="SUBQUERY_WITH_NAVIGATION",
            span=span_of(node),
            hint="compute the subquery's result as a column of the input",
        )

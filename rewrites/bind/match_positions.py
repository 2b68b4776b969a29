"""The rows of the match that a condition reads: one row for each navigation, and whether it is there when the condition is tested.

``PREV(LAST(A.x, 1), 2)`` → a ``row.Navigation``; ``A.x`` is the last row of A so far, ``x`` the row under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from rewrites.bind.aggregates import is_aggregate
from rewrites.bind.conditions import nested, offset_of
from rewrites.bind.names import Variables, outside_queries, reference, references, require_all_known
from rewrites.bind.relation import Relation
from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import Name
from rewrites.dialect.nodes import Classifier, MatchNumber, MatchSequenceNumber, Navigation
from rewrites.sql.source import Source, replaced
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.spec import row

CURRENT = row.Navigation(running=True)
"""The row under test: the last of all rows of the match so far."""

_STRICT = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Paren, exp.Mod, exp.IntDiv),
    *(
        exp.Cast,
        exp.DataType,
        exp.DataTypeParam,
        exp.Interval,
        exp.Var,
        exp.Literal,
        exp.Identifier,
        exp.Column,
        exp.Dot,
    ),
    *(exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Length, exp.Abs, exp.Round, exp.Floor, exp.Ceil),
    *(exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.TimestampTrunc, exp.DateTrunc, exp.Bracket),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Not),
    *(Navigation, exp.Placeholder, exp.Parameter),
)
"""Null-propagating expressions: they may be computed before the navigation, which may find no row."""


@dataclass(frozen=True, slots=True)
class MatchPositions:
    """The rows that one variable's condition reads.

    ``own`` is the variable, ``matched`` are those that have matched a row whenever its condition is tested.
    """

    own: str
    variables: Variables
    source: Source
    relation: Relation
    matched: frozenset[str]

    def over_row(self, node: exp.Expression) -> str:
        """The expression over its row: without the navigation and the variables."""

        def part(inner: exp.Expression) -> str | None:
            if isinstance(inner, Navigation):
                return f"({self.over_row(innermost(inner))})"
            found = reference(inner, self.variables)
            return None if found is None else self.source.column(found.rest)

        return self.source.splice(span_of(node), replaced(node, part))

    def positions(self, node: exp.Expression) -> list[row.Navigation]:
        """The rows that an expression reads, each once."""
        return list(dict.fromkeys(self._each_position(node)))

    def _each_position(self, node: exp.Expression) -> Iterator[row.Navigation]:
        if isinstance(node, Navigation):
            yield self.position(node)
            return
        if isinstance(node, exp.Window):
            yield CURRENT
            return
        found = reference(node, self.variables)
        if found is not None:
            yield CURRENT if self.own in found.members else row.Navigation(found.members, running=True)
            return
        path = column_path(node)
        if path is not None and self.relation.column(path[0].value):
            yield CURRENT
            return
        for child in node.iter_expressions():
            yield from self._each_position(child)

    def position(self, node: Navigation) -> row.Navigation:
        """``PREV(LAST(A.x, 1), 2)`` → the row it means."""
        inner, physical = node, 0
        if node.function in ("PREV", "NEXT"):
            offset = offset_of(node)
            distance = 1 if offset is None else offset
            physical = -distance if node.function == "PREV" else distance
            inner = node.this
        if not isinstance(inner, Navigation):
            members, current = self.label(inner)
            return row.Navigation(None if current else members, running=True, physical=physical)
        if inner.function in ("PREV", "NEXT"):
            raise nested(inner)
        members, current = self.label(inner.this)
        logical, last = offset_of(inner) or 0, inner.function == "LAST"
        self._check_offset(inner, logical - (current and last))
        if current and last and not logical:
            members = None
        return row.Navigation(members, last, True, logical, physical)

    def _check_offset(self, node: Navigation, index: int) -> None:
        if index >= row.MAX_OFFSETS:
            raise CepUnsupportedError(
                f"{self.source.text(span_of(node))} in the condition of {self.own}: it keeps {row.MAX_OFFSETS} rows of its match",
                code="NAVIGATION_OFFSET",
                span=span_of(node),
                hint="rows that are adjacent are found by PREV, with any offset",
            )

    def label(self, node: exp.Expression) -> tuple[tuple[str, ...] | None, bool]:
        """The variable of a navigation's argument, and whether its last row is the row under test."""
        if isinstance(node, Classifier):
            members = self.members_of(node)
            return members, members is None or self.own in members
        for part in outside_queries(node):
            if is_special(part) and not isinstance(part, Classifier | MatchNumber | MatchSequenceNumber):
                raise nested(part)
        require_all_known(node, self.variables, self.relation)
        classified = [self.members_of(part) for part in node.find_all(Classifier)]
        found = [ref.members for ref in references(node, self.variables)] + classified
        members = found[0] if found else None
        if any(other != members for other in found):
            raise CepAnalysisError(
                "a navigation can refer to only one variable",
                code="MIXED_VARIABLES",
                span=span_of(node),
                hint="write a navigation of each: PREV(A.x) + LAST(B.x)",
            )
        return members, members is None or self.own in members

    def members_of(self, node: Classifier) -> tuple[str, ...] | None:
        """The variables that CLASSIFIER(v) is about."""
        return None if node.this is None else self.variables.require(Name(node.this.name, span_of(node)))

    def is_hoisted(self, node: exp.Expression) -> bool:
        """Whether Spark can compute a leaf's value before its row is known (NULL if there is none)."""
        return self.is_safe(node, self.positions(node))

    def is_safe(self, node: exp.Expression, positions: list[row.Navigation]) -> bool:
        """As ``is_hoisted``, for an expression over the one row of ``positions``."""
        return isinstance(node, Navigation) or not positions or self._has_row(positions[0]) or _is_strict(node)

    def _has_row(self, at: row.Navigation) -> bool:
        """Whether there is a row at ``at`` whenever the condition is tested."""
        matched = at.variables is None or not self.matched.isdisjoint((*at.variables, self.own))
        return at == CURRENT or (matched and not at.logical and not at.physical)


def is_special(node: exp.Expression) -> bool:
    """Whether a node is about the match and not about one row."""
    return isinstance(node, Navigation | Classifier | MatchNumber | MatchSequenceNumber) or is_aggregate(node)


def innermost(node: exp.Expression) -> exp.Expression:
    """What a navigation, or one inside another, is over."""
    return innermost(node.this) if isinstance(node, Navigation) else node


def _is_strict(node: exp.Expression) -> bool:
    return all(isinstance(part, _STRICT) for part in node.walk())

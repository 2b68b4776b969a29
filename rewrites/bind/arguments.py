"""What a navigation or an aggregate in a measure reads: the rows of one variable, and an input column, added if necessary.

``LAST(up.price * 2)`` → the rows of ``up``, and an added column ``price * 2``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import DataType
from sqlglot import exp

from rewrites.bind.aggregates import innermost_call, is_aggregate
from rewrites.bind.conditions import Columns, Condition, nested
from rewrites.bind.names import (
    Reference,
    Variables,
    is_early,
    outside_queries,
    reference,
    references,
    require_all_known,
    row_text,
    starred,
)
from rewrites.bind.reached import may_fail, where_filtered
from rewrites.bind.relation import Relation
from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import Name
from rewrites.dialect.nodes import Classifier, MatchNumber, Navigation
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError


@dataclass(frozen=True, slots=True)
class Arguments:
    """``added``: expressions over one row that become input columns; ``early``: those that contain a subquery.

    ``outer``: names of enclosing queries, whose columns measures may name. ``all_variables``: those of the pattern, which a function over a window
    does not name.
    """

    variables: Variables
    source: Source
    relation: Relation
    conditions: dict[str, Condition]
    added: Columns
    early: Columns
    outer: frozenset[str] = frozenset()
    all_variables: tuple[str, ...] = ()

    def members(self, node: exp.Expression, *, aggregate: bool = False) -> tuple[str, ...] | None:
        """The variable that all references in an argument (or in a whole ``aggregate``) share; None for all rows. Raises CepAnalysisError if they
        differ, or contain a navigation or an aggregate.
        """
        call = innermost_call(node) if aggregate else None
        for part in outside_queries(node):
            inside = part is not call and is_aggregate(part) and not (aggregate and innermost_call(part) is call)
            of_match = isinstance(part, Classifier | MatchNumber) and not aggregate
            if inside or of_match or isinstance(part, Navigation):
                raise nested(part)
        require_all_known(node, self.variables, self.relation)
        found = references(node, self.variables)
        named = [part for part in node.find_all(Classifier) if part.this is not None]
        members = [ref.members for ref in found] + [self.classifier_members(part) for part in named]
        members += [self.star_members(part) for part in outside_queries(node) if starred(part) is not None]
        first = members[0] if members else None
        mixed: Reference | exp.Expression | None = next((ref for ref in found if ref.members != first), None)
        mixed = (
            mixed
            or self._bare(node if call is None else call, found)
            or next((p for p in named if self.classifier_members(p) != first), None)
        )
        if mixed is not None:
            raise CepAnalysisError(
                "a navigation or aggregate can refer to only one variable",
                code="MIXED_VARIABLES",
                span=span_of(node),
                hint="write one for each: LAST(A.x) + LAST(B.x), SUM(A.x) + SUM(B.x)",
            )
        return first

    def _bare(self, node: exp.Expression, found: list[Reference]) -> exp.Expression | None:
        """A bare input column beside a variable's column."""
        if not found:
            return None
        inside = {(ref.span.start, ref.span.end) for ref in found}
        for part in outside_queries(node):
            if not isinstance(part, exp.Column):
                continue
            span = span_of(part)
            if (span.start, span.end) not in inside and self.relation.column(part.name) and not part.table:
                return part
        return None

    def column_of(
        self, node: exp.Expression, members: tuple[str, ...] | None, cast: str | None = None
    ) -> tuple[str, DataType]:
        """The input column that holds an argument (the column itself, or an added one) and its type. ``members``: whose rows are read; empty: any."""
        column = self._plain_column(node)
        if column is not None and cast is None:
            return self.input(column)
        text = where_filtered(node, lambda part: row_text(part, self.variables, self.source))
        if cast is not None:
            text = f"CAST({text} AS {cast})"
        data_type = self.relation.types_of([(text, span_of(node))])[0]
        if is_early(node):
            return self.early.name(text, data_type), data_type
        if members is None and may_fail(node):
            members = self.all_variables
        return self.added.name(self._guarded(text, members or ()), data_type), data_type

    def _plain_column(self, node: exp.Expression) -> str | None:
        """The input column that ``node`` names, with or without a variable before it; None for any other expression."""
        found, path = reference(node, self.variables), column_path(node)
        if found is not None:
            return None if found.tail else self.relation.require(found.column)
        return self._bare_column(node, path[0]) if path is not None and len(path) == 1 else None

    def _bare_column(self, node: exp.Expression, name: Name) -> str | None:
        """The input column of that name; None for a session variable."""
        column = self.relation.column(name.value)
        if column is None:
            try:
                self.relation.types_of([(self.source.text(span_of(node)), span_of(node))])
            except CepAnalysisError:
                return self.relation.require(name)
        return column

    def type_of(self, node: exp.Expression) -> DataType:
        """The type of an argument."""
        column = self._plain_column(node)
        if column is not None:
            return self.input(column)[1]
        return self.relation.types_of([(row_text(node, self.variables, self.source), span_of(node))])[0]

    def input(self, column: str) -> tuple[str, DataType]:
        """A column of the input and its type."""
        return column, self.relation.schema[column].dataType

    def _guarded(self, text: str, members: tuple[str, ...]) -> str:
        """``text``, evaluated only on rows that the variable can take: on others an ANSI cast could fail."""
        conditions = [self.conditions[member] for member in members if member in self.conditions]
        tests = [condition.guard for condition in conditions if condition.guard is not None]
        if not members or len(tests) < len(members):
            return text
        return f"CASE WHEN ({') OR ('.join(tests)}) THEN {text} END"

    def star_members(self, argument: exp.Expression) -> tuple[str, ...] | None:
        """The variable of ``a.*``; None for ``*``."""
        table = starred(argument)
        return None if table is None else self.variables.require(Name(table.name, span_of(argument)))

    def classifier_members(self, node: Classifier) -> tuple[str, ...] | None:
        """The variable that CLASSIFIER names; None for all rows."""
        return None if node.this is None else self.variables.require(Name(node.this.name, span_of(node)))

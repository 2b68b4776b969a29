"""Match-dependent parts of DEFINE conditions: what looks at other rows of the match becomes data for the engine.

``up.price > LAST(down.price)`` → ``gt(price at the row under test, price at LAST down)``. An expression over the row of one navigation is one
column: ``substr(LAST(A.name), 1, 2)`` is ``LAST`` of ``substr(name, 1, 2)``, which Spark computes, as long as the function gives NULL for NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, LongType, StringType
from sqlglot import exp

from rewrites.bind.conditions import Columns, nested, offset_of
from rewrites.bind.measures import aggregate_type
from rewrites.bind.names import Variables, has_query, reference, references, row_text
from rewrites.clause import Name
from rewrites.dialect import column_path, span_of
from rewrites.dialect.nodes import Classifier, MatchNumber, MatchSequenceNumber, Navigation, Semantics
from rewrites.operands import NotForTheEngine, Operand, OperandBuilder
from rewrites.relation import Relation
from rewrites.source import Source, replaced
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.spec import row
from sparkcep.spec.expression import Call

CURRENT = row.Navigation(running=True)
"""The row under test: the last of all rows of the match so far."""

_AGGREGATES: dict[type[exp.Expression], row.AggregateFunction] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
}
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
    *(Navigation, exp.Placeholder, exp.Parameter),
)
"""Expressions that are NULL when an argument is: they may be computed before the navigation that may find no row."""


@dataclass(frozen=True, slots=True)
class MatchConditionTranslator(OperandBuilder):
    """Translates conjuncts of one variable's condition. ``own`` is the variable, ``guards`` (variable → SQL) test its rows."""

    own: str
    variables: Variables
    source: Source
    relation: Relation
    columns: Columns
    guards: dict[str, str]

    def translate(self, node: exp.Expression) -> row.Condition:
        """The conjunct as data. Raises CepUnsupportedError at the conjunct where it needs more of Spark than an engine has."""
        try:
            return self._emit(self.boolean(node))
        except NotForTheEngine:
            raise CepUnsupportedError(
                f"the condition of {self.own} computes this from several rows of the match",
                code="MATCH_DEPENDENT_CONDITION",
                span=span_of(node),
                hint="between values of different rows there are comparison, +, -, *, IS NULL, AND, OR, NOT and, for a closure, "
                "COUNT, SUM, AVG, MIN and MAX",
            ) from None

    def is_leaf(self, node: exp.Expression) -> bool:
        """Whether ``node`` is one engine value, or looks at the row of one navigation at most."""
        if isinstance(node, Classifier | MatchNumber | MatchSequenceNumber | exp.AggFunc | exp.Filter | Semantics):
            return True
        if any(_is_special(part) for part in node.walk() if not isinstance(part, Navigation)):
            return isinstance(node, Navigation)
        return len(self._positions(node)) <= 1

    def leaf(self, node: exp.Expression) -> Operand:
        """An engine value, or an expression over one row."""
        if isinstance(node, Semantics):
            return self.leaf(node.this)
        if isinstance(node, MatchNumber):
            return Operand(LongType(), source=row.MatchNumber())
        if isinstance(node, MatchSequenceNumber):
            return Operand(LongType(), source=row.Aggregate("count", running=True))
        if isinstance(node, Classifier):
            return Operand(StringType(), source=row.ClassifierAt(row.Navigation(self._members_of(node), running=True)))
        if isinstance(node, Navigation) and isinstance(_innermost(node), Classifier):
            return Operand(StringType(), source=row.ClassifierAt(self._position(node)))
        if isinstance(node, exp.AggFunc | exp.Filter):
            return self._aggregate(node)
        return self._row_leaf(node)

    def _row_leaf(self, node: exp.Expression) -> Operand:
        positions = self._positions(node)
        at = positions[0] if positions else None
        if has_query(node) or (at not in (None, CURRENT) and not _is_strict(node)):
            raise NotForTheEngine
        text = self._text(node)
        return Operand(self.relation.types_of([(text, span_of(node))])[0], at, text)

    def _text(self, node: exp.Expression) -> str:
        """The expression over its row: navigation and variables taken away."""

        def part(inner: exp.Expression) -> str | None:
            if isinstance(inner, Navigation):
                return f"({self._text(_innermost(inner))})"
            found = reference(inner, self.variables)
            return None if found is None else self.source.text(found.rest)

        return self.source.splice(span_of(node), replaced(node, part))

    def _positions(self, node: exp.Expression) -> list[row.Navigation]:
        return list(dict.fromkeys(self._each_position(node)))

    def _each_position(self, node: exp.Expression) -> Iterator[row.Navigation]:
        if isinstance(node, Navigation):
            yield self._position(node)
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

    def _position(self, node: Navigation) -> row.Navigation:
        """``PREV(LAST(A.x, 1), 2)`` → the row it means."""
        inner, physical = node, 0
        if node.function in ("PREV", "NEXT"):
            offset = offset_of(node)
            distance = 1 if offset is None else offset
            physical = -distance if node.function == "PREV" else distance
            inner = node.this
        if not isinstance(inner, Navigation):
            members, current = self._label(inner)
            return row.Navigation(None if current else members, running=True, physical=physical)
        if inner.function in ("PREV", "NEXT"):
            raise nested(inner)
        members, current = self._label(inner.this)
        logical, last = offset_of(inner) or 0, inner.function == "LAST"
        if current and last and not logical:
            members = None
        return row.Navigation(members, last, True, logical, physical)

    def _label(self, node: exp.Expression) -> tuple[tuple[str, ...] | None, bool]:
        """The variable of a navigation's argument, and whether its last row is the row under test."""
        if isinstance(node, Classifier):
            members = self._members_of(node)
            return members, members is None or self.own in members
        for part in node.walk():
            if _is_special(part):
                raise nested(part)
        found = references(node, self.variables)
        members = found[0].members if found else None
        if any(ref.members != members for ref in found):
            raise CepAnalysisError(
                "one navigation may look at one variable only", code="MIXED_VARIABLES", span=span_of(node)
            )
        return members, members is None or self.own in members

    def _members_of(self, node: Classifier) -> tuple[str, ...] | None:
        return None if node.this is None else self.variables.require(Name(node.this.name, span_of(node)))

    def _aggregate(self, node: exp.Expression) -> Operand:
        call = node.this if isinstance(node, exp.Filter) else node
        if isinstance(node, exp.Filter) or isinstance(call.this, exp.Distinct):
            raise NotForTheEngine
        if isinstance(call, exp.Avg):
            return self._average(call.this)
        function = _AGGREGATES.get(type(call))
        if function is None:
            raise NotForTheEngine
        if function == "count" and (isinstance(call.this, exp.Star) or isinstance(call.this.this, exp.Star)):
            members = self._star(call.this)
            return Operand(LongType(), source=row.Aggregate("count", None, members, running=True))
        members, text, data_type = self._argument(call.this)
        if function == "sum" and isinstance(data_type, FloatType):
            text, data_type = f"CAST({text} AS DOUBLE)", DoubleType()
        source = row.Aggregate(function, self._column(text, members), members, running=True)
        return Operand(aggregate_type(function, data_type, call.this), source=source)

    def _average(self, argument: exp.Expression) -> Operand:
        """AVG(x) as SUM(x) / SUM(1.0 where x is not NULL): NULL for an empty closure, a double otherwise."""
        members, text, data_type = self._argument(argument)
        if isinstance(data_type, DecimalType):
            raise CepUnsupportedError(
                "AVG over a DECIMAL in a condition",
                code="AVERAGE_OF_DECIMAL",
                span=span_of(argument),
                hint=f"write AVG(CAST({text} AS DOUBLE))",
            )
        total = row.Aggregate("sum", self._column(f"CAST({text} AS DOUBLE)", members), members, running=True)
        ones = f"CASE WHEN {text} IS NOT NULL THEN 1.0D END"
        count = row.Aggregate("sum", self._column(ones, members), members, running=True)
        sums = (Operand(DoubleType(), source=total), Operand(DoubleType(), source=count))
        return Operand(DoubleType(), operator="div", arguments=sums)

    def _argument(self, node: exp.Expression) -> tuple[tuple[str, ...] | None, str, DataType]:
        members, _ = self._label(node)
        text = row_text(node, self.variables, self.source)
        return members, text, self.relation.types_of([(text, span_of(node))])[0]

    def _star(self, node: exp.Expression) -> tuple[str, ...] | None:
        table = node.args.get("table") if isinstance(node, exp.Column) else None
        return None if table is None else self.variables.require(Name(table.name, span_of(node)))

    def _emit(self, operand: Operand) -> row.Condition:
        if operand.operator is not None:
            return Call(operand.operator, tuple(self._emit(argument) for argument in operand.arguments))
        if operand.source is not None:
            source: row.Source = operand.source
            return source
        at = operand.at if isinstance(operand.at, row.Navigation) else CURRENT
        members = (self.own,) if at == CURRENT else at.variables if at.physical == 0 else None
        return row.ColumnAt(self._column(operand.text, members), at)

    def _column(self, text: str, members: tuple[str, ...] | None) -> str:
        """The input column that holds ``text``: itself, or an added one that only rows of the variable compute."""
        plain = self.relation.column(text.strip("()`"))
        if plain is not None:
            return plain
        tests = [self.guards[member] for member in members or () if member in self.guards]
        guarded = bool(members) and len(tests) == len(members or ())
        return self.columns.name(f"CASE WHEN ({') OR ('.join(tests)}) THEN {text} END" if guarded else text)


def _is_special(node: exp.Expression) -> bool:
    return isinstance(node, Navigation | Classifier | MatchNumber | MatchSequenceNumber | exp.AggFunc)


def _innermost(node: exp.Expression) -> exp.Expression:
    return _innermost(node.this) if isinstance(node, Navigation) else node


def _is_strict(node: exp.Expression) -> bool:
    return all(isinstance(part, _STRICT) for part in node.walk())

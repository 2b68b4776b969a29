"""The leaves of match-dependent conditions: reading one other row of the match, or aggregating its rows, becomes data for the engine.

``LAST(down.price)`` → the column ``price`` at the last row of ``down``. An expression over the row of a single navigation is hoisted into one column:
``substr(LAST(A.name), 1, 2)`` is ``LAST`` of ``substr(name, 1, 2)``, which Spark computes, provided the function is NULL for NULL.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import BooleanType, DataType, DecimalType, DoubleType, FloatType, LongType, StringType
from sqlglot import exp

from rewrites.bind.aggregates import filter_of, function_name, innermost_call, is_aggregate, is_bare_count, moment_of
from rewrites.bind.conditions import Columns, refuse_navigation
from rewrites.bind.decimals import mean_type
from rewrites.bind.engine_values import has_engine_value
from rewrites.bind.literals import literal
from rewrites.bind.match_positions import CURRENT, MatchPositions, innermost, is_special
from rewrites.bind.measures import aggregate_type
from rewrites.bind.names import is_early, is_star, outside_queries, row_text, starred
from rewrites.bind.operand_builder import OperandBuilder
from rewrites.bind.operands import EXACT_DIGITS, NotForTheEngine, Operand
from rewrites.bind.reached import decided, may_fail, where_filtered, where_reached
from rewrites.dialect import span_of
from rewrites.dialect.clause import Name
from rewrites.dialect.nodes import Classifier, MatchNumber, MatchSequenceNumber, Navigation, Semantics
from rewrites.sql.builder import quoted
from sparkcep.spec import row
from sparkcep.spec.expression import Call

_AGGREGATES: dict[str, row.AggregateFunction] = {"count": "count", "sum": "sum", "min": "min", "max": "max"}
_OF_CONDITIONS: dict[str, row.AggregateFunction] = {
    "count_if": "count",
    "bool_and": "min",
    "every": "min",
    "bool_or": "max",
    "some": "max",
    "any": "max",
}


@dataclass(frozen=True, slots=True)
class MatchLeaves(MatchPositions, OperandBuilder):
    """The leaves in one variable's condition. ``guards`` (variable → SQL) test which rows a variable can take."""

    columns: Columns
    early: Columns
    guards: dict[str, str]

    def is_leaf(self, node: exp.Expression) -> bool:
        """Whether ``node`` is one engine value, or reads the row of at most one navigation."""
        if isinstance(node, Classifier | MatchNumber | MatchSequenceNumber | Semantics) or is_aggregate(node):
            return True
        if isinstance(node, Navigation) and _is_of_engine_values(node):
            return False
        if any(is_special(part) for part in outside_queries(node) if not isinstance(part, Navigation)):
            return isinstance(node, Navigation)
        return len(self.positions(node)) <= 1

    def leaf(self, node: exp.Expression) -> Operand:
        """An engine value, or an expression over one row."""
        if isinstance(node, Semantics):
            return self.leaf(node.this)
        if isinstance(node, MatchNumber):
            return Operand(LongType(), source=row.MatchNumber(), carried=True)
        if isinstance(node, MatchSequenceNumber):
            return Operand(LongType(), source=row.Aggregate("count", running=True), carried=True)
        if isinstance(node, Classifier):
            return Operand(StringType(), source=row.ClassifierAt(row.Navigation(self.members_of(node), running=True)))
        if isinstance(node, Navigation) and isinstance(innermost(node), Classifier):
            return Operand(StringType(), source=row.ClassifierAt(self.position(node)))
        if is_aggregate(node):
            return self._aggregate(node)
        return self._row_leaf(node)

    def _row_leaf(self, node: exp.Expression) -> Operand:
        for query in node.find_all(exp.Query):
            refuse_navigation(query)
        positions = self.positions(node)
        at = positions[0] if positions else None
        if not self.is_hoisted(node):
            raise NotForTheEngine
        text = self.over_row(node)
        data_type = self.relation.types_of([(text, span_of(node))])[0]
        if is_early(node):
            return Operand(data_type, at, quoted(self.early.name(text)))
        return Operand(data_type, at, where_reached(text, node, lambda other: self._over_row_at(at, other)))

    def is_hoisted(self, node: exp.Expression) -> bool:
        """As in ``MatchPositions``; what may fail is not where a condition about the match decides whether it is reached: Python sees that."""
        if not MatchPositions.is_hoisted(self, node):
            return False
        for_python = self.relation.expression is not None and not node.find(exp.Query, exp.Window)
        if not for_python or not may_fail(node):
            return True
        at = next(iter(self.positions(node)), None)
        return all(self._over_row_at(at, condition) is not None for condition, _ in decided(node))

    def _over_row_at(self, at: row.Navigation | None, node: exp.Expression) -> str | None:
        """A condition over the row at ``at`` alone, as SQL over it."""
        if self.positions(node) != [at] or is_early(node):
            return None
        about_match = any(is_special(part) for part in node.walk() if not isinstance(part, Navigation))
        return None if about_match else self.over_row(node)

    def since(self, operand: Operand) -> Operand:
        """As in ``OperandBuilder``; the engine reads a column, or the least or greatest of one, itself where that is the same."""
        known = operand.source is not None or self.relation.column(operand.text.strip("()`")) is not None
        if known and operand.operator is None and self.relation.has_steady_zone:
            return operand
        return OperandBuilder.since(self, operand)

    def _aggregate(self, node: exp.Expression) -> Operand:
        """An aggregate that the engine keeps while it searches."""
        if has_engine_value(node):
            raise NotForTheEngine
        call = innermost_call(node)
        name = function_name(call, self.source)
        arguments = len(call.expressions) - isinstance(call, exp.Anonymous | exp.AnonymousAggFunc)
        if isinstance(node, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup) or arguments:
            raise NotForTheEngine
        if isinstance(call.this, exp.Distinct) and name not in ("min", "max"):
            raise NotForTheEngine
        if name in _OF_CONDITIONS:
            return self._of_condition(name, node)
        if name in ("any_value", "first_value", "last_value") and call is node:
            return self._end_value(call, last=name == "last_value")
        if name in ("avg", "mean"):
            return self._average(node)
        moment = moment_of(call)
        if moment is not None:
            return self._moment(node, moment)
        function = _AGGREGATES.get(name)
        if function is None:
            raise NotForTheEngine
        return self.aggregate(node, function)

    def aggregate(self, node: exp.Expression, function: row.AggregateFunction) -> Operand:
        """``function`` over the argument of the aggregate ``node``, with its FILTER."""
        argument = argument_of(innermost_call(node))
        if function == "count" and is_star(argument):
            named = starred(argument)
            members = None if named is None else self.variables.require(Name(named.name, span_of(argument)))
            members, filtered = self._ranging(members, node), self._filter(node)
            source = row.Aggregate("count", None, members, running=True, filter=filtered)
            return Operand(LongType(), source=source, carried=True)
        members, text, data_type = self.argument(argument)
        if function not in ("count", "sum") and is_wide(data_type):
            raise NotForTheEngine
        if function == "sum" and isinstance(data_type, FloatType):
            text, data_type = f"CAST({text} AS DOUBLE)", DoubleType()
        result = aggregate_type(function, data_type, argument)
        return self._total(function, text, members, node, result)

    def _total(
        self,
        function: row.AggregateFunction,
        text: str,
        members: tuple[str, ...] | None,
        node: exp.Expression,
        result: DataType,
    ) -> Operand:
        members = self._ranging(members, node)
        column, filtered = self._column(text, members, result), self._filter(node)
        source = row.Aggregate(function, column, members, running=True, filter=filtered)
        return Operand(result, source=source, carried=True)

    def _ranging(self, members: tuple[str, ...] | None, node: exp.Expression) -> tuple[str, ...] | None:
        """The variable whose rows an aggregate ranges over: its argument's ``members``, or, where that names no row, its FILTER's."""
        where = filter_of(node)
        return members if members is not None or where is None else self.label(where)[0]

    def _filter(self, node: exp.Expression) -> str | None:
        """The input column of an aggregate's FILTER."""
        where = filter_of(node)
        if where is None:
            return None
        members, text, _ = self.argument(where)
        return self._column(text, members)

    def _of_condition(self, name: str, node: exp.Expression) -> Operand:
        """COUNT_IF is a COUNT, BOOL_AND the MIN of booleans, BOOL_OR the MAX."""
        members, text, data_type = self.argument(argument_of(innermost_call(node)))
        if not isinstance(data_type, BooleanType):
            raise NotForTheEngine
        function = _OF_CONDITIONS[name]
        if function == "count":
            return self._total("count", f"CASE WHEN {text} THEN 1 END", members, node, LongType())
        return self._total(function, text, members, node, BooleanType())

    def _end_value(self, call: exp.Expression, *, last: bool) -> Operand:
        """ANY_VALUE and FIRST_VALUE read the first row, LAST_VALUE the last row, NULL or not."""
        members, text, data_type = self.argument(argument_of(call))
        current = last and (members is None or self.own in members)
        at = CURRENT if current else row.Navigation(members, last, running=True)
        return Operand(data_type, at, text)

    def _average(self, node: exp.Expression) -> Operand:
        """AVG(x) as SUM(x) / SUM(1.0 where x is not NULL): NULL over no values, a double otherwise. Of decimals of many digits: the slow path."""
        members, text, data_type = self.argument(argument_of(innermost_call(node)))
        if isinstance(data_type, DecimalType):
            mean = mean_type(data_type)
            if mean.precision > EXACT_DIGITS:
                raise NotForTheEngine
            return self._total("avg", text, members, node, mean)
        total = self._total("sum", f"CAST({text} AS DOUBLE)", members, node, DoubleType())
        count = self._total("sum", f"CASE WHEN {text} IS NOT NULL THEN 1.0D END", members, node, DoubleType())
        return Operand(DoubleType(), operator="div", arguments=(total, count))

    def _moment(self, node: exp.Expression, function: row.Moment) -> Operand:
        members, text, _ = self.argument(argument_of(innermost_call(node)))
        return self._total(function, f"CAST({text} AS DOUBLE)", members, node, DoubleType())

    def list_of(self, node: exp.Expression, argument: exp.Expression, cast: str | None = None) -> row.Aggregate:
        """ARRAY_AGG of an aggregate's argument (for CLASSIFIER(), of the rows' variables), with its FILTER."""
        if isinstance(argument, Classifier):
            if cast or isinstance(node, exp.Filter):
                raise NotForTheEngine
            return row.Aggregate("array_agg", None, self.members_of(argument), running=True)
        members, text, data_type = self.argument(argument)
        members = self._ranging(members, node)
        column = self._column(f"CAST({text} AS {cast})" if cast else text, members, None if cast else data_type)
        return row.Aggregate("array_agg", column, members, running=True, filter=self._filter(node))

    def pairs_of(self, node: exp.Expression, value: exp.Expression, ordering: exp.Expression) -> row.Aggregate:
        """ARRAY_AGG of (value, order) pairs over the rows of one variable."""
        members, first, _ = self.argument(value)
        others, second, _ = self.argument(ordering)
        if members != others:
            raise NotForTheEngine
        members = self._ranging(members, node)
        column = self._column(f"named_struct('v', {first}, 'o', {second})", members)
        return row.Aggregate("array_agg", column, members, running=True, filter=self._filter(node))

    def argument(self, node: exp.Expression) -> tuple[tuple[str, ...] | None, str, DataType]:
        """An aggregate's argument: the variable whose rows it ranges over, its SQL over one row, its type."""
        members, _ = self.label(node)
        text = where_filtered(node, lambda part: row_text(part, self.variables, self.source))
        return members, text, self.relation.types_of([(text, span_of(node))])[0]

    def emit(self, operand: Operand) -> row.Condition:
        """An operand as data; columns that it needs are added to the input."""
        if operand.operator is not None:
            return Call(operand.operator, tuple(self.emit(argument) for argument in operand.arguments))
        if operand.source is not None:
            source: row.Source = operand.source
            return source
        constant = literal(operand.text, operand.data_type) if operand.at is None else None
        if constant is not None and constant.type != "string":
            return constant
        at = operand.at if isinstance(operand.at, row.Navigation) else CURRENT
        members = (self.own,) if at == CURRENT else at.variables if at.physical == 0 else None
        return row.ColumnAt(self._column(operand.text, members, operand.data_type), at)

    def _column(self, text: str, members: tuple[str, ...] | None, data_type: DataType | None = None) -> str:
        """The input column that holds ``text``: an existing one, or an added one computed only on rows that the variable can take."""
        plain = self.relation.column(text.strip("()`"))
        if plain is not None:
            return plain
        tests = [self.guards[member] for member in members or () if member in self.guards]
        guarded = bool(members) and len(tests) == len(members or ())
        whole = f"CASE WHEN ({') OR ('.join(tests)}) THEN {text} END" if guarded else text
        return self.columns.name(whole, data_type)


def is_wide(data_type: DataType) -> bool:
    """Whether the engine's words do not hold usual values of a type: decimals with many digits behind the point take the slow path.

    A DECIMAL(20, 2) stays: its values fit up to 10^16, and an engine says so where one does not.
    """
    many = isinstance(data_type, DecimalType) and data_type.precision > EXACT_DIGITS
    return many and data_type.scale > EXACT_DIGITS // 2


def argument_of(call: exp.Expression) -> exp.Expression:
    """The first argument of an aggregate, without DISTINCT. Raises NotForTheEngine if there is none."""
    if isinstance(call, exp.Anonymous | exp.AnonymousAggFunc):
        if not call.expressions:
            raise NotForTheEngine
        return call.expressions[0]
    if is_bare_count(call):
        return exp.Star()
    found: exp.Expression = call.this
    return found.expressions[0] if isinstance(found, exp.Distinct) else found


def _is_of_engine_values(node: Navigation) -> bool:
    """``LAST(CLASSIFIER() || sym)``; ``LAST(CLASSIFIER())`` is a value of its own."""
    argument = innermost(node)
    return not isinstance(argument, Classifier) and has_engine_value(argument)

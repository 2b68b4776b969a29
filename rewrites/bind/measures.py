"""MEASURES: each value taken from a row of the match becomes an engine output; Spark evaluates the expression around it.

``LAST(up.price) - FIRST(down.price)`` → ``__cep_m0 - __cep_m1`` over the outputs ``ColumnAt(price, LAST up)`` and
``ColumnAt(price, FIRST down)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FractionalType,
    IntegerType,
    IntegralType,
    LongType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    VariantType,
)
from sqlglot import exp

from rewrites.bind.aggregates import (
    ORDERED,
    Fold,
    Folds,
    filter_of,
    function_name,
    in_order,
    innermost_call,
    is_aggregate,
    is_apart,
    is_bare_count,
    is_listed,
    is_marked,
    moment_of,
    over_exploded,
    suffixes,
)
from rewrites.bind.arguments import Arguments
from rewrites.bind.conditions import is_query, nested, offset_of
from rewrites.bind.decimals import mean_type, sum_type
from rewrites.bind.engine_values import FIRST_ROW, has_engine_value, over_row
from rewrites.bind.measure_queries import query_edits
from rewrites.bind.names import (
    input_text,
    is_early,
    is_star,
    outside_queries,
    reference,
    require_known,
    row_text,
    starred,
)
from rewrites.bind.outer_references import is_outer
from rewrites.bind.reached import may_fail
from rewrites.dialect import column_path, span_of
from rewrites.dialect.clause import Measure, Name
from rewrites.dialect.nodes import Classifier, MatchNumber, MatchSequenceNumber, Navigation, Semantics
from rewrites.sql.builder import ROW_NUMBER, quoted
from rewrites.sql.source import Source, lambda_names, replaced
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.spec import row

_NOT_COMPARED = (ArrayType, StructType, MapType, VariantType, NullType)
"""Types whose values the engine does not compare."""

_FUNCTIONS: dict[type[exp.Expression], row.AggregateFunction] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.ArrayAgg: "array_agg",
}


@dataclass(slots=True)
class Outputs:
    """The engine's output columns for measures, one per distinct source, with their Spark types; ``said``: what the user wrote for them."""

    sources: dict[row.Source, str] = field(default_factory=dict)
    types: dict[str, DataType] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def name(self, source: row.Source, data_type: DataType) -> str:
        """The output column for ``source``, added if it is new."""
        name = self.sources.setdefault(source, f"__cep_m{len(self.sources)}")
        self.types[name] = data_type
        return name


@dataclass(frozen=True, slots=True)
class MeasureBinder:
    """Binds the measures of one clause.

    ``running``: the default of measures without RUNNING or FINAL (with ALL ROWS PER MATCH: RUNNING).
    """

    inputs: Arguments
    running: bool
    outputs: Outputs
    folds: Folds

    def bind(self, measure: Measure) -> str:
        """The measure as SQL over the engine's outputs."""
        node = measure.expr.node
        if is_star(node):
            raise CepAnalysisError(
                f"{self.inputs.source.sql[span_of(node).start : span_of(node).end]} has the columns of a row, and a measure is one value",
                code="MEASURE",
                span=span_of(node),
                hint="name what you need: LAST(a.x) AS x, …; with ALL ROWS PER MATCH the rows themselves are the result",
            )
        return self._text(node, self.running if measure.running is None else measure.running)

    def _text(self, node: exp.Expression, running: bool) -> str:
        source = self.inputs.source
        edits = list(replaced(node, lambda part: self._replacement(part, running)))
        for span, text in edits:
            self.outputs.said.setdefault(text.strip("`"), source.sql[span.start : span.end])
        return source.splice(span_of(node), edits)

    def _replacement(self, node: exp.Expression, running: bool) -> str | None:
        if isinstance(node, exp.Query):
            return self._query(node, running)
        if isinstance(node, Semantics):
            return self._text(node.this, node.running and self.running)
        if isinstance(node, Navigation):
            return self._navigation(node, running)
        if isinstance(node, Classifier):
            at = row.Navigation(
                self.inputs.classifier_members(node), running=self._is_running(node.args.get("running"), running)
            )
            return self._output(row.ClassifierAt(at), StringType())
        if isinstance(node, MatchNumber):
            return self._output(row.MatchNumber(), LongType())
        if isinstance(node, MatchSequenceNumber):
            return self._output(row.Aggregate("count", running=True), LongType())
        if is_aggregate(node):
            return self._aggregate(node, running)
        return self._column(node, running)

    def _query(self, node: exp.Query, running: bool) -> str:
        inputs = self.inputs

        def value(part: exp.Expression) -> str | None:
            return self._replacement(part, running)

        edits = query_edits(node, inputs.variables, inputs.relation, inputs.source, value)
        return inputs.source.splice(span_of(node), list(edits))

    def _column(self, node: exp.Expression, running: bool) -> str | None:
        """A column without navigation: the value in the last row of its variable, or of all rows."""
        path = column_path(node)
        if path is None or path[0].value.lower() in lambda_names(node):
            return None
        found = reference(node, self.inputs.variables)
        if found is not None:
            tail = "" if found.tail is None else self.inputs.source.text(found.tail)
            column, data_type = self.inputs.input(self.inputs.relation.require(found.column))
            return self._at(column, data_type, row.Navigation(found.members, running=running)) + tail
        bare = self.inputs.relation.column(path[0].value)
        if bare is None:
            self._refuse_unknown(node, path)
            return None
        tail = self.inputs.source.sql[path[0].span.end : span_of(node).end]
        return self._at(*self.inputs.input(bare), row.Navigation(None, running=running)) + tail

    def _refuse_unknown(self, node: exp.Expression, path: tuple[Name, ...]) -> None:
        """A qualified name must start with a variable; a bare one may be Spark's (current_date, the unit in ``dateadd(DAY, 1, x)``)."""
        if is_outer(path, self.inputs.variables, self.inputs.relation, self.inputs.outer):
            return
        require_known(path, self.inputs.variables, self.inputs.relation)
        if not isinstance(node.parent, exp.Func):
            self.inputs.relation.types_of([(self.inputs.source.text(span_of(node)), span_of(node))])

    def _at(self, column: str, data_type: DataType, at: row.Navigation) -> str:
        return self._output(row.ColumnAt(column, at), data_type)

    def _navigation(self, node: Navigation, running: bool) -> str:
        inner, physical = node, 0
        running = self._is_running(node.running, running)
        if node.function in ("PREV", "NEXT"):
            distance = offset_of(node)
            distance = 1 if distance is None else distance
            physical = -distance if node.function == "PREV" else distance
            inner = node.this
        last, logical, argument = True, 0, inner
        if isinstance(inner, Navigation):
            if inner.function in ("PREV", "NEXT"):
                raise nested(inner)
            last, logical, argument = inner.function == "LAST", offset_of(inner) or 0, inner.this
            running = self._is_running(inner.running, running)
        if isinstance(argument, Classifier):
            at = row.Navigation(self.inputs.classifier_members(argument), last, running, logical, physical)
            return self._output(row.ClassifierAt(at), StringType())
        if has_engine_value(argument):
            members = self.inputs.members(argument, aggregate=True)
            return self._over_row_at(argument, row.Navigation(members, last, running, logical, physical))
        members = self.inputs.members(argument)
        if physical and may_fail(argument) and not is_early(argument):
            return self._over_row_at(argument, row.Navigation(members, last, running, logical, physical))
        column, data_type = self.inputs.column_of(argument, () if physical else members)
        return self._at(column, data_type, row.Navigation(members, last, running, logical, physical))

    def _over_row_at(self, argument: exp.Expression, at: row.Navigation) -> str:
        """An expression over the row of a navigation, with values that only the engine has; NULL where there is no such row."""

        def value(part: exp.Expression) -> str:
            if isinstance(part, Classifier):
                return self._output(row.ClassifierAt(at), StringType())
            if isinstance(part, MatchNumber):
                return self._output(row.MatchNumber(), LongType())
            return self._sequence_number(number)

        def column(name: str) -> str:
            return self._at(*self.inputs.input(name), at)

        number = self._at(ROW_NUMBER, IntegerType(), at)
        text = over_row(argument, self.inputs.variables, self.inputs.relation, self.inputs.source, column, value)
        return f"CASE WHEN {number} IS NOT NULL THEN {text} END"

    def _sequence_number(self, number: str) -> str:
        """The place in its match of the row with the ``number`` in its partition."""
        return f"CAST({number} - {self._output(FIRST_ROW, IntegerType())} + 1 AS BIGINT)"

    def _aggregate(self, node: exp.Expression, running: bool) -> str:
        call = node.this if isinstance(node, exp.Filter) else node
        moment = moment_of(call)
        if moment is not None:
            return self._moment(moment, node, call, running)
        argument = exp.Star() if is_bare_count(call) else call.this
        distinct = isinstance(argument, exp.Distinct)
        if distinct and len(argument.expressions) == 1:
            argument = argument.expressions[0]
        if not self._is_engine_aggregate(call, argument):
            return self._folded(node, running)
        where = filter_of(node)
        filtered = None if where is None else self.inputs.column_of(where, self.inputs.members(where))[0]
        members = self.inputs.members(node, aggregate=True)
        if isinstance(argument, Classifier):
            source = row.Aggregate("array_agg", None, self.inputs.classifier_members(argument), running)
            return self._output(source, ArrayType(StringType()))
        if isinstance(call, exp.Avg):
            return self._average(argument, members, running, distinct, filtered)
        return self._aggregate_output(_FUNCTIONS[type(call)], argument, members, running, distinct, filtered)

    def _is_engine_aggregate(self, call: exp.Expression, argument: exp.Expression) -> bool:
        """Whether the engine computes the aggregate; otherwise it returns the rows, and Spark computes it."""
        if (
            is_marked(call)
            or type(call) not in (exp.Avg, *_FUNCTIONS)
            or call.expressions
            or isinstance(argument, exp.Distinct)
            or (isinstance(call.parent, exp.Filter) and has_engine_value(call.parent.expression))
        ):
            return False
        if is_star(argument):
            return True
        if has_engine_value(argument):
            plain = not isinstance(call.this, exp.Distinct) and not isinstance(call.parent, exp.Filter)
            return isinstance(call, exp.ArrayAgg) and isinstance(argument, Classifier) and plain
        compares = isinstance(call, exp.Min | exp.Max) or isinstance(call.this, exp.Distinct)
        if not (compares or isinstance(call, exp.Sum | exp.Avg)) or _is_nested(argument):
            return True
        self.inputs.members(argument)
        data_type = self.inputs.type_of(argument)
        if compares and ("collate" in data_type.simpleString() or isinstance(data_type, _NOT_COMPARED)):
            return False
        return not isinstance(call, exp.Sum | exp.Avg) or isinstance(data_type, NumericType | NullType)

    def _moment(self, function: row.Moment, node: exp.Expression, call: exp.Expression, running: bool) -> str:
        """A variance or deviation: the engine's of one number a row, else Spark's."""
        argument = call.expressions[0] if isinstance(call, exp.Anonymous) else call.this
        if is_marked(call) or isinstance(argument, exp.Distinct) or has_engine_value(node) or _is_nested(argument):
            return self._folded(node, running)
        self.inputs.members(argument)
        data_type = self.inputs.type_of(argument)
        if not isinstance(data_type, NumericType):
            return self._folded(node, running)
        cast = None if isinstance(data_type, DoubleType) else "DOUBLE"
        members, where = self.inputs.members(node, aggregate=True), filter_of(node)
        filtered = None if where is None else self.inputs.column_of(where, self.inputs.members(where))[0]
        return self._aggregate_output(function, argument, members, running, False, filtered, cast)

    def _folded(self, node: exp.Expression, running: bool) -> str:
        """Any other Spark aggregate, over the rows that the engine returns as an array."""
        innermost = innermost_call(node)
        if not is_marked(innermost) and not is_listed(innermost, self.inputs.source):
            raise _unsupported_aggregate(innermost, self.inputs.source)
        fold = self.folds.of(self.inputs.members(node, aggregate=True), running)
        over_input = input_text(node, self.inputs.variables, self.inputs.source)
        (kind,) = self.inputs.relation.types_of([(over_input, span_of(node))])
        if is_apart(node):
            return self.folds.result(fold, self._exploded(node, fold), apart=True)
        call, where, behind = suffixes(node, self.inputs.source)
        condition = None if where is None else self._exploded(where, fold)
        name, written = function_name(innermost, self.inputs.source), self._exploded(call, fold)
        if name in ORDERED and not behind and call is innermost and not is_marked(call) and _has_one_value(call):
            separator = call.args.get("separator")
            between = "''" if separator is None else self._exploded(separator, fold)
            ordered = in_order(name, self._exploded(call.this, fold), written, between, kind, condition)
            return self.folds.result(fold, ordered)
        return self.folds.result(fold, over_exploded(written, condition, behind))

    def _exploded(self, node: exp.Expression, fold: Fold) -> str:
        """``node`` as SQL over one exploded row."""
        return self.inputs.source.splice(span_of(node), replaced(node, lambda part: self._field(part, fold)))

    def _field(self, node: exp.Expression, fold: Fold) -> str | None:
        if isinstance(node, Classifier):
            return fold.classifier()
        if isinstance(node, MatchNumber):
            return self._output(row.MatchNumber(), LongType())
        if isinstance(node, MatchSequenceNumber):
            return self._sequence_number(fold.field_of(ROW_NUMBER, IntegerType()))
        if is_bare_count(node):
            return "count(*)"
        if starred(node) is not None:
            return "*"
        if is_query(node):
            text = row_text(node, self.inputs.variables, self.inputs.source)
            data_type = self.inputs.relation.types_of([(text, span_of(node))])[0]
            return fold.field_of(self.inputs.early.name(text, data_type), data_type)
        path = column_path(node)
        if path is None or path[0].value.lower() in lambda_names(node):
            return None
        found = reference(node, self.inputs.variables)
        column = (
            self.inputs.relation.column(path[0].value) if found is None else self.inputs.relation.require(found.column)
        )
        if column is None:
            self._refuse_unknown(node, path)
            return None
        behind = path[1 if found is not None else 0].span.end
        return fold.field_of(*self.inputs.input(column)) + self.inputs.source.sql[behind : span_of(node).end]

    def finish(self) -> None:
        """Add the rows of all folds to the engine's outputs; to be called when every measure is bound."""
        for fold in self.folds:
            column = self.inputs.added.name(fold.row_text, fold.row_type)
            array = row.Aggregate("array_agg", column, fold.members, fold.running)
            fold.array = self.outputs.name(array, ArrayType(fold.row_type))
            if fold.classified:
                names = row.Aggregate("array_agg", None, fold.members, fold.running)
                fold.names = self.outputs.name(names, ArrayType(StringType()))

    def _aggregate_output(
        self,
        function: row.AggregateFunction,
        argument: exp.Expression,
        members: tuple[str, ...] | None,
        running: bool,
        distinct: bool,
        filtered: str | None,
        cast: str | None = None,
    ) -> str:
        if function == "count" and is_star(argument):
            return self._output(row.Aggregate("count", None, members, running, False, filtered), LongType())
        column, data_type = self.inputs.column_of(argument, members, cast)
        result = aggregate_type(function, data_type, argument)
        return self._output(row.Aggregate(function, column, members, running, distinct, filtered), result)

    def _average(
        self,
        argument: exp.Expression,
        members: tuple[str, ...] | None,
        running: bool,
        distinct: bool,
        filtered: str | None,
    ) -> str:
        """AVG: of decimals the engine's, DECIMAL(p + 4, s + 4) as Spark's own; of other numbers a double, SUM / COUNT, divided by Spark."""
        data_type = self.inputs.type_of(argument)
        if isinstance(data_type, DecimalType):
            return self._aggregate_output("avg", argument, members, running, distinct, filtered)
        cast = None if isinstance(data_type, DoubleType) else "DOUBLE"
        total = self._aggregate_output("sum", argument, members, running, distinct, filtered, cast)
        count = self._aggregate_output("count", argument, members, running, distinct, filtered)
        return f"({total} / NULLIF({count}, 0))"

    def _is_running(self, said: bool | None, default: bool) -> bool:
        """An explicit RUNNING or FINAL overrides the default; with ONE ROW PER MATCH running and final are the same."""
        return self.running and (default if said is None else said)

    def _output(self, source: row.Source, data_type: DataType) -> str:
        return quoted(self.outputs.name(source, data_type))


def aggregate_type(function: row.AggregateFunction, argument: DataType, node: exp.Expression) -> DataType:
    """Spark's result type of an aggregate over ``argument``."""
    if function == "count":
        return LongType()
    if function in row.MOMENTS:
        return DoubleType()
    if function == "array_agg":
        return ArrayType(argument)  # Arrow batches do not guarantee that elements are never NULL
    if function in ("min", "max"):
        return argument
    if function == "avg":
        assert isinstance(argument, DecimalType)
        return mean_type(argument)
    if isinstance(argument, DecimalType):
        return sum_type(argument)
    if isinstance(argument, IntegralType):
        return LongType()
    if isinstance(argument, FractionalType):
        return DoubleType()
    raise CepUnsupportedError(
        f"SUM or AVG over {argument.simpleString()}",
        code="AGGREGATE_TYPE",
        span=span_of(node),
        hint="cast the argument to a number",
    )


def _has_one_value(call: exp.Expression) -> bool:
    """Whether an aggregate has one value a row and nothing that says how to take it; a separator may stand behind it."""
    plain = isinstance(call.this, exp.Expression) and not isinstance(call.this, exp.Distinct | exp.Order | exp.Star)
    return plain and not call.expressions and not call.args.get("expression")


def _is_nested(argument: exp.Expression) -> bool:
    """Whether the argument contains what is not allowed inside an aggregate (an error that ``_members`` raises)."""
    return any(isinstance(part, Navigation) or is_aggregate(part) for part in outside_queries(argument))


def _unsupported_aggregate(call: exp.Expression, source: Source) -> CepUnsupportedError:
    return CepUnsupportedError(
        f"the aggregate {function_name(call, source)} in MEASURES",
        code="AGGREGATE",
        span=span_of(call),
        hint="it is not one of Spark's aggregate functions; window functions belong in a query around the clause",
    )

"""Conditions that take the slow path: any expression over several rows of the match, evaluated function by function.

``array_join(array_agg(CLASSIFIER()), '') = 'BAX'`` → Spark analyses ``array_join(`__cep_x0`, '') = 'BAX'`` over an empty stand-in whose
columns are values the engine provides (navigations, aggregates, lists); the resolved tree, with all casts, goes to the engine as data.
Sub-expressions over a single row are computed by Spark, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)
from sqlglot import exp

from rewrites.bind.aggregates import function_name, innermost_call, is_aggregate, moment_of
from rewrites.bind.decimals import mean_type, sum_type
from rewrites.bind.engine_values import FIRST_ROW, has_engine_value, over_row
from rewrites.bind.match_leaves import MatchLeaves, argument_of, is_wide
from rewrites.bind.match_positions import innermost
from rewrites.bind.operand_builder import OPERATORS
from rewrites.bind.operands import EXACT_DIGITS, NotForTheEngine, Operand
from rewrites.bind.slow_lists import list_of_values
from rewrites.bind.stand_in import Refusal, StandIn, is_constant, is_name, is_value
from rewrites.dialect import span_of
from rewrites.dialect.nodes import Classifier, MatchNumber, MatchSequenceNumber, Navigation, Semantics
from rewrites.sql.builder import ROW_NUMBER
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec import row
from sparkcep.spec.expression import Constant, SparkFunction


def slow_condition(node: exp.Expression, translator: MatchLeaves) -> Operand:
    """The condition as a ``SparkFunction`` tree. Raises CepUnsupportedError at ``node`` for a function that the engine lacks."""
    pieces = _Pieces(translator, StandIn(translator.relation.expression), partial(_refusal, node, translator))
    try:
        return pieces.values.condition(
            pieces.text(node),
            node,
            f"the condition of {translator.own}",
            pieces.refusal,
        )
    except NotForTheEngine:
        raise _refusal(node, translator) from None


def _refusal(node: exp.Expression, translator: MatchLeaves, why: str = "") -> CepUnsupportedError:
    return CepUnsupportedError(
        f"the condition of {translator.own} computes this from several rows of the match",
        code="MATCH_DEPENDENT_CONDITION",
        span=span_of(node),
        hint=f"{why + '; ' if why else ''}compute in a subquery whatever reads only one row, or combine values of different rows with "
        f"{OPERATORS} and, for a closure, COUNT, SUM, AVG, MIN and MAX",
    )


@dataclass(slots=True)
class _Pieces:
    """Splits an expression into values that the engine provides (columns of the stand-in) and the functions around them."""

    translator: MatchLeaves
    values: StandIn
    refusal: Refusal

    def text(self, node: exp.Expression) -> str:
        """``node`` over the stand-in's columns."""
        if isinstance(node, Semantics):
            return self.text(node.this)
        if is_aggregate(node):
            return self._aggregate(node)
        if is_constant(node):
            return self.translator.source.text(span_of(node))
        if self._is_leaf(node):
            return self._column(self.translator.leaf(node))
        if isinstance(node, Navigation):
            return self._navigation(node)
        if isinstance(node, exp.Query) or node.args.get("query") is not None:
            raise NotForTheEngine
        edits = [(span_of(child), self.text(child)) for child in node.iter_expressions() if not is_name(child)]
        return self.translator.source.splice(span_of(node), edits)

    def _is_leaf(self, node: exp.Expression) -> bool:
        """Whether ``node`` is a value of at most one row, provided by Spark or the engine."""
        if isinstance(node, Classifier | MatchNumber | MatchSequenceNumber):
            return True
        return is_value(node) and self.translator.is_leaf(node) and self.translator.is_hoisted(node)

    def _navigation(self, node: Navigation) -> str:
        """An expression over the row of a navigation, with values that only the engine has: each is taken from that row."""
        at = self.translator.position(node)
        leaves = self.translator

        def value(part: exp.Expression) -> str:
            if isinstance(part, Classifier):
                return self.values.column(row.ClassifierAt(at), StringType())
            if isinstance(part, MatchNumber):
                return self.values.column(row.MatchNumber(), LongType())
            return f"CAST({number} - {self.values.column(FIRST_ROW, IntegerType())} + 1 AS BIGINT)"

        def column(name: str) -> str:
            return self.values.column(row.ColumnAt(name, at), leaves.relation.schema[name].dataType)

        number = self.values.column(row.ColumnAt(ROW_NUMBER, at), IntegerType())
        text = over_row(innermost(node), leaves.variables, leaves.relation, leaves.source, column, value)
        return f"CASE WHEN {number} IS NOT NULL THEN {text} END"

    def _column(self, operand: Operand) -> str:
        return self.values.column(self.translator.emit(operand), operand.data_type)

    def _aggregate(self, node: exp.Expression) -> str:
        """An aggregate as SQL over sums, counts and lists."""
        call = innermost_call(node)
        name = function_name(call, self.translator.source)
        argument, distinct = argument_of(call), isinstance(call.this, exp.Distinct)
        if distinct and len(call.this.expressions) > 1:
            raise NotForTheEngine
        maker: Callable[..., str] | None = {
            "array_agg": self._list,
            "collect_list": self._list,
            "collect_set": lambda *args: f"array_distinct({self._list(*args)})",
            "listagg": self._joined,
            "string_agg": self._joined,
            "max_by": self._by,
            "min_by": self._by,
            "median": self._percentile,
            "percentile": self._percentile,
        }.get(name)
        moment = moment_of(call)
        if moment is not None and (distinct or self._is_listed(node)):
            return self._fold(moment, DoubleType(), self._doubles(node, argument, distinct))
        if maker is not None and not (distinct and name in ("max_by", "min_by", "listagg", "string_agg")):
            return maker(node, argument, distinct)
        if name in ("count", "sum", "avg", "mean") and (distinct or self._is_listed(node)):
            return self._total(name, node, argument, distinct)
        if name in ("count_if", "bool_and", "every", "bool_or", "some", "any") and self._is_listed(node):
            return self._of_conditions(name, node, argument_of(call))
        return self._native(name, node, argument)

    def _native(self, name: str, node: exp.Expression, argument: exp.Expression) -> str:
        """COUNT, SUM, MIN, MAX, AVG from the engine's incremental aggregates; MIN and MAX of types that do not fit words, and AVG of decimals, are
        derived from others."""
        if name in ("min", "max") and self._has_no_words(node, argument):
            return f"array_{name}({self._list(node, argument, False)})"
        data_type = self._type(node, argument) if name in ("avg", "mean") else None
        if isinstance(data_type, DecimalType) and mean_type(data_type).precision > EXACT_DIGITS:
            parts = [self.translator.aggregate(node, function) for function in ("sum", "count")]
            sources = ((self.translator.emit(one), one.data_type) for one in parts)
            return self.values.mean(sources, mean_type(data_type))
        found = self.translator.leaf(node)
        if found.operator == "div":
            total, count = map(self._column, found.arguments)
            return f"({total} / NULLIF({count}, 0D))"
        return self._column(found)

    def _has_no_words(self, node: exp.Expression, argument: exp.Expression) -> bool:
        data_type = self._type(node, argument)
        return (
            self._is_listed(node)
            or is_wide(data_type)
            or isinstance(data_type, StringType | BinaryType | ArrayType | StructType)
        )

    def _is_listed(self, node: exp.Expression) -> bool:
        """Whether an aggregate is over values that only the engine has, beyond a mere list of CLASSIFIER()."""
        argument = argument_of(innermost_call(node)) if node.find(exp.Star) is None else None
        plain = isinstance(argument, Classifier) and not isinstance(node, exp.Filter)
        return has_engine_value(node) and not plain

    def _type(self, node: exp.Expression, argument: exp.Expression) -> DataType:
        """The type of what the aggregate ``node`` is over."""
        if isinstance(argument, exp.Star) or isinstance(argument.this, exp.Star):
            return IntegerType()
        if isinstance(argument, Classifier):
            return StringType()
        if has_engine_value(argument):
            return self._of_engine(node, None, argument)[1]
        return self.translator.argument(argument)[2]

    def _source(self, node: exp.Expression, argument: exp.Expression, cast: str | None = None) -> Any:
        if self._is_listed(node):
            return self._of_engine(node, cast, argument)[0]
        return self.translator.list_of(node, argument, cast)

    def _of_engine(
        self, node: exp.Expression, cast: str | None, *parts: exp.Expression
    ) -> tuple[SparkFunction | Constant, DataType]:
        values = StandIn(self.values.analyse)
        return list_of_values(node, parts, cast, self.translator, values, self.refusal)

    def _list(self, node: exp.Expression, argument: exp.Expression, distinct: bool) -> str:
        name = self.values.column(self._source(node, argument), ArrayType(self._type(node, argument)))
        return f"array_distinct({name})" if distinct else name

    def _typed(self, node: exp.Expression, argument: exp.Expression, cast: str, distinct: bool) -> SparkFunction:
        found = SparkFunction("Source", f"array<{cast}>", (self._source(node, argument, cast),), text="value")
        return _distinct_of(found) if distinct else found

    def _doubles(self, node: exp.Expression, argument: exp.Expression, distinct: bool) -> SparkFunction:
        return self._typed(node, argument, "double", distinct)

    def _fold(self, name: str, data_type: DataType, *arguments: Any, settings: tuple[str, ...] = ()) -> str:
        return self.values.column(SparkFunction(name, data_type.simpleString(), arguments, settings, name), data_type)

    def _joined(self, node: exp.Expression, argument: exp.Expression, _: bool) -> str:
        call = innermost_call(node)
        delimiter = call.args.get("separator")
        if (
            not isinstance(call, exp.GroupConcat)
            or isinstance(argument, exp.Order)
            or isinstance(node, exp.WithinGroup)
        ):
            raise NotForTheEngine
        cast = None if isinstance(self._type(node, argument), StringType) else "STRING"
        name = self.values.column(self._source(node, argument, cast), ArrayType(StringType()))
        between = "''" if delimiter is None else self.text(delimiter)
        return f"CASE WHEN size({name}) > 0 THEN array_join({name}, {between}) END"

    def _by(self, node: exp.Expression, argument: exp.Expression, _: bool) -> str:
        call = innermost_call(node)
        ordering = call.args.get("expression")
        if not isinstance(call, exp.ArgMax | exp.ArgMin) or ordering is None:
            raise NotForTheEngine
        value_type, order_type = self._type(node, argument), self._type(node, ordering)
        listed = self._is_listed(node) or isinstance(argument, Classifier) or isinstance(ordering, Classifier)
        pairs: Any = (
            self._of_engine(node, None, argument, ordering)[0]
            if listed
            else self.translator.pairs_of(node, argument, ordering)
        )
        pair_type = f"array<struct<v:{value_type.simpleString()},o:{order_type.simpleString()}>>"
        source = SparkFunction("Source", pair_type, (pairs,), text="value")
        name = "max_by" if isinstance(call, exp.ArgMax) else "min_by"
        return self._fold(name, value_type, source, settings=(order_type.simpleString(),))

    def _percentile(self, node: exp.Expression, argument: exp.Expression, distinct: bool) -> str:
        call = innermost_call(node)
        fraction = call.args.get("quantile")
        if isinstance(call, exp.Median):
            share = 0.5
        elif isinstance(call, exp.Quantile) and isinstance(fraction, exp.Literal) and not fraction.is_string:
            share = float(fraction.name)
        else:
            raise NotForTheEngine
        values = self._doubles(node, argument, distinct)
        return self._fold("percentile", DoubleType(), values, Constant(share, "double"))

    def _total(self, name: str, node: exp.Expression, argument: exp.Expression, distinct: bool) -> str:
        """COUNT, SUM or AVG over a list."""
        count = f"CAST(size({self._list(node, argument, distinct)}) AS BIGINT)"
        if name == "count":
            return count
        data_type = self._type(node, argument)
        if name == "sum" and not isinstance(data_type, DecimalType | DoubleType):
            data_type = DoubleType() if isinstance(data_type, FloatType) else LongType()
        if isinstance(data_type, DecimalType):
            values = self._typed(node, argument, data_type.simpleString(), distinct)
            if name == "sum":
                return self._fold("sum", sum_type(data_type), values)
            return self._fold("avg", mean_type(data_type), values)
        wanted = data_type if name == "sum" else DoubleType()
        total = self._fold("sum", wanted, self._typed(node, argument, wanted.simpleString(), distinct))
        return total if name == "sum" else f"({total} / NULLIF({count}, 0L))"

    def _of_conditions(self, name: str, node: exp.Expression, argument: exp.Expression) -> str:
        """COUNT_IF, BOOL_AND and BOOL_OR over a list."""
        values = self._list(node, argument, False)
        if name == "count_if":
            return f"CAST(size(filter({values}, `__cep_b` -> `__cep_b`)) AS BIGINT)"
        return f"array_{'min' if name in ('bool_and', 'every') else 'max'}({values})"


def _distinct_of(values: SparkFunction) -> SparkFunction:
    return SparkFunction("ArrayDistinct", values.type, (values,), text="array_distinct")

"""Registers ``aseq_count``, ``aseq_sum``, ``aseq_avg``, ``aseq_min`` and ``aseq_max`` with Spark, for every query of every session.

``aseq_count(ts, type, 'SEQ(A, !N, B)', within)`` is a grouped aggregate Arrow UDF, which can be used with OVER too. ``cep_aseq_count(list, 'SEQ(A,
!N, B)', within)`` computes the same from a COLLECT_LIST of structs: the rewrite uses it, because Spark can mix it with its own aggregates. Pattern
and window are constants: they are removed from the argument list and sent inside the function.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LongType,
    NullType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
    _parse_datatype_json_string,
)
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from sparkcep.engines.aseq.sequences import sequences
from sparkcep.errors import CepAnalysisError, CepError, CepUnsupportedError
from sparkcep.pattern.event import EventPattern
from sparkcep.spec import to_json
from sparkcep.spec.aggregate import AggregateFunctionSpec
from sparkcep.spec.types import DECIMAL_TIME
from sql_functions.java import java_class
from sql_functions.register import Fail, function_identifier

FUNCTIONS = ("count", "sum", "avg", "min", "max")
PREFIX, COLLECTED_PREFIX = "aseq_", "cep_aseq_"
_TIMES = (TimestampType, TimestampNTZType, DateType)
_ORDERED = (NumericType, BooleanType, DateType, TimestampType, TimestampNTZType)

Parse = Callable[[str], EventPattern]


def register_aggregates(context: Any, registry: Any, parse: Parse, fail: Fail) -> None:
    """Add the functions to a FunctionRegistry. ``parse``: pattern text → pattern; CepError if A-Seq cannot count it."""
    for function in FUNCTIONS:
        for prefix in (PREFIX, COLLECTED_PREFIX):
            builder = _Builder(context, function, prefix == COLLECTED_PREFIX, parse, fail)
            name = f"{prefix}{function}"
            try:
                registry.registerFunction(function_identifier(context, name), builder, "built-in")
            except (
                Py4JJavaError
            ) as error:  # Spark 4.3 requires the full name; earlier versions look functions up by the bare one
                if "fully qualified" not in str(error):
                    raise
                identifier = function_identifier(context, name, "builtin", "system")
                registry.registerFunction(identifier, builder, "built-in")


def builtin_functions(context: Any) -> Any:
    """The registry with which later sessions start."""
    registry = java_class(context, "org.apache.spark.sql.catalyst.analysis.FunctionRegistry$")
    return getattr(registry, "MODULE$").builtin()


def function_spec(
    function: str, parse: Parse, pattern: object, within: object, within_type: DataType, ts_type: DataType
) -> AggregateFunctionSpec:
    """The spec of a call. ``pattern``, ``within``: the constants. Raises CepError."""
    name = f"{PREFIX}{function}"
    if not isinstance(pattern, str):
        raise CepAnalysisError(
            f"the pattern of {name} is a string constant",
            code="ASEQ_FUNCTION",
            hint=f"{name}(ts, type, 'SEQ(A, B)', NULL)",
        )
    if not isinstance(ts_type, _TIMES) and not isinstance(ts_type, IntegralType | FloatType | DoubleType):
        raise CepAnalysisError(
            f"the event time of {name} is {ts_type.simpleString()}",
            code="ASEQ_FUNCTION",
            hint=DECIMAL_TIME if isinstance(ts_type, DecimalType) else "a time, a date or a number is needed",
        )
    parsed = parse(pattern)
    months = _months(name, within, within_type, ts_type)
    length = None if months is not None else _length(name, within, within_type, ts_type)
    if length is None and months is None and any(sequence.open_ended for sequence in sequences(parsed)):
        raise CepAnalysisError(
            f"the pattern of {name} begins or ends with NOT, and only within bounds how far that reaches",
            code="NEGATION_WITHOUT_WITHIN",
            hint="give it a within: INTERVAL 1 HOUR, or a number",
        )
    return AggregateFunctionSpec(function, parsed, length, pattern, months)  # type: ignore[arg-type]


def result_type(function: str, value: DataType | None) -> DataType:
    """The type of a call's result. Raises CepAnalysisError for a value type without this aggregate."""
    if function == "count":
        return LongType()
    if function in ("min", "max"):
        if isinstance(value, _ORDERED) or value == StringType():
            return value  # type: ignore[return-value]
    elif isinstance(value, NumericType):
        if function == "avg" or isinstance(value, FloatType | DoubleType):
            return DoubleType()
        if isinstance(value, IntegralType):
            return LongType()
        if isinstance(value, DecimalType) and value.precision <= 18:
            return DecimalType(value.precision + 10, value.scale)
    shown = value.simpleString() if value is not None else "missing"
    hint = f"{PREFIX}{function}(ts, type, 'SEQ(A, B)', within, value)"
    if isinstance(value, DecimalType):
        hint = "CAST it to a DECIMAL of 18 digits or to DOUBLE; a MATCH PATTERN clause sums decimals of any width"
    raise CepAnalysisError(f"the value of {PREFIX}{function} is {shown}", code="ASEQ_FUNCTION", hint=hint)


def udf(spec: AggregateFunctionSpec, value: DataType | None, *, collected: bool, name: str) -> UserDefinedFunction:
    """The Arrow UDF of a call. Its class needs the engine, half of a session's imports, and few sessions call it."""
    from sql_functions.aggregate_function import CollectedAggregate, GroupedAggregate

    function = CollectedAggregate(to_json(spec)) if collected else GroupedAggregate(to_json(spec))
    kind = PythonEvalType.SQL_SCALAR_ARROW_UDF if collected else PythonEvalType.SQL_GROUPED_AGG_ARROW_UDF
    return UserDefinedFunction(function, result_type(spec.function, value), name, kind)  # type: ignore[arg-type]


def _months(name: str, within: object, data_type: DataType, ts_type: DataType) -> int | None:
    """A window of months, whose deadlines are monotone only if times are dates: those of 30 January 12:00 and 31 January 10:00 are reversed."""
    if within is None or not isinstance(data_type, YearMonthIntervalType) or not isinstance(ts_type, DateType):
        return None
    return int(_positive(name, int(str(within))))


def _length(name: str, within: object, data_type: DataType, ts_type: DataType) -> int | float | None:
    if within is None or isinstance(data_type, NullType):
        return None
    by_time = isinstance(ts_type, _TIMES)
    if not isinstance(data_type, DayTimeIntervalType if by_time else NumericType):
        if by_time and "interval" in data_type.simpleString():
            raise CepUnsupportedError(
                f"{name} within {data_type.simpleString()}",
                code="ASEQ_FUNCTION",
                hint="write days, INTERVAL 30 DAYS, or let the time be a date: DATE(ts); MATCH PATTERN takes months of any time",
            )
        raise CepAnalysisError(
            f"{name} over {ts_type.simpleString()} times is within {data_type.simpleString()}",
            code="ASEQ_FUNCTION",
            hint="INTERVAL 1 HOUR" if by_time else "a number in the units of the time, or NULL",
        )
    return _positive(
        name, float(str(within)) if not isinstance(data_type, IntegralType | DayTimeIntervalType) else int(str(within))
    )


def _positive(name: str, length: float) -> int | float:
    if length <= 0:
        raise CepAnalysisError(f"{name} within {length}: the length must be positive", code="ASEQ_FUNCTION")
    return length


class _Builder:
    """scala.Function1: the argument expressions of a call → the expression of its UDF."""

    def __init__(self, context: Any, function: str, collected: bool, parse: Parse, fail: Fail) -> None:
        self._context, self._function, self._collected = context, function, collected
        self._parse, self._fail = parse, fail
        self._judf = lru_cache(maxsize=256)(self._make)

    def apply(self, arguments: Any) -> Any:
        try:
            return self._expression([arguments.apply(i) for i in range(arguments.size())])
        except CepError as error:
            raise self._fail(error) from None

    def _expression(self, arguments: list[Any]) -> Any:
        wanted = 3 if self._collected else 4 + (self._function != "count")
        if len(arguments) != wanted:
            shown = "ts, type, pattern, within" + (", value" if self._function != "count" else "")
            raise CepAnalysisError(
                f"{PREFIX}{self._function} takes {wanted} arguments, not {len(arguments)}",
                code="ASEQ_FUNCTION",
                hint=f"{PREFIX}{self._function}({shown})",
            )
        at = 1 if self._collected else 2
        pattern, within = (self._constant(argument) for argument in arguments[at : at + 2])
        rows = [*arguments[:at], *arguments[at + 2 :]]
        types = [_type(row) for row in rows]
        if self._collected and isinstance(types[0], ArrayType):
            types = [field.dataType for field in types[0].elementType]  # type: ignore[attr-defined]
        judf = self._judf(
            pattern, str(within), arguments[at + 1].dataType().json(), tuple(kind.json() for kind in types)
        )
        return judf.builder(self._sequence(rows))

    def _make(self, pattern: object, within: str, within_type: str, types: tuple[str, ...]) -> Any:
        kinds = [_parse_datatype_json_string(text) for text in types]
        length = None if within == "None" else within
        spec = function_spec(
            self._function, self._parse, pattern, length, _parse_datatype_json_string(within_type), kinds[0]
        )
        value = kinds[2] if len(kinds) > 2 else None
        return udf(spec, value, collected=self._collected, name=f"{PREFIX}{self._function}")._judf

    def _constant(self, expression: Any) -> object:
        if not expression.foldable():
            raise CepAnalysisError(
                f"pattern and within of {PREFIX}{self._function} are constants",
                code="ASEQ_FUNCTION",
                hint=f"{PREFIX}{self._function}(ts, type, 'SEQ(A, B)', INTERVAL 1 HOUR)",
            )
        value = expression.eval(None)
        return value if value is None or isinstance(value, int | float) else str(value.toString())

    def _sequence(self, items: list[Any]) -> Any:
        return java_class(self._context, "org.apache.spark.api.python.PythonUtils").toSeq(items)

    class Java:
        implements = ["scala.Function1"]


def _type(expression: Any) -> DataType:
    return _parse_datatype_json_string(json.dumps(json.loads(expression.dataType().json())))

"""``aseq_count`` and its siblings in sessions: patterns parsed on the driver, functions created for a Spark Connect server.

In: pattern text, or a call found by the rewrite. Out: a pattern that A-Seq can count; the name of a function registered for the call.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

from pyspark.sql.types import YearMonthIntervalType

from rewrites.bind.loop_refusals import refuse_loops
from rewrites.dialect import parse_event_pattern
from rewrites.rules.aseq_functions import FunctionCall
from sparkcep.engines.aseq.sequences import sequences
from sparkcep.errors import CepAnalysisError, CepError
from sparkcep.pattern.event import EventPattern
from sparkcep.spec import to_json
from sql_functions.register_aggregates import function_spec, result_type


def counted_pattern(text: str) -> EventPattern:
    """The pattern of ``text``. Raises CepError, with a span in ``text``, if A-Seq cannot count it."""
    try:
        pattern = parse_event_pattern(text)
        refuse_loops(pattern, "aseq_count and its kin")
        sequences(pattern)
    except CepError as error:
        raise error.in_sql(text) from None
    return pattern


def connect_function(spark: Any, sql: Any, call: FunctionCall) -> str:
    """Register the Arrow UDF of a call with a Spark Connect session; returns its name. ``sql`` turns text into a DataFrame."""
    from pyspark.sql.connect.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    from sql_functions.aggregate_function import CollectedAggregate, GroupedAggregate

    texts = f"SELECT {call.arguments[2]} AS pattern, {call.arguments[3]} AS within"
    constants = sql(texts)
    if isinstance(constants.schema["within"].dataType, YearMonthIntervalType):
        months = (
            "12 * EXTRACT(YEAR FROM within) + EXTRACT(MONTH FROM within)"  # Python has no type for such an interval
        )
        pattern, within = sql(f"SELECT pattern, {months} FROM ({texts})").collect()[0]
    else:
        pattern, within = constants.collect()[0]
    types = _types(sql, call)
    length = within // timedelta(microseconds=1) if isinstance(within, timedelta) else within
    spec = function_spec(call.function, counted_pattern, pattern, length, constants.schema["within"].dataType, types[0])
    kind = result_type(call.function, types[2] if len(types) > 2 else None)
    json = to_json(spec)
    name = f"aseq_{call.function}_{hashlib.sha256(f'{json}{kind}{call.over}'.encode()).hexdigest()[:16]}"
    function = GroupedAggregate(json) if call.over else CollectedAggregate(json)
    eval_type = PythonEvalType.SQL_GROUPED_AGG_ARROW_UDF if call.over else PythonEvalType.SQL_SCALAR_ARROW_UDF
    spark.udf.register(name, UserDefinedFunction(function, kind, name, eval_type))
    return name


def _types(sql: Any, call: FunctionCall) -> list[Any]:
    """The types of the call's time, type and value over the rows of its block."""
    try:
        return [
            field.dataType for field in sql(f"SELECT {', '.join(call.row)} FROM {call.rows or 'VALUES (0)'}").schema
        ]
    except Exception:
        raise CepAnalysisError(
            f"the types of the arguments of aseq_{call.function} cannot be determined separately",
            code="ASEQ_FUNCTION",
            span=call.span,
            hint="over Spark Connect the FROM of the query must be self-contained: make a temporary view of the WITH or the outer query",
        ) from None

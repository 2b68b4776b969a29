"""``cep_stream('<StreamSpec JSON>', '<query of its input>')``: the table function behind every clause over a stream.

It returns the plan of a streaming query. Self-contained SQL, as ``cep_match`` is: it can be stored in a view and read by other sessions. The state
store must be RocksDB: Spark's other one has no timers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from sparkcep.errors import CepAnalysisError, CepError
from sql_functions.java import java_class

FUNCTION_NAME = "cep_stream"


class StreamBuilder:
    """scala.Function1: the arguments of a ``cep_stream`` call → the logical plan of its stream."""

    def __init__(self, context: Any, fail: Callable[[CepError], Exception]) -> None:
        self._context, self._fail = context, fail

    def apply(self, arguments: Any) -> Any:
        try:
            return self._plan(arguments)
        except CepError as error:
            raise self._fail(error) from None

    def _plan(self, arguments: Any) -> Any:
        if arguments.size() != 2:
            raise CepAnalysisError(
                f"{FUNCTION_NAME} takes a StreamSpec and a query as string literals",
                code="STREAM",
                hint="write a MATCH_RECOGNIZE or MATCH PATTERN clause over a stream; sparkcep writes this call",
            )
        spec_json, query = (str(arguments.apply(i).value().toString()) for i in range(2))
        from sparkcep.streaming.query import stream  # with all that it needs, which few sessions do

        session = java_class(self._context, "org.apache.spark.sql.classic.SparkSession")
        spark = SparkSession(self._context, session.active())
        return stream(spark, spec_json, query)._jdf.queryExecution().logical()

    class Java:
        implements = ["scala.Function1"]

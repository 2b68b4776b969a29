"""The values of parameters that a rewrite must know: those in quantifiers (``a{:n}``, ``a{?,5}``) and offsets (``PREV(x, :n)``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException

from rewrites.bind.relation import Describe, spark_message
from rewrites.dialect.parameter_values import ValueOf
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span


def whole_number(source: Source, describe: Describe) -> ValueOf:
    """What gives the value of the marker at a span. Raises CepAnalysisError where it is no whole number, zero or more."""
    value_of: Callable[[str], Any] | None = getattr(describe, "value", None)

    def number(span: Span, what: str) -> int:
        if value_of is None:
            raise CepUnsupportedError(
                f"a parameter in {what}",
                code="PARAMETER",
                span=span,
                hint="pass the values with the statement: spark.sql(text, args=…)",
            )
        try:
            value = value_of(f"SELECT {source.text(span)} AS `r`")
        except PySparkException as error:
            raise CepAnalysisError(spark_message(error), code="PARAMETER", span=span) from None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise CepAnalysisError(
                f"{what}'s parameter is {value!r}; it must be a whole number, zero or more",
                code="PARAMETER",
                span=span,
                hint="pass a number such as 2",
            )
        return value

    return number

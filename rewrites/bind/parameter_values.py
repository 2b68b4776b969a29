"""The values of parameters that a rewrite must know: those in quantifiers (``a{:n}``, ``a{?,5}``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException

from rewrites.bind.relation import Describe, spark_message
from rewrites.sql.source import Source
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span


def quantifier_bound(source: Source, describe: Describe) -> Callable[[Span], int]:
    """What gives the value of the marker at a span. Raises CepAnalysisError where it is no whole number, zero or more."""
    value_of: Callable[[str], Any] | None = getattr(describe, "value", None)

    def bound(span: Span) -> int:
        if value_of is None:
            raise CepUnsupportedError("a parameter in a quantifier", code="QUANTIFIER_PARAMETER", span=span)
        try:
            value = value_of(f"SELECT {source.text(span)} AS `r`")
        except PySparkException as error:
            raise CepAnalysisError(spark_message(error), code="QUANTIFIER", span=span) from None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise CepAnalysisError(
                f"the quantifier's parameter is {value!r}; it must be a whole number, zero or more",
                code="QUANTIFIER",
                span=span,
            )
        return value

    return bound

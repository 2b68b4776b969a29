"""The settings a session needs so that Python workers run sparkcep: their interpreter, Arrow, Polars."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from rewrites import Options
from rewrites.settings import evaluation
from sparkcep.engines.aseq.sequences import check as check_aggregates
from sparkcep.engines.event_pattern.support import check as check_event_pattern
from sparkcep.errors import CepAnalysisError
from sparkcep.spec import AggregateSpec, EventPatternSpec, MatchSpec

NULL_EVENT_TIME = "sparkcep.nullEventTime"
DISABLED_RULES = "sparkcep.rules.disable"

DEFAULTS: Mapping[str, str] = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.worker.reuse": "true",
}
"""Settings of ``session()`` that a caller may override."""


def prepare_worker_python() -> str:
    """Workers run the driver's interpreter unless PYSPARK_PYTHON says otherwise; returns the interpreter's path."""
    return os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def point_workers(context: Any) -> None:
    """Give a running SparkContext the interpreter that new functions will name, where it was left at Spark's default."""
    if "PYSPARK_PYTHON" not in os.environ and context.pythonExec == "python3":
        context.pythonExec = context.getConf().get("spark.pyspark.python", sys.executable)


def options(setting: Callable[[str], str | None]) -> Options:
    """What the session's settings say of a rewrite; ``setting`` looks one up."""
    null_time = (setting(NULL_EVENT_TIME) or "error").lower()
    if null_time not in ("error", "drop"):
        raise CepAnalysisError(f"{NULL_EVENT_TIME} is {null_time}", code="SETTING", hint="set it to error or drop")
    disabled = frozenset(name.strip() for name in (setting(DISABLED_RULES) or "").split(",")) - {""}
    return Options(
        check=check_supported,
        keep_null_time=null_time == "error",
        disabled=disabled,
        evaluation=evaluation(setting),
    )


def check_supported(spec: MatchSpec) -> None:
    """Raise for a MatchSpec that no engine runs."""
    if isinstance(spec, EventPatternSpec):
        check_event_pattern(
            spec.pattern, strategy=spec.strategy, matches=spec.matches, within=spec.within, predicates=spec.predicates
        )
    if isinstance(spec, AggregateSpec):
        check_aggregates(spec)

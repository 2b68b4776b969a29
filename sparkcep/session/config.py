"""The settings of a session: those that Python workers need (their interpreter, Arrow, Polars), and those that users set.

``SET key = value``, ``spark.conf.set`` or ``session(**{key: value})``; no setting but the first changes an answer (the third only what names
mean):

* ``sparkcep.nullEventTime``: ``error`` (default) or ``drop``: what becomes of events whose time is NULL.
* ``sparkcep.rules.disable``: names of rewrite rules, with commas, that are not to be applied (``rewrites/rules``).
* ``sparkcep.patterns.table``: the table of named patterns (``session/patterns.py``).
* ``sparkcep.explain.rows``: a number, 0 by default: in how many rows of its input EXPLAIN PATTERN counts the events of each variable.

For MATCH PATTERN (``rewrites/settings.py``); a hint at the start of one clause comes before the session's setting, for example
``MATCH PATTERN ( /*+ CEP_ENGINE(tree), CEP_SHARDING(off) */ SEQ(A a, B b) … )``:

* ``sparkcep.engine``, ``CEP_ENGINE``: ``auto`` (default), ``chain``, ``tree``, ``eager``, ``stack``. A named engine builds the matches, also where
  A-Seq could count them without.
* ``sparkcep.negation``, ``CEP_NEGATION``: ``auto`` (default), ``post``, ``first``: when negated events are looked for.
* ``sparkcep.maxPartialMatches``, ``CEP_MAX_PARTIAL_MATCHES``: a whole number; past it a task ends with an error.
* ``sparkcep.statistics``, ``CEP_STATISTICS``: ``A=0.01, B=0.5``, relative frequencies of event types or variables. Where they name all of a
  pattern they decide in which order variables are bound, and nothing is measured (engines ``auto`` and ``chain``).
* ``sparkcep.sharding``, ``CEP_SHARDING``: ``auto`` (default) cuts the time line of patterns WITHIN a time that nothing partitions; ``all`` that of
  patterns with keys too, against skewed keys; ``off`` none.
* ``sparkcep.shardLength``, ``CEP_SHARD_LENGTH``: ``auto`` (default: from the time line itself where it is cheap to look at, else four
  windows), or a length as WITHIN has it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from rewrites import Options
from rewrites.settings import evaluation
from sparkcep.engines.support import check
from sparkcep.errors import CepAnalysisError

PREFIX = "sparkcep."
"""How the names of our settings begin."""

NULL_EVENT_TIME = "sparkcep.nullEventTime"
DISABLED_RULES = "sparkcep.rules.disable"
EXPLAIN_ROWS = "sparkcep.explain.rows"

DEFAULTS: Mapping[str, str] = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.shuffle.sort.bypassMergeThreshold": "8",
}
"""Settings of ``session()`` that a caller may override. Up to the threshold's partitions (Spark: 200, as many as it makes) each task
before an exchange writes a file per partition: 50 to 90 ms of every query on little data."""


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
        check=check,
        keep_null_time=null_time == "error",
        disabled=disabled,
        evaluation=evaluation(setting),
        explain_rows=_explain_rows(setting(EXPLAIN_ROWS) or "0"),
    )


def _explain_rows(text: str) -> int:
    if not text.strip().isdigit():
        raise CepAnalysisError(
            f"{EXPLAIN_ROWS} is {text}", code="SETTING", hint="set it to a number of rows, 0 for none"
        )
    return int(text)

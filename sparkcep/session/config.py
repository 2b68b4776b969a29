"""The settings of a session: those of Spark that clauses want, and those that users set.

``SET key = value``, ``spark.conf.set`` or ``session(**{key: value})``; only the first setting, and those of streams for late rows and
retention, can change an answer:

* ``sparkcep.nullEventTime``: ``error`` (default) or ``drop``: how to treat events whose time is NULL.
* ``sparkcep.rules.disable``: comma-separated names of rewrite rules to disable (``rewrites/rules``).
* ``sparkcep.patterns.table``: the table of named patterns (``session/patterns.py``); it decides what their names mean.
* ``sparkcep.precompile``: ``auto`` (default) or ``off``: whether a new local session compiles missing kernels beside it (``session/kernels.py``).
* ``sparkcep.explain.rows``: a number, 0 by default: the number of input rows in which EXPLAIN PATTERN counts the events of each variable.

For MATCH PATTERN (``rewrites/settings.py``); a hint at the start of a clause overrides the session's setting, for example
``MATCH PATTERN ( /*+ CEP_ENGINE(tree), CEP_SHARDING(off) */ SEQ(A a, B b) … )``:

* ``sparkcep.engine``, ``CEP_ENGINE``: ``auto`` (default), ``chain``, ``tree``, ``eager``, ``stack``. A named engine builds the matches, even if A-Seq
  could count them without.
* ``sparkcep.negation``, ``CEP_NEGATION``: ``auto`` (default), ``post``, ``first``: when negated events are checked.
* ``sparkcep.maxPartialMatches``, ``CEP_MAX_PARTIAL_MATCHES``: an integer; a task that exceeds it fails.
* ``sparkcep.statistics``, ``CEP_STATISTICS``: ``A=0.01, B=0.5``, relative frequencies of event types or variables. If they cover a pattern, they
  decide the order in which variables are bound, and nothing is measured (engines ``auto`` and ``chain``).
* ``sparkcep.sharding``, ``CEP_SHARDING``: ``auto`` (default) shards the timeline of patterns WITHIN a time that nothing partitions; ``all`` also
  shards patterns with keys, against skewed keys; ``off`` shards none.
* ``sparkcep.shardLength``, ``CEP_SHARD_LENGTH``: ``auto`` (default: measured on the timeline itself if that is cheap, else four windows), or a length
  as in WITHIN.

For clauses over streams:

* ``sparkcep.stream.mode``: ``conservative`` (default): a match is emitted when nothing can change it; ``speculative``: when its last event has come,
  and taken back (``_change_type = 'delete'``) where a later event proves it wrong.
* ``sparkcep.stream.sigma``: an interval, ``10 seconds``: how far beyond the watermark the mode ``speculative`` goes; without it, however far.
* ``sparkcep.stream.lateRows``: ``drop`` (default), ``fail``, ``keep``: what becomes of rows that are later than the watermark allows.
* ``sparkcep.stream.retention``: an interval, ``1 hour``: the WITHIN of MATCH PATTERN clauses that have none.
* ``sparkcep.stream.patterns``: ``follow`` (default): ALTER PATTERN reaches running streams of MATCH AUTOMATON; ``fixed``: a stream keeps the version
  that it was written with.
* ``sparkcep.stream.buckets``: a number, 8 by default: into how many states the partitions of a clause are put. A checkpoint fixes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rewrites import RULES, Options
from rewrites.settings import evaluation, stream_settings
from sparkcep.engines.support import check
from sparkcep.errors import CepAnalysisError
from sparkcep.streaming.state_store import PROVIDER, ROCKSDB

PREFIX = "sparkcep."
"""The common prefix of our settings."""

NULL_EVENT_TIME = "sparkcep.nullEventTime"
DISABLED_RULES = "sparkcep.rules.disable"
EXPLAIN_ROWS = "sparkcep.explain.rows"
OTHER_DIALECTS = {
    "spark.sql.parser.escapedStringLiterals": "strings in clauses have escapes, or write r'…'",
    "spark.sql.ansi.doubleQuotedIdentifiers": "what stands in double quotes is a string; write names in `backticks`",
    "spark.sql.parser.quotedRegexColumnNames": "what stands in backticks is a name",
    "spark.sql.ansi.enforceReservedKeywords": "user is the column of that name",
}
"""Settings of Spark's own with which its parser reads text as other than what it is read as here, and is written for Spark; and what holds here."""

DEFAULTS: Mapping[str, str] = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.shuffle.sort.bypassMergeThreshold": "8",
    "spark.python.task.killTimeout": "0ms",
    PROVIDER: ROCKSDB,
}
"""Settings of ``session()`` that a caller may override. With a limit of bytes (Spark's default since 4.1), Spark computes an Arrow batch's size
again for every row that it sends, a sixth of a query's processor time; the limit of rows remains. Up to this threshold of partitions (Spark's
default: 200, the same as its number of shuffle partitions), each task before an exchange writes one file per partition: 50 to 90 ms in every query on
little data. Spark looks every two seconds whether a task was cancelled; a worker that is inside a kernel will not hear of it, and is not waited for
longer. Clauses over streams keep their state in RocksDB."""


def options(setting: Callable[[str], str | None]) -> Options:
    """The session's options for a rewrite; ``setting`` looks one up."""
    for name, why in OTHER_DIALECTS.items():
        if (setting(name) or "false").lower() == "true":
            raise CepAnalysisError(f"{name} is true", code="SETTING", hint=f"set it to false: {why}")
    null_time = (setting(NULL_EVENT_TIME) or "error").lower()
    if null_time not in ("error", "drop"):
        raise CepAnalysisError(f"{NULL_EVENT_TIME} is {null_time}", code="SETTING", hint="set it to error or drop")
    return Options(
        check=check,
        keep_null_time=null_time == "error",
        disabled=_disabled(setting(DISABLED_RULES) or ""),
        evaluation=evaluation(setting),
        stream=stream_settings(setting),
        explain_rows=_explain_rows(setting(EXPLAIN_ROWS) or "0"),
    )


def _disabled(text: str) -> frozenset[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in RULES]
    if unknown:
        hint = f"the rules are {', '.join(RULES)}"
        raise CepAnalysisError(f"{DISABLED_RULES} names {unknown[0]}, which is no rule", code="SETTING", hint=hint)
    return frozenset(names)


def _explain_rows(text: str) -> int:
    if not text.strip().isdigit():
        raise CepAnalysisError(
            f"{EXPLAIN_ROWS} is {text}", code="SETTING", hint="set it to a number of rows, 0 for none"
        )
    return int(text)

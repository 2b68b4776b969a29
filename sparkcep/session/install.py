"""Install the extension in a session of any kind, and remove it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from rewrites import Rewritten
from rewrites.emit.timeline import lane_names
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.explanation import Analysis, Explanation, analysis, counts_query, explanation, satisfied
from sparkcep.session import classic, connect


def install(spark: SparkSession) -> SparkSession:
    """Install the extension in ``spark`` (and its later ``newSession()``s) and return it. Idempotent."""
    _side(spark).install(spark)
    return spark


def uninstall(spark: SparkSession) -> SparkSession:
    """Remove the extension from ``spark`` and return it."""
    _side(spark).uninstall(spark)
    return spark


def rewrite(text: str, spark: SparkSession) -> str:
    """The SQL that Spark gets for ``text``; a statement without a pattern clause is returned unchanged."""
    return str(_side(spark).rewritten(spark, text))


def explain(text: str, spark: SparkSession | None = None) -> Explanation:
    """EXPLAIN PATTERN of ``text`` as an object: ``str`` gives the text, a notebook shows the automaton above it.

    ``spark``: the active session by default.
    """
    return explanation(analysed(text, spark or active()))


def explain_analyze(text: str, spark: SparkSession | None = None) -> Analysis:
    """EXPLAIN ANALYZE PATTERN of ``text`` as an object: runs the clauses, not the query around them, and counts what happens to their rows.

    ``str`` gives the text; ``clauses`` the counts of each clause (``ClauseCounts``); a notebook shows the automata with the counts on their states
    and arrows, and in red what nothing got past. ``spark``: the active session by default.

    >>> for count in sparkcep.explain_analyze("SELECT * FROM t MATCH PATTERN (…)").clauses[0].counts:
    ...     print(count.section, count.item, count.tried, count.taken)

    Raises CepUnsupportedError for a statement without a pattern clause, and for patterns in windows.
    """
    spark = spark or active()
    rewritten = analysed(text, spark, analyze=True)
    return analysis(rewritten, spark.sql(counts_query(rewritten)).collect())


@dataclass(frozen=True, slots=True)
class TimelineQuery:
    """``sql`` lists the events of matches one by one (``rewrites.emit.timeline``).

    ``lanes``: the title of its lanes; ``conditions``: by variable, what its events satisfy.
    """

    sql: str
    lanes: str
    conditions: dict[str, str]


def timeline(text: str, spark: SparkSession) -> TimelineQuery:
    """The events of the matches of the last clause of ``text``."""
    rewritten = analysed(text, spark, timeline=True)
    if not rewritten.clauses:
        raise CepUnsupportedError("a timeline of a statement without a pattern clause", code="TIMELINE", sql=text)
    last = rewritten.clauses[-1]
    return TimelineQuery(last.timeline, lane_names(last.bound.keys), satisfied(last))


def analysed(text: str, spark: SparkSession, **changes: Any) -> Rewritten:
    """All stages of rewriting ``text``, with ``changes`` to the session's options."""
    found: Rewritten = _side(spark).analysed(spark, text, **changes)
    return found


def active() -> SparkSession:
    """The active session. Raises CepAnalysisError if there is none."""
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise CepAnalysisError("there is no active Spark session", code="NO_SESSION", hint="spark = sparkcep.session()")
    return spark


def _side(spark: Any) -> Any:
    """The module for the kind of session."""
    return connect if type(spark).__module__.startswith("pyspark.sql.connect") else classic

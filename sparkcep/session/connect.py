"""The extension of a Spark Connect client session: the rewrite happens in the client's ``sql``.

The JVM is out of reach, so each MatchSpec is registered as a UDTF of its own in the server's session (``sql_functions.register``), and a clause over
a stream as a temporary view of the streaming DataFrame.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rewrites import InputError, Options, Rewritten, positional_name
from rewrites.bind.typed_tree import typed_tree
from sparkcep.errors import CepUnsupportedError
from sparkcep.session.aggregate_functions import connect_function as aggregate_function
from sparkcep.session.config import options
from sparkcep.session.patterns import SessionPatterns
from sparkcep.session.server_packages import require_packages
from sparkcep.session.statement import analysed as analysed_statement
from sparkcep.session.statement import concerns, immediate, lasting_view, runs_no_pattern, spark_sql
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.streaming.function import FUNCTION_NAME as STREAM_NAME
from sql_functions.catalog import ConnectDescribe
from sql_functions.register import connect_expand, connect_function

_ORIGINAL = "_sparkcep_original_sql"


@dataclass(frozen=True, slots=True)
class _Describe(ConnectDescribe):
    """What the session knows of queries, and the trees that are made of their types."""

    def expression(self, text: str, source: str) -> SparkFunction | Constant:
        """An expression over the columns of ``source``. Raises CepUnsupportedError, without a span, for what no engine implements, or has no tree."""
        from sparkcep.engines.functions import check

        tree = typed_tree(text, source, self, self.value)
        check(tree)
        return tree


def install(spark: Any) -> None:
    """Make ``spark.sql`` understand pattern clauses (idempotent)."""
    if hasattr(spark, _ORIGINAL):
        return
    original = spark.sql

    def sql(text: str, args: Any = None, **values: Any) -> Any:
        formatted, frames = _formatted(spark, text, values)
        _refuse_immediate(formatted)
        if not concerns(formatted):
            return original(text, args, **values)
        run = _over(frames, original)
        named = named_arguments(args)
        query = _rewritten(spark, formatted, lambda query: run(query, named), _shown(named))
        if not runs_no_pattern(formatted):
            _refuse_lasting_view(formatted)
            require_packages(spark)
        return run(query, named)

    connect_expand(spark)
    setattr(spark, _ORIGINAL, original)
    spark.sql = sql


def uninstall(spark: Any) -> None:
    """Restore the original ``sql`` of ``spark``."""
    if hasattr(spark, _ORIGINAL):
        spark.sql = getattr(spark, _ORIGINAL)
        delattr(spark, _ORIGINAL)


def rewritten(spark: Any, text: str) -> str:
    """The SQL that Spark gets for ``text``."""
    return _rewritten(spark, text, getattr(spark, _ORIGINAL, spark.sql))


def analysed(spark: Any, text: str, **changes: Any) -> Rewritten:
    """All stages of rewriting ``text``, with ``changes`` to the session's ``Options``: what they ask for will be run."""
    if changes:
        require_packages(spark)
    sql = getattr(spark, _ORIGINAL, spark.sql)
    try:
        found = replace(_options(spark, sql), **changes)
        return analysed_statement(text, _Describe(sql), found, _patterns(spark, sql))
    except InputError as error:
        raise error.cause from None


def _formatted(spark: Any, text: str, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """``text`` with the braces of ``sql(text, **values)`` substituted, and its DataFrames by the names that stand for them."""
    if not values:
        return text, {}
    from pyspark.sql.connect.sql_formatter import SQLStringFormatter

    formatter = SQLStringFormatter(spark)
    formatted = formatter.format(text, **values)
    return formatted, {name: df for df, name in formatter._temp_views}


def _over(frames: dict[str, Any], original: Any) -> Any:
    """``original`` for queries that reference ``frames``: the DataFrames are passed with each query, so that their plans become part of its plan."""
    if not frames:
        return original

    def run(query: str, args: Any) -> Any:
        text = query.replace("{", "{{").replace("}", "}}")
        for name in frames:
            text = text.replace(name, f"{{{name}}}")
        return original(text, args, **frames)

    return run


def _refuse_lasting_view(text: str) -> None:
    """Refuse views visible to other sessions: the functions of a rewritten clause exist only in this session."""
    span = lasting_view(text)
    if span is not None:
        raise CepUnsupportedError(
            "a view of a pattern for other sessions, over Spark Connect",
            code="CONNECT_VIEW",
            sql=text,
            span=span,
            hint="write CREATE TEMPORARY VIEW or CREATE TABLE … AS here; make the view through sparkcep thriftserver or a classic session",
        )


def _refuse_immediate(text: str) -> None:
    """Refuse text that the server reads, which knows of no patterns."""
    span = immediate(text)
    if span is not None:
        raise CepUnsupportedError(
            "EXECUTE IMMEDIATE of a pattern, over Spark Connect",
            code="CONNECT_IMMEDIATE",
            sql=text,
            span=span,
            hint="run the statement itself, with parameters: spark.sql(text, args)",
        )


def named_arguments(args: Any) -> dict[str, Any] | None:
    """Positional arguments as the named ones that ``rewrite`` substitutes for them."""
    if isinstance(args, list | tuple):
        return {positional_name(i): value for i, value in enumerate(args)}
    return args  # type: ignore[no-any-return]


def _shown(named: dict[str, Any] | None) -> str:
    """A statement's arguments as text, which tells them from others."""
    return f"\n{sorted(named.items(), key=str)}" if named else ""


def _rewritten(spark: Any, text: str, sql: Any, arguments: str = "") -> str:
    aggregate = partial(aggregate_function, spark, sql)
    try:
        found = replace(_options(spark, sql, arguments), aggregate_function=aggregate)
        return spark_sql(text, _Describe(sql), found, _patterns(spark, sql))
    except InputError as error:
        raise error.cause from None


def _options(spark: Any, sql: Any, arguments: str = "") -> Options:
    """The session's, with what stands for our functions in it. ``sql`` runs queries with ``arguments``."""
    found = options(lambda name: spark.conf.get(name, None))
    view = lambda spec_json, query: _stream_view(spark, spec_json, query, sql, arguments)  # noqa: E731
    function = lambda spec_json: connect_function(spark, spec_json)  # noqa: E731
    return replace(found, function=function, stream=replace(found.stream, view=view))


def _stream_view(spark: Any, spec_json: str, query: str, sql: Any, arguments: str) -> str:
    """Make a temporary view of the stream of a clause; its name."""
    from sparkcep.streaming.query import stream  # with all that it needs, which few sessions do

    digest = hashlib.sha256(f"{spec_json}\n{query}{arguments}".encode()).hexdigest()[:16]
    name = f"{STREAM_NAME}_{digest}"
    stream(spark, spec_json, query, sql, arguments).createOrReplaceTempView(name)
    return name


def _patterns(spark: Any, sql: Any) -> SessionPatterns:
    rows = lambda query: [row.asDict() for row in sql(query).collect()]  # noqa: E731
    return SessionPatterns(lambda: spark.catalog, rows, spark.conf.get)

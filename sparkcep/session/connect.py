"""The extension of a Spark Connect client session: the rewrite happens in the client's ``sql``.

There is no JVM in reach, so each MatchSpec is registered as a UDTF of its own on the server's session (``sql_functions.register``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rewrites import InputError, has_clause, positional_name, rewrite
from sparkcep.errors import CepUnsupportedError
from sparkcep.session.config import options
from sql_functions.catalog import connect_describe
from sql_functions.register import connect_function

_ORIGINAL = "_sparkcep_original_sql"


def install(spark: Any) -> None:
    """Make ``spark.sql`` understand pattern clauses (idempotent)."""
    if hasattr(spark, _ORIGINAL):
        return
    original = spark.sql

    def sql(text: str, args: Any = None, **views: Any) -> Any:
        if not has_clause(text):
            return original(text, args, **views)
        if views:
            raise CepUnsupportedError(
                "a pattern clause with DataFrames as keyword arguments of sql()",
                code="FORMATTED_SQL",
                hint="register the DataFrame: df.createOrReplaceTempView('t')",
            )
        named = named_arguments(args)
        return original(_rewritten(spark, text, lambda query: original(query, named)), named)

    setattr(spark, _ORIGINAL, original)
    spark.sql = sql


def uninstall(spark: Any) -> None:
    """Give ``spark`` its own ``sql`` back."""
    if hasattr(spark, _ORIGINAL):
        spark.sql = getattr(spark, _ORIGINAL)
        delattr(spark, _ORIGINAL)


def rewritten(spark: Any, text: str) -> str:
    """The SQL that Spark gets for ``text``."""
    return _rewritten(spark, text, getattr(spark, _ORIGINAL, spark.sql))


def named_arguments(args: Any) -> dict[str, Any] | None:
    """Positional arguments as the named ones that ``rewrite`` puts in their place."""
    if isinstance(args, list | tuple):
        return {positional_name(i): value for i, value in enumerate(args)}
    return args  # type: ignore[no-any-return]


def _rewritten(spark: Any, text: str, sql: Any) -> str:
    found = options(lambda name: spark.conf.get(name, None))
    function = lambda spec_json: connect_function(spark, spec_json)  # noqa: E731
    try:
        return rewrite(text, connect_describe(sql), replace(found, function=function))
    except InputError as error:
        raise error.cause from None

"""A kept rewrite is used again only where Spark answers as it did: a changed table, type, setting or session gives a fresh one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType

import sparkcep
from sparkcep.session import replay

QUERY = "SELECT * FROM w MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(x) + 1 AS y, FIRST(x) AS x PATTERN (a b) DEFINE b AS x > 0)"
ROWS = "SELECT * FROM VALUES (1, {x}), (2, {x}) AS w(ts, x)"


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that were rewritten anew."""
    done: list[str] = []
    analyse: Callable[..., Any] = replay.analyse

    def counted(text: str, *arguments: Any) -> Any:
        done.append(text)
        return analyse(text, *arguments)

    monkeypatch.setattr(replay, "analyse", counted)
    return done


def test_used_again_until_something_changes(spark: SparkSession, fresh: list[str]) -> None:
    session = spark.newSession()
    view(session, "5")
    assert answer(session) == (["y", "x"], ["int", "int"], [(6, 5)])
    assert answer(session) == (["y", "x"], ["int", "int"], [(6, 5)])
    assert len(fresh) == 1
    view(session, "7")  # other rows, same columns
    assert answer(session)[2] == [(8, 7)]
    assert len(fresh) == 1
    view(session, "1.5D")  # another type
    assert answer(session) == (["y", "x"], ["double", "double"], [(2.5, 1.5)])
    assert len(fresh) == 2


def test_another_session_another_view(spark: SparkSession, fresh: list[str]) -> None:
    first, second = spark.newSession(), spark.newSession()
    view(first, "CAST(3 AS TINYINT)")
    view(second, "CAST(3 AS BIGINT)")
    assert [answer(session)[1][1] for session in (first, second, first)] == ["tinyint", "bigint", "tinyint"]
    assert len(fresh) == 3


def test_a_view_that_is_gone(spark: SparkSession) -> None:
    session = spark.newSession()
    view(session, "5")
    answer(session)
    session.sql("DROP VIEW w")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        session.sql(QUERY)


def test_a_function_of_another_type(spark: SparkSession) -> None:
    session = spark.newSession()
    view(session, "5")
    query = QUERY.replace("LAST(x) + 1", "twice(LAST(x))")
    session.sql("CREATE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN x * 2")
    assert session.sql(query).dtypes[0] == ("y", "int")
    session.sql("CREATE OR REPLACE TEMPORARY FUNCTION twice(x INT) RETURNS STRING RETURN repeat(x, 2)")
    assert session.sql(query).dtypes[0] == ("y", "string")
    assert session.sql(query).collect() == [("55", 5)]


def test_settings_and_parameters(spark: SparkSession, fresh: list[str]) -> None:
    session = spark.newSession()
    view(session, "5")
    query = QUERY.replace("x > 0", "x > :least")
    for least, count in ((1, 1), (9, 0), (2.5, 1)):
        assert session.sql(query, {"least": least}).count() == count
    assert len(fresh) == 1
    session.conf.set("sparkcep.rules.disable", "aggregate_pushdown")
    assert session.sql(query, {"least": 1}).count() == 1
    assert len(fresh) == 2


def test_a_python_function_of_another_type(spark: SparkSession) -> None:
    session = spark.newSession()
    view(session, "5")
    query = QUERY.replace("LAST(x) + 1", "change(LAST(x))")
    session.udf.register("change", str)
    assert session.sql(query).dtypes[0] == ("y", "string")
    session.udf.register("change", lambda x: x + 1, IntegerType())
    assert session.sql(query).dtypes[0] == ("y", "int")


def view(session: SparkSession, x: str) -> None:
    sparkcep.install(session)
    session.sql(f"CREATE OR REPLACE TEMP VIEW w AS {ROWS.format(x=x)}")


def answer(session: SparkSession) -> tuple[list[str], list[str], list[tuple[Any, ...]]]:
    found = session.sql(QUERY)
    return found.columns, [kind for _, kind in found.dtypes], [tuple(row) for row in found.collect()]

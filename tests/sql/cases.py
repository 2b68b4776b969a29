"""Tables of SQL → expected rows, and how the two are compared: as whole multisets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from json import loads
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, lit


@dataclass(frozen=True)
class Case:
    """One query and all its rows; ``args`` are the statement's parameters."""

    name: str
    sql: str
    rows: list[tuple[Any, ...]]
    args: Any = None


def parametrize(cases: list[Case]) -> pytest.MarkDecorator:
    """One test a case."""
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def check(spark: SparkSession, case: Case) -> None:
    """Run the case and compare whole sets."""
    assert_rows(spark.sql(case.sql, case.args).collect() if case.args else spark.sql(case.sql).collect(), case.rows)


def assert_rows(actual: Iterable[Any], expected: Iterable[Any]) -> None:
    """The same rows, each as often, in any order."""
    assert sorted(map(plain, actual), key=repr) == sorted(map(plain, expected), key=repr)


JSON = "to_json(struct(*), map('ignoreNullFields', 'false')) AS row"


def answers(spark: SparkSession, queries: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of many queries, each as a JSON object, in one job, which costs more than a small query."""
    return answers_and_types(spark, queries)[0]


def answers_and_types(
    spark: SparkSession, queries: Mapping[str, str]
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """The rows of many queries, and the names and types of their columns. Each is analysed once."""
    frames = {name: spark.sql(sql) for name, sql in queries.items()}
    parts = [frame.select(lit(name).alias("name"), expr(JSON)) for name, frame in frames.items()]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in queries}
    for name, row in sorted(reduce(DataFrame.unionAll, parts).collect()):
        found[name].append(loads(row))
    return found, {name: frame.schema.simpleString() for name, frame in frames.items()}


def plain(value: Any) -> Any:
    """Rows and structs as tuples, so that a failed comparison reads well."""
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


@dataclass(frozen=True)
class Clauses:
    """Texts that many statements share."""

    row: str = field(
        default="""MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY ts
  MEASURES FIRST(ts) AS s, LAST(down.ts) AS m, LAST(ts) AS e
  PATTERN (strt down+ up+)
  DEFINE down AS price < PREV(price), up AS price > PREV(price)
)"""
    )
    event: str = "MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts WITHIN 5)"


ROW, EVENT = Clauses().row, Clauses().event
ROW_ANSWER = [("A", 1, 3, 5), ("A", 6, 7, 8), ("B", 2, 3, 4)]
"""``SELECT * FROM ticks`` ROW."""
EVENT_ANSWER = [("u1", 1, 3, "x", "x"), ("u2", 1, 2, "x", "z")]
"""``SELECT user, match_start, match_end, v.item, b.item FROM clicks`` EVENT."""

"""Corpus cases whose DEFINE is SQL, through the whole way: text, rewrite, Spark, engine.

The engines' own tests hand conditions over as booleans; here the binder has to divide them between Spark and the engine.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.corpus import RowCase, row_cases

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("adaptive")]

CASES = [
    case
    for case in row_cases()
    if case.define and case.matches is not None and "{-" not in case.pattern and len(case.partitions) == 1
]
SKIPS = {"past_last_row": "PAST LAST ROW", "next_row": "TO NEXT ROW", "first": "TO FIRST", "last": "TO LAST"}


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=str)
def test_matches(spark: SparkSession, case: RowCase) -> None:
    rows = spark.sql(query(case)).collect()
    found: dict[int, list[tuple[int, str]]] = {}
    for number, row, variable in sorted(rows):
        found.setdefault(number, []).append((row, variable))
    matches = [(lines[0][0], tuple(variable for _, variable in lines if variable)) for lines in found.values()]
    assert case.matches is not None
    assert matches == [(start, tuple(variable for variable, _ in labels)) for start, labels in case.matches]


def query(case: RowCase) -> str:
    """The case as a statement; labels become columns of their own."""
    conditions = [f"{variable} AS {text}" for variable, text in case.define.items()]
    subsets = [f"{name} = ({', '.join(members)})" for name, members in case.subset.items()]
    skip, variable = case.skip
    return f"""
        SELECT number, row, variable FROM ({table(case)}) MATCH_RECOGNIZE (
          ORDER BY row MEASURES MATCH_NUMBER() AS number, CLASSIFIER() AS variable
          ALL ROWS PER MATCH AFTER MATCH SKIP {SKIPS[skip]} {variable or ""} {"INITIAL" if case.initial else ""}
          PATTERN ({case.pattern}) {"SUBSET " + ", ".join(subsets) if subsets else ""}
          DEFINE {", ".join([*conditions, *labels(case)])})"""


def labels(case: RowCase) -> list[str]:
    """Conditions of the variables that go by the rows' labels."""
    if not case.labelled:
        return []
    names = {name for rows in case.partitions for labels in rows for name in labels}
    return [f"{name} AS is_{name}" for name in sorted(names - set(case.define)) if name in case.pattern]


def table(case: RowCase) -> str:
    """The rows as a query."""
    names = sorted({name for rows in case.partitions for labels in rows for name in labels}) if case.labelled else []
    columns = ["row", *case.columns, *(f"is_{name}" for name in names)]
    (rows,) = case.partitions
    lines = [
        [str(i), *(literal(values[i]) for values in case.columns.values()), *(str(name in held) for name in names)]
        for i, held in enumerate(rows)
    ]
    values = ", ".join(f"({', '.join(line)})" for line in lines)
    return f"SELECT * FROM VALUES {values} AS t({', '.join(columns)})"


def literal(value: object) -> str:
    """A value of the corpus as a SQL literal."""
    if value is None or value == "NULL":
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else f"{value}D" if isinstance(value, float) else str(value)


MEASURED = [case for case in row_cases() if case.output is not None and "engine values" in case.name]
ROWS = {"one": "ONE ROW PER MATCH", "all_show_empty": "ALL ROWS PER MATCH"}


@pytest.mark.spark
@pytest.mark.parametrize("case", MEASURED, ids=str)
def test_measures(spark: SparkSession, case: RowCase) -> None:
    """Measures that no engine gives: Spark computes them around its values."""
    names = [*([] if case.rows_per_match == "one" else ["id"]), *case.measures]
    measures = ", ".join(f"{text} AS {name}" for name, text in case.measures.items())
    rows = spark.sql(
        f"""SELECT {", ".join(names)} FROM (SELECT *, row + 1 AS id FROM ({table(case)})) MATCH_RECOGNIZE (
          ORDER BY row MEASURES {measures} {ROWS[case.rows_per_match]} PATTERN ({case.pattern}) DEFINE {", ".join(labels(case))})"""
    ).collect()
    expected = [tuple(None if value == "NULL" else value for value in line) for line in case.output or []]
    assert sorted(map(tuple, rows), key=repr) == sorted(expected, key=repr)

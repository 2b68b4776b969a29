"""The corpus of windows through the whole way: text, rewrite, Spark, engine."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.corpus.windows import UNBOUNDED, WindowCase, window_cases
from tests.sql.cases import answers
from tests.sql.test_corpus import SKIPS, literal

CASES = window_cases()
ANSWERED = [case for case in CASES if not case.error]
TOGETHER = 15
"""Cases in a statement: a job costs more than a small query."""


@pytest.fixture(scope="module")
def found(spark: SparkSession, adaptive: None) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every case, in order."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for i in range(0, len(ANSWERED), TOGETHER):
        rows |= answers(spark, {str(case): query(case) for case in ANSWERED[i : i + TOGETHER]})
    ordered = {name: sorted(lines, key=lambda line: line["id"]) for name, lines in rows.items()}
    return {name: [tuple(line.values())[1:] for line in lines] for name, lines in ordered.items()}


@pytest.mark.spark
@pytest.mark.parametrize("case", ANSWERED, ids=str)
def test_window(found: dict[str, list[tuple[Any, ...]]], case: WindowCase) -> None:
    rows = found[str(case)]
    if case.found is not None:
        assert [row[:3] for row in rows] == [_expected(i, each) for i, each in enumerate(case.found, 1)]
    if case.output is not None:
        assert [row[3:] for row in rows] == list(case.output)


@pytest.mark.spark
@pytest.mark.parametrize("case", [case for case in CASES if case.error], ids=str)
def test_window_error(spark: SparkSession, case: WindowCase) -> None:
    with pytest.raises(PySparkException, match=str(case.error)):
        spark.sql(query(case)).collect()


def _expected(row: int, found: tuple[int, tuple[tuple[str, bool], ...]] | None) -> tuple[Any, ...]:
    """The match's first row, its variables, how many rows."""
    if found is None:
        return None, None, 0
    ahead, labels = found
    return row + ahead if labels else None, [name for name, _ in labels], len(labels)


def query(case: WindowCase) -> str:
    """The case as a statement: its first row, its variables and its length first, then measures and functions."""
    measures = {
        "first_row": "FIRST(id)",
        "labels": "ARRAY_AGG(CLASSIFIER())",
        **{f"m_{n}": t for n, t in case.measures.items()},
    }
    calls = ["first_row", "labels", "count(*)", *(f"m_{name}" for name in case.measures), *case.functions]
    conditions = [f"{variable} AS {text}" for variable, text in case.define.items()]
    conditions += [f"{name} AS is_{name}" for name in _names(case) if name not in case.define and name in case.pattern]
    subsets = [f"{name} = ({', '.join(members)})" for name, members in case.subset.items()]
    skip, variable = case.skip
    return f"""
        SELECT id, {", ".join(f"{call} OVER w AS c{i}" for i, call in enumerate(calls))} FROM ({_table(case)}) WINDOW w AS (
          PARTITION BY part ORDER BY id MEASURES {", ".join(f"{text} AS {name}" for name, text in measures.items())}
          ROWS BETWEEN CURRENT ROW AND {_end(case)} AFTER MATCH SKIP {SKIPS[skip]} {variable or ""} {"SEEK" if case.seek else "INITIAL"}
          PATTERN ({case.pattern}) {"SUBSET " + ", ".join(subsets) if subsets else ""}
          {"DEFINE " + ", ".join(conditions) if conditions else ""})"""


def _end(case: WindowCase) -> str:
    lengths = set(case.following)
    if lengths == {UNBOUNDED}:
        return "UNBOUNDED FOLLOWING"
    if lengths == {0}:
        return "CURRENT ROW"
    return f"{lengths.pop()} FOLLOWING" if len(lengths) == 1 else "following FOLLOWING"


def _names(case: WindowCase) -> list[str]:
    """Labels as columns; none where variables without a condition are true."""
    return sorted({name for rows in case.partitions for held in rows for name in held}) if case.labelled else []


def _table(case: WindowCase) -> str:
    names = _names(case)
    columns = ["id", "part", "following", *case.columns, *(f"is_{name}" for name in names)]
    lines = []
    for part, rows in enumerate(case.partitions):
        for held in rows:
            at = len(lines)
            values = [literal(column[at]) for column in case.columns.values()]
            line = [str(at + 1), str(part), str(case.following[at]), *values, *(str(name in held) for name in names)]
            lines.append(f"({', '.join(line)})")
    return f"SELECT * FROM VALUES {', '.join(lines)} AS t({', '.join(columns)})"

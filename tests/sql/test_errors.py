"""What a user sees when a clause cannot be answered: names, rules, types, and what the data bring up.

The ``.txt`` files in ``errors/`` hold cases: a statement, a line ``=>``, the error, a line of ``=``. With UPDATE_GOLDENS=1 in the
environment the errors are written anew, to be read in the diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepAnalysisError, CepError
from sparkcep.session.config import OTHER_DIALECTS
from tests.sql.cases import ROW, assert_rows

FILES = sorted((Path(__file__).parent / "errors").glob("*.txt"))
RULE = "\n" + "=" * 40 + "\n"
ARROW = "\n=>\n"


def _cases(path: Path) -> list[tuple[str, str]]:
    blocks = [block.strip("\n") for block in path.read_text(encoding="utf-8").split(RULE)]
    return [(sql, error) for sql, _, error in (f"{block}\n".partition(ARROW) for block in blocks if block)]


@pytest.mark.usefixtures("adaptive")  # one task, which fails at the first of the partitions
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_errors(spark: SparkSession, path: Path) -> None:
    answers = [(sql, render(spark, sql)) for sql, _ in _cases(path)]
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(RULE.join(f"{sql}{ARROW}{error}" for sql, error in answers) + "\n", encoding="utf-8")
    assert answers == [(sql, error.rstrip("\n")) for sql, error in _cases(path)]


def render(spark: SparkSession, sql: str) -> str:
    """Our errors in full; of Spark's own the class and the message's first line; of an error in a worker our part of it."""
    try:
        spark.sql(sql).collect()
    except CepError as error:
        return str(error)
    except PySparkException as error:
        return spark_error(error)
    return "(no error)"


def spark_error(error: PySparkException) -> str:
    text = str(error)
    ours = re.search(r"sparkcep\.errors\.Cep\w+: (\[CEP_.*?)(?=\n\n|\n +During|\Z)", text, re.DOTALL)
    if ours and type(error).__name__ == "PythonException":
        return "in a worker: " + re.sub(r"\n +", "\n", ours[1].strip())
    return f"{type(error).__name__}: {text.strip().splitlines()[0]}"


@pytest.mark.parametrize("name", OTHER_DIALECTS)
def test_other_ways_to_read_a_text_are_refused(spark: SparkSession, name: str) -> None:
    session = spark.newSession()
    session.conf.set(name, "true")
    with pytest.raises(CepAnalysisError, match=rf"{name} is true(.|\n)*Hint: set it to false"):
        session.sql(f"SELECT * FROM (SELECT 1 AS ts, 1 AS price) {ROW}")


def test_null_event_time_may_be_dropped(spark: SparkSession) -> None:
    text = """SELECT v.ts, b.ts FROM (SELECT IF(ts > 3, NULL, ts) AS ts, type, user FROM clicks)
              MATCH PATTERN (SEQ(View v, Buy b) PARTITION BY user ORDER BY ts)"""
    spark.conf.set("sparkcep.nullEventTime", "drop")
    try:
        assert_rows(spark.sql(text).collect(), [(1, 3), (1, 2)])
    finally:
        spark.conf.unset("sparkcep.nullEventTime")


def test_unknown_setting(spark: SparkSession) -> None:
    spark.conf.set("sparkcep.nullEventTime", "ignore")
    try:
        with pytest.raises(CepAnalysisError, match="nullEventTime is ignore"):
            spark.sql(f"SELECT * FROM ticks {ROW}")
    finally:
        spark.conf.unset("sparkcep.nullEventTime")


ORDINARY = [
    "SELECT * FROM nowhere",
    "SELECT nothing FROM ticks",
    "SELEC 1",
    "SELECT (1",
    "SELECT * FROM ticks WHERE price > (SELECT",
    "SELECT match_recognize(1)",
    "SELECT price + DATE'2024-01-01' > 'x' + 1 FROM ticks WHERE no_function(1)",
    "SELECT ? + 1",
    "SELECT :x",
    "DROP TABLE nowhere",
]


@pytest.mark.parametrize("sql", ORDINARY)
def test_sparks_own_errors_stay(spark: SparkSession, sql: str) -> None:
    """Type, class, message and state as in a session without sparkcep (whose parser is asked directly)."""
    with pytest.raises(PySparkException) as ours:
        spark.sql(sql)
    with pytest.raises(PySparkException) as sparks:
        _without(spark, sql)
    assert type(ours.value) is type(sparks.value)
    assert ours.value.getCondition() == sparks.value.getCondition()
    assert ours.value.getSqlState() == sparks.value.getSqlState()
    assert without_ids(str(ours.value)) == without_ids(str(sparks.value))


def _without(spark: SparkSession, sql: str) -> None:
    sparkcep.uninstall(spark)
    try:
        spark.sql(sql)
    finally:
        sparkcep.install(spark)


def without_ids(text: str) -> str:
    return re.sub(r"#\d+", "#n", text)


def test_the_place_of_an_error(spark: SparkSession) -> None:
    text = "SELECT 1,\n\t'é' FROM ticks\tMATCH_RECOGNIZE (ORDER BY ts\n\tMEASURES LAST(a.nope) AS x PATTERN (a))"
    with pytest.raises(CepAnalysisError) as caught:
        spark.sql(text)
    span = caught.value.span
    assert span is not None
    assert text[span.start : span.end] == "nope"
    assert caught.value.sql == text
    assert caught.value.code == "CEP_ANALYSIS_UNKNOWN_COLUMN"
    assert str(caught.value).splitlines()[1:3] == [
        "line 3: \tMEASURES LAST(a.nope) AS x PATTERN (a))",
        "        \t                ^^^^",
    ]

"""What the user sees when a statement about named patterns, or a use of one, is wrong: both places.

``named_patterns.txt`` has cases as the files of ``test_syntax_goldens`` have, over the patterns of ``tests.rewrites.patterns.stored``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from rewrites.dialect import find_sites, parse_clause
from rewrites.dialect.pattern_statements import parse_pattern_statement
from rewrites.patterns import expand, statement_sql
from sparkcep.errors import CepError
from tests.errors.test_syntax_goldens import ARROW, RULE, _cases
from tests.rewrites.patterns.stored import store

FILE = Path(__file__).parent / "named_patterns.txt"


def no_spark(query: str) -> StructType:
    """Nothing of these cases needs Spark's analysis."""
    raise AssertionError(query)


def render(sql: str) -> str:
    try:
        statement = parse_pattern_statement(sql)
        if statement is not None:
            return statement_sql(sql, statement, store(), no_spark)
        expanded = expand(sql, store())
        with expanded.locating():
            for site in find_sites(expanded.text):
                parse_clause(expanded.text, site)
    except CepError as error:
        return str(error.in_sql(sql))
    return "(no error)"


if os.environ.get("UPDATE_GOLDENS"):
    FILE.write_text(RULE.join(f"{sql}{ARROW}{render(sql)}" for sql, _ in _cases(FILE)) + "\n", encoding="utf-8")


@pytest.mark.parametrize(("sql", "answer"), [pytest.param(*case, id=str(i)) for i, case in enumerate(_cases(FILE))])
def test_named_pattern(sql: str, answer: str) -> None:
    assert render(sql) == answer.rstrip("\n")

"""Operators bind as they do in Spark: an expression with brackets around all that the parser reads as one operand is to Spark's parser the same."""

from __future__ import annotations

from itertools import product

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp

from rewrites.dialect import span_of
from rewrites.dialect.expressions import parse_expression
from sparkcep.errors import Span

pytestmark = pytest.mark.spark

OPERATORS = (
    *("*", "/", "%", "DIV", "+", "-", "||", "<<", ">>", ">>>", "&", "^", "|", "=", "==", "<=>", "<>", "!=", "<", ">="),
    *(
        "AND",
        "OR",
        "LIKE",
        "NOT RLIKE",
        "IS DISTINCT FROM",
        "IS NOT DISTINCT FROM",
        "BETWEEN q AND",
        "NOT BETWEEN q = r AND",
    ),
    *(
        "IS NULL AND",
        "IS NOT TRUE OR",
        "IN (q, r) AND",
        "COLLATE UTF8_LCASE =",
        "::INT <",
        "[0] + -",
        "AND NOT",
        "= ~",
        "+ +",
    ),
)


def bracketed(node: exp.Expression, sql: str) -> str:
    """The text of ``node`` with brackets around each operand that is an operation."""
    whole, found = span_of(node), []
    for child in node.iter_expressions():
        span = span_of(child)
        if span != whole and isinstance(child, exp.Expression):
            text = bracketed(child, sql)
            operation = isinstance(child, exp.Binary | exp.Unary | exp.Between | exp.In) and not isinstance(
                child, exp.Dot
            )
            found.append((span, f"({text})" if operation else text))
    text = sql[whole.start : whole.end]
    for span, new in sorted(found, key=lambda edit: edit[0].start, reverse=True):
        text = text[: span.start - whole.start] + new + text[span.end - whole.start :]
    return text


@pytest.mark.parametrize("first", OPERATORS)
def test_operators_bind_as_in_spark(spark: SparkSession, first: str) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()
    for second, prefix in product(OPERATORS, ("", "NOT -", "+")):
        sql = f"{prefix}a {first} b {second} c"
        try:
            read = parser.parseExpression(sql).toString()
        except PySparkException:
            continue
        node = parse_expression(sql, Span(0, len(sql))).node
        assert parser.parseExpression(bracketed(node, sql)).toString() == read, (sql, bracketed(node, sql))

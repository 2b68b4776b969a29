"""What is made of types, for Spark Connect, is what Spark's analyser makes: the same trees, casts included, but for casts that change nothing."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rewrites.bind.typed_functions import FUNCTIONS
from rewrites.bind.typed_tree import typed_tree
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import Constant, SparkFunction
from sql_functions.catalog import ClassicDescribe, dataset_of_plan

pytestmark = pytest.mark.spark

COLUMNS = {
    "h": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "q": "DECIMAL(5, 0)",
    "p": "DECIMAL(10, 2)",
    "w": "DECIMAL(38, 18)",
    "s": "STRING",
    "b": "BOOLEAN",
    "t": "DATE",
    "ts": "TIMESTAMP",
    "v": "INTERVAL DAY TO SECOND",
    "a": "ARRAY<STRING>",
    "e": "ARRAY<INT>",
}
ROW = f"(SELECT {', '.join(f'CAST(NULL AS {kind}) AS {name}' for name, kind in COLUMNS.items())})"
NUMBERS = ("h", "i", "l", "f", "d", "q", "p", "w", "7", "1e3", "3000000000")
VALUES = {
    "boolean": "b",
    "string": "s",
    "string*": "'x'",
    "int": "i",
    "places": "1",
    "date": "t",
    "timestamp": "ts",
    "array": "a",
    "strings": "a",
    "element": "'x'",
    "same": "p",
    "same*": "3",
    "any": "v",
    "bigint": "l",
    "first": "a",
    "unit": "'MONTH'",
    "pattern": "'x'",
    "order": "TRUE",
    "number": "p",
    "decimal_or_double": "i",
    "double": "p",
    "fractional": "f",
}
"""For what a parameter takes, an argument."""
OTHERS = (
    "t > ts",
    "t = DATE'2024-01-01'",
    "ts >= TIMESTAMP'2024-01-01 01:00:00'",
    "ts - ts < INTERVAL 5 MINUTES",
    "t - t > v AND ts - ts > INTERVAL '0 01:00:00' DAY TO SECOND",
    "NOT (i IS NULL) AND (s IS NOT NULL OR b IS NOT TRUE)",
    "i NOT BETWEEN 1 AND l",
    "p IN (1, w, 2.5) OR i NOT IN (1, 2)",
    "CASE i WHEN 1 THEN p WHEN l THEN 0 ELSE d END",
    "CASE WHEN b THEN 'x' END",
    "NULLIF(p, i)",
    "ABS(p / (w - 1)) > 1.05",
    "s LIKE 'a%' OR s || 'b' <> UPPER(s)",
    "-(p) + -5",
    "CAST(s AS INT) + i::BIGINT",
    "TRY_CAST(s AS DOUBLE) > CAST(p AS DOUBLE)",
    "TRY_DIVIDE(i, 2) + PMOD(i, 3) % 2",
    "a[0] = s AND ELEMENT_AT(e, 1) > 2",
    "i = 1 = b",
    "5L + 2BD * 1.5D",
    "YEAR(ts) + HOUR(ts)",
    "DATEDIFF(ts, t)",
    "TIMESTAMPDIFF(MINUTE, ts, ts) > 5 AND DATEADD(HOUR, i, ts) > ts",
    "i & 1 = l | 2 AND s ILIKE 'A%'",
    "t + 1 > t - h",
    "s RLIKE 'a' OR s NOT REGEXP 'b'",
    "CONCAT(s, 'a') RLIKE 'b'",
    "i > 2.5",
)
REFUSED = (
    "EXISTS(e, x -> x > 1)",
    "s = 1",
    "COALESCE(s, i)",
    "TRIM('x' FROM s)",
    r"s = 'a\n'",
    "t + v",
    "COUNT(i)",
    "CAST(s AS CHAR(3))",
    "TRIM(LEADING FROM s) = s",
    "-128::TINYINT < h",
)


@pytest.fixture(scope="module")
def describe(spark: SparkSession) -> ClassicDescribe:
    jsession: Any = spark._jsparkSession
    SparkSession._get_j_spark_session_class(spark._jvm).setActiveSession(jsession)  # whose settings the parser reads
    return ClassicDescribe(dataset_of_plan(spark.sparkContext), jsession, jsession.sessionState().sqlParser().parsePlan)


def plain(node: Any) -> Any:
    """The tree without casts that change nothing, names, and zones of casts that read none."""
    if not isinstance(node, SparkFunction):
        return node
    arguments, settings = tuple(map(plain, node.arguments)), node.settings
    if node.name == "Cast":
        if arguments[0].type == node.type:
            return arguments[0]
        if isinstance(arguments[0], Constant) and arguments[0].value is None:
            return Constant(None, node.type)
        zoned = "timestamp" in (node.type, arguments[0].type)
        settings = (settings[0], settings[1] if zoned else "")
    return SparkFunction(node.name, node.type, arguments, settings)


def calls() -> list[str]:
    """Each function with all its arguments, and without those that it may lack."""
    found = []
    for name, signature in FUNCTIONS.items():
        arguments = [VALUES[what] for what in signature.parameters]
        for count in range(len(arguments) - len(signature.defaults), len(arguments) + 1):
            found.append(f"{name}({', '.join(arguments[:count])})")
    return found


def same(texts: list[str], spark: SparkSession, describe: ClassicDescribe) -> list[tuple[str, Any, Any]]:
    """The texts whose trees differ, with both."""
    value = lambda query: spark.sql(query).collect()[0][0]  # noqa: E731
    pairs = [
        (text, plain(describe.expression(text, ROW)), plain(typed_tree(text, ROW, describe, value))) for text in texts
    ]
    return [pair for pair in pairs if pair[1] != pair[2]]


def test_conditions(spark: SparkSession, describe: ClassicDescribe) -> None:
    *usual, beside_literal = OTHERS
    assert same(list(usual), spark, describe) == []
    (_, analysed, made), *_ = same([beside_literal], spark, describe)  # Spark rounds the constant, to compare integers
    assert str(analysed.arguments[1]) == "2" and made.arguments[0].type == made.arguments[1].type == "decimal(11,1)"


@pytest.mark.parametrize("ansi", [True, False])
def test_numbers_beside_numbers_and_functions(ansi: bool, spark: SparkSession, describe: ClassicDescribe) -> None:
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    describe.known.clear()
    try:
        drawn = Random(7).sample(list(product(NUMBERS, ("+", "*", "/", "%", "=", "<=>"), NUMBERS)), 120)
        assert same([" ".join(one) for one in drawn if {*one} & {*COLUMNS}], spark, describe) == []
        assert same(calls(), spark, describe) == []
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")
        describe.known.clear()


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_certain_is_refused(text: str, spark: SparkSession, describe: ClassicDescribe) -> None:
    with pytest.raises(CepUnsupportedError, match="over Spark Connect"):
        typed_tree(text, ROW, describe, lambda query: spark.sql(query).collect()[0][0])

"""The hash by which rows of a stream are told apart, on Spark: values that XXHASH64 alone takes for each other, or does not take."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from rewrites.sql.builder import quoted
from rewrites.sql.hashing import Value, hashed

DIFFERENT = {
    "s STRUCT<a: INT, b: INT>": "NULL | STRUCT(1, 1) | STRUCT(1, NULL) | STRUCT(NULL, 1) | STRUCT(NULL, NULL)",
    "x ARRAY<INT>, y ARRAY<INT>": """NULL, NULL | NULL, ARRAY() | ARRAY(1), NULL | ARRAY(1), ARRAY() | ARRAY(), ARRAY(1)
        | ARRAY(1), ARRAY(NULL) | ARRAY(NULL), ARRAY(1) | ARRAY(1, NULL), ARRAY() | ARRAY(NULL, 1), ARRAY()""",
    "x ARRAY<ARRAY<INT>>": """NULL | ARRAY() | ARRAY(NULL) | ARRAY(ARRAY()) | ARRAY(ARRAY(1), ARRAY(2)) | ARRAY(ARRAY(1, 2)) | ARRAY(ARRAY(1, 2), NULL)
        | ARRAY(ARRAY(1, 2), ARRAY()) | ARRAY(ARRAY(1, NULL, 2)) | ARRAY(ARRAY(1, 2, NULL))""",
    "x ARRAY<STRUCT<a: INT, b: ARRAY<INT>>>": """ARRAY(STRUCT(1, ARRAY(1))) | ARRAY(STRUCT(1, ARRAY(1, NULL))) | ARRAY(STRUCT(1, ARRAY(1)), NULL)
        | ARRAY(STRUCT(1, ARRAY(1)), STRUCT(NULL, NULL)) | ARRAY(STRUCT(1, ARRAY(1)), STRUCT(NULL, ARRAY()))""",
    "s STRUCT<a: INT, A: INT>": "STRUCT(1, NULL) | STRUCT(NULL, 1) | STRUCT(NULL, NULL)",
    "m MAP<STRING, STRUCT<a: INT>>": "NULL | MAP() | MAP('k', NULL) | MAP('k', STRUCT(NULL)) | MAP('k', STRUCT(1)) | MAP('l', STRUCT(1))",
    "m MAP<STRING, TIMESTAMP>": "MAP('k', TIMESTAMP '2020-01-01 00:00:00.000001') | MAP('k', TIMESTAMP '2020-01-01 00:00:00.000002')",
    "m MAP<STRING, TIMESTAMP_NTZ>": """MAP('k', TIMESTAMP_NTZ '2020-01-01 00:00:00.000001')
        | MAP('k', TIMESTAMP_NTZ '2020-01-01 00:00:00.000002')""",
    "v VARIANT, w VARIANT": """NULL, NULL | PARSE_JSON('null'), NULL | NULL, PARSE_JSON('null') | PARSE_JSON('{}'), NULL
        | PARSE_JSON('{"a": null}'), NULL""",
}
"""By columns: rows."""


@pytest.mark.parametrize("columns", DIFFERENT)
def test_different_rows_have_different_hashes(spark: SparkSession, columns: str) -> None:
    schema = StructType.fromDDL(columns)
    rows = DIFFERENT[columns].split(" | ")
    typed = ", ".join(
        f"CAST({quoted(f'c{i}')} AS {f.dataType.simpleString()}) AS {quoted(f.name)}" for i, f in enumerate(schema)
    )
    values = " UNION ALL ".join(
        f"SELECT {typed} FROM (SELECT {row}) AS t({', '.join(f'c{i}' for i in range(len(schema)))})" for row in rows
    )
    hashes = spark.sql(
        f"SELECT {hashed(Value(quoted(f.name), f.dataType, f.nullable) for f in schema)} FROM ({values})"
    )
    assert len({value for (value,) in hashes.collect()}) == len(rows)

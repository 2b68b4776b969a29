"""Values that are none of what a statement declares."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from sparkcep.errors import CepDataError
from sql_functions.declared import check_declared

DATES = pa.array([1], pa.date32())
SUITS = [
    (StringType(), pa.array(["a"])),
    (StringType(), pa.array(["a"], pa.large_string())),
    (StringType(), pa.nulls(1)),
    (StringType("UTF8_LCASE"), pa.array(["a"])),
    (ArrayType(StringType()), pa.array([["a"]])),
    (IntegerType(), pa.array([1], pa.int8())),
    (LongType(), pa.nulls(1)),
    (DoubleType(), pa.array([1])),
    (DecimalType(10, 2), pa.array([Decimal("1.50")])),
    (DecimalType(10, 2), pa.array([Decimal("123456789.5")])),
    (DecimalType(10, 2), pa.array([1])),
    (FloatType(), pa.array([1.5], pa.float32())),
    (DoubleType(), pa.array([1.5], pa.float32())),
    (TimestampType(), pa.array([1], pa.timestamp("us", "UTC"))),
    (DateType(), DATES),
    (ArrayType(ArrayType(LongType())), pa.array([[[1]]])),
    (StructType().add("x", IntegerType()), pa.array([{"x": 1}])),
]
DIFFER = [
    (StringType(), pa.array([9]), "int64, where the statement was written for string"),
    (StringType(), DATES, "date32"),
    (IntegerType(), pa.array(["9"]), "string, where the statement was written for integer"),
    (IntegerType(), pa.array([Decimal("1.50")]), "decimal128"),
    (LongType(), pa.array([1.5]), "double"),
    (IntegerType(), pa.array([1]), "int64, where the statement was written for integer"),
    (FloatType(), pa.array([1.5]), "double"),
    (DecimalType(10, 0), pa.array([Decimal("1.50")]), "decimal128"),
    (DecimalType(10, 0), pa.array([1.5]), "double"),
    (DateType(), pa.array([1], pa.timestamp("us")), "timestamp"),
    (TimestampType(), DATES, "date32"),
    (DoubleType(), pa.array(["9"]), "string"),
    (DoubleType(), DATES, "date32"),
    (ArrayType(StringType()), pa.array([[9]]), "int64"),
]


def check(declared: DataType, column: pa.Array) -> None:
    check_declared(StructType().add("c", declared).json(), pa.table({"c": column}))


@pytest.mark.parametrize(("declared", "column"), SUITS)
def test_a_value_of_the_type(declared: DataType, column: pa.Array) -> None:
    check(declared, column)


@pytest.mark.parametrize(("declared", "column", "told"), DIFFER)
def test_a_value_of_another(declared: DataType, column: pa.Array, told: str) -> None:
    with pytest.raises(CepDataError, match=told) as refusal:
        check(declared, column)
    assert refusal.value.code == "CEP_DATA_INPUT_TYPE"

"""Columns of wide decimals in as few places as their values have."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from sparkcep.engines.row_match.values import SAMPLED, shortened
from sparkcep.engines.row_pattern.columns import Columns

PRICES = [Decimal("123.45"), None, Decimal("-99.5"), Decimal("1000")]
MANY = 4 * SAMPLED


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        (PRICES, pa.decimal128(38, 18), pa.decimal128(18, 2)),
        ([None, None], pa.decimal128(38, 18), pa.decimal128(18, 0)),
        ([Decimal("1E+17"), Decimal("0E+3")], pa.decimal128(38, 18), pa.decimal128(18, 0)),
        ([Decimal("1E+17"), Decimal("0.01")], pa.decimal128(38, 18), None),
        ([Decimal("1E+18")], pa.decimal128(38, 18), None),
        ([Decimal("0.142857142857142857")], pa.decimal128(38, 18), pa.decimal128(18, 18)),
        (PRICES, pa.decimal128(10, 2), None),
        (PRICES, pa.decimal128(38, 30), None),
        ([Decimal("0.1")] * MANY + [Decimal("0.01")] + [Decimal("0.1")] * MANY, pa.decimal128(38, 18), None),
    ],
)
def test_places(values: list[Decimal | None], kind: pa.DataType, wanted: pa.DataType | None) -> None:
    columns = Columns(
        pa.table({"id": range(len(values)), "p": pa.array(values, pa.decimal256(76, kind.scale)).cast(kind)})
    )
    found, wide = shortened(columns, ["id", "p"])
    assert found.column("p").to_pylist() == columns.column("p").to_pylist()
    assert found.table.column_names == ["id", "p"] and found.type("id") == pa.int64()
    assert found.type("p") == (wanted or kind)
    assert wide == ({} if kind.precision <= 18 else {"p": 0 if wanted is None else kind.scale - wanted.scale})
    assert shortened(columns, ["id", "p"], whole=["p"])[0] is columns


def test_no_rows() -> None:
    columns = Columns(pa.table({"p": pa.array([], pa.decimal128(38, 18))}))
    assert shortened(columns, ["p"])[0].type("p") == pa.decimal128(18, 0)

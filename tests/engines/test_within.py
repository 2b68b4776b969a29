"""Times and deadlines: added by the engine where the length is fixed, else read."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sparkcep.engines.within import times
from sparkcep.errors import CepDataError
from sparkcep.spec.event import WithinTime


def test_deadlines() -> None:
    table = pa.table({"t": [1, 5], "d": [10, 20]})
    assert [list(part) for part in times(table, WithinTime("t", "d"))] == [[1, 5], [10, 20]]
    assert [list(part) for part in times(table, WithinTime("t", length=3))] == [[1, 5], [4, 8]]
    assert [list(part) for part in times(table[:0], WithinTime("t", length=3))] == [[], []]


def test_a_sum_beyond_bigint_is_an_error() -> None:
    last = (1 << 63) - 1
    assert list(times(pa.table({"t": [last - 3]}), WithinTime("t", length=3))[1]) == [last]
    with pytest.raises(CepDataError, match=r"CEP_DATA_OVERFLOW.*9223372036854775805 \+ 3 is beyond BIGINT"):
        times(pa.table({"t": [0, last - 2]}), WithinTime("t", length=3))

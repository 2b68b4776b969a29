"""Conditions compute as Spark does under ANSI: NULLs, NaN, overflow, division, decimals, strings, short circuits."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sparkcep.engines.row_match import engine as row_match
from sparkcep.errors import CepDataError, CepInternalError, CepLimitError, CepUnsupportedError
from sparkcep.spec.row import Aggregate
from tests.engines.row_match import conditions as of
from tests.engines.row_match.helpers import spans, spec_of
from tests.engines.row_pattern.helpers import A, B, seq

NAN, INF = float("nan"), float("inf")


def holds(condition: Any, **columns: Any) -> bool:
    """Whether ``A B`` matches two rows, with the condition on B."""
    return spans(seq(A, B), of.define("B", condition, "the test"), columns=columns) == [(0, 1)]


def compared(operator: str, first: Any, second: Any, kind: pa.DataType | None = None) -> bool:
    """``A.v operator B.v``."""
    return holds(of.call(operator, of.last("v", "A"), of.current("v")), v=pa.array([first, second], kind))


@pytest.mark.parametrize(
    ("operator", "first", "second", "expected"),
    [
        ("lt", 1, 2, True), ("lt", 2, 2, False), ("le", 2, 2, True), ("gt", 3, 2, True), ("ge", 2, 2, True),
        ("eq", 2, 2, True), ("ne", 2, 2, False), ("ne", 1, 2, True),
        ("eq", None, 2, False), ("ne", None, 2, False), ("eq", None, None, False),
        ("eq_null_safe", 2, 2, True), ("eq_null_safe", None, 2, False), ("eq_null_safe", 2, None, False),
        ("eq", NAN, NAN, True), ("gt", NAN, INF, True), ("lt", -INF, NAN, True), ("lt", NAN, NAN, False),
        ("eq", -0.0, 0.0, True), ("lt", -0.0, 0.0, False), ("lt", -2.5, -1.5, True), ("gt", -1.5, -2.5, True),
        ("lt", "B", "a", True), ("lt", "a", "ä", True), ("eq", "x", "x", True), ("lt", "", "a", True),
        ("lt", b"\x00", b"\xff", True), ("lt", date(2020, 1, 1), date(2020, 1, 2), True),
        ("lt", datetime(2020, 1, 1), datetime(2020, 1, 1, 0, 0, 1), True), ("lt", False, True, True),
        ("gt", timedelta(seconds=2), timedelta(seconds=1), True),
        ("lt", Decimal("-1.50"), Decimal("1.25"), True), ("eq", Decimal("1.5"), Decimal("1.50"), True),
    ],
)  # fmt: skip
def test_comparisons(operator: str, first: Any, second: Any, expected: bool) -> None:
    assert compared(operator, first, second) is expected


def test_both_null_are_null_safe_equal() -> None:
    assert compared("eq_null_safe", None, None, pa.int64())


def test_three_valued_logic() -> None:
    null = of.call("eq", of.last("n", "A"), of.current("n"))
    true, false = of.call("eq", of.current("v"), of.current("v")), of.call("ne", of.current("v"), of.current("v"))
    data = {"n": pa.array([None, 1], pa.int64()), "v": [1, 1]}
    assert not holds(of.call("not", null), **data)
    assert not holds(of.call("and", true, null), **data)
    assert holds(of.call("or", null, true), **data)
    assert not holds(of.call("or", null, false), **data)
    assert holds(of.call("not", of.call("and", null, false)), **data)
    assert holds(of.call("is_null", null), **data)
    assert holds(of.call("and", true, true, true, of.call("or", false, false, true)), **data)
    assert not holds(of.call("and", true, true, false), **data)


def test_boolean_column_is_a_condition() -> None:
    assert holds(of.last("f", "A"), f=[True, False])
    assert not holds(of.last("f", "A"), f=[False, True])
    assert not holds(of.last("f", "A"), f=[None, True])


def test_aggregates_skip_nulls_and_are_null_over_nothing() -> None:
    data = {"v": pa.array([None, 4], pa.int64()), "k": [4, 4], "f": [True, None]}
    for function in ("sum", "min", "max"):
        assert holds(of.call("eq", of.total(function, "v"), of.current("k")), **data)
        assert holds(of.call("is_null", of.total(function, "v", "A")), **data)
        assert holds(of.call("is_null", of.total(function, "k", "B", filter="f")), **data)
    one = of.call("eq", of.total("count", "v"), of.total("count", None, "A"))
    assert holds(one, **data)
    assert holds(of.call("eq", of.average("v"), of.current("k")), **data)


def test_extremes_of_strings_and_floats() -> None:
    assert holds(of.call("eq", of.total("max", "s"), of.current("t")), s=["b", "a"], t=["b", "b"])
    assert holds(of.call("lt", of.total("min", "s"), of.current("t")), s=["b", "a"], t=["b", "b"])
    assert holds(of.call("eq", of.total("max", "v"), of.last("v", "A")), v=[NAN, INF])
    assert holds(of.call("eq", of.total("min", "v"), of.last("v", "B")), v=[NAN, INF])
    assert holds(of.call("eq", of.total("min", "w", distinct=True), of.current("w")), w=[2, 1])


def test_classifier_against_strings() -> None:
    assert holds(of.call("eq", of.classifier(n=1), of.current("s")), s=["x", "A"])
    assert holds(of.call("lt", of.classifier(n=1), of.classifier()), s=["x", "A"])
    assert holds(of.call("is_null", of.classifier("A", physical=1)), s=["x", "A"])


BIG = 2**63 - 1


@pytest.mark.parametrize(
    ("operator", "first", "second", "kind"),
    [
        ("add", BIG, 1, pa.int64()), ("sub", -BIG, 2, pa.int64()), ("mul", 2**32, 2**31, pa.int64()),
        ("mul", -1, -BIG - 1, pa.int64()), ("add", 2**31 - 1, 1, pa.int32()), ("mul", 2**16, 2**15, pa.int32()),
        ("sub", -128, 1, pa.int8()),
    ],
)  # fmt: skip
def test_integer_overflow(operator: Any, first: int, second: int, kind: pa.DataType) -> None:
    result = of.call(operator, of.last("v", "A"), of.current("v"))
    with pytest.raises(CepDataError, match=r"OVERFLOW.*\n?.*the condition of B \(the test\) overflows at row 2"):
        holds(of.call("eq", result, result), v=pa.array([first, second], kind))


@pytest.mark.parametrize(
    ("operator", "first", "second", "expected"),
    [("add", BIG - 1, 1, BIG), ("sub", -BIG, 1, -BIG - 1), ("mul", -(2**31), 2**32, -BIG - 1), ("mul", 0, BIG, 0)],
)
def test_no_false_overflow(operator: Any, first: int, second: int, expected: int) -> None:
    result = of.call(operator, of.last("v", "A"), of.current("v"))
    assert holds(of.call("eq", result, of.current("k")), v=[first, second], k=[expected] * 2)


@pytest.mark.parametrize(
    ("least", "kind"), [(-BIG - 1, pa.int64()), (-(2**31), pa.int32()), (-128, pa.int8())]
)  # fmt: skip
def test_absolute(least: int, kind: pa.DataType) -> None:
    size = of.call("abs", of.last("v", "A"))
    with pytest.raises(CepDataError, match="OVERFLOW"):
        holds(of.call("is_null", size), v=pa.array([least, 0], kind))
    assert holds(of.call("eq", size, of.current("v")), v=pa.array([least + 1, -(least + 1)], kind))
    assert holds(of.call("is_null", size), v=pa.array([None, 0], kind))
    assert holds(of.call("eq", size, of.current("v")), v=[-1.5, 1.5])
    assert not holds(of.call("lt", size, of.current("v")), v=[NAN, INF])
    assert holds(of.call("eq", size, of.current("v")), v=pa.array([Decimal("-1.50"), Decimal("1.5")]))
    with pytest.raises(CepUnsupportedError, match="abs of string"):
        holds(of.call("eq", of.call("abs", of.last("s", "A")), of.current("s")), s=["x", "y"])


def test_sum_overflow_only_where_it_is_read() -> None:
    over = of.call("gt", of.total("sum", "v"), of.current("k"))
    with pytest.raises(CepDataError, match="OVERFLOW"):
        holds(over, v=[BIG, 1], k=[0, 0])
    # the exact sum is back in range
    pattern, zero = seq(A, A, B), of.define("B", of.call("eq", of.total("sum", "v"), of.current("k")))
    assert spans(pattern, zero, columns={"v": [BIG, BIG, -BIG], "k": [BIG] * 3}) == [(0, 2)]
    assert spans(pattern, zero, columns={"v": [-BIG - 1, -5, BIG], "k": [-6] * 3}) == [(0, 2)]


def test_division() -> None:
    quotient = of.call("div", of.last("v", "A"), of.current("v"))
    assert holds(of.call("eq", quotient, of.current("k")), v=[1.0, 4.0], k=[0.25] * 2)
    with pytest.raises(CepDataError, match="DIVIDE_BY_ZERO"):
        holds(of.call("eq", quotient, of.current("k")), v=[1.0, 0.0], k=[0.25] * 2)
    assert holds(of.call("is_null", quotient), v=[None, 0.0])
    guarded = of.call("and", of.call("ne", of.current("v"), of.current("z")), of.call("gt", quotient, of.current("z")))
    assert not holds(guarded, v=[1.0, 0.0], z=[0.0, 0.0])
    either = of.call("or", of.call("eq", of.current("v"), of.current("z")), of.call("gt", quotient, of.current("z")))
    assert holds(either, v=[1.0, 0.0], z=[0.0, 0.0])


def test_floats() -> None:
    result = of.call("sub", of.last("v", "A"), of.current("v"))
    assert holds(of.call("lt", result, of.current("k")), v=[1.5, 4.0], k=[-2.4] * 2)
    narrow = {"v": pa.array([0.1, 0.2], pa.float32()), "k": pa.array([0.3, 0.3], pa.float32())}
    assert holds(of.call("eq", of.call("add", of.last("v", "A"), of.current("v")), of.current("k")), **narrow)
    assert holds(of.call("eq", of.total("sum", "v"), of.current("k")), v=[0.1, 0.2], k=[0.1 + 0.2] * 2)
    assert holds(
        of.call("gt", of.call("mul", of.last("v", "A"), of.current("v")), of.current("k")), v=[INF, 2.0], k=[9.0] * 2
    )


def test_decimals() -> None:
    wide = {"v": [Decimal("1.50"), Decimal("2.25")], "k": pa.array([Decimal("3.75")] * 2, pa.decimal128(20, 2))}
    assert holds(of.call("eq", of.total("sum", "v"), of.current("k")), **wide)
    product = of.call("mul", of.last("v", "A"), of.current("v"))
    assert holds(of.call("eq", product, of.current("k")), v=wide["v"], k=[Decimal("3.375")] * 2)
    assert holds(of.call("lt", of.last("v", "A"), of.total("count", None)), v=wide["v"])
    assert holds(of.call("gt", of.current("v"), of.current("x")), v=wide["v"], x=[2.2, 2.2])
    huge = pa.array([Decimal(10**25), Decimal(1)], pa.decimal128(38, 0))
    with pytest.raises(CepLimitError, match="DECIMAL_DIGITS"):
        holds(of.call("gt", of.last("v", "A"), of.current("v")), v=huge)


def test_timestamps_differ_by_durations() -> None:
    apart = of.call("sub", of.current("t"), of.last("t", "A"))
    times = [datetime(2020, 1, 1), datetime(2020, 1, 2)]
    assert holds(of.call("eq", apart, of.current("d")), t=times, d=[timedelta(days=1)] * 2)
    assert holds(of.call("eq", of.call("add", of.last("t", "A"), of.current("d")), of.current("t")), t=times,
                 d=[timedelta(days=1)] * 2)  # fmt: skip


def test_null_column_and_opaque_columns() -> None:
    assert holds(of.call("is_null", of.last("x", "A")), x=pa.nulls(2))
    assert not holds(of.call("is_null", of.last("x", "A")), x=[[1], [2]])
    with pytest.raises(CepUnsupportedError, match="CONDITION_TYPES"):
        compared("eq", [1], [1])
    with pytest.raises(CepUnsupportedError, match="the test computes lt of string and integer"):
        holds(of.call("lt", of.last("s", "A"), of.current("v")), s=["a", "b"], v=[1, 2])


def test_chunked_and_dictionary_columns() -> None:
    spec = spec_of(seq(A, B), of.define("B", of.call("lt", of.last("s", "A"), of.current("t"))))
    from tests.engines.row_match.helpers import table_of

    parts = [table_of(spec, {"s": ["a", "c"], "t": ["b", "b"]}), table_of(spec, {"s": ["x", "y"], "t": ["y", "z"]})]
    table = pa.concat_tables(parts)
    coded = table.set_column(table.schema.get_field_index("s"), "s", table.column("s").dictionary_encode())
    for data in (table, coded, table.combine_chunks()):
        assert sum(part.num_rows for part in row_match.compile(spec).run(data)) == 2


@pytest.mark.parametrize("aggregate", [
    Aggregate("count", "v", None, True, True), Aggregate("sum", "v", None, True, True),
])  # fmt: skip
def test_refused_aggregates(aggregate: Aggregate) -> None:
    with pytest.raises(CepUnsupportedError, match="DEFINE_AGGREGATE"):
        row_match.compile(spec_of(seq(A, B), of.define("B", of.call("is_null", aggregate))))


def test_empty_defines() -> None:
    with pytest.raises(CepInternalError):
        row_match.compile(spec_of(seq(A, B)))

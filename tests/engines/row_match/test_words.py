"""Conditions of Spark's functions that the machine computes in words: what it says is what Python says, and Python is asked where it says nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from sparkcep.engines.row_match import calls
from sparkcep.engines.row_match import engine as row_match
from sparkcep.errors import CepDataError
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.words import in_words
from tests.draws import draws
from tests.engines.row_match import conditions as of
from tests.engines.row_match.helpers import spec_of, table_of
from tests.engines.row_pattern.helpers import A, B, seq
from tests.spark_trees import (
    COLUMNS,
    Place,
    Row,
    apply,
    arithmetic,
    by_python,
    cast,
    conditions,
    leaf,
    placed,
    rows,
    table,
)


def own(place: Place) -> Any:
    return of.last(place.column, "A") if place.at == "A" else of.current(place.column)


def by_engine(condition: SparkFunction, row: Row) -> bool | str:
    spec = spec_of(seq(A, B), of.define("B", placed(condition, own)))
    rows = table_of(spec, table([row]) | {"id": pa.array([1, 2])})
    try:
        found = [one for part in row_match.compile(spec).run(rows) for one in part.to_pylist()]
    except CepDataError as error:
        return error.code
    return bool(found)


@given(conditions(3), st.lists(rows, min_size=1, max_size=4))
@draws(800)
def test_as_python(condition: SparkFunction, some: list[Row]) -> None:
    event("in words" if in_words(condition) is not None else "by Python")
    for row in some:
        expected = by_python(condition, row)
        event(f"an error: {isinstance(expected, str)}")
        assert by_engine(condition, row) == expected


PRICE_A, PRICE_B = leaf("price", "A"), leaf("price", "B")
RATIO = arithmetic("Divide", PRICE_B, PRICE_A, "ANSI")
GROWTH = arithmetic("Divide", arithmetic("Subtract", PRICE_B, PRICE_A, "ANSI"), PRICE_A, "ANSI")
REST = apply("Remainder", "int", apply("Subtract", "int", leaf("int", "B"), leaf("int", "A")), Constant(10, "int"))
DAYS = apply("SubtractDates", "interval day", leaf("date", "B"), leaf("date", "A"))


def above(value: Any, constant: Constant) -> SparkFunction:
    return apply("GreaterThan", "boolean", value, cast(constant, value.type))


@pytest.mark.parametrize(
    "condition, holds",
    [
        (above(RATIO, Constant("1.05", "decimal(3,2)")), True),
        (above(RATIO, Constant("1.10", "decimal(3,2)")), False),
        (above(GROWTH, Constant("0.05", "decimal(3,2)")), True),
        (above(apply("Round", "decimal(13,2)", RATIO, Constant(2, "int")), Constant("1.06", "decimal(3,2)")), False),
        (apply("EqualTo", "boolean", REST, Constant(0, "int")), True),
        (above(apply("Greatest", "decimal(10,2)", PRICE_A, PRICE_B), Constant("100.99", "decimal(5,2)")), True),
        (above(DAYS, Constant(86_400_000_000, "interval day")), True),
        (above(DAYS, Constant(2 * 86_400_000_000, "interval day")), False),
    ],
)  # fmt: skip
def test_python_is_not_asked(monkeypatch: pytest.MonkeyPatch, condition: SparkFunction, holds: bool) -> None:
    """What has room in a word."""

    def never(*_: Any) -> int:
        raise AssertionError

    row = dict.fromkeys(COLUMNS, (None, None)) | {
        "price": (Decimal("95238.09"), Decimal("100999.99")),
        "int": (7, 17),
        "date": (1, 3),
    }
    assert by_python(condition, row) is holds
    monkeypatch.setattr(calls.Calls, "_evaluate", never)
    assert by_engine(condition, row) is holds


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the conditions that Python is asked."""
    asked: list[int] = []
    evaluate = calls.Calls._evaluate

    def counted(self: calls.Calls, *arguments: int) -> int:
        asked.append(arguments[0])
        return evaluate(self, *arguments)

    monkeypatch.setattr(calls.Calls, "_evaluate", counted)
    return asked


def test_python_is_asked_where_a_value_has_no_room(asked: list[int]) -> None:
    """A quotient with 13 places of which 7 are before the point."""
    row = dict.fromkeys(COLUMNS, (None, None)) | {"price": (Decimal("0.01"), Decimal("99999.99"))}
    assert by_engine(above(RATIO, Constant("1.05", "decimal(3,2)")), row) is True
    assert asked == [0]


def test_wide_decimals(asked: list[int]) -> None:
    """Python is asked of a value of more than 18 digits, not of others in its column."""
    rising = apply("GreaterThan", "boolean", leaf("wide", "B"), leaf("wide", "A"))
    for pair, holds, times in (("1.0", "2.5"), True, 0), (("1.0", "9" * 20), True, 1), (("9" * 20, "9" * 21), True, 1):
        asked.clear()
        row = dict.fromkeys(COLUMNS, (None, None)) | {"wide": (Decimal(pair[0]), Decimal(pair[1]))}
        assert by_engine(rising, row) is holds and len(asked) == times


def test_what_has_no_words_is_python_s() -> None:
    joined = apply("Concat", "string", SparkFunction("Source", "string", (of.last("s", "A"),)), Constant("x", "string"))
    assert in_words(apply("EqualTo", "boolean", joined, Constant("xx", "string"))) is None
    without_room = above(leaf("wide", "B"), Constant(str(10**19), "decimal(38,2)"))
    assert in_words(without_room) is None and in_words(without_room, 38) is not None

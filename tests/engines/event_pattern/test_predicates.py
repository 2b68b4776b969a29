"""Predicates between events: types, three-valued logic, and what happens where a value is an error."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sparkcep.engines.event_pattern.candidates import equality
from sparkcep.engines.event_pattern.planner.plan import conjuncts, predicate_class
from sparkcep.errors import CepDataError, CepUnsupportedError
from sparkcep.pattern.event import Element, Not, Seq
from sparkcep.spec.expression import Call
from tests.engines.event_pattern.oracle import matches
from tests.engines.event_pattern.streams import Clause, answer, call, stream, texts, where

A, B, C = (Element(name.lower(), (name,)) for name in "ABC")
NAN = float("nan")
INT64_MAX = 2**63 - 1
DECIMAL = pa.decimal128(10, 2)


def pairs(condition: Call, x: list[Any], arrow_type: pa.DataType) -> list[str]:
    """Matches of SEQ(A a, B b) WHERE condition over ``a1 a2 b1 b2`` with the given values of column x."""
    clause = Clause(Seq((A, B)), predicates=where(condition))
    return texts(answer(clause, stream("a1 a2 b1 b2", x=x), {"x": arrow_type}))


EQUAL = call("eq", "a.x", "b.x")
FILTERED_EQUAL = call("or", EQUAL, EQUAL)
EQUAL_VALUES = [
    ("integer", [1, 2, 2, 1], pa.int32()),
    ("extreme integers", [-(2**63), INT64_MAX, INT64_MAX, -(2**63)], pa.int64()),
    ("string", ["é", "", "", "é"], pa.string()),
    ("large string", ["é", "", "", "é"], pa.large_string()),
    ("binary", [b"\xff", b"", b"", b"\xff"], pa.binary()),
    ("boolean", [True, False, False, True], pa.bool_()),
    ("NaN and zeros", [NAN, 0.0, -0.0, NAN], pa.float64()),
    ("float", [NAN, 0.0, -0.0, NAN], pa.float32()),
    ("decimal", [Decimal("1.20"), Decimal(2), Decimal("2.00"), Decimal("1.2")], DECIMAL),
    ("date", [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 2), date(2024, 1, 1)], pa.date32()),
    ("timestamp", [datetime(2024, 1, day) for day in (1, 2, 2, 1)], pa.timestamp("us", "UTC")),
]


@pytest.mark.parametrize(("values", "arrow_type"), [c[1:] for c in EQUAL_VALUES], ids=[c[0] for c in EQUAL_VALUES])
@pytest.mark.parametrize("condition", [EQUAL, FILTERED_EQUAL], ids=["searched", "filtered"])
def test_equality(condition: Call, values: list[Any], arrow_type: pa.DataType) -> None:
    assert pairs(condition, values, arrow_type) == ["a1 b2", "a2 b1"]


@pytest.mark.parametrize("condition", [EQUAL, FILTERED_EQUAL, call("ne", "a.x", "b.x")])
def test_null_equals_nothing(condition: Call) -> None:
    assert pairs(condition, [None, None, None, 1], pa.int64()) == []


DISTANCE = call("abs", call("sub", "b.x", "a.x"))
COMPARED = [
    ("NaN is largest", call("lt", "a.x", "b.x"), [1.0, float("inf"), NAN, -1.0], pa.float64(), ["a1 b1", "a2 b1"]),
    ("NaN is not less than NaN", call("lt", "a.x", "b.x"), [NAN, NAN, NAN, 1.0], pa.float64(), []),
    ("bytes of UTF-8", call("lt", "a.x", "b.x"), ["z", "\uffff", "\U0001f600", "a"], pa.string(), ["a1 b1", "a2 b1"]),
    ("booleans", call("gt", "a.x", "b.x"), [True, False, False, True], pa.bool_(), ["a1 b1"]),
    ("null safe", call("eq_null_safe", "a.x", "b.x"), [None, 1, None, 1], pa.int64(), ["a1 b1", "a2 b2"]),
    (
        "is null",
        call("or", call("is_null", "a.x"), call("lt", "a.x", "b.x")),
        [None, 1, None, 2],
        pa.int64(),
        ["a1 b1", "a1 b2", "a2 b2"],
    ),
    ("not of NULL", call("not", call("lt", "a.x", "b.x")), [None, 3, None, 2], pa.int64(), ["a2 b2"]),
    (
        "map is null",
        call("and", call("is_null", "a.x"), call("not", call("is_null", "b.x"))),
        [None, {"k": 1}, None, {"k": 1}],
        pa.map_(pa.string(), pa.int32()),
        ["a1 b2"],
    ),
    (
        "decimal sum",
        call("eq", call("add", "a.x", "b.x"), call("add", "b.x", "a.x")),
        [Decimal("0.10"), None, Decimal("0.20"), Decimal("-1.5")],
        DECIMAL,
        ["a1 b1", "a1 b2"],
    ),
    (
        "decimal product",
        call("gt", call("mul", "a.x", "b.x"), call("mul", "b.x", "b.x")),
        [Decimal("0.10"), Decimal("0.30"), Decimal("0.20"), Decimal("-1.50")],
        DECIMAL,
        ["a2 b1"],
    ),
    ("int32 sum", call("gt", call("add", "a.x", "b.x"), "b.x"), [1, -1, 2, 3], pa.int32(), ["a1 b1", "a1 b2"]),
    ("int32 distance", call("lt", DISTANCE, "b.x"), [1, -1, 2, 5], pa.int32(), ["a1 b1", "a1 b2"]),
    (
        "distance from NaN",
        call("le", DISTANCE, "b.x"),
        [1.0, 9.0, NAN, 5.0],
        pa.float64(),
        ["a1 b1", "a1 b2", "a2 b1", "a2 b2"],
    ),
    (
        "decimal distance",
        call("lt", DISTANCE, "b.x"),
        [Decimal("3.50"), None, Decimal("2.00"), Decimal("1.7")],
        DECIMAL,
        ["a1 b1"],
    ),
    ("quotient", call("gt", call("div", "a.x", "b.x"), "b.x"), [8.0, 2.0, 2.0, 4.0], pa.float64(), ["a1 b1"]),
    ("NULL by zero", call("gt", call("div", "a.x", "b.x"), "b.x"), [None, None, 0.0, 4.0], pa.float64(), []),
]


@pytest.mark.parametrize(
    ("condition", "values", "arrow_type", "expected"), [c[1:] for c in COMPARED], ids=[c[0] for c in COMPARED]
)
def test_comparison(condition: Call, values: list[Any], arrow_type: pa.DataType, expected: list[str]) -> None:
    assert pairs(condition, values, arrow_type) == expected


def test_interval_between_events() -> None:
    rows = stream("a1 a2 b1", ts=[datetime(2024, 1, 1), datetime(2024, 1, 3), datetime(2024, 1, 4)])
    rows = [{**row, "wait": timedelta(days=2), "day": row["ts"].date()} for row in rows]
    types = {"ts": pa.timestamp("us"), "wait": pa.duration("us"), "day": pa.date32()}
    for column in ("ts", "day"):
        near = call("lt", call("sub", f"b.{column}", f"a.{column}"), "b.wait")
        assert texts(answer(Clause(Seq((A, B)), predicates=where(near)), rows, types)) == ["a2 b1"]


SUM = call("gt", call("add", "a.x", "b.x"), "a.x")
PRODUCT = call("gt", call("mul", "a.x", "b.x"), "a.x")
FAULTY = [
    ("bigint sum", SUM, [INT64_MAX, 1, 1, 1], pa.int64(), "ARITHMETIC_OVERFLOW"),
    ("bigint product", PRODUCT, [2**62, 1, 4, 1], pa.int64(), "ARITHMETIC_OVERFLOW"),
    ("int sum", SUM, [2**31 - 1, 1, 1, 1], pa.int32(), "ARITHMETIC_OVERFLOW"),
    ("abs of the least", call("gt", call("abs", "b.x"), "a.x"), [1, 1, -(2**63), 1], pa.int64(), "ARITHMETIC_OVERFLOW"),
    (
        "abs of the least int",
        call("gt", call("abs", "b.x"), "a.x"),
        [1, 1, -(2**31), 1],
        pa.int32(),
        "ARITHMETIC_OVERFLOW",
    ),
    ("zero", call("gt", call("div", "a.x", "b.x"), "a.x"), [1.0, 1.0, 0.0, 1.0], pa.float64(), "DIVIDE_BY_ZERO"),
]


@pytest.mark.parametrize(
    ("condition", "values", "arrow_type", "code"), [c[1:] for c in FAULTY], ids=[c[0] for c in FAULTY]
)
def test_errors_in_values(condition: Call, values: list[Any], arrow_type: pa.DataType, code: str) -> None:
    with pytest.raises(CepDataError, match=code):
        pairs(condition, values, arrow_type)
    with pytest.raises(CepDataError, match=code):
        negated = Clause(Seq((A, Not(B), C)), predicates=where(condition))
        answer(negated, stream("a1 a2 b1 b2 c1", x=[*values, None]), {"x": arrow_type})


def test_an_error_counts_only_where_all_else_holds() -> None:
    rows = stream("a1 a2 b1 c1", x=[INT64_MAX, 1, 1, 2])
    later = where(SUM, call("lt", "a.x", "c.x"))
    assert texts(answer(Clause(Seq((A, B, C)), predicates=later), rows)) == ["a2 b1 c1"]
    guarded = where(call("or", call("gt", "a.x", "b.x"), SUM))
    assert texts(answer(Clause(Seq((A, B)), predicates=guarded), rows)) == ["a1 b1", "a2 b1"]
    shielded = where(call("and", call("le", "a.x", "b.x"), SUM))
    assert texts(answer(Clause(Seq((A, B)), predicates=shielded), rows)) == ["a2 b1"]


REFUSED = [
    ("map equality", EQUAL, [{"k": 1}] * 4, pa.map_(pa.string(), pa.int32()), "EQUALITY"),
    ("map order", call("lt", "a.x", "b.x"), [{"k": 1}] * 4, pa.map_(pa.string(), pa.int32()), "COMPARISON"),
    ("string sum", call("eq", call("add", "a.x", "b.x"), "a.x"), ["x"] * 4, pa.string(), "ARITHMETIC"),
    ("wide decimal", PRODUCT, [Decimal(1)] * 4, pa.decimal128(38, 2), "DECIMAL_PRECISION"),
    ("scales", PRODUCT, [Decimal(1)] * 4, DECIMAL, "COMPARISON"),
    ("no condition", call("add", "a.x", "b.x"), [1] * 4, pa.int64(), "PREDICATE"),
    ("NOT of a number", call("not", call("add", "a.x", "b.x")), [1] * 4, pa.int64(), "PREDICATE"),
]


@pytest.mark.parametrize(
    ("condition", "values", "arrow_type", "code"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_refused_types(condition: Call, values: list[Any], arrow_type: pa.DataType, code: str) -> None:
    with pytest.raises(CepUnsupportedError, match=code):
        pairs(condition, values, arrow_type)


@pytest.mark.parametrize("limit", [1, 60, 1 << 62])
def test_equalities_that_do_not_fit_a_key(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """With a low limit some or all equalities are compared instead of searched; the matches are the same."""
    monkeypatch.setattr(equality, "CODE_LIMIT", limit)
    equal = [call("eq", f"{x}.{column}", f"{y}.{column}") for column in "xy" for x, y in ("ab", "bc", "an", "cn")]
    clause = Clause(Seq((A, B, Not(Element("n", ("N",))), C)), predicates=where(*equal))
    x, y = [1, 1, None, 1, 2, 1, 2, 1, 1, 2], [5, 6, 5, 5, 6, 6, None, 6, 5, 6]
    rows = stream("a1 a2 a3 b1 b2 n1 n2 b3 c1 c2", x=x, y=y)
    rows += [{**row, "id": row["id"] + "'", "key": 1} for row in rows]
    assert answer(clause, rows) == matches(clause, rows) != []


def test_equality_is_followed_through_other_variables() -> None:
    """a = b and b = c give a = c: c is searched by a's value when b, the most frequent, is still unbound."""
    clause = Clause(Seq((A, B, C)), predicates=where(call("eq", "a.x", "b.y"), call("eq", "b.y", "c.x")))
    rows = stream("a1 a2 b1 b2 b3 c1", x=[1, 2, None, None, None, 1], y=[None, None, 1, 2, 1, None])
    assert texts(answer(clause, rows, {"x": pa.int64(), "y": pa.int64()})) == ["a1 b1 c1", "a1 b3 c1"]


def _between(value: str, low: str, high: str) -> Call:
    return call("and", call("ge", value, low), call("le", value, high))


@pytest.mark.parametrize(
    "condition",
    [
        _between("b.x", "a.x", "c.x"),
        _between("b.x", "a.x", "a.y"),
        _between("n.x", "a.x", "c.x"),
        _between("a.x", "n.x", "c.x"),
    ],
    ids=["three events", "two events", "negated", "a bound that is negated"],
)
def test_between_events(condition: Call) -> None:
    """A BETWEEN of positive events is searched as two ranges; over a negated event it stays whole: both halves decide whether it counts."""
    clause = Clause(Seq((A, Not(Element("n", ("N",))), B, C)), predicates=where(condition))
    x, y = [1, 5, 2, 4, 3, 6, 2, None, 3, 5, 2], [4, 7, 0, 0, 0, 0, 3, 0, 0, 0, 0]
    rows = stream("a1 a2 b1 b2 n1 n2 a3 b3 c1 c2 c3", x=x, y=y)
    assert answer(clause, rows) == matches(clause, rows) != []


def test_class_of_a_conjunction() -> None:
    (both,) = where(_between("b.x", "a.x", "a.y"))
    assert predicate_class(both) == "range"
    assert [part.text for part in conjuncts(both)] == [both.text] * 2
    (mixed,) = where(call("and", call("eq", "a.x", "b.x"), call("lt", "a.y", "b.y")))
    assert predicate_class(mixed) == "equality"
    assert conjuncts(*where(call("or", EQUAL, EQUAL))) == where(call("or", EQUAL, EQUAL))

"""Conditions that Python evaluates: the search around them is the same, with its memory, its budget and its errors."""

from __future__ import annotations

import time
from typing import Any

import pytest

from sparkcep.engines.row_match import engine as row_match
from sparkcep.engines.row_match.calls import Lists
from sparkcep.errors import CepDataError, CepLimitError
from sparkcep.spec.expression import Call, Constant, SparkFunction
from sparkcep.spec.row import Aggregate
from tests.engines.row_match import conditions as of
from tests.engines.row_match.helpers import labels, spans, spec_of, table_of
from tests.engines.row_pattern.helpers import A, B, C, alt, plus, seq, star


def value(source: Any, kind: str) -> SparkFunction:
    return SparkFunction("Source", kind, (source,), text="value")


def apply(name: str, kind: str, *arguments: Any, settings: tuple[str, ...] = ()) -> SparkFunction:
    return SparkFunction(name, kind, arguments, settings, name.lower())


def path() -> SparkFunction:
    """``array_join(array_agg(CLASSIFIER()), '')``."""
    names = value(Aggregate("array_agg", None, None, True), "array<string>")
    return apply("ArrayJoin", "string", names, Constant("", "string"))


def equals(left: SparkFunction, text: str) -> SparkFunction:
    return apply("EqualTo", "boolean", left, Constant(text, "string"))


def test_path_of_variables() -> None:
    found = labels(seq(plus(alt(A, B)), C), of.define("C", equals(path(), "ABC")), columns={"v": [1, 2, 3]})
    assert found == ["ABC"]


def test_slow_and_native_parts_in_one_condition() -> None:
    native = of.call("lt", of.last("v", "A"), of.current("v"))
    condition = Call("and", (native, Call("not", (equals(path(), "AB"),))))
    assert labels(seq(plus(A), B), of.define("B", condition), columns={"v": [1, 2, 3]}) == ["AAB"]


def test_values_of_rows() -> None:
    """``concat(LAST(A.s), s) = 'xz'`` with NULLs, and a sum that Python reads."""
    joined = apply("Concat", "string", value(of.last("s", "A"), "string"), value(of.current("s"), "string"))
    assert (
        spans(
            seq(A, star(A), B), of.define("B", equals(joined, "xz")), columns={"id": [1, 2, 3], "s": ["x", None, "z"]}
        )
        == []
    )
    assert spans(seq(A, B), of.define("B", equals(joined, "xz")), columns={"id": [1, 2, 3], "s": [None, "x", "z"]}) == [
        (2, 3)
    ]
    total = apply("GreaterThan", "boolean", value(of.total("sum", "v", "A"), "bigint"), Constant(4, "bigint"))
    assert spans(seq(plus(A), B), of.define("B", total), columns={"id": [1, 2, 3, 4], "v": [1, 2, 3, 4]}) == [(1, 4)]


def test_failures_are_remembered() -> None:
    """Lists of the same values are one list: rows x lengths, not 2^rows."""
    values = apply("ArrayMax", "bigint", value(Aggregate("array_agg", "v", ("A", "B"), True), "array<bigint>"))
    never = apply("GreaterThan", "boolean", values, Constant(9, "bigint"))
    began = time.perf_counter()
    assert labels(seq(plus(alt(A, B)), C), of.define("C", never), columns={"v": [1, 2, 3] * 13}) == []
    assert time.perf_counter() - began < 20


def test_step_budget() -> None:
    never = equals(path(), "none")
    spec = spec_of(seq(plus(alt(A, B)), C), of.define("C", never))
    with pytest.raises(CepLimitError, match="MATCH_STEPS"):
        list(row_match.compile(spec, 20_000).run(table_of(spec, {"id": list(range(60))})))


def test_errors_say_where() -> None:
    one_over = apply("Divide", "double", Constant(1.0, "double"), value(of.current("v"), "double"), settings=("ANSI",))
    condition = apply("GreaterThan", "boolean", one_over, Constant(0.0, "double"))
    with pytest.raises(CepDataError, match=r"DIVIDE_BY_ZERO.*condition of B \(1 / v > 0\) at row 2 of its partition"):
        spans(seq(A, B), of.define("B", condition, "1 / v > 0"), columns={"id": [1, 2], "v": [1.0, 0.0]})


def test_lists_are_named_by_their_values() -> None:
    lists = Lists()
    one = lists.extended(0, 0, 1.5)
    assert lists.extended(0, 0, 1.5) == one != lists.extended(1, 0, 1.5)
    two = lists.extended(0, one, None)
    assert lists.content(two) == [1.5, None] and lists.content(0) == []
    lists.forget()
    assert lists.extended(0, 0, 1.5) > two

"""Conditions on a row and rows next to it, tested in batches of any size, against the definitions of the operators."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.engines.adjacent import AdjacentTests
from sparkcep.errors import CepDataError
from sparkcep.pattern.row import Variable
from sparkcep.spec.expression import Call, Constant
from sparkcep.spec.row import ColumnAt, Define, Navigation, RowPatternSpec
from tests.draws import draws

LARGEST = (1 << 31) - 1
TYPES = {"n": pa.int32(), "f": pa.float64(), "s": pa.string(), "b": pa.bool_(), "t": pa.timestamp("us", "UTC")}
SPARK = {"n": "int", "f": "double", "b": "boolean"}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "n": st.one_of(st.none(), st.integers(-3, 3)),
    "f": st.one_of(st.none(), st.sampled_from([math.nan, math.inf, -0.0, 0.0, 1.5, -2.0])),
    "s": st.sampled_from([None, "", "a", "b", "é"]),
    "b": st.sampled_from([None, True, False]),
    "t": st.one_of(st.none(), st.integers(-2, 2)),
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe")


def at(column: str, back: int = 0) -> ColumnAt:
    return ColumnAt(column, Navigation(running=True, physical=-back))


def spec(condition: Any, variables: int = 1) -> RowPatternSpec:
    names = tuple(f"v{i}" for i in range(variables))
    masks = tuple(f"mask{i}" for i in range(1 + variables // 62))
    adjacent = (Define(names[-1], condition, "the condition"),)
    return RowPatternSpec(names, Variable(names[-1]), masks, (), "{}", adjacent=adjacent)


def leaf(column: str) -> st.SearchStrategy[Any]:
    columns = st.integers(-2, 3).map(lambda back: at(column, back))
    if column not in SPARK:
        return columns
    return st.one_of(columns, columns, VALUES[column].map(lambda value: Constant(value, SPARK[column])))


def value(column: str) -> st.SearchStrategy[Any]:
    if column not in ("n", "f"):
        return leaf(column)
    computed = st.builds(
        lambda operator, left, right: Call(operator, (left, right)),
        st.sampled_from(["add", "sub", "mul"]),
        leaf(column),
        leaf(column),
    )
    return st.one_of(leaf(column), computed, leaf(column).map(lambda one: Call("abs", (one,))))


@st.composite
def comparison(draw: st.DrawFn) -> Call:
    column = draw(st.sampled_from(sorted(TYPES)))
    if draw(st.integers(0, 5)) == 0:
        return Call("is_null", (draw(value(column)),))
    return Call(draw(st.sampled_from(COMPARISONS)), (draw(value(column)), draw(value(column))))


conditions = st.recursive(
    st.one_of(comparison(), comparison(), leaf("b")),
    lambda inner: st.one_of(
        inner.map(lambda one: Call("not", (one,))),
        st.builds(
            lambda operator, parts: Call(operator, tuple(parts)),
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3),
        ),
    ),
    max_leaves=5,
)


def truth(node: Any, rows: list[dict[str, Any]], row: int, first: int, last: int) -> Any:
    """The value of a condition, or of a part of it, in a row of the partition of the rows from ``first`` to before ``last``."""
    match node:
        case Constant():
            return node.value
        case ColumnAt():
            there = row + node.at.physical
            return rows[there][node.column] if first <= there < last else None
        case Call(operator="and" | "or"):
            parts = [truth(part, rows, row, first, last) for part in node.arguments]
            end = node.operator == "or"
            return end if end in parts else None if None in parts else not end
    values = [truth(part, rows, row, first, last) for part in node.arguments]
    if node.operator == "is_null":
        return values[0] is None
    if node.operator == "eq_null_safe":
        return values[0] is values[1] is None or (None not in values and key(values[0]) == key(values[1]))
    if None in values:
        return None
    if node.operator in ("not", "abs"):
        return not values[0] if node.operator == "not" else abs(values[0])
    left, right = values
    if node.operator in ("add", "sub", "mul"):
        return {"add": left + right, "sub": left - right, "mul": left * right}[node.operator]
    one, two = key(left), key(right)
    tests = {"eq": one == two, "ne": one != two, "lt": one < two, "le": one <= two, "gt": one > two, "ge": one >= two}
    return tests[node.operator]


def key(one: Any) -> Any:
    """What sorts as Spark does: NaN above all numbers, text by its bytes."""
    if isinstance(one, str):
        return one.encode()
    return (math.isnan(one), 0 if math.isnan(one) else one)


def bits_left(condition: Any, table: pa.Table, size: int, variables: int = 1) -> list[int]:
    """The last mask of each row."""
    tests = AdjacentTests(spec(condition, variables))
    parts = [part for batch in table.to_batches(max_chunksize=size) for part in tests.come(batch)]
    parts += tests.end()
    assert all(part.schema.equals(table.schema) for part in parts)
    return pa.Table.from_batches(parts, table.schema).column(-1).to_pylist()


@draws(600)
@given(
    conditions,
    st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.fixed_dictionaries(VALUES)), min_size=1, max_size=12),
    st.integers(1, 12),
)
def test_bits_stay_where_the_condition_is_true(condition: Any, drawn: list[Any], size: int) -> None:
    rows = [row for _, _, row in drawn]
    begins = [i == 0 or kind == 0 for i, (kind, _, _) in enumerate(drawn)]
    bits = [2 * bit for _, bit, _ in drawn]
    mask = pa.array([begin + bit for begin, bit in zip(begins, bits, strict=True)], pa.int32())
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}
    found = bits_left(condition, pa.table({**columns, "mask0": mask}), size)
    borders = [i for i, begin in enumerate(begins) if begin] + [len(rows)]
    for first, last in pairwise(borders):
        for i in range(first, last):
            holds = bits[i] and truth(condition, rows, i, first, last) is True
            assert found[i] == begins[i] + (2 if holds else 0)


def numbers(values: list[int | None], mask: list[int]) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int32()), "mask0": pa.array(mask, pa.int32())})


def test_a_sum_overflows_where_its_value_matters_only() -> None:
    """Not in rows that the rest of the condition excludes, nor behind FALSE AND."""
    rises = Call("gt", (Call("add", (at("n"), Constant(1, "int"))), at("n", 1)))
    assert bits_left(rises, numbers([1, LARGEST, 3], [3, 0, 2]), 2) == [1, 0, 0]
    guarded = Call("and", (Call("lt", (at("n"), Constant(9, "int"))), rises))
    assert bits_left(guarded, numbers([1, LARGEST, 3, 3], [3, 2, 2, 2]), 2) == [1, 0, 0, 2]
    with pytest.raises(CepDataError, match="v0 AS the condition overflows"):
        bits_left(rises, numbers([1, LARGEST, 3], [3, 2, 2]), 2)
    short = Call("lt", (Call("mul", (at("n"), at("n", 1))), Constant(9, "int")))
    assert bits_left(short, numbers([1 << 15, None, 1 << 16], [3, 2, 2]), 3) == [1, 0, 0]
    with pytest.raises(CepDataError):
        bits_left(short, numbers([1 << 15, 1 << 16], [3, 2]), 3)


def test_a_division_by_zero() -> None:
    ratio = Call("gt", (Call("div", (Call("sub", (at("n"), at("n", 1))), at("n", 1))), Constant(0.5, "double")))
    assert bits_left(ratio, numbers([2, 4, 5, None, 0], [3, 2, 2, 2, 2]), 2) == [1, 2, 0, 0, 0]
    with pytest.raises(CepDataError, match="divides by zero"):
        bits_left(ratio, numbers([0, 4], [3, 2]), 2)
    assert bits_left(ratio, numbers([0, None, 0], [3, 2, 2]), 2) == [1, 0, 0]


def test_a_bit_of_the_second_mask() -> None:
    table = pa.table({"n": [1, 2, 1], "mask0": [1, 6, 6], "mask1": [1 << 3, 1 << 3, 1 << 3]})
    assert bits_left(Call("gt", (at("n"), at("n", 1))), table, 2, variables=65) == [0, 8, 0]

"""Kleene closures beyond the corpus: empty versus NULL, limits, memory, pruning, mixed conditions, errors."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from sparkcep.engines.event_pattern.engine import compile
from sparkcep.engines.event_pattern.search import growth
from sparkcep.errors import CepAnalysisError, CepDataError, CepLimitError, CepUnsupportedError
from sparkcep.pattern.event import Element, Not, Or, Seq
from sparkcep.spec.expression import AggregateOf, Call, ColumnOf, ElementOf
from tests.engines.event_pattern.streams import Clause, call, stream, table, where

A, B, C, D = (Element(name.lower(), (name,)) for name in "ABCD")
BS = Element("b", ("B",), 1, None)
BI, BLAST = ElementOf("b", "x"), ElementOf("b", "x", "last")
XS = {"x": pa.int64()}


def found(clause: Clause, rows: Any, types: dict[str, pa.DataType] | None = None, **options: int) -> list[str]:
    """Each match as ``a=a1 b=b1,b2 c=-`` (- is NULL), sorted."""
    columns = [element.variable for element in (A, B, C, D)]
    tables = compile(clause.spec()).run(table(clause, rows, types), **options)
    lines = [row for part in tables for row in part.to_pylist()]
    return sorted(" ".join(f"{name}={_text(row[name])}" for name in columns if name in row) for row in lines)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return ",".join(event["id"] for event in value) if isinstance(value, list) else value["id"]


def xs(text: str, *values: Any) -> Any:
    return stream(text, x=values)


def test_empty_where_none_was_taken_null_where_the_branch_was_not() -> None:
    star = Element("b", ("B",), 0, None)
    assert found(Clause(Seq((A, star, C))), stream("a1 c1")) == ["a=a1 b= c=c1"]
    either = Seq((A, Or((Seq((star, C)), D))))
    assert found(Clause(either), stream("a1 c1 d1")) == ["a=a1 b= c=c1 d=-", "a=a1 b=- c=- d=d1"]


def test_an_element_condition_with_the_whole_closure() -> None:
    """``b[i].x <= b[LAST].x``: every element, not the last one alone."""
    rows = xs("b1 b2 b3", 1, 3, 2)
    clause = Clause(BS, predicates=where(Call("le", (BI, BLAST))))
    assert found(clause, rows, XS) == ["b=b1", "b=b1,b2", "b=b1,b3", "b=b2", "b=b3"]


def test_two_terms_of_one_event_in_an_equality_class() -> None:
    """b.x = a.x and b.y = a.x: no state but b's own can see that b.x = b.y."""
    rows = stream("a1 b1 b2", x=[1, 1, 1], y=[0, 2, 1])
    both = where(call("eq", "a.x", "b.x"), call("eq", "a.x", "b.y"))
    types = {"x": pa.int64(), "y": pa.int64()}
    assert found(Clause(Seq((A, B)), predicates=both), rows, types) == ["a=a1 b=b2"]


def test_elements_equal_to_a_later_variable() -> None:
    """Bound first, the closure's elements must already agree with each other."""
    clause = Clause(Seq((BS, C)), predicates=where(Call("eq", (BI, ColumnOf("c", "x")))))
    rows = xs("b1 b2 b3 c1", 1, 2, 1, 1)
    expected = ["b=b1 c=c1", "b=b1,b3 c=c1", "b=b3 c=c1"]
    assert found(clause, rows, XS) == expected
    eager = replace(clause.spec(), engine="eager")
    tables = compile(eager).run(table(clause, rows, XS))
    assert sum(part.num_rows for part in tables) == 3


def many(count: int) -> pa.Table:
    return pa.table({"mask0": [3] + [2] * (count - 1), **{name: range(count) for name in ("rank", "time", "id")}})


def test_the_limit_names_the_closure() -> None:
    with pytest.raises(CepLimitError, match=r"events in the closure b: every set") as caught:
        for _ in compile(Clause(BS).spec()).run(many(1000), max_partial_matches=100_000):
            pass
    assert "b[i]" in str(caught.value.hint)


def test_memory_is_bounded_while_a_thousand_sizes_grow() -> None:
    """Without smaller chunks for longer closures there would be a thousand chunks of 2 MB per column."""
    clause = Clause(Element("b", ("B",), 990, None))
    tracemalloc.start()
    assert next(compile(clause.spec()).run(many(1000), chunk=1 << 16)).num_rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300_000_000


def test_a_consumer_may_stop_early() -> None:
    assert next(compile(Clause(BS).spec()).run(many(500))).num_rows


SUM, COUNT = AggregateOf("sum", "b", "x"), AggregateOf("count", "b")


@pytest.mark.parametrize(
    ("condition", "values", "count"),
    [
        (Call("le", (SUM, ColumnOf("a", "x"))), [2] + [1] * 40, 40 + 780),
        (Call("eq", (ColumnOf("a", "x"), COUNT)), [2] + [1] * 40, 780),
        (Call("gt", (SUM, ColumnOf("a", "x"))), [-3] + [-1] * 40, 40 + 780),
        (Call("lt", (AggregateOf("max", "b", "x"), ColumnOf("a", "x"))), [2] + [5] * 39 + [1], 1),
        (Call("ge", (AggregateOf("min", "b", "x"), ColumnOf("a", "x"))), [2] + [1] * 39 + [5], 1),
    ],
    ids=["sum", "count", "negative sum", "max", "min"],
)
def test_growth_stops_where_an_aggregate_has_failed_for_good(condition: Call, values: list[int], count: int) -> None:
    """Without ``dooms`` 2^40 closures would be tried."""
    rows = xs(" ".join(["a", *(f"b{i}" for i in range(40))]), *values)
    clause = Clause(Seq((A, BS)), predicates=where(condition))
    assert len(found(clause, rows, XS, max_partial_matches=20_000)) == count
    with patch.object(growth, "doom", lambda *_: None), pytest.raises(CepLimitError):
        found(clause, rows, XS, max_partial_matches=20_000)


def test_a_sum_of_both_signs_is_not_pruned() -> None:
    rows = xs("a1 b1 b2", 3, 5, -2)
    clause = Clause(Seq((A, BS)), predicates=where(Call("le", (SUM, ColumnOf("a", "x")))))
    assert found(clause, rows, XS) == ["a=a1 b=b1,b2", "a=a1 b=b2"]


def test_neighbours_equal_by_the_buffer_search() -> None:
    """``b[i].x = b[i-1].y`` finds each next element; trying all pairs would pass the limit."""
    count = 2000
    rows = stream(" ".join(["b"] * count), x=range(count), y=range(1, count + 1))
    step = Call("eq", (BI, ElementOf("b", "y", "previous")))
    clause = Clause(Element("b", ("B",), 1, 3), predicates=where(step))
    types = {"x": pa.int64(), "y": pa.int64()}
    tables = compile(clause.spec()).run(table(clause, rows, types), max_partial_matches=3 * count)
    assert sum(part.num_rows for part in tables) == 3 * count - 3


def test_a_sum_that_leaves_bigint_is_an_error() -> None:
    rows = xs("b1 b2", 1 << 62, 1 << 62)
    clause = Clause(BS, predicates=where(Call("gt", (SUM, BLAST))))
    with pytest.raises(CepDataError, match="OVERFLOW"):
        found(clause, rows, XS)
    assert found(replace(clause, pattern=Element("b", ("B",), 1, 1 + 1), within=1), rows, XS) == []


def test_not_of_a_closure_with_a_condition() -> None:
    """No two rising Bs may lie in between."""
    rising = where(Call("gt", (BI, ElementOf("b", "x", "previous"))))
    clause = Clause(Seq((A, Not(Element("b", ("B",), 2, None)), C)), predicates=rising)
    assert found(clause, xs("a1 b1 b2 c1", 0, 2, 1, 0), XS) == ["a=a1 c=c1"]
    assert found(clause, xs("a1 b1 b2 c1", 0, 1, 2, 0), XS) == []


def test_refusals() -> None:
    other = Element("a", ("A",), 1, None)
    pairs = where(Call("lt", (BI, ElementOf("a", "x"))))
    with pytest.raises(CepUnsupportedError, match="TWO_CLOSURES"):
        compile(Clause(Seq((other, BS)), predicates=pairs).spec())
    with pytest.raises(CepAnalysisError, match="KLEENE_REFERENCE"):
        compile(Clause(Seq((A, BS)), predicates=where(call("lt", "a.x", "b.x"))).spec())
    with pytest.raises(CepAnalysisError, match="KLEENE_REFERENCE"):
        compile(Clause(Seq((A, B)), predicates=where(Call("lt", (BI, ColumnOf("a", "x"))))).spec())

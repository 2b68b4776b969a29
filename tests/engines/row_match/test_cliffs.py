"""Where backtracking engines fall off: failures met again and again, long matches, exponential searches."""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from sparkcep.engines.row_match import engine as row_match
from sparkcep.engines.row_match import search
from sparkcep.engines.row_match.search import MAX_STEPS
from sparkcep.errors import CepLimitError
from sparkcep.spec.row import RowPatternSpec, Skip
from tests.engines.row_match import conditions as of
from tests.engines.row_match.helpers import spec_of, table_of
from tests.engines.row_pattern.helpers import A, B, C, alt, hidden, plus, seq, star

GENEROUS = 5.0
"""Seconds for what takes well under one; what is quadratic or worse takes minutes."""


def answer(spec: RowPatternSpec, most_steps: int = MAX_STEPS, **columns: Any) -> list[tuple[Any, ...]]:
    table = table_of(spec, columns)
    started = time.process_time()
    found = [tuple(row.values()) for part in row_match.compile(spec, most_steps).run(table) for row in part.to_pylist()]
    assert time.process_time() - started < GENEROUS
    return found


ABOVE_LAST = of.define("B", of.call("gt", of.current("p"), of.last("high", "A")))


@pytest.mark.parametrize("pattern", [seq(plus(A), B), seq(plus(plus(A)), B), seq(star(star(A)), star(A), B)])
def test_a_condition_that_never_holds(pattern: Any) -> None:
    rows = 100_000
    data = {"p": np.arange(rows) % 7, "high": np.full(rows, 9)}
    assert answer(spec_of(pattern, ABOVE_LAST), **data) == []
    data["high"][-2] = 0  # from the first row on, all rows but the last one are A
    assert answer(spec_of(pattern, ABOVE_LAST), **data) == [(0, rows - 1)]


def test_few_distinct_values_of_a_register() -> None:
    """2^20000 ways, but twelve values of MAX(A.p)."""
    rows = 20_000
    above = of.define("C", of.call("gt", of.total("max", "p", "A"), of.current("high")))
    data = {"p": np.arange(rows) * 7 % 12, "high": np.full(rows, 99)}
    assert answer(spec_of(seq(star(alt(A, B)), C), above), **data) == []


def test_equal_values_are_one() -> None:
    """Searches that differ in the row of FIRST(A), but not in its value."""
    rows = 30_000
    above = of.define("B", of.call("gt", of.current("p"), of.first("high", "A")))
    assert answer(spec_of(seq(plus(A), B), above), p=np.arange(rows), high=np.full(rows, rows)) == []


def test_no_memory_where_it_is_of_no_use() -> None:
    """Every start row has a FIRST of its own: quadratic, as ISO's definition is, but with small steps."""
    rows = 3_000
    above = of.define("B", of.call("gt", of.current("p"), of.first("high", "A")))
    assert answer(spec_of(seq(plus(A), B), above), p=np.arange(rows), high=np.arange(rows) + rows) == []


def test_one_long_match() -> None:
    rows = 300_000
    data = {"p": np.arange(rows), "zero": np.zeros(rows, np.int64)}
    rising = of.define("A", of.call("ge", of.total("sum", "p", "A"), of.current("zero")))
    assert answer(spec_of(plus(A), rising), **data) == [(0, rows - 1)]
    assert answer(spec_of(plus(alt(A, hidden(B))), rising), **data) == [(0, rows - 1)]
    last = of.define("C", of.call("eq", of.total("count", None), of.current("n")))
    assert answer(spec_of(seq(star(A), C), last), n=np.full(rows, rows)) == [(0, rows - 1)]


def test_a_match_without_room_is_counted_once() -> None:
    """The counts of EXPLAIN ANALYZE are those of one search, whatever the room."""
    two = of.define("A", of.call("le", of.total("count", None, "A"), of.current("n")))
    spec = spec_of(plus(A), two)
    engine, table = row_match.compile(spec), table_of(spec, {"n": np.full(100, 7)})
    whole = engine.analyze(table)
    with patch.multiple(search, BATCH_NODES=5, FIRST_ROOM=5):
        assert engine.analyze(table) == whole


def test_many_matches_in_batches() -> None:
    rows = 200_000
    two = of.define("A", of.call("le", of.total("count", None, "A"), of.current("n")))
    assert len(answer(spec_of(plus(A), two), n=np.full(rows, 2))) == rows // 2
    assert len(answer(spec_of(plus(A), two, skip=Skip("next_row")), n=np.full(rows, 2))) == rows


def test_subset_sum_ends_with_a_limit_error() -> None:
    rng = np.random.default_rng(5)
    rows = 60
    data = {"w": rng.integers(10**12, 10**13, rows) * 2, "t": np.full(rows, 5 * 10**13 + 1)}
    total = of.define("C", of.call("eq", of.total("sum", "w", "A"), of.current("t")), "SUM(A.w) = t")
    spec = spec_of(seq(star(alt(A, B)), C), total)
    with pytest.raises(CepLimitError) as error:
        answer(spec, 300_000, **data)
    assert error.value.code == "CEP_LIMIT_MATCH_STEPS"
    assert "row 1 of its partition" in str(error.value)
    assert "the condition of C (SUM(A.w) = t)" in str(error.value)


def test_small_subset_sums_are_found() -> None:
    """The same query over small weights: as many searches as rows x sums."""
    weight = np.array([5, 9, 14, 3, 22, 8, 17, 2, 30, 11] * 6)
    total = of.define("C", of.call("eq", of.total("sum", "w", "A"), of.current("t")))
    found = answer(spec_of(seq(star(alt(A, B)), C), total), w=weight, t=np.full(60, 301))
    assert len(found) >= 1


def test_the_answer_is_the_same_each_time() -> None:
    rng = np.random.default_rng(3)
    rows = 20_000
    data = {"p": rng.integers(0, 50, rows), "k": np.full(rows, 120)}
    spec = spec_of(
        seq(plus(alt(A, B)), C),
        of.define("A", of.call("ge", of.current("p"), of.last("p", "A", "B", n=1))),
        of.define("C", of.call("gt", of.total("sum", "p", "A"), of.current("k"))),
    )
    assert answer(spec, **data) == answer(spec, **data)

"""Windows at sizes that only a linear search survives: long matches of every row, failures of every row, long frames."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engines.row_match import engine as row_match
from sparkcep.engines.row_pattern import engine as row_pattern
from sparkcep.engines.row_pattern.matches import BATCH_MATCHES
from sparkcep.spec.row import Aggregate, ColumnAt, Frame, MatchNumber, Navigation, Near, Output, RowPatternSpec, Skip
from tests.engines.row_match import conditions as of
from tests.engines.row_pattern.helpers import A, B, C, make_spec, plus, seq, star

ROWS = 3 * BATCH_MATCHES // 2
GENEROUS = 5.0
"""Seconds for what takes well under one; what is quadratic takes minutes."""
OUTPUTS = (
    Output("number", MatchNumber()),
    Output("last", ColumnAt("id", Navigation())),
    Output("n", Aggregate("count")),
    Output("total", Aggregate("sum", "id")),
)
NEXT = Skip("next_row")


def spec_of(pattern: Any, frame: Frame, skip: Skip = NEXT, **options: Any) -> RowPatternSpec:
    return make_spec(
        pattern, options.pop("outputs", OUTPUTS), skip=skip, rows_per_match="window", frame=frame, **options
    )


def table_of(labels: np.ndarray, **columns: Any) -> pa.Table:
    """``labels`` [rows]: bit i says that variable i holds. One partition."""
    masks = labels.astype(np.int64) << 1
    masks[0] |= 1
    return pa.table({"mask0": masks, "id": np.arange(len(labels)), **columns})


def compiled_of(spec: RowPatternSpec) -> row_pattern.RowPatternEngine:
    """Its engine."""
    return row_match.compile(spec) if spec.defines else row_pattern.compile(spec)


def lines(spec: RowPatternSpec, table: pa.Table) -> list[tuple[Any, ...]]:
    started = time.process_time()
    found = [tuple(row.values()) for part in compiled_of(spec).run(table) for row in part.to_pylist()]
    assert time.process_time() - started < GENEROUS
    return found


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """The kernels' compilation is not what is measured."""
    warm = table_of(np.ones(4, np.int64), p=np.arange(4))
    for defines in ((), (of.define("A", of.call("ge", of.current("p"), of.first("p", "A"))),)):
        for part in compiled_of(spec_of(A, Frame(), defines=defines)).run(warm):
            assert part.num_rows


@pytest.mark.parametrize("seek", [False, True])
@pytest.mark.parametrize("near", [(), (Near("A", 1, 0, (1, 1)),)])
def test_every_row_has_a_long_match(seek: bool, near: tuple[Near, ...]) -> None:
    found = lines(spec_of(plus(A), Frame(None, seek, near)), table_of(np.ones(ROWS, np.int64)))
    assert found == [(i + 1, ROWS - 1, ROWS - i, sum_of(i, ROWS)) for i in range(ROWS)]


def sum_of(first: int, end: int) -> int:
    return (end - first) * (first + end - 1) // 2


@pytest.mark.parametrize("seek", [False, True])
@pytest.mark.parametrize("skip", [NEXT, Skip()])
def test_no_row_has_a_match(seek: bool, skip: Skip) -> None:
    found = lines(spec_of(seq(plus(A), B), Frame(None, seek), skip), table_of(np.ones(ROWS, np.int64)))
    assert found == [(0, None, 0, None)] * ROWS


@pytest.mark.parametrize("skip", [NEXT, Skip()])
def test_one_match_at_the_end_that_every_row_seeks(skip: Skip) -> None:
    labels = np.ones(ROWS, np.int64)
    labels[-1] = 2
    found = lines(spec_of(B, Frame(None, True), skip), table_of(labels))
    rest = [(i + 2, ROWS - 1, 1, ROWS - 1) if skip == NEXT else (0, None, 0, None) for i in range(ROWS - 1)]
    assert found == [(1, ROWS - 1, 1, ROWS - 1), *rest]


def test_a_long_frame_is_read_as_far_as_a_match_could_come() -> None:
    labels = np.where(np.arange(ROWS) % 5 == 4, 2, 1)
    table = table_of(labels, following=np.full(ROWS, 10_000))
    found = lines(spec_of(seq(A, A, B), Frame("following")), table)
    assert [line[2] for line in found] == [3 if i % 5 == 2 and i + 2 < ROWS else 0 for i in range(ROWS)]


@pytest.mark.parametrize("seek", [False, True])
@pytest.mark.parametrize("pattern", [seq(plus(A), B), seq(star(star(A)), star(A), B), B])
def test_a_condition_over_the_match_that_never_holds(seek: bool, pattern: Any) -> None:
    rows = 50_000
    table = table_of(np.full(rows, 7), p=np.arange(rows) % 7, high=np.full(rows, 9))
    above = of.define("B", of.call("gt", of.current("p"), of.last("high")))
    assert lines(spec_of(pattern, Frame(None, seek), defines=(above,)), table) == [(0, None, 0, None)] * rows


def test_a_condition_with_prev_over_the_match() -> None:
    """What fails on a frame's first rows may hold on the next frame's: only what lies behind is remembered."""
    rows = 50_000
    table = table_of(np.full(rows, 7), p=np.arange(rows) % 7, high=np.full(rows, 9))
    later = of.define("C", of.call("gt", of.last("p", physical=-2), of.last("high", "A")))
    assert lines(spec_of(seq(plus(A), C), Frame(), defines=(later,)), table) == [(0, None, 0, None)] * rows

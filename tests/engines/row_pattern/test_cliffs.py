"""Patterns that ruin a backtracking matcher, at sizes that only a linear one survives; and sizes of output tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engines.row_pattern import find, overlap
from sparkcep.engines.row_pattern.engine import OUTPUT_ELEMENTS
from sparkcep.engines.row_pattern.matches import BATCH_MATCHES
from sparkcep.engines.row_pattern.program import compile_pattern
from sparkcep.pattern.row import Permute, Variable
from sparkcep.spec.row import Aggregate, ClassifierAt, ColumnAt, CurrentRow, MatchNumber, Navigation, Output, Skip
from tests.engines.row_pattern.helpers import A, B, alt, make_spec, maybe, plus, rep, run, seq, star

ROWS = 100_000
OUTPUTS = (
    Output("id", CurrentRow("id")),
    Output("number", MatchNumber()),
    Output("last", ColumnAt("id", Navigation())),
    Output("firstA", ColumnAt("id", Navigation(("A",), last=False, logical=1))),
    Output("total", Aggregate("sum", "id", ("A",))),
    Output("name", ClassifierAt(Navigation())),
)


def table_of(labels: np.ndarray) -> pa.Table:
    """``labels`` [rows]: bit i says that variable i holds. One partition."""
    masks = labels.astype(np.int64) << 1
    masks[0] |= 1
    return pa.table({"mask0": masks, "id": np.arange(len(labels))})


ONLY_A = table_of(np.ones(ROWS, np.int64))
CLIFFS = [
    (seq(plus(plus(A)), B), 0),
    (seq(plus(A), B), 0),
    (star(alt(A, A)), 1),
    (star(star(A)), 1),
    (seq(rep(maybe(A), 1000, 1000), rep(A, 1000, 1000)), ROWS // 2000),
    (seq(star(star(star(A))), B), 0),
    (seq(star(A), star(A), star(A), star(A), B), 0),
]


@pytest.mark.parametrize(("pattern", "count"), CLIFFS, ids=lambda value: str(value)[:40])
def test_past_last_row(pattern: Any, count: int) -> None:
    assert sum(part.num_rows for part in run(ONLY_A, make_spec(pattern, OUTPUTS))) == count


@pytest.mark.parametrize(
    ("skip", "count"), [(Skip("next_row"), ROWS - 2), (Skip("last", ("A",)), 1), (Skip("first", ("B",)), 1)], ids=str
)
def test_overlapping_matches_are_linear(skip: Skip, count: int) -> None:
    """A A+ B from every row to the last one: lengths add up to rows^2 / 2, the forest has two nodes a row."""
    labels = np.ones(ROWS, np.int64)
    labels[-1] = 2
    spec = make_spec(seq(A, plus(A), B), OUTPUTS, skip=skip)
    out = pa.concat_tables(run(table_of(labels), spec))
    assert out.num_rows == count
    total = np.arange(ROWS - 1, dtype=np.int64)[::-1].cumsum()[::-1]
    assert out["total"].to_pylist() == total[:count].tolist()
    assert out["last"].to_pylist() == [ROWS - 1] * count
    assert out["firstA"].to_pylist() == list(range(1, count + 1))


def test_permute_of_variables_stays_small() -> None:
    names = tuple("ABCDEFGH")
    spec = make_spec(Permute(tuple(map(Variable, names))), OUTPUTS, variables=names)
    assert compile_pattern(spec).positions == 8 * 2**7
    labels = np.tile(1 << np.arange(7, -1, -1), ROWS // 80)
    assert sum(part.num_rows for part in run(table_of(labels), spec)) == ROWS // 80


def test_program_sizes_are_linear() -> None:
    small, large = (compile_pattern(make_spec(seq(rep(maybe(A), n, n), rep(A, n, n)))).nodes for n in (100, 1000))
    assert large <= 10 * small + 10
    deep: Any = A
    for _ in range(12):
        deep = star(alt(maybe(deep), B))
    assert compile_pattern(make_spec(deep)).positions == 13


def test_output_tables_are_bounded() -> None:
    spec = make_spec(A, OUTPUTS)
    sizes = [part.num_rows for part in run(ONLY_A, spec)]
    assert sum(sizes) == ROWS
    assert max(sizes) <= BATCH_MATCHES
    spec = make_spec(plus(A), OUTPUTS, rows_per_match="all_show_empty")
    sizes = [part.num_rows for part in run(ONLY_A, spec)]
    assert sum(sizes) == ROWS
    assert max(sizes) <= BATCH_MATCHES


def test_arrays_in_an_output_table_are_bounded() -> None:
    outputs = (Output("ids", Aggregate("array_agg", "id", running=True)),)
    spec = make_spec(plus(A), outputs, rows_per_match="all_show_empty")
    parts = run(table_of(np.ones(20_000, np.int64)), spec)
    for part in (next(parts), next(parts)):
        assert len(part["ids"].combine_chunks().values) <= OUTPUT_ELEMENTS


@pytest.mark.parametrize("mode", ["one", "all_show_empty", "all_with_unmatched"])
@pytest.mark.parametrize("skip", ["past_last_row", "next_row"])
def test_small_batches_change_nothing(mode: Any, skip: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels resume: the same rows whatever the room for matches, nodes and forest."""
    rng = np.random.default_rng(7)
    table = table_of(rng.integers(0, 4, 500))
    spec = make_spec(seq(star(A), maybe(B)), OUTPUTS, rows_per_match=mode, skip=Skip(skip))
    whole = pa.concat_tables(run(table, spec)).to_pylist()
    for module, name in ((find, "BATCH_MATCHES"), (find, "BATCH_NODES"), (overlap, "BATCH_MATCHES")):
        monkeypatch.setattr(module, name, 3)
    monkeypatch.setattr(find, "LEAST_NODES", 3)
    monkeypatch.setattr(overlap, "GROWTH", 0)
    assert pa.concat_tables(run(table, spec)).to_pylist() == whole


def test_a_forest_beyond_its_limit_is_walked_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    table = table_of(rng.integers(0, 4, 500))
    spec = make_spec(seq(star(A), maybe(B)), OUTPUTS, skip=Skip("next_row"))
    whole = pa.concat_tables(run(table, spec)).to_pylist()
    for name in ("GROWTH", "MAX_FOREST_NODES", "MAX_NODES_A_ROW"):
        monkeypatch.setattr(overlap, name, 0)
    assert pa.concat_tables(run(table, spec)).to_pylist() == whole

"""A partition that is larger than a worker's memory: an error that names it, in place of a worker that is killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.errors import CepLimitError
from sparkcep.pattern.row import Concat, Quantified, Variable
from sparkcep.spec import RowPatternSpec, to_json
from sparkcep.spec.row import ColumnAt, Navigation, Output
from sql_functions import memory
from sql_functions.match_function import table_function

ROWS = 1 << 16


def spec() -> RowPatternSpec:
    """``PATTERN (a b)`` of which no row is a ``b``: the rows that come tell it at once."""
    outputs = (Output("x", ColumnAt("x", Navigation())),)
    return RowPatternSpec(
        ("a", "b"), Concat((Variable("a"), Variable("b"))), ("mask",), outputs, "", partition=("user",)
    )


def batches(count: int, bit: int) -> Iterator[pa.RecordBatch]:
    """One partition. ``bit``: of the variable that takes all rows."""
    for i in range(count):
        mask = np.full(ROWS, bit, np.int64)
        mask[0] |= i == 0
        columns = {"user": pa.array(["ann"] * ROWS), "mask": pa.array(mask), "x": pa.array(np.arange(ROWS))}
        yield pa.record_batch(columns)


def test_a_partition_that_has_no_room_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "STEP", 1 << 20)
    monkeypatch.setattr(memory, "free", lambda: 10_000_000)
    function = table_function(to_json(spec()))()
    with pytest.raises(CepLimitError) as caught:
        for batch in batches(100, 2):
            list(function.eval(batch))
    assert caught.value.code == "CEP_LIMIT_PARTITION_MEMORY"
    assert "the partition user = ann has 131,072 rows so far and needs about" in str(caught.value)
    assert "the worker may take 10 MB more" in str(caught.value)


def test_what_no_match_needs_takes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty times what the limit allows, in one partition, of which each part is decided."""
    monkeypatch.setattr(memory, "STEP", 1 << 20)
    monkeypatch.setattr(memory, "free", lambda: 5 * 30_000_000)
    function = table_function(to_json(spec()))()
    found = [table for batch in batches(60, 2) for table in function.eval(batch)]
    assert not [*found, *function.terminate()]


@pytest.mark.skipif(sys.platform != "linux", reason="the limits of Linux")
def test_a_worker_with_a_limit_does_not_end_without_a_word() -> None:
    """As Spark limits it: by its address space."""
    command = [sys.executable, __file__]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]
    assert "the partition user = ann has " in done.stdout


def _limited() -> None:
    import resource

    function = table_function(to_json(spec()))()
    list(function.eval(next(batches(1, 2))))
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + (600 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    function = table_function(to_json(open_spec()))()
    try:
        for batch in batches(1000, 2):
            list(function.eval(batch))
    except CepLimitError as error:
        print(error)


def open_spec() -> RowPatternSpec:
    """``PATTERN (a+ b)``, of which all rows are an ``a``: nothing is decided before the partition's end."""
    pattern = Concat((Quantified(Variable("a"), 1, None), Variable("b")))
    return RowPatternSpec(
        ("a", "b"), pattern, ("mask",), (Output("x", ColumnAt("x", Navigation())),), "", partition=("user",)
    )


if __name__ == "__main__":
    _limited()

"""The corpus of row patterns as streams, a row of each partition at a time, each closed by a row that no variable takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from sparkcep.engines.row_pattern.refusals import check_stream
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.row import Output
from tests.adapters import measure_outputs, row_gap, row_pattern_spec, row_table
from tests.corpus import RowCase, row_cases
from tests.corpus.test_engines import MATCH_ROWS, expected_rows
from tests.row_streams import BEHIND, FOREVER, behind, moments, placed, stream_spec


def _is_streamed(case: RowCase) -> bool:
    try:
        check_stream(row_pattern_spec(case, measure_outputs(case)[0]))
    except CepUnsupportedError:
        return False
    return row_gap(case) is None and case.error is None and all(case.partitions)


STREAMED = [case for case in row_cases() if _is_streamed(case)]


@pytest.mark.parametrize("case", [case for case in STREAMED if case.matches is not None], ids=str)
def test_matches(case: RowCase) -> None:
    assert _streamed(replace(case, rows_per_match="all_show_empty"), MATCH_ROWS) == list(expected_rows(case))


@pytest.mark.parametrize("case", [case for case in STREAMED if case.output is not None], ids=str)
def test_output(case: RowCase) -> None:
    outputs, kept = measure_outputs(case)
    lead = 0 if case.rows_per_match == "one" else 1
    assert case.output is not None
    assert _streamed(case, outputs) == [tuple(line[position + lead] for position in kept) for line in case.output]


def _streamed(case: RowCase, outputs: Sequence[Output]) -> list[tuple[Any, ...]]:
    spec = stream_spec(row_pattern_spec(case, outputs))
    longest = max(map(len, case.partitions))
    *_, end = moments(spec, _turns(case, longest))
    lines = [line for key in range(len(case.partitions)) for line in end.emitted[key]]
    return [line[1:] for line in lines if line[0] < BEHIND]


def _turns(case: RowCase, longest: int) -> Iterator[tuple[list[pa.Table], int]]:
    """A row of each partition, turn after turn, and in the end one more."""
    spec = row_pattern_spec(case, ())
    parts = []
    for key, labels in enumerate(case.partitions):
        part = placed(row_table(case, key), key, range(len(labels)))
        parts.append(pa.concat_tables([part, behind(part, spec, 0, 1, longest, key)]))
    for ts in range(longest + 1):
        rows = [part.filter(pa.array([time == ts for time in part["ts"].to_pylist()])) for part in parts]
        yield rows, FOREVER if ts == longest else ts + 1

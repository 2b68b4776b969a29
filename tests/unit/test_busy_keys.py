"""A key that has much of a stream is named, once a query."""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
import pytest

from sparkcep.engines.keys import LONGEST, key_text
from sparkcep.streaming.busy import Watcher


def progress(**counts: Any) -> Any:
    """What Spark reports after a micro-batch in which a clause had these counts."""
    return {
        "id": "7f",
        "name": None,
        "runId": "1",
        "observedMetrics": {"sparkcep.0": counts, "mine": {"final_rows": 1}},
    }


def test_a_key_with_much_of_a_stream_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    watcher = Watcher()
    with caplog.at_level(logging.WARNING, "sparkcep"):
        for _ in range(2):
            watcher.progressed(progress(final_rows=10_000, busiest_rows=5_000, busiest_key="user = ann"))
    (record,) = caplog.records
    assert (
        "in query 7f 50% of a micro-batch has one key, user = ann: one task works on all its rows"
        in record.getMessage()
    )
    assert "Hint: add a column to PARTITION BY" in record.getMessage()
    watcher.progressed(progress(final_rows=10_000, busiest_rows=5_000, busiest_key="user = bob"))
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    "counts",
    [
        {"final_rows": 10_000, "busiest_rows": 2_000, "busiest_key": "even"},
        {"final_rows": 100, "busiest_rows": 100, "busiest_key": "few"},
        {"final_rows": None, "busiest_rows": None, "busiest_key": None},
        {},
    ],
    ids=["even", "few rows", "no rows", "no counts"],
)
def test_other_streams_are_not(counts: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    Watcher().progressed(progress(**counts))
    assert not caplog.records


def test_how_a_key_is_shown() -> None:
    assert key_text(pa.table({"user": ["ann"], "day": [None], "__cep_k1": [3]})) == "user = ann, day = None, 3"
    assert len(key_text(pa.table({"user": ["a" * 1_000]}))) == LONGEST + 1

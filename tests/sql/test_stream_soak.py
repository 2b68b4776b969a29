"""The soak of ``benchmarks/stream_soak.py``, for seconds instead of an hour."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.stream_soak import Sample, draw, soak, verdict


def test_keys_that_come_and_go_leave_nothing(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A window of two seconds: rows of windows that are over are not in the state."""
    samples = soak(spark, tmp_path, seconds=4, rate=1_000, every=1, window=2, period=0.5)
    assert samples[-1].state < 1_000 * 60 * 100  # bytes of a minute's rows; the machine may be slow
    assert all(max(getattr(one, name) for one in samples) > 1 for name in ("jvm", "workers", "rate"))
    draw(samples, tmp_path / "soak.png")
    assert (tmp_path / "soak.png").stat().st_size > 10_000
    assert "events/s" in capsys.readouterr().out


@pytest.mark.parametrize("growth", [0.0, 1.0])
def test_what_grows_is_not_flat(growth: float, capsys: pytest.CaptureFixture[str]) -> None:
    samples = [Sample(float(at), 1e6, 900.0, 300.0 + growth * at, 5e3) for at in range(300)]
    assert verdict(samples, 60) == (growth == 0)
    assert ("| Python workers MB | 400 | 480 | 560 | 16.7% | NO |" in capsys.readouterr().out) == (growth == 1)

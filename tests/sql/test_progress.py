"""What a running query says of itself, and its end by Ctrl-C: on the workers, too, while they are inside a kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sparkcep.progress.follow as follow
from sparkcep.progress import Progress, following

ENDLESS = """SELECT count(*) FROM (SELECT id AS ts, 'k' AS k, CAST(id % 7 AS INT) AS x FROM RANGE(30000)) MATCH PATTERN (
    /*+ CEP_MAX_PARTIAL_MATCHES(1000000000000) */ SEQ(ANY a, ANY b, ANY c) PARTITION BY k ORDER BY ts WHERE a.x + b.x + c.x = 1000)"""
"""Some minutes inside one kernel."""
ENDED = 3.0
"""Seconds from Ctrl-C to the end of the work: two, and what the machine needs."""


def test_a_long_query_says_where_it_is(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "AFTER", 0.1)
    monkeypatch.setattr(follow, "EACH", 0.1)
    shown: list[Progress | None] = []
    spark.range(40, numPartitions=4).createOrReplaceTempView("forty")
    with following(spark, shown.append):
        found = spark.sql(
            "SELECT a.id FROM forty MATCH PATTERN (SEQ(ANY a, ANY b) PARTITION BY id % 2 AS k ORDER BY id WITHIN 3)"
        )
        assert found.mapInArrow(_slow, "id BIGINT").count() == 38
    assert shown[-1] is None
    said = [one for one in shown if one is not None]
    assert said
    assert all(0 <= one.done <= one.tasks and one.tasks for one in said)
    assert any(one.matches is not None for one in said)
    assert "partitions done" in str(said[0])
    spark.catalog.dropTempView("forty")


def test_a_short_query_says_nothing(spark: SparkSession) -> None:
    shown: list[Progress | None] = []
    with following(spark, shown.append):
        spark.sql("SELECT 1").collect()
    assert shown == []


def _slow(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        time.sleep(1)
        yield batch


PROGRAM = f"""
import sparkcep
from sparkcep.progress import following
spark = sparkcep.session("endless", "local[1]", **{{"spark.ui.enabled": "false"}})
try:
    with following(spark, print):
        spark.sql('''{ENDLESS}''').collect()
except KeyboardInterrupt:
    print("interrupted", flush=True)
input()
print(spark.sql("SELECT 6 * 7").first()[0])
"""
"""A session that lives on, as a notebook's does."""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_ctrl_c_ends_the_work_and_not_the_session() -> None:
    command = [sys.executable, "-c", PROGRAM]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        worker = _busy_worker(process)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        while _seconds(worker) is not None and time.monotonic() < began + 10:
            time.sleep(0.05)
        assert time.monotonic() - began < ENDED
        said, _ = process.communicate("\n", timeout=30)
        assert "matches so far" in said
        assert {"interrupted", "42"} <= set(said.splitlines()), said
        assert "Traceback" not in said
    finally:
        process.kill()
        for child in _below(process.pid):
            os.kill(child, signal.SIGKILL)


def _busy_worker(process: subprocess.Popen[str]) -> int:
    """The Python worker that has computed for some seconds."""
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
        for child in _below(process.pid):
            if "sparkcep.daemon" in _text(child, "cmdline") and (_seconds(child) or 0) > 4:
                return child
    process.kill()
    raise AssertionError(process.communicate()[0])


def _below(root: int) -> list[int]:
    """The processes that a process has started, directly or not."""
    parents = {int(entry.name): _stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found = [root]
    for one in found:
        found += [process for process, fields in parents.items() if fields and int(fields[1]) == one]
    return found[1:]


def _seconds(process: int) -> float | None:
    """Processor time; None: the process has ended."""
    fields = _stat(process)
    return (
        None if fields is None or fields[0] == "Z" else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    )


def _stat(process: int) -> list[str] | None:
    text = _text(process, "stat")
    return text.rpartition(")")[2].split() if text else None


def _text(process: int, name: str) -> str:
    try:
        return Path(f"/proc/{process}/{name}").read_text()
    except OSError:
        return ""

"""``sparkcep stream run``: a file of SQL as a query that is stopped, and goes on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from sparkcep.cli import main
from sparkcep.cli.statements import message
from sparkcep.cli.stream import last_frame
from sparkcep.errors import CepAnalysisError
from sparkcep.streaming.monitor import MicroBatch, follow
from sparkcep.streaming.sinks import Sink, as_messages, sink, start, trigger
from tests.shared_jvm import SharedJvm

COMMAND = [sys.executable, "-c", "from sparkcep.cli import main; main()", "stream", "run"]
SECONDS = 240
SCRIPT = """SET spark.sql.session.timeZone = UTC;
SET sparkcep.stream.buckets = 1;
CREATE TABLE IF NOT EXISTS {table} (k STRING, type STRING, at TIMESTAMP) USING json LOCATION '{folder}/in';
CREATE OR REPLACE TEMP VIEW {table}_moving AS SELECT * FROM STREAM {table} WATERMARK at DELAY OF INTERVAL 1 SECOND;
SELECT k, a.at AS since, b.at AS until FROM {input} MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY at WITHIN INTERVAL {within} SECONDS)"""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session of its own: the scripts' settings are nobody else's."""
    return spark.newSession()


def add(folder: Path, *rows: tuple[str, int]) -> None:
    """A file of events: types and seconds."""
    (folder / "in").mkdir(exist_ok=True)
    lines = [
        json.dumps({"k": "x", "type": kind, "at": f"2026-01-01 00:{at // 60:02}:{at % 60:02}"}) for kind, at in rows
    ]
    (folder / "in" / f"{len(list((folder / 'in').iterdir()))}.json").write_text("\n".join(lines))


def script(folder: Path, table: str, source: str | None = None, within: int = 9) -> Path:
    path = folder / f"{table}.sql"
    path.write_text(SCRIPT.format(table=table, folder=folder, input=source or f"{table}_moving", within=within))
    return path


def test_stopped_it_goes_on_where_it_stopped(jvm: SharedJvm, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """SIGTERM between two micro-batches, with matches open; the next run, in this session, finds the rest, and nothing twice."""
    add(tmp_path, ("A", 1), ("B", 2), ("A", 8), ("Z", 10))
    file, out, check = script(tmp_path, "kept"), str(tmp_path / "out"), str(tmp_path / "check")
    command = [*COMMAND, str(file), "--checkpoint", check, "--sink", f"parquet:{out}", "--master", "local[1]"]
    with (tmp_path / "errors").open("w") as errors, jvm.lent() as environment:
        process = subprocess.Popen(command, stderr=errors, stdout=subprocess.DEVNULL, cwd=tmp_path, env=environment)
        try:
            said = wait_for(process, tmp_path / "errors", r"micro-batch +1: .*")
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0, (tmp_path / "errors").read_text()[-4000:]
        finally:
            process.kill()
    assert re.search(r"0 events, +0 a second, +\d rows kept \(\d+ KiB\), +1 matches", said), said
    assert "sparkcep stream has stopped: 2 micro-batches, 1 matches" in (tmp_path / "errors").read_text()
    add(tmp_path, ("B", 11), ("B", 12), ("Z", 60))
    session: SparkSession = request.getfixturevalue("session")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    reports: list[MicroBatch] = []
    frame = last_frame(session, file, threading.Event())
    assert frame is not None
    query = start(frame, Sink("parquet", out), check, trigger("available-now"), {})
    assert follow(query, lambda seconds: query.awaitTermination(seconds), reports.append) == len(reports)
    assert [one.number for one in reports] == [2, 3]
    found = session.read.parquet(out).selectExpr("k", "since", "until").collect()
    wanted = session.sql(file.read_text().split(";")[-1].replace("kept_moving", "kept")).collect()
    assert sorted(found) == sorted(wanted)
    assert len(found) == 3


def wait_for(process: subprocess.Popen[bytes], log: Path, line: str) -> str:
    """The line, once the process has written it."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(line, log.read_text()):
            return found[0]
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-4000:])


def test_what_ends_a_run_is_said_in_short(session: SparkSession, tmp_path: Path) -> None:
    add(tmp_path, ("A", 1))
    for within in (9, 10):
        frame = last_frame(session, script(tmp_path, "ended", within=within), threading.Event())
        assert frame is not None
        query = start(frame, sink(f"json:{tmp_path}/out"), f"{tmp_path}/check", trigger("available-now"), {})
        stopped = threading.Event()
        if within == 9:
            follow(query, stopped.wait, lambda _: None)
            add(tmp_path, ("B", 2))
    with pytest.raises(StreamingQueryException) as caught:
        follow(query, stopped.wait, lambda _: None)
    said = message(caught.value).splitlines()
    assert (
        said[0]
        == "[CEP_DATA_STREAM_CHECKPOINT] the checkpoint is that of another clause, or of one with other settings: SEQ(A a, B b)"
    )
    assert said[1].startswith("Hint: start with a new checkpointLocation")
    assert len(said) == 2


def test_a_file_must_end_with_a_stream(session: SparkSession, tmp_path: Path) -> None:
    add(tmp_path, ("A", 1))
    with pytest.raises(CepAnalysisError, match=r"still\.sql reads no stream\nHint: read a table as STREAM name"):
        last_frame(session, script(tmp_path, "still", "still"), threading.Event())
    (tmp_path / "empty.sql").write_text("-- nothing\n;")
    with pytest.raises(CepAnalysisError, match=r"empty\.sql has no statement"):
        last_frame(session, tmp_path / "empty.sql", threading.Event())
    stopped = threading.Event()
    stopped.set()
    assert last_frame(session, script(tmp_path, "stopped"), stopped) is None


def test_sinks(session: SparkSession, tmp_path: Path) -> None:
    assert (sink("console"), sink("csv:a:b")) == (Sink("console", ""), Sink("csv", "a:b"))
    for wrong in ("", "table", "table:", "tabel:x", "console:x"):
        with pytest.raises(CepAnalysisError, match=r"CEP_ANALYSIS_STREAM_SINK.*is no sink\nHint: a sink is table:NAME"):
            sink(wrong)
    rows = session.sql("SELECT 'x' AS match_id, 1 AS a, NULL AS b")
    assert [tuple(row) for row in as_messages(rows).collect()] == [("x", '{"match_id":"x","a":1}')]
    assert as_messages(rows.selectExpr("a AS value")).columns == ["value"]
    stream = session.readStream.format("rate").load()
    with pytest.raises(CepAnalysisError, match=r"the table nowhere would be forgotten when this run ends"):
        start(stream, sink("table:nowhere"), str(tmp_path), {}, {})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sink", "console"], "Missing option '--checkpoint'"),
        (["--checkpoint", "x", "--sink", "nowhere"], "[CEP_ANALYSIS_STREAM_SINK] nowhere is no sink"),
        (["--checkpoint", "x", "--sink", "console", "--option", "a"], "--option a is not KEY=VALUE"),
    ],
)
def test_wrong_use(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(main, ["stream", "run", str(script(tmp_path, "wrong")), *arguments])
    assert done.exit_code != 0
    assert said in done.output

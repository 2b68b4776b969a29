"""What needs a process of its own: sessions that were there before, Spark Connect."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).resolve().parents[2]
CONNECT_NEEDS = ("grpc", "grpc_status", "pandas", "zstandard")
needs_connect = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in CONNECT_NEEDS), reason="pip install 'sparkcep[connect]'"
)


def run(program: str, *arguments: str, cwd: Path | None = None) -> list[str]:
    """The lines that a program prints; its errors are shown where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(PROGRAMS / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd or ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout.strip().splitlines()


def test_a_session_that_exists(tmp_path: Path) -> None:
    first, second = (json.loads(line) for line in run("existing_session.py", cwd=tmp_path))
    answer = [[3]]
    assert first["before"] == first["error"]
    for name in ("before_clause", "older_session", "uninstalled", "new_after_uninstall"):
        assert first[name] == "ParseException", name
    for name in (
        "installed",
        "older_session_installed",
        "new_session",
        "new_session_again",
        "younger_stays",
        "again",
        "new_again",
    ):
        assert first[name] == answer, name
    assert first["ordinary"] == first["uninstalled_ordinary"] == [[1]]
    assert second == {"after_stop": "ParseException", "second_context": answer}


@needs_connect
def test_spark_connect(tmp_path: Path) -> None:
    assert run("connect.py", cwd=tmp_path)[-1] == "connect ok"

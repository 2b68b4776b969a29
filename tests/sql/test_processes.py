"""What needs a process of its own: sessions that were there before, Spark Connect."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
CONNECT_NEEDS = ("grpc", "grpc_status", "pandas", "zstandard")
needs_connect = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in CONNECT_NEEDS), reason="pip install 'sparkcep[connect]'"
)


def run(name: str, environment: dict[str, str], folder: Path, *arguments: str) -> list[str]:
    """The lines that a program prints; its errors are shown where it fails."""
    command = [sys.executable, str(PROGRAMS / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout.strip().splitlines()


def test_a_session_that_exists(program: dict[str, str], tmp_path: Path) -> None:
    first, second = (json.loads(line) for line in run("existing_session.py", program, tmp_path))
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
def test_spark_connect(program: dict[str, str], tmp_path: Path) -> None:
    assert run("connect.py", program, tmp_path)[-1] == "connect ok"

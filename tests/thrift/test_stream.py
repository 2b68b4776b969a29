"""Kafka → pattern → table → Thrift: the example, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared_jvm import ROOT

pytest.importorskip("confluent_kafka")


def test_the_example_with_kafka(program: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "sql_examples" / "kafka.py")]
    done = subprocess.run(command, cwd=tmp_path, env=program, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    cells = [line.split("   ") for line in done.stdout.splitlines() if line.lstrip().startswith("card ")]
    found = [[cell.strip() for cell in line if cell.strip()] for line in cells][1:]
    wanted = [
        [f"card {card}", f"2026-03-01 10:{tried}:00", f"2026-03-01 10:{taken}:30", str(amount)]
        for card in range(3)
        for tried, taken, amount in (("00", "00", 901), ("01", "01", 903))
    ]
    assert found == wanted, done.stdout
    assert "6 matches, read over Thrift" in done.stdout

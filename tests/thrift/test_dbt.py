"""The dbt project of the examples, built over Thrift by dbt itself.

dbt pins versions that the rest does not want, so it lives in an environment of its own: ``SPARKCEP_DBT`` names one, else one is made here.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.shared_jvm import ROOT
from tests.thrift.server import Server, rows

PROJECT = ROOT / "sql_examples" / "dbt"
EXPECTED = ROOT / "sql_examples" / "expected"
PACKAGES = [
    "dbt-core>=1.9,<1.11",
    "dbt-spark>=1.9,<1.11",
    "PyHive>=0.7",
    "thrift>=0.16",
    "thrift-sasl>=0.4.3",
    "pure-sasl>=0.6.2",
]
"""dbt-core 1.11 builds a package that downloads a program from elsewhere."""


@pytest.fixture(scope="module")
def dbt(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The dbt command."""
    if given := os.environ.get("SPARKCEP_DBT"):
        return given
    folder = tmp_path_factory.mktemp("dbt")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, str(folder)], check=True, timeout=120)
    install = [*uv, "pip", "install", "--python", str(folder / "bin" / "python"), *PACKAGES]
    done = subprocess.run(install, capture_output=True, text=True, timeout=400, check=False)
    if done.returncode:
        pytest.skip(f"dbt cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    return str(folder / "bin" / "dbt")


def test_dbt_build(dbt: str, server: Server, tmp_path: Path) -> None:
    project = shutil.copytree(PROJECT, tmp_path / "dbt", ignore=shutil.ignore_patterns("target", "logs"))
    options = ["--profiles-dir", ".", "--vars", f"{{data: {ROOT / 'sql_examples' / 'data'}}}"]
    environment = {**os.environ, "SPARKCEP_PORT": str(server.port), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [dbt, "build", *options], cwd=project, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "PASS=8 WARN=0 ERROR=0" in done.stdout
    with closing(server.connect()) as connection:
        top = rows(connection, "SELECT * FROM flights.airport_knock_ons ORDER BY knock_ons DESC, airport LIMIT 15")
        spells = rows(connection, "SELECT COUNT(*) FROM flights.delay_spells")
    header, *expected = csv.reader((EXPECTED / "knock_on_delay.csv").open(newline=""))
    assert [[str(value) for value in row] for row in top] == expected
    assert header == ["airport", "knock_ons", "mean_departure_delay"]
    assert spells[0][0] > 100

"""A Spark Connect server in a process of its own, whose Python lacks what patterns need."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from tests.shared_jvm import ROOT, environment
from tests.sql.test_processes import needs_connect, run

SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
START_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Server:
    """``libraries``: the site-packages of its Python, empty at first."""

    url: str
    libraries: Path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with a bare Python, each worker a process of its own: it sees what was added to the Python meanwhile."""
    python = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(python)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.python.use.daemon": "false",
        "spark.ui.enabled": "false",
    }
    conf = [f"--conf={name}={value}" for name, value in settings.items()]
    command = [str(SUBMIT), "--master", "local[1]", *conf, "--class", SERVER, "spark-internal"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYTHON"))}
    variables = inherited | {"PYSPARK_PYTHON": str(python / "bin" / "python"), "XDG_CACHE_HOME": str(tmp_path)}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=log, stderr=log)
    try:
        _wait_for(port, process, tmp_path / "log")
        yield Server(f"sc://127.0.0.1:{port}", next(python.glob("lib/python*/site-packages")))
    finally:
        process.terminate()
        process.wait(60)


@needs_connect
def test_packages_that_the_server_lacks(server: Server, tmp_path: Path) -> None:
    packages = tmp_path / "sparkcep.zip"
    with zipfile.ZipFile(packages, "w") as archive:
        for name in ("sparkcep", "rewrites", "sql_functions"):
            for file in (ROOT / name).rglob("*.py"):
                archive.write(file, file.relative_to(ROOT))
    arguments = map(str, (server.url, packages, server.libraries, sysconfig.get_path("purelib")))
    explained, bare, libraries, answer = run("connect_server.py", environment(), tmp_path, *arguments)
    assert explained == "True"
    python = server.libraries.parents[2] / "bin" / "python"
    lacking = f"CEP_UNSUPPORTED_SERVER_PACKAGES the Python of the Spark Connect server ({python}) has no "
    assert bare == f"{lacking}sparkcep, rewrites, sql_functions, pyarrow, polars, numpy, numba"
    assert libraries == f"{lacking}sparkcep, rewrites, sql_functions"
    assert answer == "[2, 4]"


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-6000:])

"""The wheel installs into an empty folder and answers a query from there; it has what it needs and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import sparkcep
from tests.cluster.conftest import PACKAGES, ROOT


def test_what_the_wheel_has(wheel: Path) -> None:
    """Every module and the marks of typed packages, the licence, and no tests."""
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(path.relative_to(ROOT)) for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert {name for name in names if ".dist-info/" not in name} == sources | {f"{name}/py.typed" for name in PACKAGES}
    info = f"sparkcep-{sparkcep.__version__}.dist-info"
    assert {f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= names
    metadata = zipfile.ZipFile(wheel).read(f"{info}/METADATA").decode()
    assert set(re.findall(r"Provides-Extra: (\w+)", metadata)) >= {"all", "connect", "kafka", "notebook", "thrift"}


def test_a_query_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """In a process that does not see the tree."""
    target = tmp_path / "installed"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(install, check=True, timeout=120)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment |= {"PYTHONPATH": str(target), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(ROOT / ".ci" / "smoke.py"), "MATCH PATTERN"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert (answer["passed"], answer["failed"]) == (["MATCH PATTERN"], {})
    assert answer["sparkcep"] == sparkcep.__version__
    assert Path(answer["file"]).is_relative_to(target)


KERNEL = "import sql_functions, sparkcep; from sparkcep.engines.aseq.change_kernels import reach; reach.compile(); print(sparkcep.__file__)"


def test_workers_keep_the_kernels_of_a_wheel_that_is_sent(wheel: Path, tmp_path: Path) -> None:
    """What is sent as one file is unpacked, and its kernels are cached there."""
    archive, cache = shutil.copy(wheel, tmp_path / "sparkcep.zip"), tmp_path / "cache"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": archive, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", KERNEL]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    folder = Path(done.stdout.strip()).parents[1]
    assert folder.parent == cache / "sparkcep"
    assert list(folder.rglob("change_kernels.reach*.nbi"))

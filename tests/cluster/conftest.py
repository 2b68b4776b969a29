"""What the tests of this folder share: the distribution's wheel, built once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("sparkcep", "rewrites", "sql_functions")
FILES = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the sources, with the setuptools that is installed, so that no package index is asked."""
    folder = tmp_path_factory.mktemp("wheel")
    sources = folder / "sources"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, sources / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, sources)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(sources)]
    done = subprocess.run(build, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return next(folder.glob("sparkcep-*.whl"))

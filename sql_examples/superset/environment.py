"""A virtual environment for Superset, made once: its pins are not those of sparkcep."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [
    "apache-superset==6.1.0",
    "Flask-Caching<2.4",  # whose later versions it does not fit
    "cachetools",  # which it imports and does not require, as is rich
    "rich",
    "PyHive>=0.7",
    "thrift>=0.16",
    "thrift-sasl>=0.4.3",
    "pure-sasl>=0.6.2",
    "playwright>=1.50",
]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class MissingError(Exception):
    """Something that this machine lacks; the message says how to get it."""


def browser() -> str:
    """The path of a Chromium."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise MissingError("no Chromium for the screenshots: apt-get install chromium, or pass --no-screenshots")
    return found


def superset_programs(folder: Path) -> Path:
    """The ``bin`` of Superset's environment in ``folder``, with the present sparkcep's plug-ins."""
    programs = folder / "bin"
    if not (programs / "superset").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        _install(programs, *PACKAGES)
    _install(programs, "--no-deps", "--force-reinstall", str(ROOT))
    return programs


def _install(programs: Path, *arguments: str) -> None:
    command = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")

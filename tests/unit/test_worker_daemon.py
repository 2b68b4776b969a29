"""Which sessions have their workers forked by ``sparkcep.daemon``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sparkcep.daemon import prefer_folders
from sparkcep.session import workers
from sparkcep.session.workers import DAEMON, MODULE, preload_workers


class Conf(dict[str, str]):
    """What is asked of Spark's ``SparkConf``."""

    contains = dict.__contains__
    set = dict.__setitem__


def setting(master: str = "local[2]", python: str = sys.executable, **settings: str) -> str | None:
    """The daemon of a context after ``preload_workers``."""
    conf = Conf(settings)
    scala: Any = SimpleNamespace(conf=lambda: conf)
    preload_workers(SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: scala), master=master, pythonExec=python))
    return conf.get(DAEMON)


def test_workers_of_this_machine_are_forked_by_ours() -> None:
    assert setting("local") == setting("local[*]") == MODULE


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://127.0.0.1:7077", "yarn"])
def test_a_cluster_has_sparks(master: str) -> None:
    assert setting(master) is None


def test_the_users_daemon_stays() -> None:
    assert setting(**{DAEMON: "theirs.daemon"}) == "theirs.daemon"


def test_an_interpreter_without_sparkcep_has_sparks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert setting(python=str(python)) is None
    assert setting(python="no/such/python") is None


def printed(program: str, **environment: str) -> str:
    """What a process prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(workers.__file__).parents[2],
        env={"OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_nothing_that_is_imported_starts_a_pool_of_threads() -> None:
    """A pool would be lost in the forks, and who waits for it waits for ever. Those that are there: allocators' housekeeping, which forks do without."""
    threads = printed(
        "from pathlib import Path; from sparkcep.daemon import load; load();"
        "print(*{Path(p, 'comm').read_text().strip() for p in Path('/proc/self/task').iterdir()}, sep='\\n')"
    )
    assert {name for name in threads.split("\n") if name} <= {
        "python",
        "python3",
        "jemalloc_bg_thd",
        "polars-ooc-clea",
    } | {Path(sys.executable).name}


def test_workers_give_back_what_they_free() -> None:
    """What the daemon forks, here in its own process."""
    program = (
        "import runpy, sys; from pyspark import daemon;"
        "daemon.manager = lambda: print(sys.modules['pyarrow'].default_memory_pool().backend_name);"
        "sys.argv[1:] = ['pyspark.worker']; runpy.run_module('sparkcep.daemon', run_name='__main__')"
    )
    assert printed(program) == "system"
    assert printed(program, ARROW_DEFAULT_MEMORY_POOL="mimalloc") == "mimalloc"


@pytest.mark.parametrize("library", ["site/pyspark/python/lib", "spark/python/lib"])
def test_pyspark_is_imported_from_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, library: str) -> None:
    """Spark puts archives first, as pip and as a distribution has them; those of another PySpark stay, and what has no folder."""
    archives = [str(tmp_path / library / name) for name in ("pyspark.zip", "py4j-0.10.9.9-src.zip")]
    (tmp_path / "spark/python/pyspark").mkdir(parents=True)
    (tmp_path / "site/pyspark").mkdir(parents=True)
    for package in ("spark/python", "site"):
        (tmp_path / package / "pyspark" / "__init__.py").touch()
    folder = str(tmp_path / ("site" if library.startswith("site") else "spark/python"))
    others = ["", str(tmp_path / "theirs/lib/pyspark.zip"), folder]
    monkeypatch.setattr(sys, "path", [*archives, *others])
    prefer_folders()
    assert sys.path == [archives[1], *others]
    (tmp_path / "site" / "py4j.py").touch()
    monkeypatch.setattr(sys, "path", [*archives, *others, str(tmp_path / "site")])
    prefer_folders()
    assert sys.path == [*others, str(tmp_path / "site")]
    monkeypatch.setattr(sys, "path", archives)
    prefer_folders()
    assert sys.path == archives

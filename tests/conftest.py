"""The Spark session of a test run: one, local, small, with sparkcep in it."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from xdist.scheduler import LoadFileScheduling

import sparkcep
from tests.shared_jvm import SharedJvm
from tests.spark_setup import ADAPTIVE, ONE_JOB, SETTINGS, options
from tests.sql.tables import TABLES

if (JAVA := options()) not in os.environ.get("JAVA_TOOL_OPTIONS", ""):
    os.environ["JAVA_TOOL_OPTIONS"] = f"{JAVA} {os.environ.get('JAVA_TOOL_OPTIONS', '')}".strip()

PROGRAMS = (
    "tests/sql/test_processes.py",
    "tests/sql/test_notebook.py",
    "tests/sql/test_stream_run.py",
    "tests/thrift/test_addresses.py",
    "tests/thrift/test_stream.py",
    "tests/unit/test_cli.py",
)
"""Files whose programs run in one JVM, before it has the session of the tests."""
SHARED = dict.fromkeys(PROGRAMS, "programs") | {"tests/thrift": "thrift", "tests/cluster": "cluster"}
"""Folders and files that share a worker, and with it a server, a wheel or a JVM."""
SLOW = (
    "tests/sql/test_sessions.py",  # asks what a JVM keeps: of one that has run other tests, their threads keep more
    *PROGRAMS,
    "tests/thrift/test_superset.py",  # with the server that the next files have: the last of them restarts it
    "tests/thrift",
    "tests/cluster",
    "tests/sql/test_stream",
    "tests/sql/test_examples.py",
    "tests/sql/test_docs.py",
    "tests/sql/test_connect_server.py",
)
"""Files that run first: with the others behind them, the workers end at the same time."""


GB_OF_A_WORKER = 4
"""A JVM with its Python workers, and what it starts beside them."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Two for each core, as far as memory goes: a third of a worker's time it waits for streams and programs. Without Spark one for each core."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or "not spark" in config.option.markexpr:
        return None
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return max(1, min(2 * (os.cpu_count() or 1), memory // GB_OF_A_WORKER))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow files first, and of those with programs the programs before the session."""
    items.sort(key=_place)


def pytest_collection_finish() -> None:
    """What is there before the first test is there to the end: the collector need not look at it at every turn."""
    gc.collect()
    gc.freeze()


def _place(item: pytest.Item) -> tuple[int, int]:
    if not item.nodeid.startswith(PROGRAMS):
        return next((i for i, path in enumerate(SLOW) if item.nodeid.startswith(path)), len(SLOW)), 0
    names = item.fixturenames  # type: ignore[attr-defined]
    return SLOW.index(PROGRAMS[0]), 0 if "program" in names else 2 if "spark" in names else 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """A worker has whole files, and whole folders of those that share what is dear."""
    return _ByFile(config, log)


class _ByFile(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        shared = next((name for path, name in SHARED.items() if nodeid.startswith(path)), None)
        return shared or str(super()._split_scope(nodeid))


@pytest.fixture(scope="session")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedJvm]:
    """The JVM of this worker."""
    shared = SharedJvm(tmp_path_factory.mktemp("jvm"))
    yield shared
    shared.stop()


@pytest.fixture
def program(jvm: SharedJvm) -> Iterator[dict[str, str]]:
    """The environment of a program that runs in this JVM."""
    with jvm.lent() as environment:
        yield environment


@pytest.fixture(scope="session")
def spark(jvm: SharedJvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A classic session, with the small tables; its warehouse is a temporary directory. From here on its JVM has no room for programs."""
    warehouse: Path = tmp_path_factory.mktemp("warehouse")
    with jvm.kept():
        session = sparkcep.session(
            "sparkcep tests", "local[2]", **SETTINGS, **ONE_JOB, **{"spark.sql.warehouse.dir": str(warehouse)}
        )
    local = session._jvm.org.apache.hadoop.fs.FileSystem.getLocal(session._jsc.hadoopConfiguration())
    local.setWriteChecksum(False)  # a file of its own beside each file, made by a process of its own
    for name, query in TABLES.items():
        session.sql(query).createOrReplaceTempView(
            name
        )  # of plans, which are not parsed and analysed in every statement as texts are
    yield session
    session.stop()


@pytest.fixture(scope="module")
def adaptive(spark: SparkSession) -> Iterator[None]:
    """With adaptive execution, as users have it: for the tests of a file about how rows are distributed over tasks."""
    for name, value in ADAPTIVE.items():
        spark.conf.set(name, value)
    yield
    for name in ADAPTIVE:
        spark.conf.unset(name)

"""A JVM for programs that run one after the other, each with a Python, and a SparkContext, of its own, and then for the session of the tests: a short
program takes twice as long in a JVM that is new. PySpark has variables for it: a program that finds them starts no JVM."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from tests.spark_setup import SETTINGS

ROOT = Path(__file__).resolve().parents[1]
OF_THE_JVM = ("spark.driver.memory", "spark.driver.extraJavaOptions")
REGISTRIES = ("FunctionRegistry$", "TableFunctionRegistry$")
"""Of the functions that every session has: those of a program would call its Python."""

NEVER_USED = 1_000_000
"""The JVM tells Python, by their numbers, which objects it has done with; also those of programs that have ended."""


def environment() -> dict[str, str]:
    """The tests' environment for a program: this source tree, this interpreter, PySpark's programs."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "HIVE_"))}
    return inherited | {
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
        "PYSPARK_PYTHON": sys.executable,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }


class SharedJvm:
    """It has one program at a time."""

    def __init__(self, folder: Path) -> None:
        conf = SparkConf(loadDefaults=False)
        for name in OF_THE_JVM:
            conf.set(name, SETTINGS[name])
        before = dict(os.environ)
        os.environ.update(environment())  # the path of the workers is the JVM's
        try:
            self._gateway: Any = launch_gateway(conf, {"cwd": folder})
        finally:
            os.environ.clear()
            os.environ.update(before)
        analysis = self._gateway.jvm.org.apache.spark.sql.catalyst.analysis
        builtin = [getattr(getattr(analysis, name), "MODULE$").builtin() for name in REGISTRIES]
        self._functions = [(registry, registry.listFunction()) for registry in builtin]

    @contextmanager
    def lent(self) -> Iterator[dict[str, str]]:
        """The environment of one program. What it leaves behind ends with it."""
        yield environment() | self._address()
        session = self._gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()
        if session.isDefined():
            session.get().stop()
        for registry, before in self._functions:
            added = registry.listFunction().diff(before)
            for i in range(added.size()):
                registry.dropFunction(added.apply(i))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """While the session of this process starts in it."""
        os.environ.update(self._address())
        try:
            SparkContext._ensure_initialized()
            SparkContext._gateway.gateway_property.pool.next_id = NEVER_USED
            yield
        finally:
            for name in self._address():
                del os.environ[name]

    def _address(self) -> dict[str, str]:
        address = self._gateway.java_parameters
        return {"PYSPARK_GATEWAY_PORT": str(address.port), "PYSPARK_GATEWAY_SECRET": address.auth_token}

    def stop(self) -> None:
        """As behind a program: when nobody writes to it any more, it ends."""
        self._gateway.shutdown()
        self._gateway.proc.stdin.close()
        self._gateway.proc.wait()

"""The layers of the architecture, proved from every file's imports; no file and no room imports itself by way of others.

errors < pattern, spec < engines < sql_functions; pattern, spec < rewrites; session, explain, notebook, cli on top.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.imports import MODULES, PACKAGES, ROOT, circle, files, imports, rooms

ALLOWED = {
    "sparkcep.errors": set(),
    "sparkcep.pattern": {"sparkcep.errors"},
    "sparkcep.spec": {"sparkcep.errors", "sparkcep.pattern"},
    "sparkcep.engines": {"sparkcep.errors", "sparkcep.pattern", "sparkcep.spec"},
    "rewrites": {"sparkcep.errors", "sparkcep.pattern", "sparkcep.spec"},
    "sql_functions": {"sparkcep.errors", "sparkcep.pattern", "sparkcep.spec", "sparkcep.engines"},
}
"""What each layer may import of the project, itself apart. What is not listed (session, explain, notebook, cli) stands on top."""
WORKER = "sql_functions.match_function"
DRIVER_ONLY = ("sqlglot", "pyspark")


def layer(module: str) -> str | None:
    """The layer a module belongs to; None for what stands on top."""
    return next((name for name in ALLOWED if module == name or module.startswith(f"{name}.")), None)


def is_ours(module: str) -> bool:
    return module.split(".")[0] in PACKAGES


@pytest.mark.parametrize("module", [module for module in MODULES if layer(module)])
def test_a_layer_imports_what_is_below_it(module: str) -> None:
    own = layer(module)
    assert own is not None
    for name in imports(module):
        if is_ours(name) and name != "sparkcep":
            assert layer(name) == own or layer(name) in ALLOWED[own], f"{module} imports {name}"


def test_rewrites_and_sql_functions_do_not_know_each_other() -> None:
    assert "sql_functions" not in ALLOWED["rewrites"]
    assert "rewrites" not in ALLOWED["sql_functions"]
    assert not any("engines" in name for name in ALLOWED["rewrites"])


def test_no_file_imports_itself_by_way_of_others() -> None:
    assert circle(files()) == []


@pytest.mark.parametrize("package", ["rewrites", "sparkcep", "sparkcep.engines", "sparkcep.engines.event_pattern"])
def test_no_room_imports_itself_by_way_of_others(package: str) -> None:
    graph: dict[str, set[str]] = {}
    for importing, imported in rooms(inside=package):
        graph.setdefault(importing, set()).add(imported)
    assert circle(graph) == []


def reachable(start: str) -> set[str]:
    """The modules that importing ``start`` can load, those imported inside functions too, with their packages."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module in seen or module not in MODULES:
            continue
        seen.add(module)
        waiting += imports(module)
        waiting += [".".join(module.split(".")[:i]) for i in range(1, module.count(".") + 1)]
    return seen


def test_workers_need_no_driver() -> None:
    """Nothing that a worker can load imports sqlglot or PySpark."""
    loaded = reachable(WORKER)
    assert {"sparkcep.engines.row_pattern.engine", "sparkcep.engines.event_pattern.engine"} <= loaded
    for module in loaded:
        assert not [name for name in imports(module) if name.split(".")[0] in DRIVER_ONLY], module


def test_workers_load_no_driver() -> None:
    """The same in a fresh interpreter: the worker's module and all engines."""
    engines = [
        name
        for name in MODULES
        if name.startswith("sparkcep.engines") and "kernels" not in name and "precompile" not in name
    ]
    program = (
        "import importlib, sys\n"
        f"for name in {[WORKER, *engines]!r}: importlib.import_module(name)\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('sqlglot', 'rewrites') or name.startswith('pyspark.sql')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sessions_load_no_engine_library() -> None:
    """A session starts without what only queries need: NumPy, Polars, numba and Arrow, half a second of imports."""
    program = "import sys, sparkcep.session\nprint([name for name in ('numpy', 'polars', 'numba', 'pyarrow') if name in sys.modules])\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

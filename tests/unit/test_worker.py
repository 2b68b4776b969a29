"""What a task imports, what it leaves behind in a Python worker, and what it does to the worker's connection."""

from __future__ import annotations

import gc
import pickle
import socket
import subprocess
import sys
from types import ModuleType

import pytest

from sql_functions import worker
from sql_functions.aggregate_function import GroupedAggregate


def test_modules_are_kept_out_of_collections_once(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.unfreeze()
    monkeypatch.setattr(worker, "_settled", 0)
    worker.settle()
    kept = gc.get_freeze_count()
    assert kept > 10_000
    gc.unfreeze()
    worker.settle()
    assert gc.get_freeze_count() == 0  # nothing new was imported
    monkeypatch.setitem(sys.modules, "something_new", ModuleType("something_new"))
    worker.settle()
    assert gc.get_freeze_count() > 10_000
    gc.unfreeze()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's delayed acknowledgements")
def test_connections_answer_at_once_and_stay_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as here:
        there, _ = server.accept()
        local, other = socket.socketpair()  # no TCP: passed over
        with there, local, other:
            worker.answer_at_once()
            assert here.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            there.sendall(b"rows")
            assert here.recv(4) == b"rows"
            other.sendall(b"more")
            assert local.recv(4) == b"more"


def test_an_aggregate_arrives_whole() -> None:
    assert pickle.loads(pickle.dumps(GroupedAggregate("{}"))).spec_json == "{}"


def test_a_driver_that_ships_a_clause_imports_neither_polars_nor_numba() -> None:
    """Dear imports; and polars takes over SIGINT when it is imported, so that Ctrl-C would not reach a query that runs."""
    code = "import sys, sql_functions.match_function; print({'numba', 'polars'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

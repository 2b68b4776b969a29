"""Every kernel is compiled beforehand, by one process at a time; and what only kernels call has no machine code."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numba as nb
import numpy as np
import pytest

import sparkcep.engines
from sparkcep.engines import kernel_cache
from sparkcep.engines.inner_kernel import inner
from sparkcep.engines.kernel import Kernel, kernel
from sparkcep.engines.kernel_types import I64, structure, values
from sparkcep.engines.precompile import GROUPS
from sparkcep.errors import CepAnalysisError
from sparkcep.session import kernels

ROOT = Path(sparkcep.engines.__file__).parent
BASELINES = "sparkcep.engines.aseq.baselines"
"""Algorithms of a paper, for benchmarks and tests only."""


def test_all_modules_with_kernels_are_precompiled() -> None:
    listed = {module for group in GROUPS for module in group}
    for file in ROOT.rglob("*.py"):
        if "@kernel(" in file.read_text() and file.name != "kernel.py":
            name = "sparkcep.engines." + ".".join(file.relative_to(ROOT).with_suffix("").parts)
            assert name in listed or name == BASELINES, name
    for module in listed:
        assert any(isinstance(one, Kernel) for one in vars(import_module(module)).values()), module


class Inside(NamedTuple):
    numbers: np.ndarray
    factor: int


class Outside(NamedTuple):
    inside: Inside
    out: np.ndarray


GIVEN = structure(Outside, structure(Inside, I64, nb.int64), I64)


@inner(nb.int64(GIVEN, nb.int64))
def scaled(given, i):
    return given.inside.numbers[i] * given.inside.factor


@inner(nb.int64(values(Inside, I64, nb.int64)))
def first(inside):
    return inside.numbers[0] * inside.factor


@kernel(nb.int64(GIVEN))
def scale(given):
    for i in range(len(given.inside.numbers)):
        given.out[i] = scaled(given, i)
    return first(Inside(given.out, 2))


def test_structures_are_read_where_they_stand() -> None:
    given = Outside(Inside(np.arange(3, 6), 10), np.zeros(3, np.int64))
    assert scale(given) == 60
    assert given.out.tolist() == [30, 40, 50]
    with pytest.raises(TypeError):
        scale(Outside(Inside(np.arange(3.0), 10), given.out))


@kernel(nb.int64(GIVEN), allocates=True)
def scale_counted(given):
    room = np.zeros(1, np.int64)
    for i in range(len(given.out)):
        room[0] += scaled(given, i)
    return room[0]


def test_arrays_are_given_back() -> None:
    numbers = np.arange(3)
    given = Outside(Inside(numbers, 2), np.zeros(3, np.int64))
    for run in (scale, scale_counted):
        run(given)
        before = sys.getrefcount(numbers), sys.getrefcount(given.out)
        for _ in range(10):
            run(given)
        assert (sys.getrefcount(numbers), sys.getrefcount(given.out)) == before


def test_what_only_kernels_call_has_no_machine_code() -> None:
    scaled.compile(())
    (compiled,) = scaled.overloads.values()
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


def test_one_process_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with kernel_cache.lock(wait=False) as alone:
        assert alone
        with kernel_cache.lock(wait=False) as another:
            assert not another
        command = [sys.executable, "-m", "sparkcep.engines.precompile", "--quiet"]
        subprocess.run(command, check=True, timeout=60)
    assert not kernel_cache.is_complete()


def test_sessions_compile_beside_them_only_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "_started", [])
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    kernels.compile_beside("off", "local[2]")
    kernels.compile_beside("auto", "spark://host:7077")
    assert not started
    kernels.compile_beside("auto", "local[2]")
    kernels.compile_beside("auto", "local[2]")
    assert len(started) == 1
    kernel_cache.note_complete()
    monkeypatch.setattr(kernels, "_started", [])
    kernels.compile_beside("auto", "local[2]")
    assert len(started) == 1
    with pytest.raises(CepAnalysisError, match="set it to auto or off"):
        kernels.compile_beside("on", "local[2]")

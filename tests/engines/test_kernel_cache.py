"""Where numba can write nothing, kernels are kept in a temporary folder that is the user's own."""

import os
import tempfile
from pathlib import Path

import pytest

from sparkcep.engines import kernel_cache


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(kernel_cache, "_is_writable", lambda folder: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("numba.config.reload_config", lambda: None)
    return tmp_path / f"sparkcep-kernels-{os.getuid()}"


def test_one_folder_for_all_processes(nowhere: Path) -> None:
    for _ in range(2):
        os.environ["NUMBA_CACHE_DIR"] = ""
        kernel_cache.ensure_cache()
        assert os.environ["NUMBA_CACHE_DIR"] == str(nowhere)
    assert nowhere.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_have_written_is_not_used(nowhere: Path) -> None:
    nowhere.mkdir()
    nowhere.chmod(0o777)
    kernel_cache.ensure_cache()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) != nowhere


def test_nothing_changes_where_numba_can_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    kernel_cache.ensure_cache()
    assert "NUMBA_CACHE_DIR" not in os.environ

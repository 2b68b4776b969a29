"""Where numba can write nothing, kernels are kept in a temporary folder that is the user's own."""

import os
import shutil
import subprocess
import sys
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


def test_a_kernel_is_compiled_anew_when_what_it_copies_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba looks at the module of the kernel alone: another one's function, constant, or package is in it, too."""
    monkeypatch.setattr(kernel_cache, "_ROOT", tmp_path)
    package = tmp_path / "sparkcep" / "engines"
    (package / "shared").mkdir(parents=True)
    module = package / "kernels.py"
    module.write_text("from sparkcep.engines.near import (\n    step,\n)\nfrom sparkcep.engines.shared import codes\n")
    texts = {
        package / "near.py": "from sparkcep.engines.far import X",
        package / "far.py": "X = 1",
        package / "shared" / "codes.py": "C = 1",
    }
    for file, text in texts.items():
        file.write_text(text)

    def now() -> str:
        kernel_cache._source.cache_clear()
        return kernel_cache.sources.__wrapped__(str(module))

    before = now()
    assert before == now()
    for file, text in texts.items():
        file.write_text(f"{text}  # changed")
        assert now() != before
        file.write_text(text)


def test_kernels_carry_it() -> None:
    from sparkcep.engines.row_match import search_kernels, window_kernels

    for module, kernel in ((search_kernels, search_kernels.search), (window_kernels, window_kernels.search_frames)):
        assert kernel._dispatcher._cache._cache_file._source_stamp == kernel_cache.sources(str(module.__file__))


def test_kernels_in_an_archive(tmp_path: Path) -> None:
    """As Spark distributes them (``spark.submit.pyFiles``)."""
    package = Path(kernel_cache.__file__).parents[1]
    shutil.copytree(package, tmp_path / "packed" / "sparkcep", ignore=shutil.ignore_patterns("__pycache__"))
    archive = shutil.make_archive(str(tmp_path / "sparkcep"), "zip", tmp_path / "packed")
    program = (
        f"import sys; sys.path.insert(0, {archive!r}); from sparkcep.engines.row_pattern import kernels; import numpy as np\n"
        "out = np.empty(2, np.int64); print(kernels.__file__, kernels.partition_starts(np.array([[1, 0, 1]]), out), out)"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-I", "-c", program]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert answer.stdout.split() == [f"{archive}/sparkcep/engines/row_pattern/kernels.py", "2", "[0", "2]"], answer

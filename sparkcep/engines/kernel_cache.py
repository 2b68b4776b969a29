"""Where compiled kernels are cached, and whether all of them are there.

numba writes them beside the sources, else to the user's cache folder, and refuses to define a function if neither is writable, as in many containers:
then it gets a temporary folder. Nothing here imports numba.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_IMPORTS = re.compile(r"^from (sparkcep\.[\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


def ensure_cache() -> None:
    """Point numba's cache at the temporary folder if necessary; an existing NUMBA_CACHE_DIR is respected."""
    if os.environ.get("NUMBA_CACHE_DIR") or _own() is not None:
        return
    os.environ["NUMBA_CACHE_DIR"] = str(_temporary())
    if "numba" in sys.modules:
        sys.modules["numba"].config.reload_config()


def is_complete() -> bool:
    """Whether all kernels were compiled by this Python, for this processor, from these sources."""
    return _note().is_file()


def note_complete() -> None:
    """All kernels are compiled."""
    with suppress(OSError):
        _note().touch()


@contextmanager
def lock(*, wait: bool) -> Iterator[bool]:
    """One process at a time compiles all kernels; False: another one does (and ``wait`` is not set)."""
    with (_folder() / "sparkcep-kernels.lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


@cache
def sources(file: str) -> str:
    """A hash of a module of kernels and of what it imports of this package: a kernel holds copies of functions and constants of other modules, and
    numba takes it from the cache as long as the module itself is the same. Of a module in an archive: when that was written, and its size."""
    if not Path(file).is_file():
        status = next(folder for folder in Path(file).parents if folder.exists()).stat()
        return f"{status.st_size} {status.st_mtime_ns}"
    found: dict[Path, str] = {}
    waiting = [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path], imported = _source(path)
            waiting += imported
    return hashlib.sha256("\0".join(found[path] for path in sorted(found)).encode()).hexdigest()


@cache
def _source(path: Path) -> tuple[str, tuple[Path, ...]]:
    """A module's text, and the modules of this package that it imports."""
    text, imported = path.read_text(encoding="utf-8"), []
    for module, names in _IMPORTS.findall(text):
        place = _ROOT.joinpath(*module.split("."))
        imported += [place.with_suffix(".py"), *(place / f"{name}.py" for name in re.findall(r"\w+", names))]
    return text, tuple(filter(Path.is_file, imported))


def _note() -> Path:
    """An empty file beside the kernels, whose name says what they were compiled from."""
    known = hashlib.sha256(f"{platform.python_version()} {version('numba')} {_processor()}".encode())
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        status = file.stat()
        known.update(f"{file} {status.st_size} {status.st_mtime_ns}".encode())
    return _folder() / f"sparkcep-kernels-{known.hexdigest()[:16]}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def _folder() -> Path:
    """The folder of the cache; an existing one."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(given) if given else _own() or _temporary()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _own() -> Path | None:
    """The first of numba's own folders that is writable."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numba")
    beside = Path(__file__).parent / "__pycache__"
    return next((one for one in (beside, user) if one.is_absolute() and _is_writable(one)), None)


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _temporary() -> Path:
    """A folder shared by all processes of this user and writable by no one else, because its contents are executed."""
    folder = Path(tempfile.gettempdir()) / f"sparkcep-kernels-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    own = (
        status.st_uid == os.getuid() and status.st_mode & 0o777 == 0o700 and folder.is_dir() and not folder.is_symlink()
    )
    return folder if own else Path(tempfile.mkdtemp(prefix="sparkcep-kernels-"))

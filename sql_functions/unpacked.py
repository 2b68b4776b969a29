"""sparkcep shipped to workers as one file (``--py-files sparkcep-….whl``): the packages unpacked, once for each machine and user.

numba keeps compiled kernels beside their sources, and those must be files. In a folder that outlives the application the kernels are compiled
once a machine; inside the wheel they could not be kept at all. Packages that are files already are left alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path


def unpack_packages() -> None:
    """Put the unpacked packages in front of the import path, where this file comes out of an archive."""
    archive = archive_of(Path(__file__))
    if archive is not None:
        with suppress(OSError):  # no home to write to: numba says what it misses
            sys.path.insert(0, str(unpacked(archive, cache_folder())))


def archive_of(file: Path) -> Path | None:
    """The archive that a module's path leads through; None for a file of its own."""
    return next((parent for parent in file.parents if parent.is_file()), None)


def unpacked(archive: Path, cache: Path) -> Path:
    """The folder in ``cache`` with the archive's content: made by the first process that asks."""
    folder = cache / hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    if folder.is_dir():
        return folder
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    half_done = tempfile.mkdtemp(dir=cache)
    with zipfile.ZipFile(archive) as content:
        content.extractall(half_done)
    try:
        os.rename(half_done, folder)
    except OSError:  # another process was faster
        shutil.rmtree(half_done)
    return folder


def cache_folder() -> Path:
    """Where a user's caches are."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sparkcep"

"""sparkcep shipped to workers as a single file (``--py-files sparkcep-….whl``): unpacks the packages, once per machine and user.

numba caches compiled kernels beside their sources, which must be files. In a folder that outlives the application, the kernels are compiled once per
machine; inside the wheel they could not be cached at all. Packages that are already files are left alone.
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
    """Prepend the unpacked packages to the import path, if this file was loaded from an archive."""
    archive = archive_of(Path(__file__))
    if archive is not None:
        with suppress(OSError):  # no writable home: numba will report what it lacks
            sys.path.insert(0, str(unpacked(archive, cache_folder())))


def archive_of(file: Path) -> Path | None:
    """The archive that contains a module's path; None for an ordinary file."""
    return next((parent for parent in file.parents if parent.is_file()), None)


def unpacked(archive: Path, cache: Path) -> Path:
    """The folder in ``cache`` with the archive's content, created by the first process that needs it."""
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
    """The folder of the user's caches."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sparkcep"

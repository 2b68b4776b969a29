"""A cache folder for compiled kernels where numba finds none: both installation and home are read-only, as in many containers.

numba writes them beside the sources, else to the user's cache folder, and refuses to define a function if neither is writable.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path


def ensure_cache() -> None:
    """Point numba's cache at the temporary folder if necessary; an existing NUMBA_CACHE_DIR is respected."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    user = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numba")
    if _is_writable(Path(__file__).parent / "__pycache__") or (user.is_absolute() and _is_writable(user)):
        return
    os.environ["NUMBA_CACHE_DIR"] = str(_temporary())
    if "numba" in sys.modules:
        sys.modules["numba"].config.reload_config()


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

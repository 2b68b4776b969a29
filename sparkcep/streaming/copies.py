"""What a worker has last written of a bucket's rows, as a file that any worker of the host maps: reading them through Spark's state API takes 25 ms a
megabyte. Likewise what a speculative turn has foreseen, which asking the engine again takes longer.

A copy is named by a token, drawn anew in each turn, which the state has too, or by a digest of all that the state has. Only a turn that is committed
leaves them in the state: a copy of a turn that was aborted, or of another attempt, is never found. Where there is no copy (another host, a restart),
the state has all.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

NAME = "sparkcep-copies"


def folder() -> Path:
    """Beside the blocks of Spark's executor, which removes them at its end."""
    there = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(there or tempfile.gettempdir()) / NAME


def token() -> str:
    """A new name."""
    return uuid.uuid4().hex


def write(bucket: str, name: str, rows: pa.Table) -> None:
    """Write the copy ``name`` of a ``bucket`` and remove others of it; nothing where the disk is full."""
    there = folder()
    unfinished = there / f"{bucket}.{name}.unfinished"
    with suppress(OSError):
        there.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(unfinished), "wb") as file, pa.ipc.new_stream(file, rows.schema) as out:
            out.write_table(rows.combine_chunks())
        unfinished.rename(there / f"{bucket}.{name}")
    with suppress(OSError):
        for path in there.glob(f"{bucket}.*"):
            if path.name != f"{bucket}.{name}":
                path.unlink(missing_ok=True)


def read(bucket: str, name: str) -> pa.Table | None:
    """The rows of a copy; None if there is none."""
    with suppress(OSError, pa.ArrowInvalid), pa.memory_map(str(folder() / f"{bucket}.{name}")) as file:
        return pa.ipc.open_stream(file).read_all()
    return None


def remove(bucket: str) -> None:
    """Remove all copies of a bucket."""
    with suppress(OSError):
        for path in folder().glob(f"{bucket}.*"):
            path.unlink(missing_ok=True)

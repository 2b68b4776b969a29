"""The memory that a worker may still take, and the error of a partition that needs more: in place of a process that the system kills.

A worker's limit is that of Spark (``spark.executor.pyspark.memory``, which Spark sets as the process's address space), that of its container
(cgroup), or the machine's free memory. Where none of them can be read, only a failed allocation tells.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from sparkcep.engines.keys import key_text
from sparkcep.errors import CepLimitError
from sparkcep.spec import AnalyzeSpec, MatchSpec

STEP = 64 << 20
"""Bytes of a partition's rows between two looks."""
SORTED = 48 << 20
"""Bytes of rows that a task sorts in memory, at most."""
NEED = 5
"""Bytes that an engine takes for each byte of a long partition's rows, as measured (``benchmarks/row_pattern_growth.py``)."""
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ),
)
_HINT = (
    "partition more finely, bound the match (WITHIN), leave out columns that are not used, or give workers more memory: "
    "spark.executor.pyspark.memory, spark.executor.memoryOverhead, fewer spark.executor.cores"
)


class OpenPartition:
    """The partition whose rows are coming, as errors name it."""

    def __init__(self, spec: MatchSpec | AnalyzeSpec) -> None:
        self._keys = spec.of.partition if isinstance(spec, AnalyzeSpec) else spec.partition
        self._first: pa.RecordBatch | None = None
        self._rows = self._unseen = 0

    def begin(self) -> None:
        """Another one begins with the next rows."""
        self._first, self._rows, self._unseen = None, 0, 0

    def come(self, batch: pa.RecordBatch, size: int) -> None:
        """Its next rows, and the bytes of it that are here with them. Raises CepLimitError if an engine has no room for these."""
        if self._first is None and batch.num_rows:
            self._first = batch.slice(0, 1)
        self._rows += batch.num_rows
        self._unseen += batch.nbytes
        if self._unseen < STEP:
            return
        self._unseen, room = 0, free()
        if room is not None and room < NEED * size:
            raise self.too_large(f"needs about {_text(NEED * size)}; the worker may take {_text(room)} more")

    def too_large(self, why: str) -> CepLimitError:
        """The error, which names the partition."""
        which, first = "a partition", self._first
        known = [] if first is None else [name for name in self._keys if name in first.schema.names]
        if known:
            which = f"the partition {key_text(pa.Table.from_batches([first]).select(known))}"
        return CepLimitError(f"{which} has {self._rows:,} rows so far and {why}", code="PARTITION_MEMORY", hint=_HINT)


def to_sort() -> int:
    """Bytes of rows that a task may sort in memory, which takes three times as many."""
    room = free()
    return SORTED if room is None else min(SORTED, room // 8)


def free() -> int | None:
    """Bytes that this process may still take; None: nothing tells."""
    rooms = _address_space(), *(_container(*paths) for paths in _CGROUPS), _machine()
    return min((room for room in rooms if room is not None), default=None)


def _address_space() -> int | None:
    used = _field("/proc/self/status", "VmSize:")
    if used is None:
        return None
    import resource  # where there is /proc, there is this

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else max(limit - used * 1024, 0)


def _container(limit: str, usage: str, stat: str) -> int | None:
    """Pages of files that are not in use count as free: the system takes them back."""
    try:
        most, used = Path(limit).read_text().strip(), int(Path(usage).read_text())
    except (OSError, ValueError):
        return None
    if not most.isdigit():
        return None
    return max(int(most) - used + (_field(stat, "inactive_file") or 0), 0)


def _machine() -> int | None:
    free = _field("/proc/meminfo", "MemAvailable:")
    return None if free is None else free * 1024


def _field(path: str, name: str) -> int | None:
    """The number behind a name in a file of lines."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), None)


def _text(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"

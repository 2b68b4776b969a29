"""Partitions whose rows come together, in no order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Together:
    """``keys``: the columns whose change begins a partition, once workers have sorted the rows by them (none: all rows are one). ``tasks``: into how
    many the partitions are distributed; None: as Spark finds best."""

    keys: tuple[str, ...]
    tasks: int | None = None

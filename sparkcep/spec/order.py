"""How rows are sorted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OrderColumn:
    """An input column with an ORDER BY expression."""

    column: str
    descending: bool = False
    nulls_last: bool = False

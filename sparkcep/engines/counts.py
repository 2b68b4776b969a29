"""The counts of EXPLAIN ANALYZE PATTERN for one batch of partitions, as the table of ``AnalyzeSpec``.

In: numbers by (section, item), added up while an engine runs. Out: one Arrow table. What to count is up to the engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa

NUMBER = pa.decimal128(38, 0)
SCHEMA = pa.schema(
    [
        pa.field("place", pa.int32(), nullable=False),
        pa.field("section", pa.string(), nullable=False),
        pa.field("item", pa.string(), nullable=False),
        pa.field("tried", NUMBER),
        pa.field("taken", NUMBER),
    ]
)


@dataclass(slots=True)
class Counts:
    """Numbers in the order in which their items were first named."""

    found: dict[tuple[str, str], tuple[int, int | None, int | None]] = field(default_factory=dict)

    def add(
        self, section: str, item: str, tried: int | None, taken: int | None = None, place: int | None = None
    ) -> None:
        """Add to an item's numbers. ``place`` orders the items (default: order of first use)."""
        where, sum_tried, sum_taken = self.found.get((section, item), (len(self.found), None, None))
        at = where if place is None else place
        self.found[section, item] = at, _sum(sum_tried, tried), _sum(sum_taken, taken)

    def table(self) -> pa.Table:
        """The rows of ``SCHEMA``."""
        keys, numbers = list(self.found), list(self.found.values())
        columns = [
            pa.array([place for place, _, _ in numbers], pa.int32()),
            pa.array([section for section, _ in keys], pa.string()),
            pa.array([item for _, item in keys], pa.string()),
            *(pa.array([_decimal(number[i]) for number in numbers], NUMBER) for i in (1, 2)),
        ]
        return pa.Table.from_arrays(columns, schema=SCHEMA)


def _sum(total: int | None, more: int | None) -> int | None:
    if total is None or more is None:
        return total if more is None else int(more)
    return total + int(more)


def _decimal(number: int | None) -> Decimal | None:
    return None if number is None else Decimal(number)

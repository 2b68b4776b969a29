"""Rows that a stream emits as text, to be counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from sparkcep.engines.event_pattern.output.expansion import expand
from sparkcep.spec.stream import DELETED


def signed_lines(found: Iterable[pa.Table]) -> Iterator[tuple[str, bool]]:
    """Each row, and whether it is taken back. A buffer of COMPRESSED MATCHES is the set of its matches, however it shares their events."""
    for part in found:
        for row in part.to_pylist():
            taken_back = row.pop(DELETED, False)
            if "buffer" in row:
                row["buffer"] = _matches(row["buffer"])
            yield json.dumps(row, default=str, sort_keys=True), taken_back


def _matches(buffer: dict[str, Any]) -> list[str]:
    variables = buffer["variable"]
    walks = expand(variables, buffer["event"], buffer["previous"], buffer["other"], [True] * (max(variables) + 1))
    return sorted(json.dumps(match, default=str, sort_keys=True) for match in walks)

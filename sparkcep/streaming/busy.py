"""A key that has much of a stream: one task works on it alone, so it is named in a warning, once a query.

In: the observed metrics of micro-batches, as Spark reports them. Out: log lines of the logger ``sparkcep``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from sparkcep.errors import CepNotice
from sparkcep.streaming.monitor import OBSERVATION

LOGGER = logging.getLogger("sparkcep")
SHARE = 0.25
"""Of the rows of a micro-batch, from which on a key is named."""
FEWEST = 5_000
"""Rows of a micro-batch that say something about shares."""


def busy_keys(progress: Mapping[str, Any]) -> Iterator[tuple[str, CepNotice]]:
    """The key that has much of a micro-batch, for each clause that has one, with a notice. ``progress``: as Spark reports it."""
    query = progress.get("name") or progress["id"]
    for name, counts in progress.get("observedMetrics", {}).items():
        rows, most = (counts.get(field) or 0 for field in ("final_rows", "busiest_rows"))
        if name.startswith(OBSERVATION) and rows >= FEWEST and most >= SHARE * rows:
            key = counts["busiest_key"]
            yield (
                key,
                CepNotice(
                    f"in query {query} {most / rows:.0%} of a micro-batch has one key, {key}: one task works on all its rows",
                    hint="add a column to PARTITION BY that divides it, or filter the key out if it stands for a missing value",
                ),
            )


class Watcher:
    """Logs the busy keys of each query once."""

    def __init__(self) -> None:
        self._named: set[tuple[str, str]] = set()

    def progressed(self, progress: Mapping[str, Any]) -> None:
        """See ``listener.Observer``."""
        for key, notice in busy_keys(progress):
            if (progress["runId"], key) not in self._named:
                self._named.add((progress["runId"], key))
                LOGGER.warning("%s", notice)

    def ended(self, run: str, query: str) -> None:
        """See ``listener.Observer``."""
        self._named = {(own, key) for own, key in self._named if own != run}

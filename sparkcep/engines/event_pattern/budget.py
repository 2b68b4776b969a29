"""What a run may spend: partial matches in all, and at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.errors import CepLimitError

MIN_CHUNK = 1 << 10
HALVED_EVERY = 2
"""Closures of size k are made in chunks of ``chunk / 2^(k / HALVED_EVERY)``, at least ``MIN_CHUNK``: the growth holds
one chunk a size, so all sizes together hold a few chunks, and a thousand sizes no more than a few more."""


@dataclass(slots=True)
class Budget:
    """Partial matches that may still be created, and how many at a time."""

    left: int
    limit: int
    chunk: int

    def spend(self, created: int, bound: Sequence[str]) -> None:
        """Count ``created`` partial matches over ``bound``; raise CepLimitError when the limit is passed."""
        self.left -= created
        if self.left < 0:
            raise CepLimitError(
                f"More than {self.limit} partial matches, the last over {', '.join(bound)}.",
                code="PARTIAL_MATCHES",
                hint="Shorten or add WITHIN, add PARTITION BY, or add a predicate between these variables.",
            )

    def spend_on_closures(self, created: int, variable: str, size: int) -> None:
        """The same for closures of ``variable`` with ``size`` events."""
        self.left -= created
        if self.left < 0:
            raise CepLimitError(
                f"More than {self.limit} partial matches, the last over {size} events in the closure {variable}: "
                "every set of its events is a match of its own.",
                code="PARTIAL_MATCHES",
                hint=f"Bound the closure as in {{1,5}}, shorten WITHIN, or add a predicate on {variable}[i].",
            )

    def chunk_of(self, size: int) -> int:
        """How many closures of ``size`` events are made at a time."""
        return min(self.chunk, max(self.chunk >> (size - 1) // HALVED_EVERY, MIN_CHUNK))

"""The budget of a run: the total and the concurrent number of partial matches; what was spent; and, for EXPLAIN ANALYZE PATTERN, with what result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from sparkcep.engines.counts import Counts
from sparkcep.errors import CepLimitError

MIN_CHUNK = 1 << 10
HALVED_EVERY = 2
"""Closures of size k are made in chunks of ``chunk / 2^(k / HALVED_EVERY)``, at least ``MIN_CHUNK``: growing holds one chunk per size, so all sizes
together hold a few chunks, and a thousand sizes hardly more.
"""


@dataclass(slots=True)
class Counters:
    """What a run did. ``created``: partial matches that passed their predicates, by the variable bound last (complete
    matches are those of the last state); ``tried``: pairs of a partial match and an event that order, window and equality admit, by the variables
    bound; ``predicates``: evaluations of other predicates; ``peak``: the most partial matches held at once."""

    created: Counter[str] = field(default_factory=Counter)
    tried: Counter[tuple[str, ...]] = field(default_factory=Counter)
    predicates: int = 0
    peak: int = 0
    held: int = 0

    @property
    def partial_matches(self) -> int:
        """All that were created."""
        return self.created.total()

    def hold(self, count: int) -> None:
        """Record that ``count`` more (if negative, fewer) are held."""
        self.held += count
        self.peak = max(self.peak, self.held)


@dataclass(slots=True)
class Budget:
    """How many partial matches may still be tried, and how many at a time. ``bounds``: what already bounds them in the clause (``WITHIN``,
    ``PARTITION BY``). ``counts``: collects the fate of partial matches, if wanted; ``branch``: the prefix of its items."""

    left: int
    limit: int
    chunk: int
    bounds: Sequence[str] = ()
    counters: Counters = field(default_factory=Counters)
    counts: Counts | None = None
    branch: str = ""

    def count(self, section: str, item: str, tried: int, taken: int | None = None) -> None:
        """Record that ``taken`` of ``tried`` partial matches passed."""
        if self.counts is not None:
            self.counts.add(section, f"{self.branch}{item}", tried, taken)

    def spend(self, tried: int, bound: Sequence[str]) -> None:
        """Count ``tried`` partial matches over ``bound``; raise CepLimitError when the limit is passed."""
        self.left -= tried
        self.counters.tried[tuple(bound)] += tried
        if self.left < 0:
            state, most = self.counters.tried.most_common(1)[0]
            raise CepLimitError(
                f"More than {self.limit} partial matches, {most} of them over {', '.join(state)}.",
                code="PARTIAL_MATCHES",
                hint=self._advice(state),
            )

    def spend_on_closures(self, tried: int, variable: str, size: int) -> None:
        """The same for closures of ``variable`` with ``size`` events."""
        self.left -= tried
        if self.left < 0:
            raise CepLimitError(
                f"More than {self.limit} partial matches, the last over {size} events in the closure {variable}: "
                "every set of its events is a match of its own.",
                code="PARTIAL_MATCHES",
                hint=f"Bound the closure as in {{1,5}}, add a predicate on {variable}[i], or "
                f"{self._advice((variable,), first='')}",
            )

    def chunk_of(self, size: int) -> int:
        """How many closures of ``size`` events are made at a time."""
        return min(self.chunk, max(self.chunk >> (size - 1) // HALVED_EVERY, MIN_CHUNK))

    def _advice(self, state: Sequence[str], first: str = "To bound them, ") -> str:
        """Suggestions of what to add to the clause, most effective first."""
        parts = ["shorten WITHIN" if "WITHIN" in self.bounds else "add WITHIN"]
        if "PARTITION BY" not in self.bounds:
            parts.append("add PARTITION BY or an equivalence test such as [attribute]")
        if len(state) > 1:
            parts.append(f"add a predicate between {' and '.join((', '.join(state[:-1]), state[-1]))}")
        parts.append("raise sparkcep.maxPartialMatches if the answer is meant to be that large")
        return first + ", or ".join(parts) + "."

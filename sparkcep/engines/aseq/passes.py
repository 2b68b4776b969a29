"""The numbers of one pattern over one table: one per partition, for every way of weighting its matches.

In: the table, the sequences, a ``Weighing``. Out: arrays with one entry per partition; aggregates that need the same numbers share one pass.
``results`` knows what the numbers mean, and their types.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from math import prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.aseq import exact, semiring
from sparkcep.engines.aseq.events import Table
from sparkcep.engines.aseq.sequences import Sequence
from sparkcep.engines.aseq.values import Column, Ints
from sparkcep.engines.aseq.work import Weighing, Work
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.neighbours import Linked

__all__ = ["Passes", "Weighing"]

PRIMES = (2147483647, 2147483629, 2147483587, 2147483579, 2147483563)
"""Moduli whose product, more than 10^46, distinguishes all signed numbers of 38 digits."""
SURE = 1e45
"""A sum in doubles below this proves that the exact sum is smaller than the product of the moduli."""


class Passes:
    """One pattern over the table being processed."""

    def __init__(
        self,
        table: Table,
        variables: tuple[str, ...],
        sequences: tuple[Sequence, ...],
        work: Work | None = None,
        pattern: int = 0,
        *,
        linked: Linked | None = None,
    ) -> None:
        """``work``: shared by several patterns, of which this is number ``pattern``; without it, ``linked`` gives the conditions between
        neighbours."""
        self.table, self.variables, self.sequences = table, variables, sequences
        self._work = work or Work(table, variables, (sequences,), ((0,),), linked or Linked())
        self._pattern = pattern
        self._exact: dict[Weighing, list[int | None]] = {}

    def integers(self, weighing: Weighing) -> Ints:
        """Per partition the saturating sum of non-negative weights (MAX means MAX or more); or the least key, MAX if there is none."""
        by_order = weighing.weight in ("least", "greatest")
        return self._work.numbers(self._pattern, weighing, semiring.LEAST if by_order else semiring.SATURATING)

    def doubles(self, weighing: Weighing) -> NDArray[np.float64]:
        """Per partition the sum of weights as doubles."""
        return self._work.numbers(self._pattern, weighing, semiring.FLOAT)

    def remainders(self, weighing: Weighing, prime: int) -> Ints:
        """Per partition the exact sum of weights modulo a prime."""
        numbers: Ints = self._work.numbers(self._pattern, weighing, prime)
        return numbers

    def exact(self, weighing: Weighing, part: int) -> int | None:
        """The sum of weights of one partition; None where it may have more than 44 digits."""
        if weighing not in self._exact:
            self._exact[weighing] = self._from_remainders(weighing)
        return self._exact[weighing][part]

    def recounted(self, weighing: Weighing, part: int) -> int:
        """The same by the plain recurrence in Python integers, however large: an oracle, and slow.

        Raises CepUnsupportedError for conditions between neighbours.
        """
        if self._work.linked.variables:
            raise CepUnsupportedError(
                "counts of more than 44 digits with conditions between neighbours", code="ASEQ_DIGITS"
            )
        found = 0
        for one in self._work.marked(self._pattern, weighing.variable):
            coded = self._work.code(one.sequence)
            groups = range(int(np.searchsorted(coded.part, part)), int(np.searchsorted(coded.part, part + 1)))
            weights = self._work.weights(weighing, semiring.SATURATING)
            found += exact.total(coded, groups, weights[coded.row].tolist() if len(weights) else None, one.position)
        return found

    def column(self, name: str) -> Column:
        """An input column; converted once."""
        return self._work.column(name)

    def order(self, name: str) -> tuple[Ints, pa.Array]:
        """Its rows' ranks, and its values in order; once."""
        return self._work.order(name)

    def _from_remainders(self, weighing: Weighing) -> list[int | None]:
        """Chinese remainder theorem: the sum is counted modulo each prime; the sum in doubles proves that it is small enough."""
        sizes = np.sum([self.doubles(way) for way in _unsigned(weighing)], axis=0).tolist()
        remainders = [self._work.numbers(self._pattern, weighing, prime).tolist() for prime in PRIMES]
        return [
            _combined(parts) if size < SURE else None
            for size, parts in zip(sizes, zip(*remainders, strict=True), strict=True)
        ]


def _unsigned(weighing: Weighing) -> list[Weighing]:
    if weighing.weight != "value":
        return [weighing]
    return [Weighing(sign, weighing.variable, weighing.column) for sign in ("positive", "negative")]


def _combined(remainders: Items[int]) -> int:
    """The number of smallest magnitude with these remainders."""
    whole = prod(PRIMES)
    parts = (r * (whole // prime) * pow(whole // prime, -1, prime) for r, prime in zip(remainders, PRIMES, strict=True))
    number = sum(parts) % whole
    return number - whole if number > whole // 2 else number

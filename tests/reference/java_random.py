"""java.util.Random, whose numbers the papers' generators draw (semantics page, E5 and E6)."""

from __future__ import annotations


class JavaRandom:
    """The linear congruential generator of java.util.Random; only ``nextInt(bound)``."""

    def __init__(self, seed: int) -> None:
        self.seed = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def next_int(self, bound: int) -> int:
        """Uniform in [0, bound)."""
        bits = self._bits()
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        while bits - bits % bound + bound - 1 >= 1 << 31:
            bits = self._bits()
        return bits % bound

    def _bits(self) -> int:
        self.seed = (self.seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return self.seed >> 17

"""Canonical keys of sub-patterns, so that equal ones in several sequences are recognised.

In: a sequence. Out: keys of what lies between two of its states. Imports no numpy, so that the driver can use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.engines.aseq.sequences import STRICT, Marked, Sequence

Key = tuple[object, ...]


def countable(sequence: Sequence) -> bool:
    """Whether a program counts ``sequence``: its events are strictly ordered and no negated event stands first or last."""
    return not sequence.open_ended and all(gap == STRICT for gap in sequence.gaps)


@dataclass(frozen=True, slots=True)
class Spelled:
    """What lies between two states of a sequence; a state is the number of positions taken."""

    marked: Marked

    @property
    def sequence(self) -> Sequence:
        """The sequence itself."""
        return self.marked.sequence

    @property
    def states(self) -> int:
        """The last state from which a match can end: the one before the last event, or a loop that continues."""
        length = len(self.sequence.variables)
        return length if length - 1 in self.sequence.loops else length - 1

    def loops(self, state: int) -> bool:
        """Whether the last event of ``state`` may be followed by more of its closure."""
        return state - 1 in self.sequence.loops

    def resets(self, state: int) -> tuple[str, ...]:
        """The negated variables whose events reset what has reached ``state``."""
        return self.sequence.between[state - 1] if 0 < state < len(self.sequence.variables) else ()

    def key(self, first: int, last: int) -> Key:
        """A key that is equal for equal entries. An empty entry that never changes belongs to its prefix."""
        if first == last and first and not self.loops(first) and not self.resets(first):
            return "empty", self.key(0, first)
        parts: list[object] = [self._state(first)]
        for k in range(first + 1, last + 1):
            parts += [self.sequence.variables[k - 1], k == self.marked.position, self._state(k)]
        return tuple(parts)

    def _state(self, state: int) -> object:
        """The events that update entries beginning or ending here: those that continue a loop, and negated ones."""
        loop = self.sequence.variables[state - 1] if self.loops(state) else ""
        return loop, tuple(sorted(self.resets(state)))

"""Input buffers: the candidates of one variable, searchable by order and by equality (paper, section 3).

In: the candidates a variable can take and, where equality predicates bind it, a code per candidate. Out: for every
partial match the range of buffer slots to take, and the expansion of such ranges in bounded chunks. Predicates are
not looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparkcep.engines.event_pattern.events import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class InputBuffer:
    """``rows``: candidates in (code, order) order.

    Without codes, ``slots[p]`` is the number of rows before candidate p, so a range of candidates is two look-ups.
    With codes, ``keys`` is ``code * width + row``, sorted, so a code and a range of candidates are two binary
    searches.
    """

    rows: IntArray
    slots: IntArray | None
    keys: IntArray | None
    width: int

    def ranges(self, low: IntArray, high: IntArray, codes: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """Slots ``[begin, end)`` of the rows in ``[low, high)`` with the given code; a negative code has none."""
        if self.slots is not None:
            return self.slots[low], self.slots[high]
        base = codes * self.width
        begin = np.searchsorted(self.keys, base + low)
        end = np.searchsorted(self.keys, base + high)
        return begin, np.where(codes < 0, begin, end)


@dataclass(frozen=True, slots=True)
class Expansion:
    """One chunk of (partial match, taken event) pairs: the partial match's index and the event's candidate number."""

    parents: IntArray
    rows: IntArray


def ordered(taken: BoolArray) -> InputBuffer:
    """A buffer searched by order alone. ``taken``: which candidates the variable can take."""
    slots = np.zeros(len(taken) + 1, dtype=np.int64)
    np.cumsum(taken, out=slots[1:])
    return InputBuffer(np.flatnonzero(taken), slots, None, len(taken))


def keyed(taken: BoolArray, codes: IntArray) -> InputBuffer:
    """A buffer searched by equality and order; candidates with a negative code (a NULL) equal nothing and are left out.

    ``codes`` times the number of candidates must fit int64 (see ``codes.combine``).
    """
    rows = np.flatnonzero(taken & (codes >= 0))
    width = len(taken) + 1
    keys = np.sort(codes[rows] * width + rows)
    return InputBuffer(keys % width, None, keys, width)


def expansions(buffer: InputBuffer, begin: IntArray, end: IntArray, chunk: int) -> Iterator[Expansion]:
    """All pairs of a partial match i and a row in slots ``[begin[i], end[i])``, ``chunk`` pairs at a time.

    Chunks are made when asked for. They follow the partial matches' order, then the slots', so the pairs and their
    order do not depend on ``chunk``; one range may span several chunks.
    """
    counts = np.maximum(end - begin, 0)
    ends = np.cumsum(counts)
    shift = begin - (ends - counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, chunk):
        stop = min(start + chunk, total)
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(ends, stop, side="left"))
        part = np.minimum(ends[first : last + 1], stop)
        sizes = np.diff(part, prepend=start)
        slots = np.arange(start, stop) + np.repeat(shift[first : last + 1], sizes)
        yield Expansion(np.repeat(np.arange(first, last + 1), sizes), buffer.rows[slots])

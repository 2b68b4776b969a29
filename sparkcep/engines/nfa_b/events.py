"""The events of one table, as the kernels read them.

In: the Arrow table of whole partitions. Out: ``Stream``: borders, windows and, for an automaton, which components each
event may be. All rows stay: under contiguity what nobody takes breaks a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.nfa_b.structure import Component
from sparkcep.engines.nfa_b.structures import Events
from sparkcep.engines.within import times
from sparkcep.spec.event import EventPatternSpec, WithinTime
from sparkcep.spec.row import MASK_BITS

NEVER_PAST = np.iinfo(np.int32).max
"""The reach of a run without a window on a stream."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One entry an event; see ``structures.Events``. ``flags``: the mask columns; ``bits``: each variable's bit."""

    flags: tuple[NDArray[np.int64], ...]
    bits: dict[str, int]
    cut: NDArray[np.int8]
    partition_end: NDArray[np.int32]
    time: NDArray[np.int64]
    deadline: NDArray[np.int64]

    def events(self, components: tuple[Component, ...]) -> Events:
        """What the kernels read for an automaton with these components."""
        fit = np.zeros(len(self.cut), np.int64)
        for k, component in enumerate(components):
            word, bit = divmod(self.bits[component.variable] + 1, MASK_BITS)
            fit |= (self.flags[word] >> bit & 1) << k
        return Events(fit, self.cut, self.partition_end, self.time, self.deadline)

    def starts(self) -> NDArray[np.bool_]:
        """The first events of partitions."""
        first: NDArray[np.bool_] = self.cut & 1 != 0
        return first

    def taken_by(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """[events]: whether one of the variables takes the event."""
        found = np.zeros(len(self.cut), np.bool_)
        for name in names:
            word, bit = divmod(self.bits[name] + 1, MASK_BITS)
            found |= self.flags[word] >> bit & 1 != 0
        return found


def load(table: pa.Table, spec: EventPatternSpec) -> Stream:
    """The stream of ``table``. Bit 0 of the masks: a partition's first event; under contiguity the bit behind the
    variables': the event is no neighbour of the one before it."""
    flags = tuple(_numbers(table, name).astype(np.int64) for name in spec.masks)
    cut = (flags[0] & 1).astype(np.int8)
    if spec.strategy != "next":
        word, bit = divmod(len(spec.variables) + 1, MASK_BITS)
        cut |= ((flags[word] >> bit & 1) << 1).astype(np.int8)
    bits = {name: i for i, name in enumerate(spec.variables)}
    return Stream(flags, bits, cut, _partition_end(cut), *_times(table, spec))


def without(stream: Stream, old: NDArray[np.bool_]) -> Stream:
    """The stream whose ``old`` events no run takes any more, and whose partitions do not end: runs go on in a later turn."""
    flags = tuple(np.where(old, 0, word) for word in stream.flags)
    return replace(stream, flags=flags, partition_end=np.full(len(old), NEVER_PAST, np.int32))


def _numbers(table: pa.Table, name: str) -> NDArray[Any]:
    numbers: NDArray[Any] = table.column(name).to_numpy()
    return numbers


def _partition_end(cut: NDArray[np.int8]) -> NDArray[np.int32]:
    first = np.flatnonzero(cut & 1)
    if not len(first) or first[0]:
        first = np.concatenate([[0], first])
    end = np.append(first[1:], len(cut))
    return np.repeat(end, end - first).astype(np.int32)


def _times(table: pa.Table, spec: EventPatternSpec) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Time and deadline as integers that compare alike; a window of events is a window of time on ranks."""
    if spec.within is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if isinstance(spec.within, WithinTime):
        time, deadline = map(_sortable, times(table, spec.within))
        return time, deadline
    ranks = _numbers(table, spec.rank).astype(np.int64)
    return ranks, ranks + min(spec.within.count, int(ranks.max(initial=0)) + 1)


def _sortable(times: NDArray[Any]) -> NDArray[np.int64]:
    """Integers as they are; the bits of doubles, turned so that they sort like them (NaN above all)."""
    if times.dtype.kind != "f":
        return times.astype(np.int64)
    bits = (np.where(np.isnan(times), np.nan, times) + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)

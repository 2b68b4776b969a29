"""Negation (SASE+, section 3.1): the matches of the positive components, without those that a negated item refutes.

In: ``Matches`` of one line. Out: those that stand. The search for negated events is that of the chain engine
(``event_pattern.negation``); here rows are in total order, so ties do not count as concurrent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.candidates.buffer import Buffers
from sparkcep.engines.event_pattern.events import load
from sparkcep.engines.event_pattern.negation import negation as absences
from sparkcep.engines.event_pattern.output.output import Lists, Matches, Rows
from sparkcep.engines.event_pattern.planner.branches import Branch
from sparkcep.engines.event_pattern.planner.plan import branch_plan
from sparkcep.engines.event_pattern.values.closures import Closures, Frame
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.spec.event import EventPatternSpec

MAX_PAIRS = 1_000_000_000
"""Pairs of a match and a negated event over one table before a query counts as run away."""

CHUNK = 1 << 18
ROW = "<row>"
"""Column of a frame: the match's number."""


@dataclass(frozen=True, slots=True)
class Negation:
    """The negated items of a branch over one table. ``positions``: the rows that the chain engine numbers."""

    positions: NDArray[np.int64]
    prepared: absences.Negations
    budget: Budget

    def unrefuted(self, matches: Matches) -> Matches:
        """The matches that stand. Raises CepDataError for an error in a condition, CepLimitError past MAX_PAIRS."""
        kept = [absences.unrefuted(self.prepared, frame, self.budget)[ROW] for frame in self._frames(matches)]
        rows = [column for column in kept if isinstance(column, np.ndarray)]
        return matches.chosen(np.sort(np.concatenate(rows)))

    def _frames(self, matches: Matches) -> Iterator[Frame]:
        """Frames of matches whose closures have equal sizes, as the chain engine has them."""
        lists = {name: column for name, column in matches.taken.items() if isinstance(column, Lists)}
        if not lists:
            yield self._frame(matches, np.arange(len(matches)), {})
            return
        sizes = np.stack([column.sizes for column in lists.values()], axis=1)
        _, group, counts = np.unique(sizes, axis=0, return_inverse=True, return_counts=True)
        offsets = {name: np.cumsum(column.sizes) - column.sizes for name, column in lists.items()}
        for rows in np.split(np.argsort(group.ravel(), kind="stable"), np.cumsum(counts)[:-1]):
            yield self._frame(matches, rows, offsets)

    def _frame(self, matches: Matches, rows: NDArray[np.int64], offsets: dict[str, Rows]) -> Frame:
        frame: Frame = {}
        for name, column in matches.taken.items():
            if isinstance(column, Lists):
                elements = offsets[name][rows][:, None] + np.arange(int(column.sizes[rows[0]]))
                frame[name] = _closures(self._candidates(column.rows[elements]))
            else:
                frame[name] = self._candidates(column[rows])
        frame[ROW] = rows
        return frame

    def _candidates(self, rows: Rows) -> NDArray[np.int64]:
        return np.searchsorted(self.positions, rows)


def prepare(branch: Branch, spec: EventPatternSpec, table: pa.Table) -> Negation | None:
    """The negated items of ``branch``; None if it has none."""
    if branch.alternatives == ((),):
        return None
    events = load(table, spec.masks, spec.rank, spec.within)
    order = np.arange(len(events))
    events = replace(events, tie_start=order, tie_end=order + 1)
    indexes = {name: i for i, name in enumerate(spec.variables)}
    alternatives = branch_plan(branch, spec.predicates).alternatives
    prepared = absences.prepare(branch, alternatives, indexes, Buffers(events, Payload(table, events.positions)))
    return Negation(events.positions, prepared, Budget(MAX_PAIRS, MAX_PAIRS, CHUNK))


def _closures(elements: NDArray[np.int64]) -> Closures:
    """One closure a line."""
    found = Closures(elements[:, 0])
    for place in range(1, elements.shape[1]):
        found = Closures(elements[:, place], found, np.arange(len(elements)))
    return found

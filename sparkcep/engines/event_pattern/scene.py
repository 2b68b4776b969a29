"""The events of a turn, and which of them decide matches in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.event_pattern.events import BoolArray, Events, TimeArray
from sparkcep.engines.event_pattern.planner.outlook import Outlook
from sparkcep.engines.turn import Bound, Turn

Stage = NDArray[np.int8]
OVER, NOW, OPEN = 0, 1, 2
"""An event has decided its matches in an earlier turn, does so in this one, or will later."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The events of a turn. ``time``, ``ceiling`` (the greatest deadline so far in the partition) and ``usable`` [events]: whether positive variables
    may take the event. ``old``, ``since``, ``until`` [events]: as those of the turn. ``index``: of each variable, its mask bit."""

    turn: Turn
    old: BoolArray
    since: Bound
    until: Bound
    index: Mapping[str, int]
    events: Events
    time: TimeArray
    ceiling: TimeArray
    usable: BoolArray

    def stage(self, outlook: Outlook) -> Stage:
        """For each event, whether it decides the matches of the branch: OVER, NOW, OPEN."""
        if outlook.moment == "end":
            return (~self.old).astype(np.int8)
        deadline = self.deadline(outlook)
        return (deadline > self.since).astype(np.int8) + (deadline > self.until)

    def deadline(self, outlook: Outlook) -> TimeArray:
        """When the window of each event has closed that the branch waits for."""
        assert self.events.window is not None
        return self.events.window.deadline if outlook.moment == "first_deadline" else self.ceiling

    def any_of(self, variables: Iterable[str]) -> BoolArray:
        """The events that some of the variables can take."""
        found = np.zeros(len(self.events), np.bool_)
        for name in variables:
            found |= self.events.taken_by(self.index[name])
        return found

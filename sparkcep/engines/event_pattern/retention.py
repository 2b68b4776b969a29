"""Which events a stream keeps for matches of later turns.

In: the events of a turn, and when the matches of a branch are decided. Out: the events that such matches may still take, or look at.
"""

from __future__ import annotations

import numpy as np

from sparkcep.engines.event_pattern.events import BoolArray, Events, IntArray
from sparkcep.engines.event_pattern.planner.outlook import Outlook
from sparkcep.engines.event_pattern.scene import Scene


def needed(scene: Scene, outlook: Outlook, free: BoolArray) -> BoolArray:
    """The events that matches of the branch may take, or look at, in later turns.

    A match that is not decided holds an event whose window is open: the first one, or (``last_deadline``) the last one; then it holds events that
    share a window with that one. Positive events are ``free`` ones behind needed events of the variables that precede theirs.
    """
    events = scene.events
    stays = wide = scene.ceiling > scene.until
    if outlook.moment != "end":
        wide = scene.ceiling > _border(scene, free & stays & scene.any_of(outlook.deciding))
        stays = wide if outlook.moment == "last_deadline" else stays
    taken: dict[str, BoolArray] = {}
    for name, before in outlook.steps:
        taken[name] = events.taken_by(scene.index[name]) & free & stays
        for other in before:
            taken[name] &= _behind_first(events, taken[other])
    kept = np.zeros(len(events), np.bool_)
    for name in outlook.followed:
        kept |= taken[name]
    for variables, before in outlook.negated:
        refuting = scene.any_of(variables) & (stays if before else wide)
        for other in before:
            refuting &= _behind_first(events, taken[other])
        kept |= refuting
    return kept


def _border(scene: Scene, waiting: BoolArray) -> IntArray:
    """For each event, the time of the first of its partition that waits, or of what is still to come."""
    border = np.full(len(waiting), scene.until)
    found = _firsts(scene.events, waiting)
    border[scene.events.partition_start[found]] = scene.time[found]
    return border[scene.events.partition_start]


def _behind_first(events: Events, chosen: BoolArray) -> BoolArray:
    """The events that are later than the first of the ``chosen`` ones of their partition."""
    end = np.full(len(events), len(events))
    found = _firsts(events, chosen)
    end[events.partition_start[found]] = events.tie_end[found]
    later: BoolArray = np.arange(len(events)) >= end[events.partition_start]
    return later


def _firsts(events: Events, chosen: BoolArray) -> IntArray:
    """The first of the ``chosen`` events of each partition that has one."""
    found = np.flatnonzero(chosen)
    return found[np.diff(events.partition_start[found], prepend=-1) != 0]

"""What the kernels of NFA^b automata are given, named. Arrays only: no kernel is imported here, and no numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_match.structures import Code, Flags, Ints, Longs, Stack, Words

Bytes = NDArray[np.int8]


class Machine(NamedTuple):
    """An automaton. ``low``, ``high`` (-1: no bound) and ``kleene`` [components]; then as in ``vector.Program``."""

    low: Longs
    high: Longs
    kleene: Flags
    edges: Ints
    update_starts: Ints
    updates: Longs
    masks: Flags


class Formulas(NamedTuple):
    """What evaluates conjuncts: their bytecode, the columns, room to compute. ``path`` is empty: they read registers (the value vector of
    a run) and the event under test only."""

    code: Code
    words: Words
    stack: Stack
    path: NDArray[np.int16]


class Events(NamedTuple):
    """A stream. ``fit`` [events]: bit k says that the event may be component k; ``cut`` [events]: 1 the first of a partition, 2 no neighbour
    of the event before it; ``partition_end`` [events]; ``time`` and ``deadline`` [events], or empty."""

    fit: Longs
    cut: Bytes
    partition_end: Ints
    time: Longs
    deadline: Longs


class Runs(NamedTuple):
    """Per run: the component it is ``at``, how many events it has ``taken`` there, ``tail``: its version (a node), its ``reach``, ``since``: the
    event to resume with, ``vectors`` [runs, words]: V."""

    at: Ints
    taken: Ints
    tail: Ints
    reach: Ints
    since: Ints
    vectors: Longs


class Resumed(NamedTuple):
    """Runs that an earlier turn left open. ``events`` [partitions]: the event at which those of a partition go on; ``starts`` [partitions + 1]: the
    first of its ``runs``."""

    events: Ints
    starts: Ints
    runs: Runs


class Saved(NamedTuple):
    """Runs that are open at the end of their partition, as in ``Runs``. Without room (0 rows) none are saved."""

    at: Ints
    taken: Ints
    tail: Ints


class Nodes(NamedTuple):
    """The match buffer. Per node: its event, its component (or UNION), the nodes before it, its reach."""

    events: Ints
    components: Bytes
    left: Ints
    right: Ints
    reaches: Ints


class LastNodes(NamedTuple):
    """Per end of matches: the last event, and its node."""

    events: Ints
    nodes: Ints


class Merging(NamedTuple):
    """The table of states met at an event, with open addressing: ``slot``: the run; ``stamp``: the epoch."""

    slot: Ints
    stamp: Ints


class Paths(NamedTuple):
    """Room for the nodes of two matches that are compared."""

    one: Ints
    other: Ints


class Mode(NamedTuple):
    """Whether events may be ignored, equivalent runs are merged, one of overlapping matches is chosen."""

    ignores: int
    merges: int
    chooses: int


class Walk(NamedTuple):
    """Room for a walk through the buffer. Branches still to be walked: node and path length; the path, last event first: event and component."""

    branches: Ints
    depths: Ints
    path: Ints
    named: Bytes


class Written(NamedTuple):
    """``events`` [rows]: match after match, in order; ``sizes`` [matches, components]."""

    events: Ints
    sizes: Ints


class PartArrays(NamedTuple):
    """Per last event: the event, how many nodes; per node: component (or UNION), event, the node before it, and the second one of a union:
    both counted from the first node of its last event (NOTHING: none)."""

    last: Ints
    sizes: Ints
    components: Bytes
    rows: Ints
    previous: Ints
    others: Ints

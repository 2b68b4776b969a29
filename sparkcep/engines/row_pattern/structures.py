"""What the kernels of row patterns are given, named. Arrays only: no kernel is imported here, and no numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]


class Tests(NamedTuple):
    """Where the rows' masks say that the variable of a row-taking node holds [nodes that take rows]. (The masks themselves are often
    read-only, which numba lets pass beside a structure, not inside one.)"""

    column: Ints
    bit: NDArray[np.int64]


class Targets(NamedTuple):
    """The nodes of a ``Program``: those from ``first_split`` on take no row. The targets of node n, most preferred first, are ``items`` from
    ``start[n]`` to ``start[n + 1]`` - 1; the last two lists are the roots. ``codes`` [nodes]: 2 * variable + excluded."""

    first_split: int
    start: Ints
    items: Ints
    codes: NDArray[np.int16]


class Rules(NamedTuple):
    """Which matches are wanted. ``skip``: one of the kernels' SKIP numbers; ``skip_to`` [codes]: the variables that SKIP TO FIRST / LAST
    names; ``initial``: those that start a partition only; ``unmatched``: rows outside of all matches too."""

    skip: int
    skip_to: NDArray[np.bool_]
    initial: bool
    unmatched: bool


class Progress(NamedTuple):
    """How far a stream's partitions have been searched (all empty: the partitions are whole). Where the set of nodes beyond the last row is an
    open one (``program.open_end``), a search stops at the first row where a match may begin that would take a row that has not come.

    ``begin`` [partitions]: the row at which the search begins, and then where it has stopped; ``numbers``: the matches before, and then in
    all; ``covered``: the first row beyond all matches, the same. ``closed`` [rows]: no row to come can be in a match that begins here (empty:
    none is closed).
    """

    begin: NDArray[np.int64]
    numbers: NDArray[np.int64]
    covered: NDArray[np.int64]
    closed: NDArray[np.bool_]

    def first(self) -> tuple[int, int, int]:
        """Row, number of matches, and first row beyond them, where the search begins."""
        if not len(self.begin):
            return 0, 0, 0
        return int(self.begin[0]), int(self.numbers[0]), int(self.covered[0])


def whole() -> Progress:
    """Partitions that are whole: there is no progress to keep."""
    nothing = np.empty(0, np.int64)
    return Progress(nothing, nothing, nothing, np.empty(0, np.bool_))


class Path(NamedTuple):
    """Room for the rows of matches. Per node: its row, its code, the node before it in the same match, or -1. An empty match has one node
    with the code len(skip_to) - 2, a row outside of all matches one with the code len(skip_to) - 1."""

    row: Ints
    code: NDArray[np.int16]
    back: Ints


class Found(NamedTuple):
    """Room for matches. Per match: its first node (and where the nodes end), its number; its partition's rows."""

    node: Ints
    number: Ints
    low: Ints
    high: Ints


class Forest(NamedTuple):
    """Room for the nodes of a forest: the row that each takes, the program's node, its code, the forest's node of the next row, or -1."""

    row: Ints
    state: Ints
    code: NDArray[np.int16]
    after: Ints


class Frames(NamedTuple):
    """The frames of rows in a window (the masks go beside it, see ``Tests``). ``seek``: a match may begin behind its row. ``near`` [positions,
    prev + 1, next + 1]: the mask bit (column << 6 | bit) of a position for a row so many rows behind the frame's first and before its last.
    ``following`` [rows]: how many rows a frame has behind its row (empty: all of the partition). ``begins`` [rows + 1]: a row from here
    on, with none before it where a match may begin far from a frame's first row; the row itself if one may begin there, and at the end (empty
    unless ``seek`` in unbounded frames; shortened by the kernels). ``now``,
    ``then`` [nodes]: two sets of nodes to work with."""

    seek: bool
    near: NDArray[np.int64]
    following: NDArray[np.int64]
    begins: NDArray[np.int64]
    now: NDArray[np.bool_]
    then: NDArray[np.bool_]

"""What the kernels of match-dependent conditions are given, named. Arrays only: no kernel is imported here, and no numba.

The evaluator of conditions (``condition_kernels.holds``) stands between four of them. ``Code`` is the program. ``Tested``, ``Taken`` and
``Words`` are where values come from: the row under test, what was taken before it, the columns. An engine whose conditions look at
registers and the current event, and at nothing else, gives an empty ``path``, and in ``Tested`` the depth that finds its registers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Code(NamedTuple):
    """Conditions as bytecode: those of number i are ``operations`` [n, 6] from ``start[i]`` to ``start[i + 1]`` - 1."""

    start: Ints
    operations: Longs


class Tested(NamedTuple):
    """The row under test as a row of ``variable``; ``depth``: rows taken before it, and where its registers are: slots are read from
    ``registers[depth]``, totals from ``registers[depth + 1]``. ``low``, ``high``: the partition's rows. ``number``: MATCH_NUMBER()."""

    variable: int
    row: int
    depth: int
    low: int
    high: int
    number: int


class Taken(NamedTuple):
    """The rows mapped so far. ``path`` [rows of the match]: ``path[i] >> 1`` is the variable of row i; ``registers`` [rows of the match + 1,
    words]: what conditions read of the rows before."""

    path: NDArray[np.int16]
    registers: Longs


class Words(NamedTuple):
    """The columns as words. ``values`` [columns, rows]; ``nullable`` [columns]: row of ``nulls``, or -1; ``nulls`` [n, rows];
    ``counted`` [filters, rows]; ``sets`` [sets, variables]; ``labels`` [variables]: the word of each variable's name."""

    values: Longs
    nullable: Ints
    nulls: Flags
    counted: Flags
    sets: Flags
    labels: Longs


class Stack(NamedTuple):
    """The evaluator's stack: words, and whether they are NULL."""

    word: Longs
    null: Flags


class Changes(NamedTuple):
    """What a row of variable v does to the registers: it fills ``slots`` [n, 3] (last, word, size) from ``slot_start[v]`` on, and enters
    ``totals`` [n, 6] (kind, word, column or -1, counted or -1; for a list its number and the address to call) from ``total_start[v]`` on."""

    slot_start: Ints
    slots: Longs
    total_start: Ints
    totals: Longs


class KeyParts(NamedTuple):
    """What a key of the memory of failures holds. ``same`` [nodes + 2]: the node that stands for all nodes with the same targets;
    ``live`` [nodes + 2]: the number of its set of live registers; the sets' ``items`` [n, 4] (kind, word, column or set of variables,
    physical offset) from ``start`` [sets + 1] on."""

    same: Ints
    live: Ints
    start: Ints
    items: Longs


class Memory(NamedTuple):
    """``entries`` [size, 2 + items]; ``epochs`` [size]: the one that each was written in; ``key`` [2 + items]: the one at hand. There are
    two tables of every capacity from the least on, doubling (``memory_kernels.base_of``), so that a larger one never overlaps one in use."""

    entries: Longs
    epochs: Longs
    key: Longs


class Conditions(NamedTuple):
    """All that is compiled from DEFINE."""

    code: Code
    changes: Changes
    keys: KeyParts


class Workspace(NamedTuple):
    """Where a search works: ``frames`` [n, 2]: a node (its complement once a target of it was entered) and the next target."""

    frames: Ints
    taken: Taken
    stack: Stack
    memory: Memory


class Start(NamedTuple):
    """A row at which a match may begin: the row, its partition's rows, the number that the match would have, the steps it may take;
    ``is_open``: whether it may take rows that have not come (``row_pattern.structures.Progress``)."""

    row: int
    low: int
    high: int
    number: int
    budget: int
    is_open: bool


class Inside(NamedTuple):
    """How far WITHIN lets matches go (both empty: there is no such limit). ``last`` [rows]: the last row that a match beginning at the row may take
    (the one before it: none). ``soonest`` [rows + 1, nodes]: by mask bits alone, the least last row of a match that is completed from the node
    before the row on (as sets of nodes, the last one beyond a partition's last row)."""

    last: Ints
    soonest: NDArray[np.int32]


class Limits(NamedTuple):
    """A start row may take ``steps`` + ``row_steps`` * (rows of its partition). ``numbered``: some condition reads MATCH_NUMBER(), so that
    nothing is remembered from one match to the next."""

    steps: int
    row_steps: int
    numbered: bool

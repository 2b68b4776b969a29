"""Matches as found by the kernels, and their output rows.

In: a slice of the input (whole partitions) and the compiled pattern. Out: batches of ``Matches``, each of bounded size unless a single match is
longer. Measures are not computed here.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.structures import Found, Path

BATCH_MATCHES = 1 << 16
"""The number of matches found before they are output; also the most rows of an output table."""

BATCH_NODES = 1 << 18
"""The matched rows held at a time (a single longer match gets the room it needs)."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Paths (arrays over nodes) and matches (arrays over matches).

    ``row``, ``code``: the row that a node takes and 2 * variable + excluded; an empty match and a row outside of all matches are nodes of their own,
    with the last two codes. ``back``: the predecessor in processing order (see ``path_kernels``). ``final``: the node of each match that holds
    whole-match values. ``forest``: paths run from the end of a match to its start and are shared between matches; otherwise from start to end, one
    after another.
    ``start``: the match's first row; ``first``: its first node; ``low``, ``high``: its partition's rows.
    ``cache`` holds intermediate results shared by measures.
    """

    row: NDArray[np.int32]
    code: NDArray[np.int16]
    back: NDArray[np.int32]
    final: NDArray[np.int32]
    first: NDArray[np.int32]
    start: NDArray[np.int32]
    number: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    forest: bool = False
    cache: dict[Hashable, NDArray] = field(default_factory=dict)


def room(nodes: int, matches: int) -> tuple[Path, Found]:
    """Room for so many nodes and matches."""
    path = Path(np.empty(nodes, np.int32), np.empty(nodes, np.int16), np.empty(nodes, np.int32))
    number, low, high = (np.empty(matches, np.int32) for _ in range(3))
    return path, Found(np.empty(matches + 1, np.int32), number, low, high)


def written(path: Path, found: Found, nodes: int, matches: int) -> Matches:
    """The first so many nodes and matches."""
    first = found.node[:matches]
    return Matches(
        row=path.row[:nodes],
        code=path.code[:nodes],
        back=path.back[:nodes],
        final=found.node[1 : matches + 1] - np.int32(1),
        first=first,
        start=path.row[first],
        number=found.number[:matches],
        low=found.low[:matches],
        high=found.high[:matches],
    )


@dataclass(frozen=True, slots=True)
class OutputRows:
    """Output rows: the node of each, its match (both index ``Matches``), and the input row it shows."""

    node: NDArray[np.int32]
    match: NDArray[np.int32]
    row: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.node)

    def cut(self, low: int, high: int) -> OutputRows:
        """The output rows ``low`` … ``high - 1``."""
        return OutputRows(self.node[low:high], self.match[low:high], self.row[low:high])


def one_row_each(matches: Matches) -> OutputRows:
    """ONE ROW PER MATCH, empty matches included. The input row is the one where the match starts."""
    return OutputRows(matches.final, np.arange(len(matches.final), dtype=np.int32), matches.start)


def all_rows(matches: Matches, visible: NDArray[np.bool_]) -> OutputRows:
    """ALL ROWS PER MATCH: the nodes whose code is ``visible``."""
    match = np.repeat(np.arange(len(matches.final), dtype=np.int32), matches.final - matches.first + 1)
    node = np.flatnonzero(visible[matches.code]).astype(np.int32)
    return OutputRows(node, match[node], matches.row[node])

"""Row patterns in windows: the programs of a spec with a ``Frame``, and where each condition's bit is near a frame's bounds.

In: a RowPatternSpec. Out: ``FrameProgram``, for ``windows`` and for ``row_match.windows``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.row_pattern.graph import MAX_NODES, Graph, build_graph, row_nodes
from sparkcep.engines.row_pattern.program import Program, compile_graph
from sparkcep.errors import CepInternalError, CepLimitError
from sparkcep.spec.row import MASK_BITS, Frame, Near, RowPatternSpec


@dataclass(frozen=True, slots=True)
class FrameProgram:
    """The programs of one spec.

    ``plain``: the pattern's, its bits those of rows far from a frame's bounds. ``near`` [positions, prev + 1, next + 1]: the mask bit
    (column << 6 | bit) of each position for a row so many rows behind the frame's first and before its last. ``counted``: counts the rows
    since the match's first by itself; for matches that begin at their frame's first row, where nothing but the partition ends it.
    """

    frame: Frame
    plain: Program
    near: NDArray[np.int64]
    counted: Program

    @property
    def prev(self) -> int:
        """On how many of a frame's first rows some condition may be another."""
        return self.near.shape[1] - 1


@lru_cache(maxsize=16)
def compile_frames(spec: RowPatternSpec) -> FrameProgram:
    """The programs of ``spec``. Raises CepLimitError if the pattern unrolls to too many steps."""
    if spec.frame is None:
        raise CepInternalError("a window without a frame")
    graph = build_graph(spec.pattern, spec.variables)
    plain = compile_graph(graph)
    near = {each.variable: each for each in spec.frame.near}
    found = [near.get(name, Near(name, 0, 0, (1 + i,))) for i, name in enumerate(spec.variables)]
    steps = [found[graph.codes[node] >> 1] for node in row_nodes(graph)]
    prev = max((each.prev for each in found), default=0)
    bits = _bits(steps, prev, max((each.next for each in found), default=0))
    return FrameProgram(spec.frame, plain, bits, _counted(graph, found, prev) if prev else plain)


def _bits(steps: list[Near], prev: int, behind: int) -> NDArray[np.int64]:
    bits = np.empty((len(steps), prev + 1, behind + 1), np.int64)
    for position, each in enumerate(steps):
        for before in range(prev + 1):
            for after in range(behind + 1):
                bit = _bit(each, before, after)
                bits[position, before, after] = bit // MASK_BITS << 6 | bit % MASK_BITS
    return bits


def _bit(near: Near, before: int, after: int) -> int:
    return near.bits[min(before, near.prev) * (near.next + 1) + min(after, near.next)]


def _counted(graph: Graph, near: list[Near], prev: int) -> Program:
    """Every node once for each number of rows before it, up to ``prev``."""
    size = len(graph.codes)
    if size * (prev + 1) > MAX_NODES:
        raise CepLimitError(
            f"the pattern unrolls to more than {MAX_NODES} steps: {size}, counted for each of a frame's first {prev} rows",
            code="PATTERN_SIZE",
            hint="lower the bounds of its quantifiers, or the offsets of PREV in DEFINE",
        )
    codes = graph.codes[:2] + graph.codes[2:] * (prev + 1)
    targets = list(graph.targets[:2])
    for before in range(prev + 1):
        for code, items in zip(graph.codes[2:], graph.targets[2:], strict=True):
            after = min(before + 1, prev) if code >= 0 else before
            targets.append(tuple(_copy(item, after, size) for item in items))
    counted = Graph(codes, targets, _copy(graph.entry, 0, size))
    program = compile_graph(counted)
    steps = row_nodes(counted)
    bits = np.array([_bit(near[codes[node] >> 1], (node - 2) // (size - 2), _FAR) for node in steps], np.int64)
    return replace(program, mask_column=(bits // MASK_BITS).astype(np.int32), mask_bit=bits % MASK_BITS)


_FAR = 1 << 30


def _copy(node: int, before: int, size: int) -> int:
    """A node's copy behind ``before`` rows; ACCEPT and ACCEPT_AT_END have none."""
    return node if node < 2 else node + before * (size - 2)

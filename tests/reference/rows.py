"""MATCH_RECOGNIZE on one partition by plain backtracking in preference order (ISO/IEC 19075-5, sections 4.14-4.16).

In: the row pattern IR, a callable that says whether a row satisfies a variable given the rows bound so far, a number of
rows. Out: the matches, empty ones too, in the order in which they are found. Measures and output rows: ``row_output``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

from sparkcep.pattern import row as ir

Binding = tuple[tuple[int, str], ...]
"""(row, variable) of each row bound so far, in row order."""

Holds = Callable[[str, int, Binding], bool]
"""``holds(variable, row, bindings)``: the DEFINE condition; ``bindings`` ends with (row, variable) itself."""


@dataclass(frozen=True, slots=True)
class Step:
    """One row of a match: its position in the partition (from 0), its classifier, whether ``{- -}`` leaves it out."""

    row: int
    variable: str
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """A match: MATCH_NUMBER, the row it starts at, its rows (none: an empty match)."""

    number: int
    start: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Skip:
    """AFTER MATCH SKIP: ``past_last_row``, ``next_row``, or ``first`` / ``last`` of ``variables`` (a SUBSET's)."""

    to: str = "past_last_row"
    variables: tuple[str, ...] = ()


class SkipError(Exception):
    """AFTER MATCH SKIP TO a variable without a row, or to the first row of the match."""


def match_rows(
    pattern: ir.RowPattern, holds: Holds, n_rows: int, *, skip: Skip | None = None, initial: bool = False
) -> list[Match]:
    """All matches of one partition. Raises SkipError as ISO demands."""
    matches: list[Match] = []
    start = 0
    while start < n_rows and not (initial and start > 0):
        steps = first_match(pattern, holds, n_rows, start)
        if steps is None:
            start += 1
            continue
        matches.append(Match(len(matches) + 1, start, steps))
        start = _next_start(matches[-1], skip or Skip())
    return matches


def first_match(pattern: ir.RowPattern, holds: Holds, n_rows: int, start: int) -> tuple[Step, ...] | None:
    """The preferred match that starts at ``start``, or None."""
    return next(_Backtracker(holds, n_rows).paths(pattern, start, (), False), None)


def _next_start(match: Match, skip: Skip) -> int:
    if skip.to == "next_row" or not match.steps:  # AFTER MATCH SKIP says where to resume after a non-empty match
        return match.start + 1
    if skip.to == "past_last_row":
        return match.start + len(match.steps)
    rows = [step.row for step in match.steps if step.variable in skip.variables]
    if not rows:
        raise SkipError(f"AFTER MATCH SKIP TO {skip.variables}: no row in match {match.number}")
    target = rows[0] if skip.to == "first" else rows[-1]
    if target == match.start:
        raise SkipError(f"AFTER MATCH SKIP TO {skip.variables}: first row of match {match.number}")
    return target


@dataclass(frozen=True, slots=True)
class _Backtracker:
    """Enumerates the ways to match a node, most preferred first; a path is the steps from the match's start."""

    holds: Holds
    n_rows: int

    def paths(self, node: ir.RowPattern, start: int, steps: tuple[Step, ...], out: bool) -> Iterator[tuple[Step, ...]]:
        """``steps`` extended by each way to match ``node`` (``start``: the match's first row, ``out``: excluded)."""
        here = start + len(steps)
        match node:
            case ir.Empty():
                yield steps
            case ir.PartitionStart():
                yield from [steps] if here == 0 else []
            case ir.PartitionEnd():
                yield from [steps] if here == self.n_rows else []
            case ir.Variable(name=name):
                yield from self._variable(name, here, steps, out)
            case ir.Excluded(item=item):
                yield from self.paths(item, start, steps, True)
            case ir.Alternate(items=items):
                for item in items:
                    yield from self.paths(item, start, steps, out)
            case ir.Permute(items=items):
                for order in permutations(items):
                    yield from self._sequence(order, start, steps, out)
            case ir.Concat(items=items):
                yield from self._sequence(items, start, steps, out)
            case ir.Quantified():
                yield from self._repeat(node, 0, start, steps, out)

    def _variable(self, name: str, here: int, steps: tuple[Step, ...], out: bool) -> Iterator[tuple[Step, ...]]:
        if here >= self.n_rows:
            return
        bindings = (*((step.row, step.variable) for step in steps), (here, name))
        if self.holds(name, here, bindings):
            yield (*steps, Step(here, name, out))

    def _sequence(
        self, items: tuple[ir.RowPattern, ...], start: int, steps: tuple[Step, ...], out: bool
    ) -> Iterator[tuple[Step, ...]]:
        if not items:
            yield steps
            return
        for reached in self.paths(items[0], start, steps, out):
            yield from self._sequence(items[1:], start, reached, out)

    def _repeat(
        self, node: ir.Quantified, done: int, start: int, steps: tuple[Step, ...], out: bool
    ) -> Iterator[tuple[Step, ...]]:
        """After ``done`` iterations: stop here, or one more; greedy asks for more first."""
        may_stop = done >= node.low
        if may_stop and not node.greedy:
            yield steps
        if node.high is None or done < node.high:
            yield from self._iterate(node, done, start, steps, out)
        if may_stop and node.greedy:
            yield steps

    def _iterate(
        self, node: ir.Quantified, done: int, start: int, steps: tuple[Step, ...], out: bool
    ) -> Iterator[tuple[Step, ...]]:
        for reached in self.paths(node.item, start, steps, out):
            empty = len(reached) == len(steps)
            if empty and done >= node.low:
                yield reached  # Perl's guard: an optional iteration that took no row ends the loop
            else:
                yield from self._repeat(node, done + 1, start, reached, out)

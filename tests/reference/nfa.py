"""Skip till next match: the NFA^b rule of SASE+ section 3.2, one event after another over an explicit set of runs.

In: one branch (a SEQ of elements; an AND of elements stands for its orders), the query, a partition in total order.
Out: the placements of the accepting runs; windows and negations are tested by ``events``. No pruning, no sharing of
runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

from sparkcep.pattern import event as ir
from tests.reference.branches import UndefinedError
from tests.reference.events import Placement, Query, Stream, consistent, takes


@dataclass(frozen=True, slots=True)
class Run:
    """What a run has selected, and the component it is at (the number of components: nothing is left to take)."""

    at: int
    taken: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def placement(self) -> Placement:
        """The match buffer."""
        return dict(self.taken)


def next_placements(
    branch: ir.EventPattern, query: Query, stream: Stream, *, may_ignore: bool = True
) -> list[Placement]:
    """The match buffers of all accepting runs; ``may_ignore`` False is the same rule without *ignore* edges."""
    found: dict[Run, None] = {}
    for components in linear(branch):
        runs: set[Run] = set()
        for event in stream.members:
            moved = [run for run in (Run(0), *runs) for run in _step(components, query, stream, run, event, may_ignore)]
            runs = {run for run in moved if run.taken}
            accepted = [run for run in runs if run.taken and _accepting(components, query, stream, run)]
            found.update(dict.fromkeys(Run(0, run.taken) for run in accepted))
    return [run.placement for run in found]


def linear(node: ir.EventItem) -> Iterator[tuple[ir.Element, ...]]:
    """The orders in which the positive elements may come."""
    if isinstance(node, ir.Element):
        yield (node,)
        return
    parts = [item for item in getattr(node, "items", ()) if not isinstance(item, ir.Not)]
    for choice in product(*(list(linear(part)) for part in parts)):
        if isinstance(node, ir.Seq):
            yield tuple(element for part in choice for element in part)
        else:
            yield from _interleaved(choice)


def _interleaved(parts: tuple[tuple[ir.Element, ...], ...]) -> Iterator[tuple[ir.Element, ...]]:
    members = [element for part in parts for element in part]
    if len(parts) > 1 and any(element.kleene for element in members):
        raise UndefinedError("a Kleene closure inside an AND has no order of components")
    for order in permutations(members):
        if all([element for element in order if element in part] == list(part) for part in parts):
            yield order


def _step(
    components: tuple[ir.Element, ...], query: Query, stream: Stream, run: Run, event: int, may_ignore: bool
) -> list[Run]:
    """The runs that ``run`` becomes when it reads ``event``: more than one is a fork."""
    if run.at == len(components):
        return []
    closure = run.placement.get(components[run.at].variable, ())
    took = _place(components, query, stream, run, run.at, event)
    stayed = [run] if may_ignore and not took else []
    if not closure:  # a singleton state, or before the first event of a closure
        return took + stayed
    proceeded = []
    if len(closure) >= components[run.at].low and run.at + 1 < len(components):
        proceeded = _place(components, query, stream, run, run.at + 1, event)
    return took + proceeded + stayed


def _place(
    components: tuple[ir.Element, ...], query: Query, stream: Stream, run: Run, at: int, event: int
) -> list[Run]:
    """*begin* or *take*: the run with ``event`` in component ``at``, if its type and every judgeable condition hold."""
    element = components[at]
    closure = (*run.placement.get(element.variable, ()), event)
    placement = run.placement | {element.variable: closure}
    if not takes(element, stream.events[event]):
        return []
    if not consistent(query, stream, placement, element.variable if element.kleene else None):
        return []
    full = element.high is not None and len(closure) >= element.high
    return [Run(at + 1 if full else at, tuple(placement.items()))]


def _accepting(components: tuple[ir.Element, ...], query: Query, stream: Stream, run: Run) -> bool:
    """Whether the buffer is a match: every component taken often enough, conditions on whole closures too."""
    taken = run.placement
    enough = all(len(taken.get(element.variable, ())) >= max(element.low, 1) for element in components)
    return enough and consistent(query, stream, taken)

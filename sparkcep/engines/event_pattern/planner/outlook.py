"""When a stream knows that a match stands, and which events it keeps until then (semantics.md, "Negation" and "Streams").

In: the branches of a clause. Out: an ``Outlook`` for each. Only variables are spoken of; no data is involved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from sparkcep.engines.event_pattern.planner.branches import Branch, Negation, extremes
from sparkcep.engines.event_pattern.planner.plan import BranchPlan
from sparkcep.spec.event import MatchOutput

Moment = Literal["end", "first_deadline", "last_deadline"]
"""``end``: the last event is final. ``first_deadline``: the window that the first event opens has closed, so no negated event can come any more.
``last_deadline``: that of the last event has: so have those of all matches that end as early, which can be compared with each other."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """When the matches of a branch are decided. ``deciding``: the variables one of whose events says so: the last one, or the first one.

    ``steps``: the variables of the branch in an order in which each comes behind the direct predecessors named with it. ``followed``: those whose
    events matches of later turns may take. ``negated``: the variables of each negated item, and the positive ones it lies behind; if there are none,
    events before the match refute it too.
    """

    plan: BranchPlan
    moment: Moment
    deciding: tuple[str, ...]
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    followed: frozenset[str]
    negated: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def outlooks(plans: Iterable[BranchPlan], output: MatchOutput) -> tuple[Outlook, ...]:
    """Matches that are output one by one are decided one by one; those that share a row, or exclude each other, in order of their ends."""
    plans = tuple(plans)
    waits = output != "all" and any(looks_ahead(plan.branch) for plan in plans)
    return tuple(_outlook(plan, waits) for plan in plans)


def _outlook(plan: BranchPlan, waits: bool) -> Outlook:
    branch = plan.branch
    first, last = extremes(branch.variables, branch.precedes)
    moment: Moment = "end"
    if waits or looks_ahead(branch):
        moment = "last_deadline" if waits else "first_deadline"
    return Outlook(
        plan,
        moment,
        first if moment == "first_deadline" else last,
        tuple(_steps(branch)),
        frozenset(branch.variables if moment != "end" else _followed(branch)),
        tuple((tuple(_events_of(n)), extremes(n.before, branch.precedes)[1]) for n in _negations(branch)),
    )


def _steps(branch: Branch) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A variable comes behind those that precede it if it has more predecessors than they."""
    before = {
        name: [other for other in branch.variables if (other, name) in branch.precedes] for name in branch.variables
    }
    for name in sorted(branch.variables, key=lambda name: len(before[name])):
        yield name, extremes(before[name], branch.precedes)[1]


def looks_ahead(branch: Branch) -> bool:
    """Whether a negated event may lie behind the match."""
    return any(not negation.after for negation in _negations(branch))


def looks_back(branch: Branch) -> bool:
    """Whether a negated event may lie before the match."""
    return any(not negation.before for negation in _negations(branch))


def _followed(branch: Branch) -> Iterator[str]:
    """The variables behind or beside which another event may come: an event that can only be the last one has been it."""
    for name in branch.variables:
        others = any(other != name and (other, name) not in branch.precedes for other in branch.variables)
        if others or branch.closure(name) is not None:
            yield name


def _negations(branch: Branch) -> Iterator[Negation]:
    return (negation for alternative in branch.alternatives for negation in alternative)


def _events_of(negation: Negation) -> Iterator[str]:
    """The variables of a negated item, and those of what may not occur inside it."""
    if negation.group is None:
        yield negation.variable
        return
    yield from negation.group.variables
    for inside in _negations(negation.group):
        yield from _events_of(inside)

"""Counts of EXPLAIN ANALYZE PATTERN → the automaton to draw, and what is written on its states and arrows.

MATCH_RECOGNIZE and MATCH AUTOMATON keep the automaton of EXPLAIN PATTERN. Of MATCH PATTERN the states are drawn that were counted: the variables
bound so far, in the order in which they were bound. What was counted for several arrows together stands on none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sparkcep.explanation.automaton import END, START, Edge, edges
from sparkcep.explanation.clause_text import variable_of
from sparkcep.explanation.drawing import WIDTH, Fate, Line, wrapped
from sparkcep.spec import AutomatonSpec, MatchSpec, RowPatternSpec

LOOP = "[i]"
"""The end of the item that counts the further events of a closure."""


@dataclass(frozen=True, slots=True)
class Count:
    """What happened to one item of a clause.

    ``section`` says what ``item`` is, and what was counted:

    * ``input``: the rows that came to the engine (``tried``), in how many partitions (``taken``).
    * ``condition``: a part of a condition on one row, ``variable: part``; rows asked, and rows that passed.
    * ``state``: of MATCH_RECOGNIZE a state, the rows at which a partial match came to it, and at which it took the row; of MATCH PATTERN the
      variables bound so far, the pairs of a partial match and a candidate event, and how many of them became partial matches.
    * ``prefix``: the variables bound so far; partial matches.
    * ``predicate``, ``search``: a condition between events; partial matches asked, and those that passed.
    * ``condition between``: the same under the strategies that select events: matches of the prefix without it, and with it.
    * ``arc``: an arc of MATCH AUTOMATON; runs and events asked, and those that passed.
    * ``complete``: the rows at which a match was complete. ``residual``: a condition on matches; matches asked, and those that passed.
    * ``matches``: the matches; of MATCH PATTERNS those of the pattern ``item``. ``ties``: the rows that tie in ORDER BY.

    A number that the section does not have is None.
    """

    section: str
    item: str
    tried: int | None = None
    taken: int | None = None


Counted = tuple[list[Edge], dict[str | int, tuple[Line, ...]]]
"""The transitions of an automaton, and what is written on its states, by name, and on its arrows, by number."""


def counted(spec: MatchSpec, counts: Sequence[Count], reason: Count | None) -> Counted:
    """The automaton of ``spec`` with ``counts``; ``reason``: the one that says why nothing matched."""
    notes = _Notes(counts, reason)
    if isinstance(spec, AutomatonSpec):
        return _arcs(spec, notes)
    return _states(spec, notes) if isinstance(spec, RowPatternSpec) else _chains(notes)


def matches_text(found: int) -> str:
    """``3 matches``."""
    return f"{found:,} match{'' if found == 1 else 'es'}"


@dataclass(frozen=True, slots=True)
class _Notes:
    """Counts as lines."""

    counts: Sequence[Count]
    reason: Count | None

    def of(self, *sections: str) -> list[Count]:
        return [count for count in self.counts if count.section in sections]

    def line(self, count: Count) -> Line:
        """``3 → 1``."""
        taken = f" → {count.taken:,}" if count.taken is not None else ""
        return Line(f"{count.tried or 0:,}{taken}", self._fate(count), bold=True)

    def lines(self, count: Count, label: str) -> list[Line]:
        """``b.amount > 40: 3 → 1``, in two lines if it is long."""
        own, label = self.line(count), label.replace("`", "")
        if len(label) + len(own.text) < WIDTH:
            return [Line(f"{label}: {own.text}", own.fate)]
        return [Line(one.text, own.fate) for one in (*wrapped(f"{label}:"), own)]

    def conditions(self, variable: str) -> list[Line]:
        """What Spark asked of single rows for ``variable``."""
        head = f"{variable}: "
        found = (one for one in self.of("condition") if one.item.startswith(head))
        return [line for one in found for line in self.lines(one, one.item[len(head) :])]

    def end(self, pattern: str = "") -> tuple[Line, ...]:
        """What is written on the last state."""
        found = sum(count.tried or 0 for count in self.of("matches") if count.item == pattern)
        asked = [line for count in self.of("residual") for line in self.lines(count, count.item)]
        rows = [Line(f"complete at {count.tried or 0:,} rows") for count in self.of("complete")]
        return (*asked, *rows, Line(matches_text(found), "" if found else "unreached", bold=True))

    def _fate(self, count: Count) -> Fate:
        if count == self.reason or (count.tried and count.taken == 0):
            return "stopped"
        return "" if count.tried else "unreached"


def _states(spec: RowPatternSpec, notes: _Notes) -> Counted:
    found = edges(spec)
    lines: dict[str | int, tuple[Line, ...]] = {}
    asked: set[str] = set()
    for state in dict.fromkeys(edge.target for edge in found):
        variable = variable_of(state)
        own = [notes.line(count) for count in notes.of("state") if count.item == state]
        searched = (count for count in notes.of("search") if count.item == state)
        own += [line for count in searched for line in notes.lines(count, "on the match so far")]
        lines[state] = (*own, *(() if variable in asked else notes.conditions(variable)))
        asked.add(variable)
    ends = [state for state in lines if str(state).startswith(END)]
    if len(ends) == 1:
        lines[ends[0]] = notes.end()
    return found, lines


def _arcs(spec: AutomatonSpec, notes: _Notes) -> Counted:
    names = [arc.title for arc in spec.arcs]
    counts = {count.item: count for count in notes.of("arc")}
    lines: dict[str | int, tuple[Line, ...]] = {END: notes.end()}
    for number, name in enumerate(names, 1):  # the first arrow leads to the start state
        if names.count(name) == 1 and name in counts:
            lines[number] = (notes.line(counts[name]),)
    return edges(spec), lines


def _chains(notes: _Notes) -> Counted:
    """The states that were counted, each behind the longest one that it continues."""
    states = [count for count in notes.of("state", "prefix") if _is_drawn(count, notes.reason)]
    names = [count.item for count in states]
    found = [Edge(_before(name, names), name) for name in names]
    lines: dict[str | int, tuple[Line, ...]] = {}
    for number, count in enumerate(states):
        conditions, own = notes.conditions(variable_of(count.item)), notes.line(count)
        lines[count.item] = (*conditions, *((Line("", own.fate),) if own.fate else ()))
        lines[number] = (own, *_on_the_way(count, notes))
    for loop, state in _loops(notes, names):
        lines[len(found)] = (notes.line(loop),)
        found.append(Edge(state, state))
    passed = {edge.source for edge in found if edge.source != edge.target}
    for count in [count for count in states if count.item not in passed] or [Count("state", START, 0, 0)]:
        end, written = _end(count.item, notes)
        fate: Fate = "unreached" if count.taken == 0 else written[-1].fate
        lines[end], lines[len(found)] = written, (Line("", fate),)
        found.append(Edge(count.item, end))
    return found, lines


def _end(state: str, notes: _Notes) -> tuple[str, tuple[Line, ...]]:
    """The last state of the pattern to which ``state`` belongs: its name, and what is written on it."""
    pattern = _pattern(state)
    if pattern in (count.item for count in notes.of("matches")) and pattern:
        return f"{END} of {pattern}", notes.end(pattern)
    return END, notes.end()


def _is_drawn(count: Count, reason: Count | None) -> bool:
    """Whether to draw a state. A first variable without events is a state in some tasks only, unless it is the reason for nothing."""
    first = count.section == "state" and "," not in count.item
    return not count.item.endswith(LOOP) and (bool(count.tried) or not first or count == reason)


def _pattern(name: str) -> str:
    """The pattern, or the branch, to which a state belongs."""
    return name.rpartition(": ")[0]


def _before(name: str, names: Sequence[str]) -> str:
    earlier = [other for other in names if name.startswith(f"{other}, ")]
    return max(earlier, key=len, default=START)


def _on_the_way(state: Count, notes: _Notes) -> Iterator[Line]:
    """The conditions counted on the way to a state: those behind it in the report, if the states there have one order."""
    counts, pattern = notes.of("state", "prefix", "predicate", "condition between"), _pattern(state.item)
    states = [one.item for one in counts if one.section in ("state", "prefix") and _pattern(one.item) == pattern]
    chain = [name for name in states if not name.endswith(LOOP)]
    if len(Counter(_before(name, chain) for name in chain)) < len(chain):
        return
    for count in counts[counts.index(state) + 1 :]:
        if count.section in ("state", "prefix"):
            return
        item = count.item.removeprefix(f"{pattern}: ") if pattern else count.item
        yield from notes.lines(count, item.removeprefix(f"{variable_of(state.item)}: "))


def _loops(notes: _Notes, names: Sequence[str]) -> Iterator[tuple[Count, str]]:
    """The counts of further events of closures, with the state of each, where there is one for it."""
    for loop in (count for count in notes.of("state") if count.item.endswith(LOOP)):
        own = [n for n in names if (_pattern(n), variable_of(n)) == (_pattern(loop.item), variable_of(loop.item))]
        if len(own) == 1:
            yield loop, own[0]

"""What ``sparkcep.explain_analyze`` returns: EXPLAIN ANALYZE PATTERN as an object with its text, its counts and, in a notebook, the automata with the
counts on them.

In: an analysed statement and the rows of ``counts_query``. Nothing is run here.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewrites import Rewritten, RewrittenClause
from sparkcep.explanation.analyze import TITLE, WHY
from sparkcep.explanation.counted import Count, counted, matches_text
from sparkcep.explanation.explanation import Automaton, automaton, figure
from sparkcep.explanation.report import WIDTH


@dataclass(frozen=True, slots=True)
class ClauseCounts:
    """What happened to the rows of one clause.

    ``counts``: in the order of the text. ``why``: why nothing matched, empty if something did; ``reason``: the count that shows it, if there is one.
    ``automaton``: the automaton with the counts on it.
    """

    title: str
    counts: tuple[Count, ...]
    why: str
    reason: Count | None
    automaton: Automaton

    @property
    def matches(self) -> int:
        """The number of matches; of MATCH PATTERNS those of all its patterns."""
        return sum(count.tried or 0 for count in self.counts if count.section == "matches")


@dataclass(frozen=True, slots=True, repr=False)
class Analysis:
    """The text of EXPLAIN ANALYZE PATTERN for a statement (``str``), and the counts of each of its ``clauses``, inner ones first."""

    text: str
    clauses: tuple[ClauseCounts, ...]

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        plan, _, counts = self.text.partition("\n== counts of")
        drawn = "".join(figure(clause.automaton, _result(clause)) for clause in self.clauses)
        return (
            f'{drawn}<pre style="margin:.5em 0">== counts of{html.escape(counts)}</pre>'
            f"<details><summary>EXPLAIN PATTERN</summary><pre>{html.escape(plan)}</pre></details>"
        )


def analysis(rewritten: Rewritten, rows: Sequence[Any]) -> Analysis:
    """The analysis of a statement; ``rows``: those of ``counts_query``."""
    parts = enumerate(rewritten.clauses, 1)
    clauses = tuple(_clause(rewritten.text, part, [row for row in rows if row.part == i]) for i, part in parts)
    return Analysis("\n".join(row.plan for row in rows), clauses)


def _clause(text: str, part: RewrittenClause, rows: Sequence[Any]) -> ClauseCounts:
    found = {row.number: row for row in rows}
    counts = tuple(_count(row) for row in rows if row.number not in (TITLE, WHY))
    why = found.get(WHY)
    reason = _count(why) if why is not None and why.section is not None else None
    drawn = automaton(text, part, *counted(part.spec, counts, reason))
    return ClauseCounts(drawn.title, counts, why.plan[WIDTH:].strip() if why is not None else "", reason, drawn)


def _count(row: Any) -> Count:
    tried, taken = (None if number is None else int(number) for number in (row.tried, row.taken))
    return Count(row.section, row.item, tried, taken)


def _result(clause: ClauseCounts) -> str:
    if clause.why:
        return f': <b style="color:#c53030">nothing matched: {html.escape(clause.why)}</b>'
    return f": {matches_text(clause.matches)}"

"""EXPLAIN PATTERN as a query: the lines of the report and, if ``sparkcep.explain.rows`` asks for it, the frequencies of variables.

In: a rewritten statement. Out: SQL with one column, ``plan``. Only the first rows of a clause's input are counted; Spark runs this when the rows of
the report are fetched. It shows which variable the engine will start with, where that depends on the data.
"""

from __future__ import annotations

from rewrites import Rewritten
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.sql.builder import FUNCTION_NAME, string
from sparkcep.explanation.report import BINDING, COUNTED, WIDTH, explain_lines
from sparkcep.pattern.event import elements
from sparkcep.spec import EventPatternSpec, MatchSpec

_SQL_SECTION = "== SQL"


def explain_query(rewritten: Rewritten, rows: int) -> str:
    """The SQL of the report: one row per line. ``rows``: the number of input rows in which events are counted; 0: none."""
    lines = explain_lines(rewritten)
    report = f"SELECT * FROM VALUES {', '.join(f'({string(line)})' for line in lines)} AS `explain`(`plan`)"
    counts = _counts(rewritten, lines, rows) if rows else []
    if not counts:
        return report
    numbered = ", ".join(f"({number}D, {string(line)})" for number, line in enumerate(lines))
    parts = [f"SELECT * FROM VALUES {numbered} AS `explain`(`number`, `plan`)", *counts]
    return f"SELECT `plan` FROM ({' UNION ALL '.join(parts)}) ORDER BY `number`"


def _counts(rewritten: Rewritten, lines: list[str], rows: int) -> list[str]:
    """One query of (number, plan) per clause whose order depends on the data."""
    end = next(number for number, line in enumerate(lines) if line.startswith(_SQL_SECTION))
    places = [number for number, line in enumerate(lines[:end]) if line.startswith(f"{BINDING} ")]
    bound = [part.bound for part in rewritten.clauses if _is_bound_in_an_order(part.spec)]
    if len(bound) != len(places):  # clauses with several patterns have no order
        return []
    return [
        _count(clause, rows, place)
        for clause, place in zip(bound, places, strict=True)
        if isinstance(clause, BoundEventPattern) and COUNTED in lines[place] and not _is_uncounted(clause)
    ]


def _is_bound_in_an_order(spec: MatchSpec) -> bool:
    """Whether the report may have a line about the binding order."""
    return isinstance(spec, EventPatternSpec) and spec.strategy == "any"


def _is_uncounted(bound: BoundEventPattern) -> bool:
    """Whether counting would run another clause, or read a stream."""
    return FUNCTION_NAME in bound.relation.text or bound.relation.streaming


def _count(bound: BoundEventPattern, rows: int, place: int) -> str:
    found = elements(bound.pattern, negated=False)
    tests = [bound.tests[element.variable] for element in found]
    counts = [f"COUNT_IF({test}) AS `c{i}`" if test else f"COUNT(*) AS `c{i}`" for i, test in enumerate(tests)]
    inner = f"SELECT COUNT(*) AS `rows`, {', '.join(counts)} FROM (SELECT * FROM {bound.relation.text}\n LIMIT {rows})"
    entries = ", ".join(
        f"NAMED_STRUCT('late', {str(element.kleene).upper()}, 'n', `c{i}`, 'i', {i}, 'name', {string(element.variable)})"
        for i, element in enumerate(found)
    )
    listed = (
        f"ARRAY_JOIN(TRANSFORM(ARRAY_SORT(ARRAY({entries})), e -> CONCAT(e.name, ' ', FORMAT_NUMBER(e.n, 0))), ', ')"
    )
    head = f"CONCAT('{'':<{WIDTH}}  in the first ', FORMAT_NUMBER(`rows`, 0), ' rows: ', {listed})"
    return f"SELECT {place}.5D AS `number`, {head} AS `plan` FROM ({bound.relation.scope(inner)})"

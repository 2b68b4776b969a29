"""EXPLAIN ANALYZE PATTERN: a rewritten statement → the query that runs its clauses and reports as text what happened to their rows.

The lines of EXPLAIN PATTERN come first; then, clause by clause, the counts (``rewrites.emit.analyze``) as text. Spark runs everything when the rows
are fetched, so it can be cancelled like any query; the statement around the clauses is not run.
"""

from __future__ import annotations

from rewrites import Rewritten, RewrittenClause
from rewrites.sql.builder import string
from sparkcep.errors import CepUnsupportedError, Span
from sparkcep.explanation.report import WIDTH, clause_title, explain_lines

_RANKS = {
    "input": 0,
    "condition": 1,
    "prefix": 2,
    "condition between": 2,
    "state": 3,
    "arc": 3,
    "predicate": 3,
    "complete": 3,
    "search": 4,
    "residual": 5,
    "output": 6,
    "matches": 7,
    "ties": 8,
}
"""The order of the sections; states, and the predicates on the way to them, keep the engine's order."""

_TITLES = {
    0: "engine input",
    1: "conditions",
    2: "partial",
    3: "states",
    4: "search",
    5: "afterwards",
    6: "engine",
    7: "matches",
    8: "notice",
}
_LAST = 9_000_000_000
_FACTOR = 10_000_000
"""More than the number of places in a section."""


def analyze_query(rewritten: Rewritten) -> str:
    """The SQL of the report: one column, ``plan``, one row per line."""
    if not rewritten.clauses:
        raise CepUnsupportedError(
            "EXPLAIN ANALYZE PATTERN of a statement without a pattern clause",
            code="EXPLAIN_ANALYZE",
            sql=rewritten.text,
            span=Span(0, len(rewritten.text)),
            hint="EXPLAIN and EXPLAIN PATTERN show the plan of any statement",
        )
    plan = ", ".join(f"(0, {i}L, {string(line)})" for i, line in enumerate(explain_lines(rewritten)))
    parts = [f"SELECT * FROM VALUES {plan} AS `plan`(`part`, `number`, `plan`)"]
    parts += [_clause(rewritten.text, part, i) for i, part in enumerate(rewritten.clauses, 1)]
    return f"SELECT `plan` FROM ({' UNION ALL '.join(parts)}) ORDER BY `part`, `number`"


def _clause(text: str, part: RewrittenClause, number: int) -> str:
    """The lines of one clause as (part, number, plan). The counts are collected into one list, so that they are read once."""
    title = string(f"== counts of {clause_title(text, part)} ==")
    rows = (("-1L", title), ("`number`", "`line`"), (f"{_LAST}L", _WHY))
    head, body, why = (f"NAMED_STRUCT('number', {place}, 'plan', {line})" for place, line in rows)
    lines = f"CONCAT(ARRAY({head}), COLLECT_LIST({body}), ARRAY({why}))"
    return (
        f"SELECT {number}, * FROM (SELECT INLINE(`lines`) AS (`number`, `plan`) FROM (SELECT {lines} AS `lines` "
        f"FROM ({_lines(_summed(part.counts))}))) WHERE `plan` IS NOT NULL"
    )


def _summed(counts: str) -> str:
    """The counts summed over all tasks, each with its line number in the report."""
    ranks = " ".join(f"WHEN {string(name)} THEN {rank}" for name, rank in _RANKS.items())
    return (
        f"SELECT section, item, `rank`, tried, taken, `rank` * {_FACTOR}L + place AS `number` FROM ("
        f"SELECT section, item, CASE section {ranks} END AS `rank`, MIN(place) AS place, SUM(tried) AS tried, SUM(taken) AS taken "
        f"FROM ({counts}) GROUP BY section, item)"
    )


def _lines(summed: str) -> str:
    """The summed counts with ``line``, the text of each."""
    titles = " ".join(f"WHEN {rank} THEN {string(title)}" for rank, title in _TITLES.items())
    first = "ROW_NUMBER() OVER (PARTITION BY `rank` ORDER BY `number`, item) = 1"
    label = (
        "CONCAT(IF(section IN ('predicate', 'condition between'), '  ', ''), IF(section = 'complete', 'match', item))"
    )
    item = f"RPAD({label}, MAX(LENGTH({label})) OVER (), ' ')"
    tried, taken = (
        f"LPAD(FORMAT_NUMBER({name}, 0), MAX(LENGTH(FORMAT_NUMBER({name}, 0))) OVER (), ' ')"
        for name in ("tried", "taken")
    )
    partitions = "IF(taken IS NULL, '', CONCAT(' in ', FORMAT_NUMBER(taken, 0), ' partitions'))"
    body = f"""CASE
 WHEN section = 'input' THEN CONCAT(FORMAT_NUMBER(tried, 0), ' rows', {partitions})
 WHEN section = 'matches' THEN CONCAT(IF(item = '', '', CONCAT({item}, '  ')), IF(item = '', FORMAT_NUMBER(tried, 0), {tried}))
 WHEN section = 'ties' THEN CONCAT(FORMAT_NUMBER(tried, 0), ' rows tie with another in ORDER BY ', item, ', so the answer may change from run to run')
 WHEN section = 'output' THEN CONCAT(FORMAT_NUMBER(tried, 0), ' rows out')
 WHEN section = 'complete' THEN CONCAT({item}, '  ', {tried}, ' rows complete a match')
 WHEN section = 'prefix' THEN CONCAT({item}, '  ', {tried}, ' partial matches')
 WHEN section = 'condition between' THEN CONCAT({item}, '  ', {tried}, ' without it, ', {taken}, ' with it')
 ELSE CONCAT({item}, '  ', {tried}, ' tried, ', {taken}, ' taken') END"""
    return f"SELECT *, CONCAT(RPAD(IF({first}, CASE `rank` {titles} END, ''), {WIDTH}, ' '), '  ', {body}) AS `line` FROM ({summed})"


def _last(condition: str, text: str, choose: str = "MAX_BY") -> str:
    return f"{choose}(IF({condition}, {text}, NULL), IF({condition}, `number`, NULL))"


_NOTHING = (
    """MAX(IF(section IN ('matches', 'output'), tried, 0)) = 0 OR COUNT_IF(section = 'residual' AND taken = 0) > 0"""
)
_STOP = "section IN ('state', 'arc', 'predicate', 'search', 'residual') AND tried > 0 AND taken = 0"
_REASONS = ", ".join(
    [
        _last(
            "section = 'condition between' AND tried > 0 AND taken = 0",
            "CONCAT(item, ': ', FORMAT_NUMBER(tried, 0), ' partial matches without it, none with it')",
        ),
        _last(_STOP, "CONCAT(item, ': ', FORMAT_NUMBER(tried, 0), ' tried, none taken')"),
        _last("section = 'state' AND tried = 0", "CONCAT('no event for ', item)", "MIN_BY"),
        _last("section = 'prefix' AND tried = 0", "CONCAT('no partial match of ', item)", "MIN_BY"),
        "IF(COUNT_IF(section = 'input') = 0, 'no row comes to the engine: see the conditions', 'see the states')",
    ]
)
_WHY = f"CASE WHEN {_NOTHING} THEN CONCAT('{'why nothing':<{WIDTH}}  ', COALESCE({_REASONS})) END"
"""If there is no match: the furthest state or condition that was reached but never passed."""

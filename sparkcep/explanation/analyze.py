"""EXPLAIN ANALYZE PATTERN: a rewritten statement → the query that runs its clauses and reports what happened to their rows, as text and as numbers.

The lines of EXPLAIN PATTERN come first; then, clause by clause, the counts (``rewrites.emit.analyze``), each with its line of text. Spark runs
everything when the rows are fetched, so it can be cancelled like any query; the statement around the clauses is not run.
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
COLUMNS = ("part", "number", "plan", "section", "item", "tried", "taken")
TITLE, WHY = -1, 9_000_000_000
"""The numbers of a clause's first and last line."""
_FACTOR = 10_000_000
"""More than the number of places in a section."""


def analyze_query(rewritten: Rewritten) -> str:
    """The SQL of the report: one column, ``plan``, one row per line."""
    return f"SELECT `plan` FROM ({_report(rewritten)}) ORDER BY `part`, `number`"


def counts_query(rewritten: Rewritten) -> str:
    """The SQL of the report with the numbers in it: the columns ``COLUMNS``, one row per line.

    ``part``: 0 in the lines of EXPLAIN PATTERN, then the number of the clause, from 1. ``number``: ``TITLE`` in a clause's first line, ``WHY`` in the
    one that says why nothing matched, and in between one line per item counted. Lines that count nothing have no section.
    """
    return f"SELECT * FROM ({_report(rewritten)}) ORDER BY `part`, `number`"


def _report(rewritten: Rewritten) -> str:
    if not rewritten.clauses:
        raise CepUnsupportedError(
            "EXPLAIN ANALYZE PATTERN of a statement without a pattern clause",
            code="EXPLAIN_ANALYZE",
            sql=rewritten.text,
            span=Span(0, len(rewritten.text)),
            hint="EXPLAIN and EXPLAIN PATTERN show the plan of any statement",
        )
    plan = ", ".join(_line(f"{i}L", string(line)) for i, line in enumerate(explain_lines(rewritten)))
    parts = [f"SELECT 0 AS `part`, {_inlined(f'ARRAY({plan})')}"]
    parts += [_clause(rewritten.text, part, i) for i, part in enumerate(rewritten.clauses, 1)]
    return " UNION ALL ".join(parts)


def _clause(text: str, part: RewrittenClause, number: int) -> str:
    """The lines of one clause. The counts are collected into one list, so that they are read once."""
    title = _line(f"{TITLE}L", string(f"== counts of {clause_title(text, part)} =="))
    lines = f"CONCAT(ARRAY({title}), COLLECT_LIST({_counted('`number`', '`line`')}), ARRAY({_WHY}))"
    listed = f"SELECT {lines} AS `lines` FROM ({_lines(_summed(part.counts))})"
    return f"SELECT {number}, * FROM (SELECT {_inlined('`lines`')} FROM ({listed})) WHERE `plan` IS NOT NULL"


def _inlined(lines: str) -> str:
    return f"INLINE({lines}) AS ({', '.join(f'`{name}`' for name in COLUMNS[1:])})"


def _line(number: str, plan: str) -> str:
    """A line that counts nothing."""
    nothing = ["CAST(NULL AS STRING)"] * 2 + ["CAST(NULL AS DECIMAL(38, 0))"] * 2
    return _struct(number, plan, *nothing)


def _counted(number: str, plan: str) -> str:
    """A line about the item of its row."""
    return _struct(number, plan, "section", "item", "tried", "taken")


def _struct(*values: str) -> str:
    return f"NAMED_STRUCT({', '.join(f'{string(name)}, {value}' for name, value in zip(COLUMNS[1:], values, strict=True))})"


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


def _reason(condition: str, text: str, choose: str = "MAX_BY") -> str:
    line = _counted(f"{WHY}L", f"CONCAT('{'why nothing':<{WIDTH}}  ', {text})")
    return f"{choose}(IF({condition}, {line}, NULL), IF({condition}, `number`, NULL))"


def _no_item(text: str) -> str:
    return _line(f"{WHY}L", string(f"{'why nothing':<{WIDTH}}  {text}"))


_NOTHING = (
    """MAX(IF(section IN ('matches', 'output'), tried, 0)) = 0 OR COUNT_IF(section = 'residual' AND taken = 0) > 0"""
)
_STOP = "section IN ('state', 'arc', 'predicate', 'search', 'residual') AND tried > 0 AND taken = 0"
_REASONS = ", ".join(
    [
        _reason(
            "section = 'condition between' AND tried > 0 AND taken = 0",
            "item, ': ', FORMAT_NUMBER(tried, 0), ' partial matches without it, none with it'",
        ),
        _reason(_STOP, "item, ': ', FORMAT_NUMBER(tried, 0), ' tried, none taken'"),
        _reason("section = 'state' AND tried = 0", "'no event for ', item", "MIN_BY"),
        _reason("section = 'prefix' AND tried = 0", "'no partial match of ', item", "MIN_BY"),
        f"IF(COUNT_IF(section = 'input') = 0, {_no_item('no row comes to the engine: see the conditions')}, {_no_item('see the states')})",
    ]
)
_WHY = f"CASE WHEN {_NOTHING} THEN COALESCE({_REASONS}) END"
"""If there is no match: the furthest state or condition that was reached but never passed."""

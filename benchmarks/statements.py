"""What ``spark.sql`` takes for a statement before any job runs, by kind of clause, against the SQL that an expert would write for the same question.

In: an empty table. Out: medians, in turns in one session, of ``spark.sql`` for a statement that it has seen (a dashboard's), and for one with another
text; what Spark's own analysis of the expert's SQL takes; and the times as much. ``--joins``: the table is a view that joins so many others, which
Spark analyses anew in each statement. ``--ctes``: the statement has so many CTEs, each of which asks the question, and unites them.

    python benchmarks/statements.py [--runs N] [--joins N] [--ctes N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scan import session, surroundings, take_turns

EVENTS = "CREATE TEMPORARY VIEW {} AS SELECT CAST(id AS INT) AS k, 'A' AS type, CAST(id AS INT) AS x, TIMESTAMP_SECONDS(id) AS ts FROM RANGE(0)"
JOINED = "JOIN (SELECT k, COUNT(*) AS n{i} FROM rows WHERE x > {i} GROUP BY k) AS t{i} USING (k)"
LAG = "SELECT k, x, before FROM (SELECT *, LAG(x) OVER (PARTITION BY k ORDER BY ts) AS before FROM events) WHERE x > before"
JOIN = """SELECT COUNT(*), SUM(b.x) FROM events a JOIN events b ON {keys} a.type = 'A' AND b.type = 'B' AND b.x > a.x
    AND b.ts > a.ts AND b.ts < a.ts + INTERVAL 30 SECONDS"""
PAIRS = "SELECT COUNT(*), SUM(b.x) FROM events MATCH PATTERN (SEQ(A a, B b) {keys} ORDER BY ts WHERE {where} WITHIN 30 SECONDS)"
STATEMENTS = {
    "MATCH_RECOGNIZE": (
        """SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.x AS low, LAST(b.x) AS high
            PATTERN (a b+) DEFINE b AS x > PREV(x))""",
        LAG,
    ),
    "MATCH PATTERN, keys": (PAIRS.format(keys="PARTITION BY k", where="a.x < b.x"), JOIN.format(keys="a.k = b.k AND")),
    "MATCH PATTERN, time line": (PAIRS.format(keys="", where="a.x < b.x"), JOIN.format(keys="")),
    "counted by A-Seq": (PAIRS.format(keys="", where="[k]"), JOIN.format(keys="a.k = b.k AND")),
    "MEASURES": (
        """SELECT k, n FROM events MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 30 SECONDS
            MEASURES COUNT(*) AS n)""",
        f"SELECT k, COUNT(*) AS n FROM ({JOIN.format(keys='a.k = b.k AND').replace('COUNT(*), SUM(b.x)', 'a.k')}) GROUP BY k",
    ),
    "MATCH AUTOMATON": (
        """SELECT k, low FROM events MATCH AUTOMATON (PARTITION BY k ORDER BY ts REGISTERS (low INT) START s FINAL f
            ARC s -> m SET low = x ARC m -> m WHEN x < low SET low = x ARC m -> f WHEN x > low + 1 WITHIN 30 SECONDS)""",
        LAG,
    ),
}


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="of each, of which the first half is not counted")
    parser.add_argument("--joins", type=int, default=0)
    parser.add_argument("--ctes", type=int, default=0)
    options = parser.parse_args()
    spark = session("statements", **{"spark.ui.enabled": "false"})
    spark.sql(EVENTS.format("rows"))
    joined = " ".join(JOINED.format(i=i) for i in range(options.joins))
    spark.sql(f"CREATE TEMPORARY VIEW events AS SELECT * FROM rows {joined}")
    print(surroundings())
    print(f"{'ms':26}{'seen':>8}{'new':>8}{'expert':>8}{'seen / expert':>16}{'new / expert':>16}")
    forms = {
        (name, form): run
        for name, (text, expert) in STATEMENTS.items()
        for form, run in _forms(spark, _often(text, options.ctes), _often(expert, options.ctes)).items()
    }
    seconds = take_turns(forms, options.runs // 2, options.runs // 2)
    for name in STATEMENTS:
        seen, new, expert = (statistics.median(seconds[name, form]) * 1e3 for form in ("seen", "new", "expert"))
        print(f"{name:26}{seen:8.1f}{new:8.1f}{expert:8.1f}{seen / expert:16.1f}{new / expert:16.1f}")
    print(surroundings())
    spark.stop()


def _often(question: str, ctes: int) -> str:
    """The question, or a statement that asks it in each of its CTEs."""
    if not ctes:
        return question
    asked = ", ".join(f"c{i} AS ({question})" for i in range(ctes))
    return f"WITH {asked} {' UNION ALL '.join(f'SELECT * FROM c{i}' for i in range(ctes))}"


def _forms(spark: Any, text: str, expert: str) -> dict[str, Callable[[], Any]]:
    numbers = count()
    return {
        "seen": partial(spark.sql, text),
        "new": lambda: spark.sql(f"{text} -- {next(numbers)}"),
        "expert": partial(spark.sql, expert),
    }


if __name__ == "__main__":
    main()

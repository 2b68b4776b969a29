"""What a row pattern costs in a window (ISO R020), over the same clause as MATCH_RECOGNIZE … AFTER MATCH SKIP TO NEXT ROW ALL ROWS PER MATCH.

In: 2,000,000 synthetic prices of 1,000 keys (``scan.prices``). Out: for each case median seconds of both, and their ratio, with its target.

* ``measures``: three measures over the window.
* ``functions``: ``count``, ``sum``, ``first_value`` and ``last_value`` over the reduced frame.
* ``lists``: ``array_agg`` over it, against the same in MEASURES.
* ``match-dependent``: conditions that look at other rows of the match.
* ``past last row``, ``bounded``, ``seek``: the first query with another skip, with 10 FOLLOWING, and with SEEK; the clause stays the same.

Both queries read the same columns of the same file, shuffle and sort by the same key and order, and end in an aggregate of one row that is
collected. They take turns in one session, so that a busy machine slows both. Before any time is taken, the matches of the two, a window's
rows with a match and the clause's first rows, are counted and must be as many.

    python benchmarks/row_pattern_windows.py [--rows N] [--keys N] [--only CASE] [--repetitions N] [--warmups N]
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import scan
from row_pattern_scan import MATCH_DEPENDENT, PREV

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = 1.5
MEASURES = (
    "FIRST(strt.price) AS first_price, LAST(down.price) AS lowest, LAST(up.price) AS last_price, COUNT(*) AS length"
)
LISTS = "ARRAY_AGG(price) AS prices, COUNT(*) AS length"
WINDOW = """
SELECT {aggregates}
FROM (SELECT {calls} FROM prices WINDOW w AS (
  PARTITION BY key ORDER BY ts MEASURES {measures} ROWS BETWEEN CURRENT ROW AND {end} AFTER MATCH SKIP {skip} {seek}
  PATTERN (strt down+ up+) DEFINE {define}))
"""
CLAUSE = """
SELECT {aggregates}
FROM prices MATCH_RECOGNIZE (
  PARTITION BY key ORDER BY ts MEASURES {measures} ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW
  PATTERN (strt down+ up+) DEFINE {define})
"""
OVER_MEASURES = "first_price OVER w AS first_price, lowest OVER w AS lowest, last_price OVER w AS last_price, length OVER w AS length"
OVER_ROWS = (
    "first_value(price) OVER w AS first_price, sum(price) OVER w AS lowest, last_value(price) OVER w AS last_price, "
    "NULLIF(count(*) OVER w, 0) AS length"
)
SUMS = "COUNT(length) AS matches, SUM(length) AS covered, SUM(last_price - first_price) AS gain, SUM(lowest) AS lowest"
SIZES = "COUNT(length) AS matches, SUM(length) AS covered, SUM(SIZE(prices)) AS sizes"


@dataclass(frozen=True, slots=True)
class Case:
    """The window's form; ``same``: it has the matches of the clause."""

    name: str
    calls: str = OVER_MEASURES
    measures: str = MEASURES
    aggregates: str = SUMS
    define: str = PREV
    end: str = "UNBOUNDED FOLLOWING"
    skip: str = "TO NEXT ROW"
    seek: str = "INITIAL"
    same: bool = True

    @property
    def window(self) -> str:
        """The query over the window."""
        return WINDOW.format(**{name: getattr(self, name) for name in self.__slots__})

    @property
    def clause(self) -> str:
        """The query over MATCH_RECOGNIZE."""
        return CLAUSE.format(aggregates=self.aggregates, measures=self.measures, define=self.define)


CASES = (
    Case("measures"),
    Case("functions", calls=OVER_ROWS),
    Case("lists", calls="array_agg(price) OVER w AS prices, length OVER w AS length", measures=LISTS, aggregates=SIZES),
    Case("match-dependent", define=MATCH_DEPENDENT),
    Case("past last row", skip="PAST LAST ROW", same=False),
    Case("bounded", end="10 FOLLOWING", same=False),
    Case("seek", seek="SEEK", same=False),
)


def main() -> None:
    """Each case: check the number of matches, run the window and the clause in turns, print a line."""
    options = _options()
    spark = scan.session("row_pattern_windows")
    spark.read.parquet(str(scan.prices(options.rows, options.keys))).createOrReplaceTempView("prices")
    print(f"{options.rows:,} rows, local[2]; {scan.surroundings()}")
    print(f"{'case':18}{'window s':>10}{'clause s':>10}{'rows/s':>14}{'ratio min':>11}{'median':>8}{'target':>8}")
    for case in CASES:
        if options.only in (None, case.name):
            print(f"{case.name:18}{_result(spark, case, options)}", flush=True)
    print(scan.surroundings())
    spark.stop()


def _result(spark: SparkSession, case: Case, options: argparse.Namespace) -> str:
    if case.same:
        check(spark, case)
    ratio = scan.against(spark, case.window, case.clause, options.repetitions, options.warmups)
    middle = statistics.median(ratio.query)
    return (
        f"{middle:10.2f}{statistics.median(ratio.baseline):10.2f}{options.rows / middle:14,.0f}"
        f"{ratio.smallest:11.2f}{ratio.median:8.2f}{TARGET:8.1f}"
    )


def check(spark: SparkSession, case: Case) -> None:
    """Raise unless the window has as many matches as the clause."""
    found = scan.run(spark, case.window)[0]["matches"]
    expected = scan.run(spark, case.clause.replace("COUNT(length) AS matches", "COUNT_IF(length = 1) AS matches"))[0][
        "matches"
    ]
    if found != expected:
        raise ValueError(f"wrong answer: {found} matches, expected {expected}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--only", choices=[case.name for case in CASES])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--warmups", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()

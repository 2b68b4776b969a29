"""Queries around a clause, where a rule may answer them without the matches, against the same queries over the clause's stored rows.

    python -m tests.differential.around

asks every query of every clause of its kind, and prints what differs. Floating-point numbers are compared to 12 digits: Spark merges their sums in
another order.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepError
from tests.differential.run import code, finish
from tests.spark_setup import SETTINGS
from tests.sql.tables import TABLES as SMALL

TABLES = {
    "ev": """VALUES (1, 'A', 1, 5, array(1, 5), 'p'), (1, 'B', 2, 6, array(6), NULL), (1, 'A', 3, 7, NULL, 'q'), (1, 'B', 4, 8, array(8, 5), 'p'),
        (2, 'A', 1, 1, array(1), 'z'), (2, 'C', 2, 2, array(2), 'y'), (2, 'B', 3, 9, NULL, 'y'), (2, 'B', 4, NULL, NULL, 'w')
        AS t(k, type, ts, x, xs, s)""",
    "u": "VALUES (1, 5, 'one'), (2, 9, 'two'), (3, 1, 'three') AS t(k, x, name)",
}
EVENTS = [
    "ev MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WITHIN 10)",
    "ev MATCH PATTERN (SEQ(A a, B b) PARTITION BY k ORDER BY ts WHERE a.x < b.x WITHIN 10)",
    "ev MATCH PATTERN (SEQ(A+ a, B b) PARTITION BY k ORDER BY ts SKIP TILL NEXT MATCH WITHIN 10)",
    "ev MATCH PATTERN (SEQ(A a, B? b, NOT C c, B d) PARTITION BY k ORDER BY ts WITHIN 10)",
]
AROUND_EVENTS = [
    "SELECT * FROM {}",
    "SELECT m.* FROM {} AS m",
    "SELECT m.a.*, m.b.x FROM {} m",
    "SELECT a FROM {}",
    "SELECT to_json(struct(*)) FROM {}",
    "SELECT hash(*) FROM {} m",
    "SELECT * EXCEPT (a) FROM {}",
    "SELECT a.ts AS t, b.s FROM {} WHERE b.s IS NOT NULL",
    "SELECT a.k, b.k FROM {} WHERE a.k = 1 AND b.s LIKE 'p%'",
    "SELECT count(*), count(m.b), count(DISTINCT a.x) FROM {} m",
    "SELECT k, count(*), sum(b.x), avg(a.x), min(b.ts), max(a.s), count(b.s) FROM {} GROUP BY k",
    "SELECT k, count(*) FROM {} GROUP BY k HAVING max(b.x) > 8",
    "SELECT count(*) FROM {} WHERE k = 1",
    "SELECT count(*) FROM {} m WHERE a.x IS NULL",
    "SELECT k, sum(b.x) FILTER (WHERE a.x > 3) FROM {} GROUP BY k",
    "SELECT k, sum(b.x) AS s FROM {} WHERE k > 0 AND b.x < 9 GROUP BY k",
    "SELECT m.k, u.name, count(*) FROM {} m JOIN u ON m.k = u.k GROUP BY ALL",
    "SELECT count(*) FROM {} m JOIN u USING (k) WHERE b.x > u.x",
    "SELECT x.k FROM {} x, {} y WHERE x.k = y.k",
    "SELECT k, name FROM u WHERE EXISTS (SELECT 1 FROM {} m WHERE m.k = u.k AND m.b.x > u.x)",
    "SELECT k, (SELECT count(*) FROM {} m WHERE m.k = u.k) FROM u",
    "SELECT k, (SELECT sum(m.b.x) FROM {} m WHERE m.k = u.k AND m.a.x = u.x) FROM u",
    "SELECT DISTINCT k FROM {}",
    "SELECT match_start, match_end, match_end - match_start FROM {} ORDER BY 1, 2 LIMIT 2",
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY match_end, match_start) FROM {}",
    "SELECT k, a.x + b.x AS z FROM {} m WHERE a.x + b.x > 12",
    "SELECT max(struct(b.x, a.ts)) FROM {}",
    "SELECT k, sort_array(collect_list(b.x)) FROM {} GROUP BY k",
    "SELECT b.xs[0], size(a.xs) FROM {}",
    "SELECT explode(b.xs) FROM {}",
    "SELECT m.k, e FROM {} m LATERAL VIEW explode(m.b.xs) z AS e",
    "SELECT stack(2, a.x, b.x) FROM {}",
    "SELECT sum(1), sum(2.5), count(1), max('v'), bool_and(b.x > 1) FROM {}",
    "SELECT k % 2, count(*) FROM {} GROUP BY k % 2",
    "SELECT CASE WHEN count(*) > 2 THEN 'many' ELSE 'few' END FROM {}",
    "SELECT k, count(*) FROM {} GROUP BY GROUPING SETS ((k), ())",
    "SELECT grouping(k), k, sum(b.x) FROM {} GROUP BY CUBE (k)",
    "SELECT sum(b.x) / count(*), variance(b.x), stddev(a.x) FROM {}",
    "SELECT k, percentile(b.x, 0.5), approx_count_distinct(a.x) FROM {} GROUP BY k",
    "SELECT count(*) FROM (SELECT * FROM {} LIMIT 2)",
    "SELECT k FROM {} UNION ALL SELECT k FROM u",
    "SELECT coalesce(sum(b.x), -1), count(*) FROM {} WHERE k = 77",
    "SELECT k, count(*) FROM {} WHERE k = 77 GROUP BY k",
    "SELECT count(*) FROM {} HAVING count(*) > 0",
    "SELECT k, sum(b.x) s, sum(s) t FROM (SELECT k, b, a.x AS s FROM {}) GROUP BY k",
]
ROWS = [
    f"""ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES FIRST(ts) AS k, LAST(price) AS x, COUNT(*) AS n, ARRAY_AGG(price) AS ps,
        CLASSIFIER() AS s {mode} PATTERN (a b*) DEFINE b AS price < PREV(price))"""
    for mode in ("", "ALL ROWS PER MATCH")
]
AROUND_ROWS = [
    "SELECT * FROM {}",
    "SELECT m.sym, k FROM {} m",
    "SELECT k FROM {} WHERE x > 5",
    "SELECT count(*) FROM {}",
    "SELECT sym, count(*), sum(x), max(n) FROM {} GROUP BY sym",
    "SELECT * EXCEPT (x) FROM {}",
    "SELECT count(*) FROM {} WHERE sym = 'A'",
    "SELECT sym, k FROM {} m WHERE sym IN ('B') ORDER BY k LIMIT 1",
    "SELECT (SELECT max(k) FROM {} m WHERE m.sym = names.sym) FROM names",
    "SELECT a.sym, b.k FROM {} a JOIN {} b ON a.sym = b.sym AND a.k <= b.k",
    "SELECT hash(*), to_json(struct(*)) FROM {}",
    "SELECT DISTINCT s FROM {}",
    "SELECT sym, lag(k) OVER (PARTITION BY sym ORDER BY k, x) FROM {}",
    "SELECT s FROM {} WHERE upper(sym) = 'A' AND k > 1 OR n = 2",
]
AUTOMATA = [
    """ev MATCH AUTOMATON (PARTITION BY k ORDER BY ts REGISTERS (r INT, n INT) START s FINAL f ARC s -> m WHEN type = 'A' SET r = x, n = 1
        ARC m -> m WHEN type = 'B' AND x > r SET n = n + 1 ARC m -> f WHEN type = 'B' AND x >= r)"""
]
AROUND_AUTOMATA = [
    "SELECT * FROM {}",
    "SELECT r, n FROM {} WHERE n > 1",
    "SELECT k, count(*), sum(n) FROM {} GROUP BY k",
    "SELECT final_state FROM {}",
    "SELECT count(*) FROM {} WHERE k = 1",
    "SELECT m.match_start FROM {} m",
]
KINDS = [(EVENTS, AROUND_EVENTS), (ROWS, AROUND_ROWS), (AUTOMATA, AROUND_AUTOMATA)]


def answer(spark: SparkSession, sql: str) -> object:
    """The columns and the sorted rows, or the error's code."""
    try:
        frame = spark.sql(sql)
        return frame.schema.simpleString(), sorted(repr(_rounded(tuple(row))) for row in frame.collect())
    except CepError as error:
        return error.code
    except PySparkException as error:
        return code(error)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.12g}"
    return tuple(map(_rounded, value)) if isinstance(value, tuple) else value


def main() -> None:
    """Print what differs; the exit code says whether anything does."""
    spark = sparkcep.session("around", "local[2]", **SETTINGS)
    for name, query in (SMALL | TABLES).items():
        spark.sql(f"SELECT * FROM {query}" if name in TABLES else query).createOrReplaceTempView(name)
    counts = Counter[str]()
    for clauses, around in KINDS:
        for clause in clauses:
            found = spark.sql(f"SELECT * FROM {clause}")
            spark.createDataFrame(found.collect(), found.schema).createOrReplaceTempView("stored")
            for query in around:
                got, wanted = (answer(spark, query.replace("{}", rows)) for rows in (clause, "stored"))
                same = got == wanted or (isinstance(got, str) and isinstance(wanted, str))
                counts[
                    "refused on both sides" if isinstance(got, str) and same else "equal" if same else "differs"
                ] += 1
                if not same:
                    print(
                        f"DIFFERS: {query}\n  {clause}\n  got    {str(got)[:400]}\n  stored {str(wanted)[:400]}",
                        flush=True,
                    )
    finish(counts)


if __name__ == "__main__":
    main()

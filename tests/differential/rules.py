"""Random statements with all rewrite rules, and other engines, against the same statements without a rule: the rows are the same.

    python -m tests.differential.rules [--seed N] [--statements N]

prints what differs, what is refused on one side alone, and how often each rule was there to be compared.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

import sparkcep
from rewrites import RULES
from rewrites.rules import induced_predicates, keys_in_order, time_shards
from sparkcep.errors import CepError
from tests.differential.run import arguments, finish, rows, settings
from tests.differential.statements import (
    EVENTS,
    NAMED_KEYS,
    STATEMENTS,
    WITHINS,
    SeveralClause,
    several_clause,
    windows_statement,
)
from tests.spark_setup import SETTINGS

THRESHOLDS = (
    (induced_predicates, "LEAST_BYTES"),
    (time_shards, "MEASURED_BYTES"),
    (keys_in_order, "LEAST_BYTES"),
    (keys_in_order, "TASK_BYTES"),
)
"""Sizes from which rules apply."""
MARKS = {
    "induced_predicates": "`__cep_b0`",
    "time_shards": "`__cep_task`",
    "keys_in_order": '"sort"',
    "aggregate_pushdown": "`__cep_a0`",
    "measured shards": "`__cep_length`",
}
"""What a rule leaves in the text that Spark gets."""


@contextmanager
def of_any_size() -> Iterator[None]:
    """Rules apply to inputs of any size."""
    before = [getattr(module, name) for module, name in THRESHOLDS]
    for module, name in THRESHOLDS:
        setattr(module, name, 1)
    try:
        yield
    finally:
        for (module, name), value in zip(THRESHOLDS, before, strict=True):
            setattr(module, name, value)


DRAWN = (*STATEMENTS, windows_statement, partial(several_clause, withins=WITHINS, keys=NAMED_KEYS))
WITHOUT = {"sparkcep.rules.disable": ", ".join(RULES), "sparkcep.engine": "eager"}


def compared(spark: SparkSession, random: Random, sql: str, applied: Counter[str]) -> str:
    """Whether both forms of the statement give the same; the rules that did something are counted in ``applied``."""
    others = {
        "sparkcep.engine": random.choice(["auto", "auto", "chain", "tree"]),
        "sparkcep.sharding": random.choice(["auto", "auto", "all"]),
    }
    with settings(spark, others):
        text = sparkcep.rewrite(sql, spark)
        got = rows(spark, sql)
    applied.update(name for name, mark in MARKS.items() if mark in text)
    with settings(spark, WITHOUT):
        wanted = rows(spark, sql)
    if repr(wanted) == repr(got):
        return wanted if isinstance(wanted, str) else "the same rows" if wanted else "no rows"
    if all(str(answer).startswith("CEP_DATA") for answer in (wanted, got)):
        return "fails in several partitions"  # which of them is first is chance
    print(f"DIFFERS: {sql}\n  {others}\n  without {str(wanted)[:400]}\n  with    {str(got)[:400]}", flush=True)
    return "differs"


def together(spark: SparkSession, drawn: SeveralClause) -> str:
    """Whether several patterns have the rows of each alone, which aggregates its matches."""
    sql = f"SELECT * FROM events {drawn}"
    columns = ", ".join(spark.sql(sql).columns)
    got = rows(spark, sql)
    each = (
        f"SELECT {columns} FROM (SELECT '{name}' AS pattern, * FROM events {drawn.alone(name)})"
        for name in drawn.patterns
    )
    with settings(spark, WITHOUT):
        wanted = rows(spark, " UNION ALL ".join(each))
    if repr(wanted) == repr(got):
        return wanted if isinstance(wanted, str) else "the rows of each alone" if wanted else "no rows"
    print(f"DIFFERS: {sql}\n  alone    {str(wanted)[:400]}\n  together {str(got)[:400]}", flush=True)
    return "differs"


def main() -> None:
    """Print what differs; the exit code says whether anything does."""
    options = arguments(__doc__, 300)
    spark = sparkcep.session("rules", "local[2]", **SETTINGS)
    random = Random(options.seed)
    counts, applied = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder, of_any_size():
        spark.sql(EVENTS.format(0, 90)).write.parquet(str(Path(folder, "events")))
        spark.read.parquet(str(Path(folder, "events"))).createOrReplaceTempView("events")
        for _ in range(options.statements):
            drawn = random.choice(DRAWN)(random)
            alone = isinstance(drawn, SeveralClause)
            try:
                counts[together(spark, drawn) if alone else compared(spark, random, drawn, applied)] += 1
            except CepError as error:
                counts[f"refused: {error.code}"] += 1
                if error.code == "CEP_INTERNAL":
                    counts["fails"] += 1
                    print(f"FAILS: {drawn}\n  {str(error)[:600]}", flush=True)
    print("rules:", ", ".join(f"{name} {count}" for name, count in applied.most_common()))
    finish(counts)


if __name__ == "__main__":
    main()

"""What the scripts have in common: their arguments, a statement's answer, the counts at the end."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.errors import CepError


def arguments(text: str, statements: int) -> argparse.Namespace:
    """``seed`` and ``statements``; ``text``: the script's docstring."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=statements)
    return parser.parse_args()


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """The session with these."""
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in values:
            spark.conf.unset(name)


def rows(spark: SparkSession, sql: str) -> object:
    """The sorted rows, or the error's code."""
    try:
        return sorted((tuple(row) for row in spark.sql(sql).collect()), key=repr)
    except CepError as error:
        return error.code
    except PySparkException as error:
        return code(error)


def code(error: PySparkException) -> str:
    """Ours, or Spark's name of the error."""
    ours = re.search(r"\[(CEP_\w+)\]", str(error))
    return ours[1] if ours else str(error.getCondition() or error)[:200]


def finish(counts: Counter[str]) -> None:
    """Print how often what came of a statement; the exit code says whether all is well."""
    print(*(f"{count:6} {what}" for what, count in counts.most_common()), sep="\n")
    sys.exit(counts["differs"] + counts["fails"] > 0)

"""What Spark knows of a query: its output columns and their types.

In: SQL text without pattern clauses. Out: a StructType from Spark's own analysis; nothing is executed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.logger import PySparkLogger
from pyspark.sql.types import StructType

from sparkcep.engines.functions import check
from sparkcep.spec.expression import Constant, SparkFunction
from sql_functions.expressions import expression_tree

Describe = Callable[[str], StructType]


UNKNOWN_SIZE = 1 << 62
"""Spark writes the size of what it cannot estimate as the largest BIGINT."""

CHEAP_NODES = frozenset({"Project", "Filter", "Union", "LocalRelation", "Range", "InMemoryRelation"})
CHEAP_FORMATS = frozenset({"parquet", "orc"})
"""Plans of these nodes, over files of these formats, read one column at a fraction of the cost of the rows."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What Spark knows of a query before it runs: see ``rewrites.bind.relation.Resources``."""

    cores: int
    shuffle_partitions: int
    size: int | None
    cheap: bool


def _cheap(plan: Any) -> bool:
    name = plan.nodeName()
    if name == "LogicalRelation":
        return str(plan.relation().toString()).lower() in CHEAP_FORMATS
    children = plan.children()
    return name in CHEAP_NODES and all(_cheap(children.apply(i)) for i in range(children.size()))


def dataset_of_plan(context: Any) -> Callable[[Any, Any], Any]:
    """Spark's way from a session and a logical plan to a Dataset; each look-up of it costs seven calls into the JVM."""
    return context._jvm.org.apache.spark.sql.classic.Dataset.ofRows  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class ClassicDescribe:
    """What a classic session knows of queries; ``parse`` makes a logical plan of text, with the statement's parameters bound."""

    of_rows: Callable[[Any, Any], Any]
    jsession: Any
    parse: Callable[[str], Any]

    def __call__(self, query: str) -> StructType:
        """The output columns."""
        with _quiet:
            return StructType.fromJson(json.loads(self._dataset(query).schema().json()))

    def expression(self, query: str) -> SparkFunction | Constant:
        """The one column as a tree of functions. Raises CepUnsupportedError, without a span, for one that no engine has."""
        with _quiet:
            tree = expression_tree(self.jsession, self._dataset(query).queryExecution().analyzed())
        check(tree)
        return tree

    def value(self, query: str) -> Any:
        """The one column, a constant."""
        with _quiet:
            tree = expression_tree(self.jsession, self._dataset(query).queryExecution().analyzed())
        return tree.value if isinstance(tree, Constant) else None

    def resources(self, query: str) -> Resources:
        """What Spark knows of the query's cost."""
        with _quiet:
            plan = self._dataset(query).queryExecution().optimizedPlan()
        size = int(str(plan.stats().sizeInBytes()))
        session = self.jsession
        return Resources(
            session.sparkContext().defaultParallelism(),
            session.sessionState().conf().numShufflePartitions(),
            size if size < UNKNOWN_SIZE else None,
            _cheap(plan),
        )

    def _dataset(self, query: str) -> Any:
        return self.of_rows(self.jsession, self.parse(query))


def classic_describe(of_rows: Callable[[Any, Any], Any], jsession: Any, parse: Callable[[str], Any]) -> ClassicDescribe:
    """Describe queries in a classic session; ``of_rows``: see ``dataset_of_plan``."""
    return ClassicDescribe(of_rows, jsession, parse)


class _Quiet:
    """PySpark logs every failed analysis; the ones asked for here are answered by the caller. Several threads may be inside at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._disabled = False

    def __enter__(self) -> None:
        with self._lock:
            logger = PySparkLogger.getLogger("SQLQueryContextLogger")
            if self._inside == 0:
                self._disabled, logger.disabled = logger.disabled, True
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                PySparkLogger.getLogger("SQLQueryContextLogger").disabled = self._disabled


_quiet = _Quiet()


@dataclass(frozen=True, slots=True)
class ConnectDescribe:
    """What a Spark Connect session knows of queries; ``sql`` makes a DataFrame of text."""

    sql: Callable[[str], Any]

    def __call__(self, query: str) -> StructType:
        """The output columns."""
        with _quiet:
            return self.sql(query).schema  # type: ignore[no-any-return]

    def value(self, query: str) -> Any:
        """The one column of the one row: a constant."""
        with _quiet:
            return self.sql(query).collect()[0][0]


def connect_describe(sql: Callable[[str], Any]) -> Describe:
    """Describe queries in a Spark Connect session; ``sql`` makes a DataFrame of text."""
    return ConnectDescribe(sql)

"""What Spark knows of a query: its output columns and their types.

In: SQL text without pattern clauses. Out: a StructType from Spark's own analysis; nothing is executed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import convert_exception
from pyspark.logger import PySparkLogger
from pyspark.sql.types import StructType

from sparkcep.spec import MatchSpec
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.stream import StreamSpec
from sql_functions.expressions import column_trees, expression_tree
from sql_functions.java import class_beside, java_class

Describe = Callable[[str], StructType]


UNKNOWN_SIZE = 1 << 62
"""Spark reports the largest BIGINT as the size of what it cannot estimate."""

CHEAP_NODES = frozenset({"Project", "Filter", "Union", "LocalRelation", "Range", "InMemoryRelation"})
SCAN_NODES = CHEAP_NODES | {
    "LogicalRelation",
    "HiveTableRelation",
    "DataSourceV2ScanRelation",
    "LogicalRDD",
    "Generate",
}
"""Plans of these nodes distribute no rows."""
CHEAP_FORMATS = frozenset({"parquet", "orc"})
"""Plans of these nodes over files of these formats can read a single column at a fraction of the cost of whole rows."""


EXCHANGED = ("JOIN", "AGGREGATE", "WINDOW")
"""The patterns of plans that distribute rows, also when they are optimised."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What Spark knows of a query before it runs: see ``rewrites.bind.relation.Resources``."""

    cores: int
    shuffle_partitions: int
    size: int | None
    cheap: bool


Node = tuple[str, Any]
"""A node of a plan with its name, which is a call into the JVM."""


def _nodes(plan: Any) -> Iterator[Node]:
    yield plan.nodeName(), plan
    children = plan.children()
    for i in range(children.size()):
        yield from _nodes(children.apply(i))


def _is_cheap(found: Node) -> bool:
    name, node = found
    if name == "LogicalRelation":
        return str(node.relation().toString()).lower() in CHEAP_FORMATS
    return name in CHEAP_NODES


def _may_be_placed(found: Node) -> bool:
    """Whether rows may come as they were distributed when they were written: a cache, a table in buckets."""
    name, node = found
    return name == "InMemoryRelation" or (
        name == "LogicalRelation" and "Num Buckets" in str(node.catalogTable().toString())
    )


def _of(dataset: Any, columns: tuple[str, ...]) -> Any:
    """Columns of a Dataset, which is not analysed again; without any the Dataset."""
    if not columns:
        return dataset
    first, *rest = columns
    return dataset.select(first, class_beside(dataset, "org.apache.spark.api.python.PythonUtils").toSeq(rest))


def _optimised(dataset: Any) -> Any | None:
    """The optimised plan, with its size; None where that fails, as a constant that overflows does: the query itself will tell."""
    try:
        plan = dataset.queryExecution().optimizedPlan()
        plan.stats()
    except (Py4JJavaError, PySparkException):
        return None
    return plan


def _is_scattered(nodes: list[Node], dataset: Any) -> bool:
    """Whether the rows of a Dataset with these nodes come as they are read."""
    if not all(name in SCAN_NODES for name, _ in nodes):
        return False
    if not any(map(_may_be_placed, nodes)):
        return True
    return str(dataset.queryExecution().sparkPlan().outputPartitioning().toString()).startswith("Unknown")


def dataset_of_plan(context: Any) -> Callable[[Any, Any], Any]:
    """Spark's function from a session and a logical plan to a Dataset."""
    return java_class(context, "org.apache.spark.sql.classic.Dataset").ofRows  # type: ignore[no-any-return]


def spark_exception(error: Py4JJavaError) -> PySparkException:
    """PySpark's exception for one of Java's. Java lets a proxy raise what its interface declares; others arrive wrapped."""
    java = error.java_exception
    if java.getClass().getSimpleName() == "UndeclaredThrowableException":
        java = java.getUndeclaredThrowable()
    return convert_exception(java)


@dataclass(frozen=True, slots=True)
class ClassicDescribe:
    """What a classic session knows of queries of one statement; ``parse`` turns text into a logical plan, with the statement's parameters bound.

    ``known``: the queries analysed so far, with their Datasets: several things are asked about some of them.
    """

    of_rows: Callable[[Any, Any], Any]
    jsession: Any
    parse: Callable[[str], Any]
    known: dict[str, Any] = field(default_factory=dict)

    def __call__(self, query: str) -> StructType:
        """The output columns."""
        with quiet:
            return StructType.fromJson(json.loads(self._dataset(query).schema().json()))

    def expression(self, text: str, source: str) -> SparkFunction | Constant:
        """An expression over the columns of ``source`` as a tree of functions. Raises CepUnsupportedError, without a span, for functions that no
        engine implements."""
        from sparkcep.engines.functions import check

        with quiet:
            query = f"SELECT {text}\n AS `r` FROM {source}"
            tree = expression_tree(self.jsession, self._dataset(query).queryExecution().analyzed())
        check(tree)
        return tree

    def columns(self, query: str, leaf: str) -> dict[str, Any]:
        """All columns as trees of functions of the columns of ``leaf``, a relation below; see ``expressions.column_trees``. Raises
        CepUnsupportedError, without a span, for functions that no worker computes."""
        from sparkcep.engines.functions.columns import check_columns

        with quiet:
            trees = column_trees(self.jsession, self._dataset(query).queryExecution().analyzed(), leaf)
        check_columns(trees.values())
        return trees

    def check(self, spec: MatchSpec | StreamSpec) -> None:
        """Raises CepUnsupportedError, without a span, for a spec that no engine can run."""
        from sparkcep.engines.support import check

        check(spec)

    def streaming(self, query: str) -> bool:
        """Whether rows of the query's result come from a stream."""
        with quiet:
            return bool(self._dataset(query).isStreaming())

    def literal(self, parameter: str) -> str:
        """A parameter's value as SQL."""
        with quiet:
            plan = self._dataset(f"SELECT {parameter} AS `r`").queryExecution().analyzed()
        return str(plan.expressions().head().child().sql())

    def value(self, query: str) -> Any:
        """The one column, a constant."""
        with quiet:
            tree = expression_tree(self.jsession, self._dataset(query).queryExecution().analyzed())
        return tree.value if isinstance(tree, Constant) else None

    def zone(self) -> str:
        """The session's time zone."""
        return str(self.jsession.conf().get("spark.sql.session.timeZone"))

    def resources(self, query: str, columns: tuple[str, ...] = ()) -> Resources:
        """What Spark knows of the cost of ``columns`` (quoted; of all) of the query."""
        with quiet:
            plan = _optimised(_of(self._dataset(query), columns))
            return self._resources(plan, [] if plan is None else list(_nodes(plan)))

    def scattered(self, query: str, columns: tuple[str, ...] = ()) -> Resources | None:
        """The same of a query whose rows come as they are read; None where an exchange (or one before they were written) distributes them."""
        with quiet:
            dataset = self._dataset(query)
            patterns = class_beside(dataset, "org.apache.spark.sql.catalyst.trees.TreePattern")
            analysed = dataset.queryExecution().analyzed()
            if any(analysed.containsPattern(getattr(patterns, name)()) for name in EXCHANGED):
                return None  # without having it optimised
            dataset = _of(dataset, columns)
            plan = _optimised(dataset)
            nodes = [] if plan is None else list(_nodes(plan))
            return self._resources(plan, nodes) if nodes and _is_scattered(nodes, dataset) else None

    def _resources(self, plan: Any | None, nodes: list[Node]) -> Resources:
        cores = self.jsession.sparkContext().defaultParallelism()
        partitions = self.jsession.sessionState().conf().numShufflePartitions()
        if plan is None:
            return Resources(cores, partitions, None, cheap=False)
        size = int(str(plan.stats().sizeInBytes()))
        cheap = all(map(_is_cheap, nodes)) and plan.deterministic()
        return Resources(cores, partitions, size if size < UNKNOWN_SIZE else None, cheap)

    def rows(self, query: str) -> list[dict[str, Any]]:
        """The rows of a small query, which is run; a NULL is left out."""
        with quiet:
            return [json.loads(row) for row in self._analysed(query).toJSON().collectAsList()]

    def files(self, table: str) -> frozenset[str]:
        """The files that a table is read from; none where it is not one of files. No job runs."""
        with quiet:
            return frozenset(self._analysed(f"SELECT * FROM {table}").inputFiles())

    def _dataset(self, query: str) -> Any:
        """The analysed query. PySpark leaves exceptions that it has no class for (a collation's name, a bare lambda) to Py4J."""
        if query not in self.known:
            self.known[query] = self._analysed(query)
        return self.known[query]

    def _analysed(self, query: str) -> Any:
        try:
            return self.of_rows(self.jsession, self.parse(query))
        except Py4JJavaError as error:
            raise spark_exception(error) from None


def classic_describe(of_rows: Callable[[Any, Any], Any], jsession: Any, parse: Callable[[str], Any]) -> ClassicDescribe:
    """Describe queries in a classic session; ``of_rows``: see ``dataset_of_plan``."""
    return ClassicDescribe(of_rows, jsession, parse)


class _Quiet:
    """Suppresses PySpark's log of failed analyses, which the caller handles. Several threads may be inside at once."""

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


quiet = _Quiet()


@dataclass(frozen=True, slots=True)
class ConnectDescribe:
    """What a Spark Connect session knows of queries of one statement; ``sql`` makes a DataFrame of text. ``known``: the schemas asked for so far."""

    sql: Callable[[str], Any]
    known: dict[str, StructType] = field(default_factory=dict)

    def __call__(self, query: str) -> StructType:
        """The output columns."""
        if query not in self.known:
            with quiet:
                self.known[query] = self.sql(query).schema
        return self.known[query]

    def streaming(self, query: str) -> bool:
        """Whether rows of the query's result come from a stream."""
        return bool(self.sql(query).isStreaming)

    def zone(self) -> str:
        """The session's time zone."""
        return str(self.value("SELECT CURRENT_TIMEZONE()"))

    def value(self, query: str) -> Any:
        """The one column of the one row: a constant."""
        with quiet:
            return self.sql(query).collect()[0][0]

"""A clause whose stream follows its pattern → what its rows send, whole, and what each version of it reads of them.

The plan of a running stream takes in no new expressions, so Spark computes what all versions have in common (partitions, order, time, identity), and
the workers compute a version's masks and columns, by the trees that Spark's analysis gives of the same SQL over a stand-in for the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.types import DataType, LongType, StructField, StructType
from sqlglot import exp

from rewrites.bind.arcs import travels_as_it_is
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.relation import Relation, spark_message
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.bind.stream import IDENTITY, Streamed
from rewrites.bind.within import TIME
from rewrites.emit.stream import added_below, with_turn_columns
from rewrites.settings import StreamSettings
from rewrites.sql.builder import named, quoted, raw, select, text_of
from rewrites.sql.transport import carried
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.expression import walk
from sparkcep.spec.projection import Column, ProjectedSpec
from sparkcep.spec.row import RowPatternSpec

LEAF = "__cep_leaf"
"""The stand-in for the rows that are sent."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What the rows of a stream have: the ``columns`` of the input, by name, and the names of ``others`` that Spark computes."""

    columns: Mapping[str, DataType]
    others: frozenset[str]


def stand_in(relation: Relation) -> Relation:
    """The relation whose columns are those of a row that is sent, with its identity."""
    fields = [*relation.schema.fields, StructField(IDENTITY, LongType())]
    leaf = f"{replace(relation, schema=StructType(fields)).stand_in} AS {quoted(LEAF)}"
    return replace(relation, text=leaf, feed=None)


def sent(bound: BoundRowPattern | BoundEventPattern, partition: Iterable[str], order: Iterable[str]) -> Sent:
    """What the rows of a clause have. A column whose values travel encoded is not there."""
    columns = {
        field.name: field.dataType for field in bound.relation.schema if carried(field.dataType) == field.dataType
    }
    return Sent(columns, frozenset([*partition, *order, TIME, IDENTITY]))


def whole_rows(
    bound: BoundRowPattern | BoundEventPattern,
    streamed: Streamed,
    spec: RowPatternSpec | EventPatternSpec | AggregateSpec,
    settings: StreamSettings,
    keys: tuple[str, ...],
    together: tuple[str, ...],
    filters: Iterable[str] = (),
) -> str:
    """The query of the rows. ``keys``: of the turns; ``together``: those whose rows are in one bucket."""
    computed = [named(key.text, name) for key, name in zip(bound.keys, spec.partition, strict=True) if not key.column]
    order = [named(text, column.column) for text, column in streamed.order]
    below = added_below(streamed, bound.relation, settings, timed=False)
    rows = select([exp.Star(), *computed, *order, *below], bound.relation.text)
    for text in filters:
        rows = rows.where(raw(text))
    names = sent(bound, (), ()).columns
    read = select([named(quoted(name), name) for name in names], rows)
    found = with_turn_columns(read, streamed, keys, settings, together)
    return bound.relation.alone(text_of(found))


def projected(
    of: RowPatternSpec | EventPatternSpec | AggregateSpec,
    query: exp.Select,
    relation: Relation,
    has: Sent,
    *,
    sparse: bool,
    deadline: str | None = None,
) -> ProjectedSpec:
    """A version: ``query`` gives what the engine of ``of`` reads, over the ``stand_in`` of the relation. Raises CepUnsupportedError, without a span,
    for what workers cannot compute."""
    if relation.columns is None:
        raise CepUnsupportedError("following a pattern over Spark Connect", code="CONNECT")
    text = text_of(select([raw(quoted(name)) for name in query.named_selects if name not in has.others], query))
    try:
        trees, types = relation.columns(text, LEAF), {field.name: field.dataType for field in relation.describe(text)}
    except PySparkException as error:
        raise CepAnalysisError(spark_message(error), code="EXPRESSION") from None
    known = has.others | set(has.columns)
    columns = tuple(
        Column(name, types[name].json(), tree)
        for name, tree in trees.items()
        if not (name in has.columns and _named(tree) == name)
    )
    for column in columns:
        _check(column, has, known)
    return ProjectedSpec(of, columns, sparse, deadline)


def _named(tree: Any) -> str | None:
    """The column that a tree merely names."""
    return str(tree.settings[0]) if getattr(tree, "name", None) == "AttributeReference" else None


def _check(column: Column, has: Sent, known: frozenset[str]) -> None:
    """What a tree reads is sent, and workers have its values as Spark has them."""
    for name in filter(None, map(_named, walk(column.tree))):
        odd = name in has.columns and name != _named(column.tree) and not travels_as_it_is(has.columns[name])
        if name not in known or odd:
            raise CepUnsupportedError(
                f"a condition on {name}, whose values workers have not got as Spark has them,",
                code="PATTERN_STREAM",
                hint="compute in a subquery of the stream what the pattern looks at",
            )

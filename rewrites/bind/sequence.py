"""Sequence numbers: what a source that numbers the events of a partition one by one tells of their arrival.

In: a clause and its input. Out: how a turn reads the number; or the refusal, at its place, of numbers that say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import IntegralType

from rewrites.bind.partitions import plain_column
from rewrites.bind.relation import Relation, no_stream
from rewrites.dialect.clause import Clause, MatchPatternClause, OrderItem
from rewrites.dialect.clause import SequenceNumber as Number
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import SequenceNumber


def bind_sequence(clause: Clause, order: tuple[OrderColumn, ...], relation: Relation) -> SequenceNumber | None:
    """The clause's sequence number, of all its events; None: it has none. ``order``: the ORDER BY items of a stream behind the event time.

    Raises CepAnalysisError for one that is not the item of ORDER BY behind the event time, and CepUnsupportedError where it is no integer, and where
    more than the order of a partition decides.
    """
    number = clause.sequence
    if number is None:
        return None
    column = relation.require(number.column)
    wrong = _wrong(clause.order_by[1:], number, column, relation)
    if wrong is not None:
        raise CepAnalysisError(
            "a sequence number orders the events of one time, and nothing else does",
            code="SEQUENCE_NUMBER",
            span=wrong,
            hint=f"write ORDER BY event time, {number.column}",
        )
    data_type = relation.schema[column].dataType
    if not isinstance(data_type, IntegralType):
        raise CepUnsupportedError(
            f"a sequence number of type {data_type.simpleString()}",
            code="SEQUENCE_NUMBER",
            span=number.span,
            hint="make it a BIGINT in a subquery",
        )
    _refuse(clause, relation)
    return SequenceNumber(order[0].column, (), number.first)


def _wrong(items: Sequence[OrderItem], number: Number, column: str, relation: Relation) -> Span | None:
    """What in ORDER BY, behind the event time, is not just the ``number``, ascending; None: nothing."""
    if not items:
        return number.span
    first, *others = items
    if plain_column(first.expr.node, relation) != column or first.descending:
        return first.span
    return others[0].span if others else None


def check_sequence(clause: Clause, relation: Relation) -> None:
    """Raises CepAnalysisError for a sequence number that has no use."""
    if clause.sequence is not None and not relation.streaming:
        raise CepAnalysisError(
            "SEQUENCE NUMBER over a table: all of its rows have come",
            code="SEQUENCE_NUMBER",
            span=clause.sequence.span,
            hint="leave it out; ORDER BY sorts the rows",
        )


def _refuse(clause: Clause, relation: Relation) -> None:
    """What does not go with numbers of partitions."""
    assert clause.sequence is not None
    if relation.feed is not None:
        raise no_stream("SEQUENCE NUMBER of rows that are changes (_change_type)", clause.sequence.span)
    if not isinstance(clause, MatchPatternClause):
        return
    if clause.emit_changes is not None:
        raise no_stream("SEQUENCE NUMBER with EMIT CHANGES", clause.sequence.span)
    if clause.strategy == "strict_contiguity" and clause.partition_by:
        raise no_stream("SEQUENCE NUMBER of partitions with STRICT CONTIGUITY, across them,", clause.sequence.span)

"""Writing rows as messages: ``value``, and where they are there ``key`` and ``topic`` (STRING or BINARY; topic STRING).

Each message is there at least once: a micro-batch that Spark runs again writes its messages again. ``match_id`` as the key tells a reader which are
the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from sparkcep.errors import CepAnalysisError, CepDataError
from sparkcep.sources.kafka.client import producer
from sparkcep.sources.kafka.options import Writing

FLUSH_SECONDS = 60.0
COLUMNS = {"key": (StringType, BinaryType), "value": (StringType, BinaryType), "topic": (StringType,)}


class Producing:
    """What batch and stream have in common."""

    def __init__(self, options: Writing, schema: StructType) -> None:
        self.options = options
        _require(schema, options.topic)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Produce the rows, and wait until the brokers have them. Raises CepDataError if they refuse one."""
        client = producer(self.options.client)
        refused: list[str] = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                refused.append(error.str())

        for batch in iterator:
            for row in batch.to_pylist():
                _produce(client, row, self.options.topic, delivered)
        waiting = client.flush(FLUSH_SECONDS)
        if refused or waiting:
            reason = refused[0] if refused else f"no answer within {FLUSH_SECONDS:g} s"
            raise CepDataError(f"{len(refused) + waiting} messages were not written: {reason}", code="KAFKA")
        return WriterCommitMessage()


class StreamWriter(Producing, DataSourceStreamArrowWriter):
    """The sink of a stream."""


class BatchWriter(Producing, DataSourceArrowWriter):
    """The sink of a table."""


def _produce(client: Any, row: dict[str, Any], topic: str | None, delivered: Any) -> None:
    """Hand a message over; wait where librdkafka's queue is full."""
    to = topic or row["topic"]
    if to is None:
        raise CepDataError("a row has no topic", code="KAFKA", hint="set the option topic, or the column in each row")
    while True:
        try:
            client.produce(to, row["value"], row.get("key"), on_delivery=delivered)
            client.poll(0)
            return
        except BufferError:
            client.poll(0.1)


def _require(schema: StructType, topic: str | None) -> None:
    """Raises CepAnalysisError for columns that make no messages."""
    types: dict[str, DataType] = {field.name: field.dataType for field in schema}
    wrong = [name for name, kind in types.items() if not isinstance(kind, COLUMNS.get(name, ()))]
    missing = [name for name in ("value", *(() if topic else ("topic",))) if name not in types]
    if wrong or missing:
        named = f"the column {wrong[0]} {types[wrong[0]].simpleString()}" if wrong else f"no {missing[0]}"
        raise CepAnalysisError(
            f"{named} in rows for Kafka",
            code="KAFKA_COLUMNS",
            hint="the columns are value, key (STRING or BINARY) and topic, or the option topic; TO_JSON(STRUCT(*)) AS value makes one of many",
        )

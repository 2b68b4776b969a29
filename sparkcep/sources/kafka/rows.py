"""Kafka's messages as rows, with the columns of Spark's own source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

DDL = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
HEADERS_DDL = ", headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)
HEADERS = pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))
NO_TIMESTAMP = 0
"""confluent_kafka.TIMESTAMP_NOT_AVAILABLE; creation and append follow. In Spark's column all are one less."""


def batch(messages: Sequence[Any], headers: bool) -> pa.RecordBatch:
    """confluent_kafka.Messages as a record batch of SCHEMA (with HEADERS)."""
    stamps = [message.timestamp() for message in messages]
    micros = [None if kind == NO_TIMESTAMP else millis * 1000 for kind, millis in stamps]
    columns: list[Any] = [
        [message.key() for message in messages],
        [message.value() for message in messages],
        [message.topic() for message in messages],
        [message.partition() for message in messages],
        [message.offset() for message in messages],
        micros,
        [kind - 1 for kind, _ in stamps],
    ]
    schema = SCHEMA
    if headers:
        columns.append([_headers(message) for message in messages])
        schema = schema.append(HEADERS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _headers(message: Any) -> list[dict[str, Any]] | None:
    found = message.headers()
    return None if found is None else [{"key": key, "value": value} for key, value in found]

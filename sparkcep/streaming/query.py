"""A clause over a stream as a streaming DataFrame: the input's rows in packets → one stateful turn a bucket → matches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from secrets import token_hex
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import max as greatest
from pyspark.sql.functions import max_by
from pyspark.sql.functions import sum as total
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from sparkcep.spec import from_json, to_json
from sparkcep.spec.stream import BUCKET, WATERMARK, StreamSpec, identity, kept
from sparkcep.streaming.busy import Watcher
from sparkcep.streaming.listener import observe
from sparkcep.streaming.monitor import metrics_of
from sparkcep.streaming.packages import require_packages
from sparkcep.streaming.packets import PACKET_DDL, packed, unpacked
from sparkcep.streaming.processor import TURN, BucketProcessor
from sparkcep.streaming.state_store import require_timers
from sql_functions.worker import answer_at_once, settle

METRICS = ("events", "late", "rows_kept", "matches", "state_bytes", "put_bytes", "engine_ms", "final_rows")
"""Sums over the buckets of a micro-batch."""


def stream(
    spark: SparkSession, spec_json: str, query: str, sql: Callable[[str], DataFrame] | None = None, arguments: str = ""
) -> DataFrame:
    """The streaming DataFrame of a clause: the columns of the spec's outputs. ``sql`` runs ``query``, with ``arguments`` for its parameters.

    Raises CepAnalysisError if the session has no state store for it, and CepUnsupportedError where packages for it are missing.
    """
    require_packages()
    require_timers(spark)
    found: Any = from_json(spec_json)
    spec: StreamSpec = found
    followed = spec.followed
    clause = identity(f"{to_json(kept(spec))}\n{query}{arguments}") if followed is None else followed.interface
    packets = (sql or spark.sql)(query).mapInArrow(_pack, PACKET_DDL)
    if followed is not None:
        from sparkcep.streaming.changes import changes, report  # not for workers

        packets = packets.unionByName(changes(spark, followed))
        report(spark, followed)
    turns = packets.groupBy(BUCKET).transformWithState(
        BucketProcessor(spec_json, clause), TURN, outputMode="Append", timeMode="EventTime"
    )
    busiest = greatest("busiest_rows").alias("busiest_rows"), max_by("busiest_key", "busiest_rows").alias("busiest_key")
    sums = (total(name).alias(name) for name in METRICS)
    counted = turns.observe(
        f"{metrics_of(clause)}.{token_hex(4)}", *sums, *busiest
    )  # a clause may stand twice in a query
    schema = StructType.fromJson(json.loads(spec.schema))
    observe(spark, Watcher())
    arrow = to_arrow_schema(schema, timezone=spark.conf.get("spark.sql.session.timeZone"))  # as mapInArrow has it
    found = counted.select("payload", "late_rows").mapInArrow(partial(_unpack, schema=arrow), schema)
    if spec.event_time is None:
        return found
    name, delay = spec.event_time
    time = found[f"`{name}`"].alias(name, metadata={WATERMARK: delay})
    return found.select(*(time if column == name else found[f"`{column}`"] for column in found.columns))


def _pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    answer_at_once()
    yield from packed(batches)
    settle()


def _unpack(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    answer_at_once()
    yield from unpacked(batches, schema)
    settle()

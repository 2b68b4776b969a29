"""Where the rows of a stream go, and when: ``table:matches``, ``parquet:/data/matches``, ``kafka:alerts``, ``console``; each interval, or once.

In: a streaming DataFrame, a sink and a trigger as words. Out: the query, started.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, struct, to_json

from sparkcep.errors import CepAnalysisError
from sparkcep.sources.kafka import FORMAT as OUR_KAFKA
from sql_functions.java import java_class

FILES = ("parquet", "orc", "json", "csv")
NAMED = ("table", *FILES, "kafka")
"""Sinks that need a name behind the colon."""
CONSOLE = "console"
SHAPES = "table:NAME, parquet:DIR, orc:DIR, json:DIR, csv:DIR, kafka:TOPIC or console"
KEY, VALUE = "match_id", "value"
"""What a message has as its key, if the query shows it; and the column that is a message's value, where there is one."""
SPARKS_KAFKA = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


@dataclass(frozen=True, slots=True)
class Sink:
    """``kind``: one of NAMED, with ``target``, or CONSOLE."""

    kind: str
    target: str

    def __str__(self) -> str:
        return f"{self.kind} {self.target}".strip()


def sink(text: str) -> Sink:
    """``kind:target`` as a Sink. Raises CepAnalysisError for what is none."""
    kind, colon, target = text.partition(":")
    if kind == CONSOLE and not colon:
        return Sink(kind, "")
    if kind in NAMED and target:
        return Sink(kind, target)
    raise CepAnalysisError(f"{text} is no sink", code="STREAM_SINK", hint=f"a sink is {SHAPES}")


def trigger(text: str) -> dict[str, Any]:
    """``default`` (as soon as rows are there), ``available-now`` (what is there now, then the end) or an interval, for ``DataStreamWriter``."""
    if text == "default":
        return {}
    return {"availableNow": True} if text == "available-now" else {"processingTime": text}


def start(frame: DataFrame, to: Sink, checkpoint: str, when: Mapping[str, Any], options: Mapping[str, str]) -> Any:
    """The running StreamingQuery; ``options``: the sink's. Raises CepAnalysisError for a table that no later run would find."""
    if to.kind == "kafka":
        frame = as_messages(frame)
    writer = frame.writeStream.outputMode("append").options(**options).option("checkpointLocation", checkpoint)
    if when:
        writer = writer.trigger(**when)
    if to.kind == "table":
        _require_lasting(frame, to.target)
        return writer.toTable(to.target)
    if to.kind in FILES:
        return writer.format(to.kind).option("path", to.target).start()
    if to.kind == "kafka":
        return writer.format(_kafka(frame)).option("topic", to.target).start()
    return writer.format(to.kind).start()


def as_messages(frame: DataFrame) -> DataFrame:
    """The rows as Kafka's: as they are where they have a ``value``, else as JSON, under their ``match_id`` where they have one."""
    if VALUE in frame.columns:
        return frame
    message = to_json(struct(*(col(f"`{name}`") for name in frame.columns))).alias(VALUE)
    return frame.select(*([col(KEY).alias("key")] if KEY in frame.columns else []), message)


def _kafka(frame: DataFrame) -> str:
    """Spark's own connector where it is there, else ours."""
    loadable = java_class(frame.sparkSession.sparkContext, "org.apache.spark.util.Utils").classIsLoadable
    return "kafka" if loadable(SPARKS_KAFKA) else OUR_KAFKA


def _require_lasting(frame: DataFrame, name: str) -> None:
    """Refuse to create a table in a catalog that ends with this process: the next run would find its files in the way."""
    spark = frame.sparkSession
    in_memory = spark.conf.get("spark.sql.catalogImplementation", "in-memory") == "in-memory"
    sparks_own = spark.catalog.currentCatalog() == "spark_catalog" and name.count(".") < 2
    replaced = spark.conf.get("spark.sql.catalog.spark_catalog", None) is not None
    if not in_memory or not sparks_own or replaced or spark.catalog.tableExists(name):
        return
    raise CepAnalysisError(
        f"the table {name} would be forgotten when this run ends, and the next one could not append to it",
        code="STREAM_SINK",
        hint="name a folder for tables and their metastore with --warehouse DIR, or CREATE TABLE … LOCATION in the file",
    )

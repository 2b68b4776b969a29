"""``sparkcep_kafka``: a Kafka source and sink without Spark's connector, over confluent-kafka (``pip install 'sparkcep[kafka]'``).

Rows and options are those of Spark's own source ``kafka``; options that it has and this one has not are refused by name. Executors read and write:
one task a Kafka partition. The planning (which offsets, which partitions) is in ``reader``, the options in ``options``.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from sparkcep.sources.kafka.options import has_headers, reading, writing
from sparkcep.sources.kafka.reader import BatchReader, StreamReader
from sparkcep.sources.kafka.rows import DDL, HEADERS, HEADERS_DDL
from sparkcep.sources.kafka.writer import BatchWriter, StreamWriter

FORMAT = "sparkcep_kafka"


class KafkaSource(DataSource):
    """``spark.readStream.format('sparkcep_kafka')``, ``spark.read``, ``writeStream``, ``write``."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.options = dict(options)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return DDL + HEADERS_DDL if has_headers(self.options) else DDL

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802 (Spark's name)
        return StreamReader(reading(self.options, streaming=True), HEADERS.name in schema.names)

    def reader(self, schema: StructType) -> BatchReader:
        return BatchReader(reading(self.options), HEADERS.name in schema.names)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        return StreamWriter(writing(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return BatchWriter(writing(self.options), schema)

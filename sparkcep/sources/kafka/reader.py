"""Reading topics: which offsets a micro-batch has, one task a Kafka partition, and a task's messages.

Offsets are ``{topic: {partition: offset}}``, the next message's, with partitions as texts, as Spark keeps them in a checkpoint. A partition that
appears while a stream runs is read from 0. What is gone before it was read is an error, or passed over with failOnDataLoss = false.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from sparkcep.errors import CepAnalysisError, CepDataError
from sparkcep.sources.kafka.client import META_SECONDS, consumer, failing
from sparkcep.sources.kafka.options import EARLIEST, LATEST, Reading
from sparkcep.sources.kafka.rows import batch

LOGGER = logging.getLogger("sparkcep")
MESSAGES = 10_000
"""Messages of a record batch."""
WAIT = 0.1
"""Seconds after which a batch is complete with fewer messages: those of transactions have gaps between their offsets."""

Offsets = dict[str, dict[str, int]]


class Slice(InputPartition):
    """The messages of a partition from offset ``low`` to before ``high``."""

    def __init__(self, topic: str, partition: int, low: int, high: int) -> None:
        super().__init__((topic, partition, low, high))
        self.topic, self.partition, self.low, self.high = topic, partition, low, high


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The topics as a stream. Spark keeps one instance in a Python process of the driver's; the tasks' instances only ``read``."""

    def __init__(self, options: Reading, headers: bool = False) -> None:
        self.options, self.headers = options, headers
        self.asked: Topics | None = None
        self.target: Offsets | None = None

    @property
    def topics(self) -> Topics:
        """The brokers, asked for offsets."""
        if self.asked is None:
            self.asked = Topics(self.options)
        return self.asked

    def initialOffset(self) -> Offsets:  # noqa: N802 (Spark's name)
        """Where a stream without a checkpoint begins."""
        return self.topics.resolved(self.options.starting, "startingOffsets")

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there now is all that will be read."""
        self.target = self.topics.ends(LATEST)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """Where the next micro-batch ends."""
        ends = self.target if self.target is not None else self.topics.ends(LATEST)
        self._refuse_loss(start, ends)
        ends = {
            topic: {at: max(end, start.get(topic, {}).get(at, 0)) for at, end in found.items()}
            for topic, found in ends.items()
        }
        return limited(start, ends, limit.max_rows) if isinstance(limit, ReadMaxRows) else ends

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable() if self.options.limit is None else ReadMaxRows(self.options.limit)

    def reportLatestOffset(self) -> Offsets:  # noqa: N802
        """For the query's progress."""
        return self.topics.ends(LATEST)

    def partitions(self, start: Offsets, end: Offsets) -> list[Slice]:
        return slices(start, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return messages(self.options, cast(Slice, partition), self.headers)

    def stop(self) -> None:
        if self.asked is not None:
            self.asked.close()

    def _refuse_loss(self, start: Offsets, ends: Offsets) -> None:
        """A partition is gone, or begins anew: the topic was deleted."""
        for topic, partitions in start.items():
            for partition, offset in partitions.items():
                end = ends.get(topic, {}).get(partition)
                if end is None or (end < offset and self.target is None):
                    now = "is gone" if end is None else f"ends at {end}"
                    lost(self.options, f"partition {partition} of {topic} was read up to {offset}, and now it {now}")


class BatchReader(DataSourceReader):
    """The topics as a table."""

    def __init__(self, options: Reading, headers: bool = False) -> None:
        self.options, self.headers = options, headers

    def partitions(self) -> list[Slice]:  # type: ignore[override]
        topics = Topics(self.options)
        try:
            start = topics.resolved(self.options.starting, "startingOffsets")
            return slices(start, topics.resolved(self.options.ending, "endingOffsets"))
        finally:
            topics.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return messages(self.options, cast(Slice, partition), self.headers)


class Topics:
    """What the brokers say of the topics of a source."""

    def __init__(self, options: Reading) -> None:
        self.options = options
        self.consumer = consumer(options.client)

    def close(self) -> None:
        self.consumer.close()

    def ends(self, which: int) -> Offsets:
        """The earliest or latest offset of each partition."""
        return {topic: {str(at): self._end(topic, at, which) for at in found} for topic, found in self._found()}

    def resolved(self, wanted: int | Mapping[str, Mapping[int, int]], option: str) -> Offsets:
        """``wanted`` with numbers for each partition. Raises CepAnalysisError if it names others than there are."""
        if isinstance(wanted, int):
            return self.ends(wanted)
        found = dict(self._found())
        named = {topic: sorted(partitions) for topic, partitions in wanted.items()}
        if named != {topic: sorted(partitions) for topic, partitions in found.items()}:
            raise CepAnalysisError(
                f"{option} is for {named}, and the partitions are {found}",
                code="KAFKA_OPTION",
                hint="give an offset for each partition: -2 for the earliest, -1 for the latest",
            )
        return {
            topic: {
                str(at): self._end(topic, at, offset) if offset in (EARLIEST, LATEST) else offset
                for at, offset in partitions.items()
            }
            for topic, partitions in wanted.items()
        }

    def _end(self, topic: str, partition: int, which: int) -> int:
        from confluent_kafka import TopicPartition

        with failing(f"partition {partition} of {topic}"):
            low, high = self.consumer.get_watermark_offsets(TopicPartition(topic, partition), META_SECONDS)
        return int(low if which == EARLIEST else high)

    def _found(self) -> Iterator[tuple[str, list[int]]]:
        """The topics and their partitions. Raises CepDataError if one is not there."""
        options = self.options
        if options.pattern is not None:
            with failing("the list of topics"):
                every = self.consumer.list_topics(timeout=META_SECONDS).topics
            names = sorted(name for name in every if re.fullmatch(options.pattern, name))
        else:
            names = sorted(options.assigned or options.topics)
        for name in names:
            with failing(f"topic {name}"):
                topic = self.consumer.list_topics(name, META_SECONDS).topics[name]
            if topic.error is not None or not topic.partitions:
                raise CepDataError(
                    f"topic {name}: {topic.error or 'it has no partition'}",
                    code="KAFKA",
                    hint=f"create it, or look at its name: {options.client['bootstrap.servers']} was asked",
                )
            yield name, sorted(options.assigned.get(name, topic.partitions))


def slices(start: Offsets, end: Offsets) -> list[Slice]:
    """The partitions with messages between two offsets."""
    return [
        Slice(topic, int(partition), low, high)
        for topic, partitions in end.items()
        for partition, high in partitions.items()
        if (low := start.get(topic, {}).get(partition, 0)) < high
    ]


def limited(start: Offsets, ends: Offsets, limit: int) -> Offsets:
    """``ends``, or before them so that about ``limit`` messages lie between: each partition has its share by what is waiting in it, as in Spark."""
    waiting = {(one.topic, str(one.partition)): one.high - one.low for one in slices(start, ends)}
    total = sum(waiting.values())
    if total <= limit:
        return ends

    def end(topic: str, partition: str, high: int) -> int:
        size = waiting.get((topic, partition), 0)
        share = limit * size / total
        return high - size + (ceil(share) if share < 1 else int(share))

    return {
        topic: {partition: end(topic, partition, high) for partition, high in partitions.items()}
        for topic, partitions in ends.items()
    }


def messages(options: Reading, wanted: Slice, headers: bool = False) -> Iterator[pa.RecordBatch]:
    """The messages of a slice. Raises CepDataError if they are gone or the brokers are silent."""
    from confluent_kafka import TopicPartition

    client = consumer(options.client, reset="error" if options.fail_on_data_loss else "earliest")
    what = f"partition {wanted.partition} of {wanted.topic} from offset {wanted.low}"
    try:
        client.assign([TopicPartition(wanted.topic, wanted.partition, wanted.low)])
        at, heard = wanted.low, time.monotonic()
        while at < wanted.high:
            with failing(what):
                came = client.consume(min(MESSAGES, wanted.high - at), WAIT)
            if not came and time.monotonic() - heard > options.poll:
                raise CepDataError(f"{what}: no message came for {options.poll:g} s, from {at} on", code="KAFKA")
            heard = time.monotonic() if came else heard
            rows = [one for one in came if one.error() is None and wanted.low <= one.offset() < wanted.high]
            at = max([at, *(_behind(options, wanted, one, what) for one in came)])
            if rows:
                yield batch(rows, headers)
    finally:
        client.close()


def _behind(options: Reading, wanted: Slice, came: Any, what: str) -> int:
    """The offset behind a message, or behind what an event says. Raises CepDataError for other events."""
    from confluent_kafka import KafkaError

    error = came.error()
    if error is None:
        return int(came.offset()) + 1
    if (
        error.code() == KafkaError._PARTITION_EOF
    ):  # the last offsets may be a transaction's marks, which are no messages
        ended = came.offset() < wanted.high and not options.fail_on_data_loss
        return wanted.high if ended else int(came.offset())
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        lost(options, f"{what}: {error.str()}")
        return wanted.low
    raise CepDataError(f"{what}: {error.str()}", code="KAFKA")


def lost(options: Reading, message: str) -> None:
    """Messages are gone before they were read. Raises CepDataError unless failOnDataLoss is false."""
    if options.fail_on_data_loss:
        raise CepDataError(
            message,
            code="KAFKA_LOSS",
            hint="failOnDataLoss = false goes on with what is there; the answer lacks the rest",
        )
    LOGGER.warning("%s", message)

"""``sparkcep_kafka`` against librdkafka's own mock brokers, which speak Kafka's protocol on 127.0.0.1 and live in this process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from sparkcep.errors import CepAnalysisError, CepDataError, CepError
from sparkcep.sources import active, register_sources
from sparkcep.sources.kafka.options import reading
from sparkcep.sources.kafka.reader import Slice, StreamReader, limited, messages
from sparkcep.streaming.sinks import sink, start, trigger

confluent_kafka = pytest.importorskip("confluent_kafka")

PARTITIONS = 4
"""Of each topic of mock brokers."""


class Brokers:
    """Two mock brokers, as long as their producer lives."""

    def __init__(self) -> None:
        self.producer = confluent_kafka.Producer({"test.mock.num.brokers": 2, "bootstrap.servers": "", "log_level": 2})
        found = self.producer.list_topics(timeout=30).brokers.values()
        self.servers = ",".join(f"{broker.host}:{broker.port}" for broker in found)

    def topic(self, name: str, values: Iterable[tuple[int, Any]] = ()) -> str:
        """A topic with messages: the partition, and what is their JSON; every first has a key and a header."""
        self.producer.list_topics(name, timeout=30)
        for i, (partition, value) in enumerate(values):
            more: dict[str, Any] = {} if i else {"key": "first", "headers": [("from", b"here")]}
            self.producer.produce(name, json.dumps(value), partition=partition, timestamp=1_700_000_000_000 + i, **more)
        assert self.producer.flush(30) == 0
        return name


@pytest.fixture(scope="module")
def brokers() -> Iterator[Brokers]:
    brokers = Brokers()
    yield brokers
    brokers.producer.close()


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    for one in (spark, session):  # DataFrameWriter looks a source up in whichever session is active
        register_sources(one)
    session.conf.set("sparkcep.stream.buckets", "1")
    session.sql("CREATE TABLE IF NOT EXISTS kafka USING sparkcep_kafka")
    return session


@pytest.fixture(autouse=True)
def _session_is_active(session: SparkSession) -> Iterator[None]:
    """A writer of Spark's looks a source up in whichever session is active, which other files have changed."""
    with active(session):
        yield


def source(brokers: Brokers, name: str, **options: str) -> str:
    """A table over topics, as a query names it."""
    given = {"kafka.bootstrap.servers": brokers.servers, **options}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    return f"{name} WITH ({listed})"


def emitted(frame: DataFrame, to: str, check: str, **options: str) -> Any:
    """The query, after what was there is read."""
    query = start(frame, sink(to), check, trigger("available-now"), options)
    query.awaitTermination()
    return query


def test_each_message_once(session: SparkSession, brokers: Brokers, tmp_path: Path) -> None:
    """Two topics, of which one and a partition have no message; a limit; and a restart from the checkpoint, with more messages."""
    ticks, empty = brokers.topic("ticks", ((i % 3, {"i": i}) for i in range(90))), brokers.topic("empty")
    options = {"subscribe": f"{ticks},{empty}", "startingOffsets": "earliest"}
    session.sql("CREATE TABLE IF NOT EXISTS with_headers USING sparkcep_kafka OPTIONS (includeHeaders = true)")
    assert session.sql(f"SELECT * FROM {source(brokers, 'with_headers', **options)}").count() == 90
    several = source(brokers, "with_headers", **options, maxOffsetsPerTrigger="50")
    stream = session.sql(
        f"SELECT *, CAST(get_json_object(CAST(value AS STRING), '$.i') AS INT) AS i FROM STREAM {several}"
    )
    out, check = f"{tmp_path}/out", f"{tmp_path}/check"
    query = emitted(stream, f"parquet:{out}", check)
    assert [one["numInputRows"] for one in query.recentProgress] == [48, 42]
    brokers.topic("ticks", ((i % PARTITIONS, {"i": i}) for i in range(90, 100)))
    assert [one["numInputRows"] for one in emitted(stream, f"parquet:{out}", check).recentProgress] == [10]
    rows = session.read.parquet(out).orderBy("i").collect()
    assert [row.i for row in rows] == list(range(100))
    assert Counter(row.partition for row in rows) == {0: 32, 1: 32, 2: 33, 3: 3}
    assert all(row.topic == "ticks" and row.timestampType == 0 for row in rows)
    first, second = (row.asDict(recursive=True) for row in rows[:2])
    assert (bytes(first["key"]), bytes(first["value"]), first["offset"]) == (b"first", b'{"i": 0}', 0)
    assert [(one["key"], bytes(one["value"])) for one in first["headers"]] == [("from", b"here")]
    assert (second["key"], second["headers"], second["timestamp"].microsecond) == (None, None, 1000)


def test_a_pattern_from_topic_to_topic(session: SparkSession, brokers: Brokers, tmp_path: Path) -> None:
    events = [("A", 1), ("B", 2), ("A", 3), ("B", 4), ("Z", 60)]
    brokers.topic(
        "events",
        ((at % PARTITIONS, {"type": kind, "at": f"2026-01-01T00:00:{at % 60:02}Z"}) for kind, at in events[:-1]),
    )
    brokers.topic("events", [(0, {"type": "Z", "at": "2026-01-01T00:01:00Z"})])
    brokers.topic("found")
    raw = source(brokers, "kafka", subscribePattern="even.*", startingOffsets="earliest")
    session.sql(f"""CREATE OR REPLACE TEMP VIEW events AS SELECT e.* FROM
        (SELECT from_json(CAST(value AS STRING), 'type STRING, at TIMESTAMP') AS e FROM STREAM {raw})""")
    matches = session.sql("""SELECT a.at AS since, b.at AS until, match_id FROM events WATERMARK at DELAY OF INTERVAL 1 SECOND
        MATCH PATTERN (SEQ(A a, B b) ORDER BY at WITHIN INTERVAL 2 SECONDS)""")
    emitted(matches, "kafka:found", f"{tmp_path}/check", **{"kafka.bootstrap.servers": brokers.servers})
    sent = source(brokers, "kafka", subscribe="found")
    found = session.sql(
        f"SELECT CAST(key AS STRING) AS key, from_json(CAST(value AS STRING), 'since TIMESTAMP, match_id STRING') AS m FROM {sent}"
    )
    rows = sorted(found.collect(), key=lambda row: row.m.since)
    assert [row.m.since.second for row in rows] == [1, 3]
    assert all(row.key == row.m.match_id for row in rows)


REFUSED = [
    ({"subscribe": "x", "startingTimestamp": "1"}, "CEP_UNSUPPORTED_KAFKA_OPTION", "option startingtimestamp"),
    ({"subscribe": "x", "assign": "{}"}, "CEP_ANALYSIS_KAFKA_OPTION", "2 of subscribe, assign, subscribePattern"),
    ({"assign": "x"}, "CEP_ANALYSIS_KAFKA_OPTION", "assign is x"),
    ({"subscribePattern": "("}, "CEP_ANALYSIS_KAFKA_OPTION", "subscribePattern is ("),
    (
        {"subscribe": "x", "kafka.bootstrap.servers": ""},
        "CEP_ANALYSIS_KAFKA_OPTION",
        "kafka.bootstrap.servers is not set",
    ),
    ({"subscribe": "x", "startingOffsets": "now"}, "CEP_ANALYSIS_KAFKA_OPTION", "startingOffsets is now"),
    ({"subscribe": "x", "endingOffsets": "latest"}, "CEP_ANALYSIS_KAFKA_OPTION", "a stream has no end"),
    ({"subscribe": "x", "maxOffsetsPerTrigger": "0"}, "CEP_ANALYSIS_KAFKA_OPTION", "maxOffsetsPerTrigger is 0"),
    ({"subscribe": "x", "failOnDataLoss": "no"}, "CEP_ANALYSIS_KAFKA_OPTION", "failOnDataLoss is no"),
    ({"subscribe": "nowhere"}, "CEP_DATA_KAFKA", "topic nowhere"),
    ({"subscribe": "ends", "kafka.sasl.jaas.config": "x"}, "CEP_ANALYSIS_KAFKA_OPTION", "JAAS"),
    (
        {"subscribe": "ends", "startingOffsets": '{"ends":{"0":1}}'},
        "CEP_ANALYSIS_KAFKA_OPTION",
        "startingOffsets is for",
    ),
]


def test_what_is_wrong_is_named(session: SparkSession, brokers: Brokers) -> None:
    brokers.topic("ends")
    for options, code, said in REFUSED:
        with pytest.raises(CepError) as caught:
            given = {"kafka.bootstrap.servers": brokers.servers, **options}
            StreamReader(
                reading({name.lower(): value for name, value in given.items()}, streaming=True)
            ).initialOffset()
        assert caught.value.code == code and said in caught.value.message, options
        assert caught.value.hint
    with pytest.raises(
        PySparkException, match=r"\[CEP_UNSUPPORTED_KAFKA_OPTION\] the option groupidprefix of sparkcep_kafka"
    ):
        session.sql(f"SELECT * FROM {source(brokers, 'kafka', subscribe='ends', groupIdPrefix='x')}").collect()
    with pytest.raises(PySparkException, match=r"subscribe among the OPTIONS of a table.*\nHint: CREATE TABLE t USING"):
        session.sql("CREATE TABLE wrong USING sparkcep_kafka OPTIONS (subscribe = 'ends')")
    with pytest.raises(PySparkException, match=r"\[CEP_ANALYSIS_KAFKA_COLUMNS\] the column x int in rows for Kafka"):
        options = {"kafka.bootstrap.servers": brokers.servers, "topic": "ends"}
        session.sql("SELECT 'a' AS value, 1 AS x").write.format("sparkcep_kafka").options(**options).mode(
            "append"
        ).save()


@pytest.mark.parametrize("loss", ["true", "false"])
def test_what_is_gone_is_not_passed_over_in_silence(brokers: Brokers, loss: str) -> None:
    topic = brokers.topic(f"gone_{loss}", [(0, i) for i in range(3)])
    options = {"kafka.bootstrap.servers": brokers.servers, "subscribe": topic, "failondataloss": loss}
    found = reading({**options, "kafkaconsumer.polltimeoutms": "60000"}, streaming=True)
    reader = StreamReader(found)
    for case in (
        lambda: reader.latestOffset({topic: {"0": 7}}, ReadAllAvailable()),
        lambda: reader.latestOffset({"older": {"0": 7}}, ReadAllAvailable()),
        lambda: list(messages(found, Slice(topic, 0, 5, 7))),
    ):
        if loss == "true":
            with pytest.raises(CepDataError, match=r"CEP_DATA_KAFKA_LOSS[^\n]*\nHint: failOnDataLoss = false"):
                case()
        else:
            case()
    reader.stop()


def test_offsets(brokers: Brokers) -> None:
    topic = brokers.topic("offsets", [(i % 2, i) for i in range(10)])
    options = {"kafka.bootstrap.servers": brokers.servers, "assign": f'{{"{topic}": [1, 2]}}'}
    reader = StreamReader(
        reading({**options, "startingoffsets": f'{{"{topic}": {{"1": 3, "2": -1}}}}'}, streaming=True)
    )
    assert reader.initialOffset() == {topic: {"1": 3, "2": 0}}
    reader.prepareForTriggerAvailableNow()
    brokers.topic("offsets", [(1, 10), (2, 11)])
    assert reader.latestOffset({topic: {"1": 3, "2": 0}}, ReadAllAvailable()) == {topic: {"1": 5, "2": 0}}
    assert reader.latestOffset({topic: {"1": 3, "2": 0}}, ReadMaxRows(1)) == {topic: {"1": 4, "2": 0}}
    assert reader.latestOffset({topic: {"1": 6, "2": 0}}, ReadAllAvailable()) == {topic: {"1": 6, "2": 0}}
    assert reader.reportLatestOffset() == {topic: {"1": 6, "2": 1}}
    reader.stop()
    ends = {"a": {"0": 100, "1": 10}, "b": {"0": 5}}
    assert limited({"a": {"0": 50, "1": 9}}, ends, 28) == {"a": {"0": 75, "1": 10}, "b": {"0": 2}}
    with pytest.raises(CepAnalysisError, match="write earliest, latest or"):
        reading({**options, "startingoffsets": '{"x": 1}'})

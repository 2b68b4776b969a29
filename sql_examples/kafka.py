"""Messages in Kafka, a pattern over them, its matches in a table, and the table read over Thrift, as a BI tool does.

Everything runs in this process, on 127.0.0.1: the brokers are librdkafka's mock brokers, which speak Kafka's protocol. With brokers of your own, only
BROKERS and PAYMENTS change. In: nothing. Out: the matches as Thrift gives them, on the terminal.

    pip install 'sparkcep[kafka,thrift]' && python sql_examples/kafka.py
"""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from confluent_kafka import Producer
from pyhive import hive

from sparkcep import thriftserver
from sparkcep.cli import print_table
from sparkcep.sources import register_sources
from sparkcep.streaming.sinks import Sink, start, trigger

SETTINGS = {"spark.log.level": "OFF", "spark.sql.shuffle.partitions": "1", "sparkcep.stream.buckets": "1"}
STATEMENTS = (
    "CREATE TABLE kafka USING sparkcep_kafka",
    """CREATE TEMP VIEW payments AS
    SELECT p.* FROM (
      SELECT from_json(CAST(value AS STRING), 'card STRING, kind STRING, amount INT, at TIMESTAMP') AS p
      FROM STREAM kafka WITH ('kafka.bootstrap.servers' = '{servers}', subscribe = 'payments', startingOffsets = 'earliest')
    )""",
)
QUERY = """SELECT s.card, s.at AS tried, l.at AS taken, l.amount
FROM payments WATERMARK at DELAY OF INTERVAL 10 SECONDS
MATCH PATTERN (
  SEQ(small s, large l) EVENT TYPE kind PARTITION BY card ORDER BY at WITHIN INTERVAL 1 MINUTE
)"""
CARDS, PAYMENTS_OF_A_CARD = 3, 4


def main() -> None:
    """Produce, match, and read over Thrift."""
    folder = Path(tempfile.mkdtemp(prefix="sparkcep-kafka-"))
    brokers = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "", "log_level": 2})
    server = thriftserver.start("127.0.0.1", 0, "local[2]", SETTINGS, folder / "warehouse", insecure=False)
    try:
        produce(brokers)
        servers = ",".join(f"{one.host}:{one.port}" for one in brokers.list_topics(timeout=30).brokers.values())
        match(server.spark, servers, str(folder / "checkpoint"))
        with closing(hive.connect("127.0.0.1", server.port, username="analyst")) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT card, tried, taken, amount FROM found ORDER BY card, tried, taken")
            rows = cursor.fetchall()
        print_table(["card", "tried", "taken", "amount"], rows)
        click.echo(f"{len(rows)} matches, read over Thrift")
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def produce(brokers: Any) -> None:
    """Small and large payments in turns, half a minute apart, and a last one an hour later, so that the watermark passes the others."""
    for i in range(PAYMENTS_OF_A_CARD):
        for card in range(CARDS):
            kind, amount = ("small", 1) if i % 2 == 0 else ("large", 900 + i)
            send(brokers, card, kind, amount, f"2026-03-01 10:{i // 2:02}:{i % 2 * 30:02}")
    send(brokers, 0, "last", 0, "2026-03-01 11:00:00")
    assert brokers.flush(30) == 0


def send(brokers: Any, card: int, kind: str, amount: int, at: str) -> None:
    """One message, in the partition of its card."""
    value = {"card": f"card {card}", "kind": kind, "amount": amount, "at": at}
    brokers.produce("payments", json.dumps(value), partition=card)


def match(spark: Any, servers: str, checkpoint: str) -> None:
    """The pattern over the topic, into the table ``found``, until what is there is read."""
    register_sources(spark)
    for statement in STATEMENTS:
        spark.sql(statement.replace("{servers}", servers))
    start(spark.sql(QUERY), Sink("table", "found"), checkpoint, trigger("available-now"), {}).awaitTermination()


if __name__ == "__main__":
    main()

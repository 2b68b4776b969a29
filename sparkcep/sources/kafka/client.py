"""confluent-kafka's clients, and their errors as ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sparkcep.errors import CepAnalysisError, CepDataError

META_SECONDS = 30.0
"""How long a broker may take to say what topics and offsets there are."""
LOG_LEVEL = 2
"""librdkafka's messages on standard error: none but critical ones, as what fails is raised."""
GROUP = "sparkcep"
"""Consumers must name a group; offsets are kept by Spark's checkpoint, not by it."""


def consumer(client: Mapping[str, str], reset: str = "error") -> Any:
    """A consumer that commits nothing. ``reset``: what becomes of offsets that are not there. Raises CepAnalysisError for unknown settings."""
    from confluent_kafka import Consumer

    own = {
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": reset,
    }
    default = {"group.id": GROUP, "isolation.level": "read_uncommitted", "log_level": LOG_LEVEL}
    with _configured():
        return Consumer({**default, **client, **own})


def producer(client: Mapping[str, str]) -> Any:
    """A producer. Raises CepAnalysisError for unknown settings."""
    from confluent_kafka import Producer

    with _configured():
        return Producer({"log_level": LOG_LEVEL, **client})


@contextmanager
def failing(what: str) -> Iterator[None]:
    """librdkafka's errors as CepDataError about ``what``."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise CepDataError(f"{what}: {error.args[0].str()}", code="KAFKA", hint="are the brokers up?") from None


@contextmanager
def _configured() -> Iterator[None]:
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise CepAnalysisError(
            f"kafka.…: {error.args[0].str()}",
            code="KAFKA_OPTION",
            hint="the names are librdkafka's (security.protocol, sasl.username, ssl.ca.location …), not the Java client's",
        ) from None

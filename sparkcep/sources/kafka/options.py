"""The options of Spark's Kafka source, as far as they are supported here; all others are refused by name.

In: options as texts (Spark gives their names in lower case). Out: frozen dataclasses. Names that begin with ``kafka.`` go to librdkafka, without that
prefix; it refuses those that it does not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparkcep.errors import CepAnalysisError, CepUnsupportedError

CLIENT = "kafka."
SERVERS = "kafka.bootstrap.servers"
EARLIEST, LATEST = -2, -1
"""Offsets in a JSON text that stand for the ends of a partition; the words for all partitions are below."""
ENDS = {"earliest": EARLIEST, "latest": LATEST}
TOPICS = ("subscribe", "assign", "subscribePattern")
READING = (
    *TOPICS,
    *("startingOffsets", "endingOffsets", "maxOffsetsPerTrigger", "failOnDataLoss", "includeHeaders"),
    "kafkaConsumer.pollTimeoutMs",
)
WRITING = ("topic",)
SPARKS = (
    *("path", "checkpointlocation", "serialization.format", "queryname", "outputmode"),
    *(
        "provider",
        "owner",
        "location",
        "external",
        "is_managed_location",
        "comment",
        "collation",
        "transient_lastddltime",
    ),
)
"""What Spark puts among the options: a sink's, and the properties of a table."""
OF_TABLE = "option."
"""How the names of a table's OPTIONS begin when it is created; when it is read, Spark gives a source only those of the query."""
POLL_MS = 120_000

Offsets = dict[str, dict[int, int]]
"""Topic → partition → offset."""


@dataclass(frozen=True, slots=True)
class Reading:
    """``client``: librdkafka's settings. One of ``topics``, ``assigned`` (topic → partitions) and ``pattern`` (of topic names) is there.
    ``starting``, ``ending``: EARLIEST, LATEST or offsets. ``limit``: offsets a micro-batch. ``poll``: seconds to wait for a message."""

    client: Mapping[str, str]
    topics: tuple[str, ...]
    assigned: Mapping[str, tuple[int, ...]]
    pattern: str | None
    starting: int | Offsets
    ending: int | Offsets
    limit: int | None
    fail_on_data_loss: bool
    poll: float


@dataclass(frozen=True, slots=True)
class Writing:
    """``client``: librdkafka's settings; ``topic``: of all messages, None where their column says it."""

    client: Mapping[str, str]
    topic: str | None


def reading(options: Mapping[str, str], streaming: bool = False) -> Reading:
    """The options of a source. Raises CepAnalysisError, CepUnsupportedError."""
    given = _known(options, READING)
    chosen = [name for name in TOPICS if name in given]
    if len(chosen) != 1:
        raise _wrong(f"{len(chosen)} of {', '.join(TOPICS)} are set", "set exactly one of them")
    if streaming and "endingOffsets" in given:
        raise _wrong("endingOffsets is set, and a stream has no end", "leave it out, or read the topic as a table")
    return Reading(
        client=_client(options),
        topics=tuple(filter(None, (name.strip() for name in given.get("subscribe", "").split(",")))),
        assigned=_assigned(given.get("assign")),
        pattern=_pattern(given.get("subscribePattern")),
        starting=_offsets(given, "startingOffsets", "latest" if streaming else "earliest", streaming),
        ending=_offsets(given, "endingOffsets", "latest", streaming),
        limit=_number(given, "maxOffsetsPerTrigger"),
        fail_on_data_loss=_flag(given, "failOnDataLoss", True),
        poll=(_number(given, "kafkaConsumer.pollTimeoutMs") or POLL_MS) / 1000,
    )


def has_headers(options: Mapping[str, str]) -> bool:
    """Whether rows have the column ``headers``. Raises CepUnsupportedError for OPTIONS of a table that would be lost."""
    own = f"{OF_TABLE}includeHeaders".lower()
    lost = sorted(name for name in options if name.lower().startswith(OF_TABLE) and name.lower() != own)
    if lost:
        raise CepUnsupportedError(
            f"{lost[0].removeprefix(OF_TABLE)} among the OPTIONS of a table: Spark does not hand them to its source",
            code="KAFKA_OPTION",
            hint="CREATE TABLE t USING sparkcep_kafka, and give the options where it is read: FROM STREAM t WITH (subscribe = 'clicks', …)",
        )
    return _flag(_known(options, READING), "includeHeaders", False)


def writing(options: Mapping[str, str]) -> Writing:
    """The options of a sink. Raises CepAnalysisError, CepUnsupportedError."""
    given = _known(options, WRITING)
    return Writing(_client(options), given.get("topic"))


def _known(options: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The options under their own spelling."""
    spelling = {name.lower(): name for name in names}
    found = {}
    for name, value in options.items():
        if name.lower().startswith((CLIENT, OF_TABLE)) or name.lower() in SPARKS:
            continue
        if name.lower() not in spelling:
            raise CepUnsupportedError(
                f"the option {name} of sparkcep_kafka",
                code="KAFKA_OPTION",
                hint=f"there are {', '.join(names)} and {CLIENT}…; Spark's own connector (kafka) has more",
            )
        found[spelling[name.lower()]] = value
    return found


def _client(options: Mapping[str, str]) -> dict[str, str]:
    found = {name.lower(): value for name, value in options.items() if name.lower().startswith(CLIENT)}
    if not found.get(SERVERS):
        raise _wrong(f"{SERVERS} is not set", "set it to host:port of a broker, several separated by commas")
    return {name.removeprefix(CLIENT): value for name, value in found.items()}


def _assigned(text: str | None) -> dict[str, tuple[int, ...]]:
    if text is None:
        return {}
    try:
        return {str(topic): tuple(map(int, partitions)) for topic, partitions in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        raise _wrong(f"assign is {text}", 'write {"topic": [0, 1]}') from None


def _pattern(text: str | None) -> str | None:
    try:
        return None if text is None else re.compile(text).pattern
    except re.error as error:
        raise _wrong(f"subscribePattern is {text}: {error}", "write a regular expression of topic names") from None


def _offsets(given: Mapping[str, str], name: str, default: str, streaming: bool) -> int | Offsets:
    text = given.get(name, default)
    if text.lower() in ENDS:
        return ENDS[text.lower()]
    try:
        return dict(_topics(json.loads(text)))
    except (ValueError, TypeError, AttributeError):
        hint = 'write earliest, latest or {"topic": {"0": 17, "1": -2}} (-2: earliest, -1: latest)'
        raise _wrong(f"{name} is {text}", hint) from None


def _topics(found: dict[str, dict[str, Any]]) -> Iterator[tuple[str, dict[int, int]]]:
    for topic, partitions in found.items():
        yield topic, {int(partition): int(offset) for partition, offset in partitions.items()}


def _number(given: Mapping[str, str], name: str) -> int | None:
    if name not in given:
        return None
    if not given[name].strip().isdigit() or int(given[name]) == 0:
        raise _wrong(f"{name} is {given[name]}", "set it to a number above 0")
    return int(given[name])


def _flag(given: Mapping[str, str], name: str, default: bool) -> bool:
    text = given.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise _wrong(f"{name} is {given[name]}", "set it to true or false")
    return text == "true"


def _wrong(message: str, hint: str) -> CepAnalysisError:
    return CepAnalysisError(message, code="KAFKA_OPTION", hint=hint)

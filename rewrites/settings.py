"""Settings of the evaluation of clauses: set per session (``sparkcep.engine``), overridden by hints in the clause.

``MATCH PATTERN ( /*+ CEP_ENGINE(chain), CEP_SHARDING(off) */ SEQ(…) … )``: each setting has an equivalent hint. In: texts. Out: ``Evaluation``; an
unknown name or value is an error that lists the known ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

from rewrites.dialect.clause import Hint
from rewrites.dialect.items import is_bare_interval
from rewrites.dialect.tokens import tokenize
from sparkcep.errors import CepAnalysisError, CepError, CepSyntaxError, CepUnsupportedError, Span
from sparkcep.pattern.event import Element
from sparkcep.spec.event import ENGINES, STRATEGIES, Engine, Negation, Strategy
from sparkcep.spec.stream import LateRows

Sharding = Literal["auto", "all", "off"]


HINTS_OFF = "spark.sql.optimizer.disableHints"
"""Spark's own setting, by which it drops what a statement says of its tasks."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The settings of one clause. None of them changes the answer.

    ``sharding``: which patterns WITHIN a time are sharded along the timeline: those without partitions (``auto``), all, or none. ``shard_length``:
    the length of a shard as SQL, None to let the rule choose. ``max_partial_matches``: a task that creates more fails (None: the engine's own limit).
    ``negation``: when negated events are checked. ``statistics``: relative frequencies of event types (or variables), used instead of measuring.
    ``repartition``: Spark heeds the hint of that name, which gives a number of tasks.
    """

    engine: Engine = "auto"
    sharding: Sharding = "auto"
    shard_length: str | None = None
    max_partial_matches: int | None = None
    negation: Negation = "auto"
    statistics: tuple[tuple[str, float], ...] = ()
    repartition: bool = True


@dataclass(frozen=True, slots=True)
class Follows:
    """The name that a clause's body stands for, and the table that has its versions: over a stream they are followed. ``at``: where the keyword of
    the clause begins."""

    at: int
    pattern: str
    table: str


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How clauses over streams run. ``late_rows``: what becomes of rows later than the watermark allows. ``retention``: the WITHIN of clauses that
    have none, as text of an interval. ``buckets``: into how many states the partitions of a clause are put; a checkpoint fixes it. ``speculative``:
    matches are emitted before the watermark says that they stand; ``sigma``: how far beyond it, in microseconds (None: however far).
    ``patterns``: whether changes of a named pattern reach a running stream. ``view`` names a relation that is the stream of a StreamSpec (JSON)
    over a query (Spark Connect); None: a call of ``cep_stream``.
    """

    late_rows: LateRows = "drop"
    retention: str | None = None
    buckets: int = 8
    speculative: bool = False
    sigma: int | None = None
    view: Callable[[str, str], str] | None = None
    patterns: Literal["follow", "fixed"] = "follow"


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of ``Evaluation``: its name as a session setting and as a hint, and how its text is read."""

    field: str
    key: str
    hint: str
    read: Callable[[str], Any]


_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
"""Lengths of time, in microseconds."""


class _Unknown(Exception):
    """An unknown value of a setting; the message lists the known ones."""


def evaluation(setting: Callable[[str], str | None]) -> Evaluation:
    """The session's settings; ``setting`` looks one up. Raises CepAnalysisError."""
    found = {known.key: text for known in SETTINGS if (text := setting(known.key)) is not None}
    values = {known.field: _value(known, found[known.key], known.key) for known in SETTINGS if known.key in found}
    return Evaluation(**values, repartition=(setting(HINTS_OFF) or "false").lower() != "true")


def stream_settings(setting: Callable[[str], str | None]) -> StreamSettings:
    """The session's settings for streams; ``setting`` looks one up. Raises CepAnalysisError."""
    found = {
        known.field: _value(known, text, known.key) for known in STREAM if (text := setting(known.key)) is not None
    }
    speculative = found.pop("mode", "conservative") == "speculative"
    if "sigma" in found and not speculative:
        raise CepAnalysisError(
            "sparkcep.stream.sigma is set, and streams are conservative",
            code="SETTING",
            hint="SET sparkcep.stream.mode = speculative, or RESET sparkcep.stream.sigma",
        )
    return StreamSettings(**found, speculative=speculative and found.get("sigma") != 0)


def hinted(base: Evaluation, hints: Iterable[Hint], strategy: Strategy = "any") -> Evaluation:
    """``base`` overridden by the hints of a clause. Raises CepAnalysisError at the hint, CepUnsupportedError at an engine that the clause's selection
    strategy does not have (a session's setting for the other clauses does no harm)."""
    for hint in hints:
        if hint.name.value.upper() == STREAM_HINT:
            continue
        known = _HINTS.get(hint.name.value.upper())
        if known is None:
            raise _no_hint(hint, "MATCH PATTERN", [*_HINTS, STREAM_HINT])
        try:
            base = replace(base, **{known.field: _value(known, hint.value, known.hint)})
        except CepError as error:
            error.span = hint.span
            raise
        if known.field == "engine" and base.engine not in ENGINES[strategy]:
            raise CepUnsupportedError(
                f"the engine {base.engine} with {STRATEGIES[strategy]}",
                code="STRATEGY",
                span=hint.span,
                hint=f"leave the hint out, or choose one of {', '.join(ENGINES[strategy])}",
            )
    return base


def stream_hinted(base: StreamSettings, hints: Iterable[Hint]) -> StreamSettings:
    """``base`` overridden by ``CEP_STREAM(conservative)``, ``CEP_STREAM(speculative)`` or ``CEP_STREAM(speculative, 10 seconds)``, the last with
    sigma. Raises CepAnalysisError at the hint."""
    for hint in hints:
        if hint.name.value.upper() == STREAM_HINT:
            try:
                base = _moded(base, hint.value)
            except CepError as error:
                error.span = hint.span
                raise
    return base


def check_hints(hints: Iterable[Hint], clause: str) -> None:
    """Raises CepAnalysisError at a hint that a ``clause`` without settings of its evaluation does not have."""
    for hint in hints:
        if hint.name.value.upper() != STREAM_HINT:
            raise _no_hint(hint, clause, [STREAM_HINT])


def _moded(base: StreamSettings, value: str) -> StreamSettings:
    mode, comma, sigma = value.partition(",")
    speculative = _value(_MODE, mode, STREAM_HINT) == "speculative"
    if comma and not speculative:
        raise CepAnalysisError(
            f"{STREAM_HINT} has a sigma, and the mode {mode.strip()} takes nothing back",
            code="SETTING",
            hint=f"{STREAM_HINT}(speculative, 10 seconds)",
        )
    beyond = _value(_SIGMA, sigma, STREAM_HINT) if comma else None
    return replace(base, speculative=speculative and beyond != 0, sigma=beyond)


def _no_hint(hint: Hint, clause: str, available: list[str]) -> CepAnalysisError:
    near = get_close_matches(hint.name.value.upper(), available, n=1)
    return CepAnalysisError(
        f"there is no hint {hint.name.value} for {clause}",
        code="HINT",
        span=hint.name.span,
        hint=f"did you mean {near[0]}?" if near else f"available: {', '.join(available)}",
    )


def frequencies(variables: Iterable[Element], statistics: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """The user's statistics for a pattern's variables: those of the variable, else the sum over its event types."""
    given = dict(statistics)
    found = []
    for element in variables:
        if element.variable in given:
            found.append((element.variable, given[element.variable]))
        elif element.types and all(name in given for name in element.types):
            found.append((element.variable, sum(given[name] for name in element.types)))
    return tuple(found)


def _value(known: Setting, text: str, name: str) -> Any:
    try:
        return known.read(text.strip())
    except _Unknown as reason:
        raise CepAnalysisError(f"{name} is {text.strip() or 'empty'}", code="SETTING", hint=str(reason)) from None


def _one_of(values: Iterable[str]) -> Callable[[str], str]:
    known = tuple(values)

    def read(text: str) -> str:
        if text.lower() not in known:
            raise _Unknown(f"it is one of {', '.join(known)}")
        return text.lower()

    return read


def _shard_length(text: str) -> str | None:
    unknown = _Unknown("it is auto, or a length as in WITHIN: 1 DAY, 1000")
    if not text:
        raise unknown
    try:
        tokens = tokenize(text).inside(Span(0, len(text)))
    except CepSyntaxError:
        raise unknown from None
    if is_bare_interval(tokens):
        return f"INTERVAL {text}"
    return None if text.lower() == "auto" else text


def _interval(text: str) -> str:
    if not text:
        raise _Unknown("it is the length of an interval: 1 hour")
    return text


def _microseconds(text: str) -> int:
    """``1 minute 30 seconds``."""
    words = text.lower().split()
    numbers, units = words[::2], [word.removesuffix("s") for word in words[1::2]]
    known = len(numbers) == len(units) and all(number.isdigit() for number in numbers) and set(units) <= set(_UNITS)
    if not words or not known:
        raise _Unknown("it is the length of an interval: 10 seconds, 1 minute 30 seconds")
    return sum(int(number) * _UNITS[unit] for number, unit in zip(numbers, units, strict=True))


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise _Unknown("it is a whole number, one or more")
    return int(text)


def _statistics(text: str) -> tuple[tuple[str, float], ...]:
    """``A=0.01, B=0.5``."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    return tuple((name.strip().strip("'`\""), _frequency(value, equals)) for name, equals, value in pairs)


def _frequency(text: str, equals: str) -> float:
    wanted = _Unknown("write the frequency of each event type: A=0.01, B=0.5")
    try:
        number = float(text)
    except ValueError:
        raise wanted from None
    if not equals or not 0 <= number < float("inf"):
        raise wanted
    return number


SETTINGS: tuple[Setting, ...] = (
    Setting("engine", "sparkcep.engine", "CEP_ENGINE", _one_of(get_args(Engine))),
    Setting("sharding", "sparkcep.sharding", "CEP_SHARDING", _one_of(get_args(Sharding))),
    Setting("shard_length", "sparkcep.shardLength", "CEP_SHARD_LENGTH", _shard_length),
    Setting("max_partial_matches", "sparkcep.maxPartialMatches", "CEP_MAX_PARTIAL_MATCHES", _count),
    Setting("negation", "sparkcep.negation", "CEP_NEGATION", _one_of(get_args(Negation))),
    Setting("statistics", "sparkcep.statistics", "CEP_STATISTICS", _statistics),
)
"""All of them, in the order in which errors list them."""

STREAM_HINT = "CEP_STREAM"
"""The hint for the mode and sigma."""
_MODE = Setting("mode", "sparkcep.stream.mode", "", _one_of(["conservative", "speculative"]))
_SIGMA = Setting("sigma", "sparkcep.stream.sigma", "", _microseconds)
STREAM: tuple[Setting, ...] = (
    _MODE,
    _SIGMA,
    Setting("late_rows", "sparkcep.stream.lateRows", "", _one_of(get_args(LateRows))),
    Setting("retention", "sparkcep.stream.retention", "", _interval),
    Setting("buckets", "sparkcep.stream.buckets", "", _count),
    Setting("patterns", "sparkcep.stream.patterns", "", _one_of(["follow", "fixed"])),
)
"""Those of streams."""

_HINTS: Mapping[str, Setting] = {known.hint: known for known in SETTINGS}

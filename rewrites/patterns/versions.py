"""The versions of named patterns: rows that are only ever added.

A statement's row says what holds from its effective time on, so a later statement overrides an earlier one, including what was planned for a later
time. Statements are ordered by ``version`` (one more than the highest that the statement saw, so clock skew does no harm); two statements that saw
the same version are ordered by time, then by text, so that all readers agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from rewrites.dialect.clause import ClauseKind

DROP = "drop"
BOUND, STARTED, ENDED = "bound", "stream", "end of stream"
FOLLOWING = (BOUND, STARTED, ENDED)
"""Changes that make no version: one bound for streams of an interface, which is the row's comment; a stream that begins or ends to follow."""
COLUMNS = (
    ("pattern", "STRING", "the name, as it was created; upper and lower case do not count"),
    ("version", "BIGINT", "1, 2, … of this name"),
    ("change", "STRING", "create, replace, alter or drop; bound, stream and end of stream: streams that follow it"),
    ("clause", "STRING", "the clause whose body this is"),
    ("body", "STRING", "what stands between the parentheses of the clause"),
    ("comment", "STRING", "what its author says of it"),
    ("effective_from", "TIMESTAMP", "from when on; NULL: as soon as it is seen"),
    ("recorded_at", "TIMESTAMP", "when the statement ran"),
    ("recorded_by", "STRING", "who ran it"),
)
"""The table's columns, with types and descriptions."""


@dataclass(frozen=True, slots=True)
class Version:
    """A row of the table. Times are microseconds, with their texts in the session's time zone; ``effective`` None: as soon as it is seen."""

    pattern: str
    version: int
    change: str
    clause: ClauseKind
    body: str
    comment: str | None = None
    effective: int | None = None
    effective_text: str | None = None
    recorded: int = 0
    recorded_text: str = ""
    recorded_by: str = ""

    @property
    def place(self) -> tuple[int, int, str, str]:
        """The sort key of versions."""
        return self.version, self.recorded, self.change, self.body

    def holds_at(self, moment: int) -> bool:
        """Whether its effective time has come."""
        return self.effective is None or self.effective <= moment


class PatternStore(Protocol):
    """The table of patterns as a session sees it."""

    @property
    def table(self) -> str:
        """Its name as SQL."""

    @property
    def qualified(self) -> str:
        """Its name as other sessions understand it."""

    @property
    def exists(self) -> bool:
        """Whether it is there."""

    @property
    def creation(self) -> str:
        """The statement that creates it where it is missing."""

    def versions(self, name: str | None = None, moment: str | None = None) -> tuple[tuple[Version, ...], int]:
        """All versions of a pattern (of all where no name is given), and a moment as microseconds: now, or that of a timestamp expression."""

    def following(self, name: str) -> tuple[Version, ...]:
        """The rows of FOLLOWING of a pattern."""

    def follow(self, binding: Any, describe: Any) -> None:
        """Record what a stream's statement has bound (``bindings.Binding``), where the table has not got it yet."""


@dataclass(frozen=True, slots=True)
class FixedPatterns:
    """A store without a session: these versions, at this moment."""

    known: tuple[Version, ...] = ()
    now: int = 0
    table: str = "`sparkcep_patterns`"
    exists: bool = True
    creation: str = ""

    @property
    def qualified(self) -> str:
        """See ``PatternStore``."""
        return self.table

    def follow(self, binding: Any, describe: Any) -> None:
        """See ``PatternStore``: nothing is recorded."""

    def versions(self, name: str | None = None, moment: str | None = None) -> tuple[tuple[Version, ...], int]:
        """See ``PatternStore``; it is always the same moment."""
        return tuple(one for one in of_pattern(self.known, name) if one.change not in FOLLOWING), self.now

    def following(self, name: str) -> tuple[Version, ...]:
        """See ``PatternStore``."""
        return tuple(one for one in of_pattern(self.known, name) if one.change in FOLLOWING)


def of_pattern(versions: Iterable[Version], name: str | None) -> Iterable[Version]:
    """Those of one pattern, or all."""
    return (version for version in versions if name is None or version.pattern.lower() == name.lower())


def newest(versions: Iterable[Version]) -> Version | None:
    """What the last statement made of a pattern; None where it dropped it."""
    last = max(versions, key=lambda version: version.place, default=None)
    return None if last is None or last.change == DROP else last


def in_effect(versions: Iterable[Version], moment: int) -> Version | None:
    """The version that holds at ``moment``; None where there is none."""
    return newest(version for version in versions if version.holds_at(moment))


def planned(versions: Iterable[Version], moment: int) -> tuple[Version, ...]:
    """Versions that will hold after ``moment``, the next one first."""
    known = list(versions)
    later = sorted(
        (version for version in known if not version.holds_at(moment)), key=lambda version: version.effective or 0
    )
    return tuple(version for version in later if in_effect(known, version.effective or 0) == version)


def lasting(versions: Iterable[Version]) -> tuple[Version, ...]:
    """The versions that hold at some time: the last one that held at once, and those after it, each from its time on."""
    found: list[Version] = []
    for version in sorted(versions, key=lambda version: version.place):
        if version.change == DROP or version.effective is None:
            found = []
        if version.change != DROP:
            found.append(version)
    return tuple(found)

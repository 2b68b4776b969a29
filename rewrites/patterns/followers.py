"""Streams that follow a named pattern while it changes: what its table knows of them.

In: the rows of FOLLOWING, beside the versions of a pattern. Out: the versions bound for each stream, or the refusal of a change, by the name of the
stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rewrites.bind.relation import Describe
from rewrites.patterns.bindings import Binding, rebound
from rewrites.patterns.versions import BOUND, ENDED, STARTED, Version
from sparkcep.errors import CepAnalysisError, CepError, Span


@dataclass(frozen=True, slots=True)
class Follower:
    """What is known of an interface: a binding of it, with the registers of all, the numbers of the versions that are bound for it, and its running
    streams (id → name), with the ``columns`` that are registers."""

    binding: Binding
    numbers: frozenset[int]
    streams: Mapping[str, str]
    columns: frozenset[str]


def followers(rows: Iterable[Version]) -> tuple[Follower, ...]:
    """Those of a pattern, from its rows of FOLLOWING."""
    groups: dict[str, list[Version]] = {}
    for row in sorted(rows, key=lambda row: row.recorded):
        groups.setdefault(row.comment or "", []).append(row)
    found = (_follower(interface, group) for interface, group in groups.items())
    return tuple(one for one in found if one is not None)


def _follower(interface: str, rows: list[Version]) -> Follower | None:
    bound = [row for row in rows if row.change == BOUND]
    if not bound:
        return None
    said, running = [json.loads(row.body) for row in bound], dict[str, Any]()
    for row in rows:
        if row.change == STARTED:
            told = json.loads(row.body)
            running[told["id"]] = told
        elif row.change == ENDED:
            running.pop(json.loads(row.body)["id"], None)
    registers = {name: text for one in said for name, text in one["registers"].items()}
    told = said[0]
    first = Binding(
        bound[0].pattern, bound[0].clause, interface, told["spec"], told["schema"], told["common"], registers
    )
    columns = frozenset(name for told in running.values() for name in told["registers"])
    streams = {stream: told["name"] for stream, told in running.items()}
    return Follower(first, frozenset(row.version for row in bound), streams, columns)


def bindings(rows: Iterable[Version], body: str, describe: Describe, span: Span) -> tuple[Binding, ...]:
    """A new version bound for all that follow the pattern. Raises CepAnalysisError, with the stream's name, where a running one cannot."""
    found = []
    for one in followers(rows):
        try:
            found.append(rebound(one.binding, body, describe))
            if gone := sorted(one.columns - set(found[-1].registers)):
                raise CepAnalysisError(f"the register {gone[0]} is a column of it", code="PATTERN_STREAM")
        except CepError as error:
            if one.streams:  # what has ended may stay behind: started again, it is another stream
                raise refusal(one, error.message, span, error.hint) from None
    return tuple(found)


def refusal(follower: Follower, why: str, span: Span | None, hint: str | None = None) -> CepAnalysisError:
    """The refusal of a change, by the names of the streams that it would break."""
    names, pattern = sorted(follower.streams.values()), follower.binding.pattern
    streams = f"the stream {names[0]} follows" if len(names) == 1 else f"the streams {', '.join(names)} follow"
    forget = f"stop it; if it no longer runs, ALTER PATTERN {pattern} DROP STREAM {names[0]}"
    return CepAnalysisError(
        f"{streams} the pattern {pattern}: {why}", code="PATTERN_STREAM", span=span, hint=hint or forget
    )

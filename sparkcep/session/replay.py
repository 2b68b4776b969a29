"""A cache of rewrites: a dashboard sends the same text again and again.

A rewrite is a function of the text, the settings, the time zone, and the schemas that Spark returned. Nothing else enters it, so a cached rewrite is
valid as long as Spark returns the same schemas: they are checked each time, all in one query, and a difference (a table that changed, a function of
another type, another session's view of the same name) or an error invalidates it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.types import StructField, StructType

from rewrites import Options, Rewritten, analyse
from rewrites.bind.notices import Notice
from rewrites.bind.relation import Describe, is_stream
from rewrites.patterns.bindings import Binding

KEPT = 256
"""Statements cached: the tiles of a few dashboards. The least recently used one is evicted first."""

LONGEST = 1 << 16
"""The longest statement cached, in characters: at most a few dozen megabytes in all."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The SQL for a statement, its notices, the queries whose schemas it depends on, with their columns, and what its streams follow. ``zone``: the
    session's time zone, if it depends on that."""

    sql: str
    notices: tuple[Notice, ...]
    queries: tuple[str, ...]
    columns: tuple[StructField, ...]
    bindings: tuple[Binding, ...] = ()
    zone: str | None = None

    def holds(self, describe: Describe) -> bool:
        """Whether Spark still returns the same schemas, and the time zone is the same."""
        if self.zone is not None and self.zone != describe.zone():  # type: ignore[attr-defined]
            return False
        if not self.queries:
            return True
        try:
            joined = _joined(self.queries)
            return tuple(describe(joined)) == self.columns and not is_stream(describe, joined)
        except PySparkException:
            return False


class Rewriter:
    """Rewrites statements, with a cache."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, Options], Kept] = OrderedDict()
        self._lock = threading.Lock()

    def rewrite(self, text: str, describe: Describe, options: Options) -> Kept:
        """The SQL for ``text``. Raises CepError as ``analyse`` does.

        Spark Connect's rewrites are not cached: they register functions in the session.
        """
        with self._lock:
            kept = self._kept.get((text, options))
            if kept is not None:
                self._kept.move_to_end((text, options))
        if kept is None or not kept.holds(describe):
            kept = self._fresh(text, describe, options)
        return kept

    def _fresh(self, text: str, describe: Describe, options: Options) -> Kept:
        asked = _Asked(describe)
        kept = _kept(analyse(text, asked, options), asked)
        with self._lock:
            self._kept.pop((text, options), None)
            registers = options.function or options.aggregate_function
            if asked.all_answered and not registers and len(text) <= LONGEST:
                self._kept[text, options] = kept
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return kept


class _Asked:
    """A Describe that records its queries and their answers."""

    def __init__(self, describe: Callable[[str], StructType]) -> None:
        self._describe = describe
        self.answers: dict[str, StructType] = {}
        self.all_answered = True
        self.asked_zone: str | None = None

    def __call__(self, query: str) -> StructType:
        try:
            answer = self._describe(query)
        except PySparkException:
            self.all_answered = False  # the rewrite depends on an error, which the joint query cannot reproduce
            raise
        self.answers[query] = answer
        return answer

    @property
    def expression(self) -> Callable[[str, str], Any] | None:
        """Spark's analysis of an expression, if available; it depends on the session's modes and time zone, so it is repeated each time."""
        analyse_expression: Callable[[str, str], Any] | None = getattr(self._describe, "expression", None)
        if analyse_expression is None:
            return None
        ask = analyse_expression

        def asked(text: str, source: str) -> Any:
            self.all_answered = False
            return ask(text, source)

        return asked

    @property
    def columns(self) -> Callable[[str, str], Any] | None:
        """Spark's analysis of all columns of a query, for clauses over streams, whose rewrites are not kept."""
        found: Callable[[str, str], Any] | None = getattr(self._describe, "columns", None)
        return found

    @property
    def streaming(self) -> Callable[[str], bool] | None:
        """Whether a query reads a stream. A rewrite over one is not kept: it is asked for once."""
        ask: Callable[[str], bool] | None = getattr(self._describe, "streaming", None)
        if ask is None:
            return None
        known = ask

        def asked(query: str) -> bool:
            found = known(query)
            self.all_answered &= not found
            return found

        return asked

    @property
    def literal(self) -> Callable[[str], str] | None:
        """A parameter's value as SQL, for clauses over streams, whose rewrites are not kept."""
        found: Callable[[str], str] | None = getattr(self._describe, "literal", None)
        return found

    @property
    def zone(self) -> Callable[[], str] | None:
        """The session's time zone."""
        ask: Callable[[], str] | None = getattr(self._describe, "zone", None)
        if ask is None:
            return None
        known = ask

        def asked() -> str:
            self.asked_zone = known()
            return self.asked_zone

        return asked

    @property
    def value(self) -> Callable[[str], Any] | None:
        """The value of a constant, such as a parameter: another one makes another rewrite."""
        ask: Callable[[str], Any] | None = getattr(self._describe, "value", None)
        if ask is None:
            return None
        known = ask

        def asked(query: str) -> Any:
            self.all_answered = False
            return known(query)

        return asked

    @property
    def scattered(self) -> Callable[..., Any] | None:
        """As ``resources``."""
        found: Callable[..., Any] | None = getattr(self._describe, "scattered", None)
        return found

    @property
    def resources(self) -> Callable[..., Any] | None:
        """What Spark knows of a query's cost. It does not affect the answer, so it does not invalidate a rewrite."""
        found: Callable[..., Any] | None = getattr(self._describe, "resources", None)
        return found


def _kept(rewritten: Rewritten, asked: _Asked) -> Kept:
    notices = tuple(notice for clause in rewritten.clauses for notice in clause.notices)
    columns = tuple(column for answer in asked.answers.values() for column in answer)
    bindings = tuple(clause.binding for clause in rewritten.clauses if clause.binding is not None)
    return Kept(rewritten.sql, notices, tuple(asked.answers), columns, bindings, asked.asked_zone)


def _joined(queries: tuple[str, ...]) -> str:
    """One query with the columns of all, so that Spark analyses once."""
    first, *rest = (f"({query}\n)" for query in queries)
    return " ".join([f"SELECT * FROM {first}", *(f"CROSS JOIN {query}" for query in rest)])

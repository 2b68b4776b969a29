"""Rewrites kept for the next time a statement comes: a dashboard sends the same text again and again.

A rewrite is a function of the text, the settings, and what Spark answered when it was asked for schemas. Nothing else enters it, so a kept one
holds as long as Spark gives the same answers: they are asked for again each time, all in one query, and a different one (a table that changed, a
function of another type, another session's view of the same name) or none throws the kept rewrite away.
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
from rewrites.bind.relation import Describe

KEPT = 256
"""Statements kept: the tiles of a few dashboards. The one that was not asked for longest goes first."""

LONGEST = 1 << 16
"""Characters of a statement that is kept: together at most a few dozen megabytes."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The SQL for a statement, what there is to say about it, and the queries whose schemas it rests on, with their columns."""

    sql: str
    notices: tuple[Notice, ...]
    queries: tuple[str, ...]
    columns: tuple[StructField, ...]

    def holds(self, describe: Describe) -> bool:
        """Whether Spark gives the same answers now."""
        if not self.queries:
            return True
        try:
            return tuple(describe(_joined(self.queries))) == self.columns
        except PySparkException:
            return False


class Rewriter:
    """Rewrites statements, and remembers."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, Options], Kept] = OrderedDict()
        self._lock = threading.Lock()

    def rewrite(self, text: str, describe: Describe, options: Options) -> Kept:
        """The SQL for ``text``. Raises CepError as ``analyse`` does.

        Spark Connect's rewrites are not kept: they register functions in the session.
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
    """A Describe that writes down what it was asked and what it answered."""

    def __init__(self, describe: Callable[[str], StructType]) -> None:
        self._describe = describe
        self.answers: dict[str, StructType] = {}
        self.all_answered = True

    def __call__(self, query: str) -> StructType:
        try:
            answer = self._describe(query)
        except PySparkException:
            self.all_answered = False  # the rewrite rests on a refusal, which one query for all cannot repeat
            raise
        self.answers[query] = answer
        return answer

    @property
    def expression(self) -> Callable[[str], Any] | None:
        """Spark's analysis of an expression, where it is in reach; the session's modes and time zone are in it, so it is asked anew each time."""
        analyse_expression: Callable[[str], Any] | None = getattr(self._describe, "expression", None)
        if analyse_expression is None:
            return None
        ask = analyse_expression

        def asked(query: str) -> Any:
            self.all_answered = False
            return ask(query)

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
    def resources(self) -> Callable[[str], Any] | None:
        """What Spark knows of a query's cost. It changes no answer, so a rewrite is kept whatever it was."""
        found: Callable[[str], Any] | None = getattr(self._describe, "resources", None)
        return found


def _kept(rewritten: Rewritten, asked: _Asked) -> Kept:
    notices = tuple(notice for clause in rewritten.clauses for notice in clause.notices)
    columns = tuple(column for answer in asked.answers.values() for column in answer)
    return Kept(rewritten.sql, notices, tuple(asked.answers), columns)


def _joined(queries: tuple[str, ...]) -> str:
    """One query with the columns of all: Spark is asked once."""
    first, *rest = (f"({query}\n)" for query in queries)
    return " ".join([f"SELECT * FROM {first}", *(f"CROSS JOIN {query}" for query in rest)])

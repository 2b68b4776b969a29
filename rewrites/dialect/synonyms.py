"""Functions that other engines have in their MATCH_RECOGNIZE, as those that mean the same here.

``LAG(x, 2)`` → ``PREV(x, 2)``, ``LEAD`` → ``NEXT`` (Snowflake); ``MATCH_ROW_NUMBER()`` → ``MATCH_SEQUENCE_NUMBER()`` (BigQuery);
``MATCH_ROWTIME()`` → ``FINAL LAST`` of the first ORDER BY expression (Flink). What has no such form is refused by its name.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewrites.dialect.clause import Define, Measure, OrderItem, Reading
from rewrites.dialect.nodes import MatchSequenceNumber, Navigation
from rewrites.dialect.spans import set_span, span_of
from sparkcep.errors import CepAnalysisError, CepUnsupportedError, Span

_NAVIGATIONS: dict[type[exp.Expression], str] = {exp.Lag: "PREV", exp.Lead: "NEXT"}


def read_measures(
    sql: str, measures: tuple[Measure, ...], order: tuple[OrderItem, ...]
) -> tuple[tuple[Measure, ...], tuple[Reading, ...]]:
    """The measures with this language's functions, and what was read as what."""
    reader = _Reader(sql, order)
    done = tuple(replace(one, expr=replace(one.expr, node=reader.read(one.expr.node))) for one in measures)
    return done, tuple(reader.readings)


def read_defines(sql: str, defines: tuple[Define, ...]) -> tuple[tuple[Define, ...], tuple[Reading, ...]]:
    """The conditions, as ``read_measures``."""
    reader = _Reader(sql, None)
    done = tuple(
        replace(one, condition=replace(one.condition, node=reader.read(one.condition.node))) for one in defines
    )
    return done, tuple(reader.readings)


class _Reader:
    """``order``: the clause's order; None in DEFINE, where no match is known yet."""

    def __init__(self, sql: str, order: tuple[OrderItem, ...] | None) -> None:
        self._sql, self._order = sql, order
        self.readings: list[Reading] = []

    def read(self, root: exp.Expression) -> exp.Expression:
        """``root`` with other nodes for the functions of others; outside of subqueries."""
        for node in list(root.walk(prune=lambda part: isinstance(part, exp.Query))):
            new = self._other(node)
            if new is not None:
                set_span(new, span_of(node))
                root = new if node is root else root
                node.replace(new)
        return root

    def _other(self, node: exp.Expression) -> exp.Expression | None:
        if type(node) in _NAVIGATIONS:
            return None if _is_over_window(node) else self._navigation(node)
        name = node.name.upper() if isinstance(node, exp.Anonymous) else ""
        if name == "MATCH_ROW_NUMBER" and not node.expressions:
            self._note(node, "MATCH_SEQUENCE_NUMBER()", "BigQuery")
            return MatchSequenceNumber()
        if name == "MATCH_ROWTIME":
            return self._row_time(node)
        if name == "MATCH_PROCTIME":
            raise self._unsupported(
                node,
                "MATCH_PROCTIME (Flink)",
                "a query over stored rows has no time of processing; current_timestamp() is when it began",
            )
        return None

    def _navigation(self, node: exp.Expression) -> Navigation:
        function = _NAVIGATIONS[type(node)]
        if node.args.get("default") is not None:
            word = type(node).__name__.upper()
            hint = f"write COALESCE({function}(…), default), which also stands for a value that is NULL"
            raise self._unsupported(node, f"{word} with a default inside a clause", hint)
        self._note(node, function, "Snowflake")
        return Navigation(function=function, this=node.this, offset=node.args.get("offset"))

    def _row_time(self, node: exp.Expression) -> Navigation:
        """The time of the match's last row."""
        if self._order is None:
            raise self._unsupported(
                node, "MATCH_ROWTIME() (Flink) in DEFINE", "the row under test has the time of its ORDER BY column"
            )
        if not node.expressions and not self._order:
            raise CepAnalysisError(
                "MATCH_ROWTIME() is the time that the clause orders by, and it has no ORDER BY",
                code="MATCH_ROWTIME",
                span=span_of(node),
                hint="write ORDER BY ts in the clause",
            )
        time = node.expressions[0] if node.expressions else self._order[0].expr.node.copy()
        span = span_of(time)
        self._note(node, f"FINAL LAST({self._text(span)})", "Flink")
        return Navigation(function="LAST", this=time, running=False)

    def _note(self, node: exp.Expression, meaning: str, engine: str) -> None:
        self.readings.append(Reading(self._text(span_of(node)), meaning, engine))

    def _text(self, span: Span) -> str:
        return self._sql[span.start : span.end]

    def _unsupported(self, node: exp.Expression, what: str, hint: str) -> CepUnsupportedError:
        return CepUnsupportedError(what, code="VENDOR_FUNCTION", sql=self._sql, span=span_of(node), hint=hint)


def _is_over_window(node: exp.Expression) -> bool:
    parent = node.parent
    while isinstance(parent, exp.IgnoreNulls | exp.RespectNulls):
        parent = parent.parent
    return isinstance(parent, exp.Window)

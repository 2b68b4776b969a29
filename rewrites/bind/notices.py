"""Notices: a clause is valid, but hardly means what its author intended.

In: a parsed MATCH_RECOGNIZE clause. Out: messages with spans; the session logs them, EXPLAIN PATTERN shows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from rewrites.bind.names import Variables, references
from rewrites.bind.register_notices import unset_reads
from rewrites.dialect import span_of
from rewrites.dialect.clause import Clause, Define, MatchAutomatonClause, MatchRecognizeClause
from rewrites.dialect.nodes import Navigation
from sparkcep.errors import Span
from sparkcep.pattern import row as pattern


@dataclass(frozen=True, slots=True)
class Notice:
    """What looks wrong, where, and what to write instead."""

    message: str
    span: Span
    hint: str

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}"


def notices(clause: Clause) -> tuple[Notice, ...]:
    """The notices of a clause, in text order."""
    if isinstance(clause, MatchAutomatonClause):
        return tuple(_unset(name, span) for name, span in unset_reads(clause))
    if not isinstance(clause, MatchRecognizeClause):
        return ()
    found = [*_own_last(clause), *_swallowing(clause), *_no_order(clause), *_all_tie(clause)]
    return tuple(sorted(found, key=lambda notice: notice.span.start))


def _unset(name: str, span: Span) -> Notice:
    return Notice(
        f"no arc has set the register {name} here, so it is NULL", span, "give it a DEFAULT, or ask whether it IS NULL"
    )


def _own_last(clause: MatchRecognizeClause) -> Iterator[Notice]:
    """``A AS A.v > LAST(A.v)``: the last row of A is the row under test."""
    for define in clause.defines:
        name = define.variable.value
        for node in define.condition.node.find_all(Navigation):
            if node.function == "LAST" and not node.args.get("offset") and _is_own(node, define):
                yield Notice(
                    f"LAST over {name} in the condition of {name} is the row under test itself",
                    span_of(node),
                    f"for the row of {name} before it write LAST(…, 1), for the partition's row before it PREV(…)",
                )


def _is_own(node: Navigation, define: Define) -> bool:
    if isinstance(node.parent, Navigation):
        return False
    own = Variables((define.variable.value,))
    return bool(references(node.this, own))


def _swallowing(clause: MatchRecognizeClause) -> Iterator[Notice]:
    """``B*`` without a condition for B takes the rest of the partition."""
    defined = {define.variable.value.lower() for define in clause.defines}
    for part in pattern.walk(clause.pattern):
        if not isinstance(part, pattern.Quantified) or part.high is not None or not part.greedy:
            continue
        item, end = part.item, "partition" if clause.frame is None else "frame"
        if isinstance(item, pattern.Variable) and item.name.lower() not in defined:
            yield Notice(
                f"{item.name} has no condition, so {part} takes every row to the end of the {end} first",
                item.span or clause.pattern_span,
                f"define {item.name}, or make the quantifier reluctant: {part}?"
                if part is not clause.pattern
                else f"define {item.name}",
            )


def _no_order(clause: MatchRecognizeClause) -> Iterator[Notice]:
    if not clause.order_by:
        yield Notice(
            "without ORDER BY the order of rows is undefined, and the answer may change from run to run",
            clause.site.keyword,
            "say ORDER BY",
        )


def _all_tie(clause: MatchRecognizeClause) -> Iterator[Notice]:
    """``PARTITION BY user ORDER BY user``: all rows of a partition tie, as without ORDER BY."""
    keys = [item.expr.node for item in clause.partition_by]
    if clause.order_by and all(_is_constant(item.expr.node) or item.expr.node in keys for item in clause.order_by):
        yield Notice(
            "all rows of a partition tie in ORDER BY, so the answer may change from run to run",
            clause.order_by[0].span,
            "order by columns that distinguish the rows of a partition",
        )


def _is_constant(node: exp.Expression) -> bool:
    return not any(node.find_all(exp.Column, exp.Func))

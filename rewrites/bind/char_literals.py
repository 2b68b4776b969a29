"""Literals beside CHAR(n) columns, padded: Spark pads ``'a'`` in ``c = 'a'`` where it sees the column itself, but neither beside a value of another
row nor beside a field of a match's event.

In: a clause, and the text that its parts are spliced from. Out: the text with such literals as long as the values of the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyspark.sql.types import StringType
from sqlglot import exp

from rewrites.bind.closures import kleene_path
from rewrites.bind.match_positions import is_special
from rewrites.bind.relation import Relation
from rewrites.dialect import bare, column_path, span_of
from rewrites.dialect.clause import Clause, MatchAutomatonClause, MatchPatternClause
from rewrites.dialect.nodes import Navigation
from rewrites.sql.source import Edit, Source

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Case)
_PLAIN = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"")


def with_padded_literals(clause: Clause, rows: Relation, source: Source) -> Source:
    """``source`` with the literals that the clause compares with CHAR columns of its input as long as these."""
    if not any(rows.char_length(name) for name in rows.schema.names):
        return source
    parts = (part for root in _expressions(clause) for part in root.walk() if isinstance(part, _COMPARISONS))
    return source.with_edits(edit for part in parts for edit in _padded(part, rows, source))


def _expressions(clause: Clause) -> Iterator[exp.Expression]:
    if isinstance(clause, MatchAutomatonClause):
        yield from (arc.condition.node for arc in clause.arcs if arc.condition is not None)
        yield from (assignment.value.node for arc in clause.arcs for assignment in arc.sets)
    elif isinstance(clause, MatchPatternClause):
        yield from (one.node for one in (*clause.conjuncts, *(measure.expr for measure in clause.measures)))
    else:
        yield from (one.node for one in clause.expressions)


def _padded(comparison: exp.Expression, rows: Relation, source: Source) -> Iterator[Edit]:
    sides = [bare(side) for side in _sides(comparison)]
    if isinstance(comparison, exp.In) and not all(map(_is_constant, sides[1:])):
        return  # Spark pads none of them
    lengths = [length for side in sides if (length := _length(side, rows)) is not None]
    for side in sides:
        if lengths and _is_constant(side):
            yield from _fitted(side, lengths[0], rows, source)


def _sides(comparison: exp.Expression) -> Iterator[exp.Expression]:
    """What is compared; ``CASE c WHEN 'a' THEN …`` compares, too."""
    if isinstance(comparison, exp.Case):
        yield from (comparison.this, *(branch.this for branch in comparison.args["ifs"])) if comparison.this else ()
    else:
        yield from comparison.iter_expressions()


def _is_constant(node: exp.Expression) -> bool:
    return not any(isinstance(part, exp.Column | exp.Dot | exp.Query) or is_special(part) for part in node.walk())


def _fitted(constant: exp.Expression, length: int, rows: Relation, source: Source) -> Iterator[Edit]:
    """A string of at least ``length`` characters in place of a constant that is a string."""
    place = span_of(constant)
    text = source.text(place)
    if _PLAIN.fullmatch(text):
        value = text[1:-1]
        fitted = value if len(value.rstrip(" ")) > length else value.rstrip(" ").ljust(length)
        yield place, f"{text[0]}{fitted}{text[0]}"
    elif not isinstance(constant, exp.Null) and isinstance(rows.types_of([(text, place)])[0], StringType):
        yield place, f"RPAD(RTRIM({text}), GREATEST(LENGTH(RTRIM({text})), {length}))"


def _length(node: exp.Expression, rows: Relation) -> int | None:
    """The n of the CHAR(n) column that ``node`` reads of some row."""
    while isinstance(node, Navigation):
        node = bare(node.this)
    path = column_path(node) or (kleene_path(node) or ((),))[0]
    if not path or len(path) > 2 or (len(path) == 2 and rows.column(path[0].value)):
        return None
    column = rows.column(path[-1].value)
    return None if column is None else rows.char_length(column)

"""key_filters: pushes the block's filters on PARTITION BY columns down into the input.

``SELECT … FROM t MATCH PATTERN (… PARTITION BY user …) WHERE user = 7`` → the events of other users are not read, as a dashboard that shows one
customer expects. Partitions are matched independently, so dropping others changes no match; WHERE itself is kept. Applies to conjuncts of =, <>, <,
IN, BETWEEN, LIKE, IS NULL, AND, OR and NOT between one of these columns and constants of its own kind: such a test cannot raise an error on the rows
of a partition without a match. Not under STRICT CONTIGUITY, where events of other partitions break contiguity.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql.types import BooleanType, DataType, DateType, NumericType, StringType, TimestampNTZType, TimestampType
from sqlglot import exp

from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.partitions import Key
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.dialect import bare, column_path, span_of
from rewrites.dialect.blocks import find_block
from rewrites.dialect.clause import Site
from rewrites.sql.source import Source, replaced

NAME = "key_filters"

_LOGIC = (exp.And, exp.Or, exp.Not, exp.Paren)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_OPERANDS = {"this", "expression", "expressions", "low", "high"}
_TESTS = (*_COMPARISONS, exp.In, exp.Between, exp.Is, exp.Like)


def key_filters(
    bound: BoundRowPattern | BoundEventPattern | BoundAutomaton, site: Site, source: Source
) -> tuple[str, ...]:
    """The block's conjuncts over PARTITION BY columns alone, as SQL over the input."""
    if not bound.keys or (isinstance(bound, BoundEventPattern) and bound.strategy == "strict_contiguity"):
        return ()
    block = find_block(source.sql, site)
    if block is None or block.where is None:
        return ()
    alias = None if site.alias is None else site.alias.value.lower()
    keys = {key.name.lower(): key for key in bound.keys if key.column is not None}
    reader = _Reader(keys, alias, bare=not block.joined)
    conjuncts = [node for node in _conjuncts(block.where.node) if reader.is_about_keys(node)]
    return tuple(source.splice(span_of(node), replaced(node, reader.input_text)) for node in conjuncts)


def _conjuncts(node: exp.Expression) -> Iterator[exp.Expression]:
    if isinstance(node, exp.And):
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    elif isinstance(node, exp.Paren):
        yield from _conjuncts(node.this)
    else:
        yield node


class _Reader:
    """``bare``: an unqualified name (without the clause's ``alias``) is a column of the clause."""

    def __init__(self, keys: dict[str, Key], alias: str | None, *, bare: bool) -> None:
        self.keys, self.alias, self.bare = keys, alias, bare

    def is_about_keys(self, node: exp.Expression) -> bool:
        """Whether a condition consists of tests that each compare one key with constants."""
        if isinstance(node, _LOGIC):
            return all(self.is_about_keys(part) for part in node.iter_expressions())
        given = {name for name, value in node.args.items() if value}
        if not isinstance(node, _TESTS) or not given <= _OPERANDS:
            return False
        parts = list(node.iter_expressions())
        found = [key for part in parts if (key := self._key(part)) is not None]
        others = [part for part in parts if self._key(part) is None]
        return len(found) == 1 and all(_is_constant(part, found[0].data_type) for part in others)

    def input_text(self, node: exp.Expression) -> str | None:
        """A key as an expression over the input."""
        key = self._key(node)
        return None if key is None else f"({key.text})"

    def _key(self, node: exp.Expression) -> Key | None:
        path = column_path(node)
        names = [] if path is None else [name.value.lower() for name in path]
        if len(names) == 2 and names[0] == self.alias:
            return self.keys.get(names[1])
        return self.keys.get(names[0]) if len(names) == 1 and self.bare else None


def _is_constant(node: exp.Expression, data_type: DataType) -> bool:
    """Whether ``node`` is a literal that compares with values of ``data_type`` without a cast that could fail."""
    node = bare(node)
    if isinstance(node, exp.Null):
        return True
    if isinstance(node, exp.Neg):
        node = node.this
    if isinstance(node, exp.Boolean):
        return isinstance(data_type, BooleanType)
    if isinstance(data_type, DateType | TimestampType | TimestampNTZType):
        if isinstance(node, exp.Cast) and node.to.is_type("date", "timestamp", "timestampntz", "timestampltz"):
            node = node.this
        return isinstance(node, exp.Literal) and node.is_string
    if not isinstance(node, exp.Literal):
        return False
    return isinstance(data_type, StringType) if node.is_string else isinstance(data_type, NumericType)

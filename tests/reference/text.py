"""Pattern texts of the corpus → pattern IR; a reader of its own, so that the corpus does not hang on the dialect.

``row_pattern("A+ (B|C)?")``, ``event_pattern("SEQ(A a, NOT B, C+ c)")``. Raises ValueError where the text turns wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from sparkcep.pattern import event, row

_TOKEN = re.compile(r"\s*(?:(\{-|-\}|[A-Za-z_]\w*|\d+|'[^']*'|[(){}|^$*+?,!~]))")
_Node = TypeVar("_Node")


class Reader:
    """A cursor over tokens."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        end = 0
        while text[end:].strip():
            found = _TOKEN.match(text, end)
            if not found:
                raise ValueError(f"cannot read {text[end:]!r}")
            self.tokens.append(found[1])
            end = found.end()
        self.at = 0

    @property
    def next(self) -> str:
        """The token ahead, "" at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        """Consumes and returns the token ahead."""
        token = self.next
        if not token or (expected is not None and token.upper() != expected):
            raise ValueError(f"expected {expected or 'more'}, found {token or 'the end'!r}")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        """Consumes the token ahead if it is ``token``."""
        if self.next.upper() == token:
            self.at += 1
            return True
        return False

    def listed(self, read: Callable[[Reader], _Node]) -> tuple[_Node, ...]:
        """``( x, … )``."""
        self.take("(")
        items = [read(self)]
        while self.accept(","):
            items.append(read(self))
        self.take(")")
        return tuple(items)

    def bounds(self) -> tuple[int, int | None] | None:
        """A quantifier's range, None where there is none."""
        for sign, bounds in {"*": (0, None), "+": (1, None), "?": (0, 1)}.items():
            if self.accept(sign):
                return bounds
        if not self.accept("{"):
            return None
        low = int(self.take()) if self.next.isdigit() else 0
        if self.accept("}"):
            return low, low
        self.take(",")
        high = int(self.take()) if self.next.isdigit() else None
        self.take("}")
        return low, high


@lru_cache(256)
def row_pattern(text: str) -> row.RowPattern:
    """A MATCH_RECOGNIZE pattern."""
    reader = Reader(text)
    return _whole(reader, _alternate(reader))


@lru_cache(256)
def event_pattern(text: str) -> event.EventPattern:
    """A MATCH PATTERN pattern; an element without a variable is called as its type."""
    reader = Reader(text)
    return _whole(reader, _event_item(reader))  # type: ignore[return-value]


def _whole(reader: Reader, node: _Node) -> _Node:
    if reader.next:
        raise ValueError(f"unexpected {reader.next!r}")
    return node


def _alternate(reader: Reader) -> row.RowPattern:
    items = [_concat(reader)]
    while reader.accept("|"):
        items.append(_concat(reader))
    return _flat(row.Alternate, items)


def _concat(reader: Reader) -> row.RowPattern:
    items = []
    while reader.next not in ("", "|", ")", "-}", ","):
        items.append(_quantified(reader))
    if not items:
        return row.Empty()
    return _flat(row.Concat, items)


def _flat(kind: type[row.Concat] | type[row.Alternate], items: list[row.RowPattern]) -> row.RowPattern:
    """One item as itself, a group of the same kind as its items."""
    parts = [part for item in items for part in (item.items if isinstance(item, kind) else (item,))]
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _quantified(reader: Reader) -> row.RowPattern:
    node = _atom(reader)
    while (bounds := reader.bounds()) is not None:
        node = row.Quantified(node, *bounds, greedy=not reader.accept("?"))
    return node


def _atom(reader: Reader) -> row.RowPattern:
    if reader.accept("("):
        inner = _alternate(reader)
        reader.take(")")
        return inner
    if reader.accept("{-"):
        inner = _alternate(reader)
        reader.take("-}")
        return row.Excluded(inner)
    if reader.accept("^"):
        return row.PartitionStart()
    if reader.accept("$"):
        return row.PartitionEnd()
    name = reader.take()
    if name.upper() == "PERMUTE" and reader.next == "(":
        return row.Permute(reader.listed(_alternate))
    return row.Variable(name)


def _event_item(reader: Reader) -> event.EventItem:
    if reader.accept("NOT") or reader.accept("!") or reader.accept("~"):
        return event.Not(_event_item(reader))  # type: ignore[arg-type]
    for word, kind in (("SEQ", event.Seq), ("AND", event.And), ("OR", event.Or)):
        if reader.accept(word):
            return kind(reader.listed(_event_item))
    return _element(reader)


def _element(reader: Reader) -> event.Element:
    name = reader.take()
    types: tuple[str, ...] = (name.strip("'"),)
    if name.upper() == "ANY":
        types = reader.listed(lambda inner: inner.take().strip("'")) if reader.next == "(" else ()
    low, high = reader.bounds() or (1, 1)
    named = bool(re.match(r"[A-Za-z_]", reader.next))
    return event.Element(reader.take() if named else name, types, low, high)

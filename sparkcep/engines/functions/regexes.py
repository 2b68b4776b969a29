"""Functions of regular expressions: of what Java and Python read alike, once classes, dots and ends of lines are spelt out.

Patterns are constants; others, and what the two would read differently, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sparkcep.engines.functions.base import Refused, failure, strict
from sparkcep.spec.expression import Constant, SparkFunction

_LINE_ENDS = "\n\r\x85\u2028\u2029"
_END = r"(?:(?=\r\n\Z)|(?=[\r\x85\u2028\u2029]\Z)|(?=(?<!\r)\n\Z)|(?=\Z))"
_ESCAPE = r"\\[dDwWsStnrf]|\\[^a-zA-Z0-9\s]"
_ITEM = re.compile(
    rf"(?P<plain>[^\\.\[\](){{}}*+?|^$])|(?P<dot>\.)|(?P<end>\$)|(?P<escape>{_ESCAPE})|(?P<group>\((?:\?:)?(?!\?)|\)|\||\^)"
    r"|(?P<quantifier>(?:[*+?]|\{\d{1,4}(?:,\d{0,4})?\})\??(?![*+?{]))"
    rf"|(?P<class>\[\^?(?:[^\\\[\]&^\-|~]|{_ESCAPE})(?:[^\\\[\]&\-|~]|-(?=[^\-])|{_ESCAPE})*\])"
)
"""What a pattern is made of."""


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """Java's pattern as Python's. Raises Refused."""
    folds = pattern.startswith("(?i)")
    text, at = pattern[4:] if folds else pattern, 0
    parts: list[str] = []
    while at < len(text):
        item = _ITEM.match(text, at)
        if item is None:
            raise Refused(f"the regular expression {pattern!r}")
        parts.append({"dot": f"[^{_LINE_ENDS}]", "end": _END}.get(item.lastgroup or "") or item.group())
        at = item.end()
    try:
        return re.compile("".join(parts), re.ASCII | (re.IGNORECASE if folds else 0))
    except re.error as error:
        raise Refused(f"the regular expression {pattern!r}: {error}") from None


def split_at(pattern: str) -> Callable[[str, int], list[str]]:
    """(text, limit) → the parts between matches, at most ``limit`` if that is positive. Raises Refused."""
    found = _of_something(pattern)

    def function(text: str, limit: int) -> list[str]:
        parts: list[str] = []
        start = 0
        for one in found.finditer(text):
            if len(parts) + 1 == limit:
                break
            parts.append(text[start : one.start()])
            start = one.end()
        return [*parts, text[start:]]

    return function


def _of(node: SparkFunction, index: int = 1) -> str:
    pattern = node.arguments[index]
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        raise Refused(f"{node.text} with a pattern that is no literal")
    return pattern.value


def _of_something(pattern: str) -> re.Pattern[str]:
    """A pattern that no empty text matches: where such matches are, Java and Python see differently."""
    found = compiled(pattern)
    if found.search("") is not None:
        raise Refused(f"the regular expression {pattern!r}, which may match nothing")
    return found


@strict("RLike")
def _rlike(node: SparkFunction) -> Callable[[str, str], bool]:
    pattern = compiled(_of(node))
    return lambda text, _: pattern.search(text) is not None


@strict("RegExpExtract", "RegExpExtractAll")
def _extract(node: SparkFunction) -> Callable[[str, str, int], Any]:
    every = node.name == "RegExpExtractAll"
    pattern = _of_something(_of(node)) if every else compiled(_of(node))

    def function(text: str, _: str, group: int) -> Any:
        if not 0 <= group <= pattern.groups:
            raise failure(f"the regular expression has no group {group}")
        if every:
            return [one.group(group) or "" for one in pattern.finditer(text)]
        found = pattern.search(text)
        return (found.group(group) or "") if found else ""

    return function


@strict("RegExpInStr")
def _position(node: SparkFunction) -> Callable[[str, str, int], int]:
    pattern = compiled(_of(node))

    def function(text: str, _: str, group: int) -> int:
        found = pattern.search(text)
        return found.start() + 1 if found else 0

    return function


@strict("RegExpReplace")
def _replace(node: SparkFunction) -> Callable[[str, str, str, int], str]:
    pattern, first = _of_something(_of(node)), node.arguments[3]
    if {"$", "\\"} & set(_of(node, 2)) or not isinstance(first, Constant) or first.value != 1:
        raise Refused("regexp_replace by groups, or from another place than the first")
    return lambda text, _, by, __: pattern.sub(lambda found: by, text)

"""Functions of strings (and lengths of binaries). Positions count characters from 1, as in SQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sparkcep.engines.functions.base import Closure, Refused, failure, lazy, simple, strict, type_of
from sparkcep.engines.functions.regexes import split_at
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.types import kind

_MOST = (1 << 31) - 1


def _of_strings(node: SparkFunction, *indices: int) -> None:
    for index in indices or range(len(node.arguments)):
        if kind(type_of(node.arguments[index])) not in ("string", "void"):
            raise Refused(f"{node.text} of the type {type_of(node.arguments[index])}")


def _plain(name: str, function: Callable[..., Any], *indices: int) -> None:
    """Register a function whose arguments at ``indices`` (default: all) must be strings."""

    @strict(name)
    def maker(node: SparkFunction) -> Callable[..., Any]:
        _of_strings(node, *indices)
        return function


def _substring(text: str, position: int, length: int) -> str:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(min(start + length, _MOST), 0)]


def _right(text: str, length: int) -> str:
    return text[max(len(text) - length, 0) :] if length > 0 else ""


def _pad(text: str, length: int, pad: str, left: bool) -> str:
    missing = length - len(text)
    if missing <= 0 or not pad:
        return text[: max(length, 0)]
    filling = (pad * (missing // len(pad) + 1))[:missing]
    return filling + text if left else text + filling


def _locate(part: str, text: str, start: int) -> int:
    return 0 if start < 1 else text.find(part, start - 1) + 1


def _substring_index(text: str, delimiter: str, count: int) -> str:
    if not delimiter or count == 0:
        return ""
    if count > 0:
        at = -1
        for _ in range(count):
            at = text.find(delimiter, at + 1)
            if at < 0:
                return text
        return text[:at]
    at = len(text) - len(delimiter) + 1
    for _ in range(-count):
        at = text.rfind(delimiter, 0, at - 1 + len(delimiter)) if at > 0 else -1
        if at < 0:
            return text
    return text[at + len(delimiter) :]


def _translate(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for i, character in enumerate(old):
        table.setdefault(ord(character), new[i] if i < len(new) else None)
    return text.translate(table)


def _levenshtein(text: str, other: str, most: int | None = None) -> int:
    """Edits that make one of the other; -1 if there are more than ``most``."""
    row = list(range(len(other) + 1))
    for i, character in enumerate(text, 1):
        before, row[0] = row[0], i
        for j, wanted in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (character != wanted))
        if most is not None and min(row) > most:
            return -1
    return row[-1] if most is None or row[-1] <= most else -1


_plain("Substring", _substring, 0)
_plain("Levenshtein", _levenshtein, 0, 1)
_plain("Left", lambda text, length: text[: max(length, 0)], 0)
_plain("Right", _right, 0)
_plain("Upper", str.upper)
_plain("Lower", str.lower)
_plain("StringInstr", lambda text, part: text.find(part) + 1)
_plain("StringLocate", _locate, 0, 1)
_plain("StringReplace", lambda text, old, new: text.replace(old, new) if old else text)
_plain("StringLPad", lambda text, length, pad: _pad(text, length, pad, True), 0, 2)
_plain("StringRPad", lambda text, length, pad: _pad(text, length, pad, False), 0, 2)
_plain("StringRepeat", lambda text, times: text * times, 0)
_plain("SubstringIndex", _substring_index, 0, 1)
_plain("StringTranslate", _translate)
_plain("StartsWith", str.startswith)
_plain("EndsWith", str.endswith)
_plain("Contains", lambda text, part: part in text)
_plain("Ascii", lambda text: ord(text[0]) if text else 0)
_plain("StringTrim", lambda text, characters=" ": text.strip(characters) if characters else text)
_plain("StringTrimLeft", lambda text, characters=" ": text.lstrip(characters) if characters else text)
_plain("StringTrimRight", lambda text, characters=" ": text.rstrip(characters) if characters else text)
simple("StringSpace", lambda count: " " * count)


@strict("Length", "OctetLength", "BitLength")
def _length(node: SparkFunction) -> Callable[[Any], int]:
    factor = 8 if node.name == "BitLength" else 1
    if node.name == "Length" or kind(type_of(node.arguments[0])) == "binary":
        return lambda value: factor * len(value)
    return lambda value: factor * len(value.encode())


@strict("Concat")
def _concat(node: SparkFunction) -> Callable[..., Any]:
    name = kind(type_of(node))
    if name == "array":
        return lambda *arrays: [item for array in arrays for item in array]
    if name not in ("string", "binary"):
        raise Refused(f"concat of {name}")
    empty: Any = "" if name == "string" else b""
    return lambda *texts: empty.join(texts)


@lazy("ConcatWs")
def _concat_ws(node: SparkFunction, arguments: list[Closure]) -> Closure:
    separator, *others = arguments

    def closure(frame: Any) -> str | None:
        between = separator(frame)
        if between is None:
            return None
        parts: list[str] = []
        for other in others:
            value = other(frame)
            parts += value if isinstance(value, list) else [value]
        return str(between).join(part for part in parts if part is not None)

    return closure


@strict("Like", "ILike")
def _like(node: SparkFunction) -> Callable[[str, str], bool]:
    _of_strings(node)
    escape, fold = node.settings[0], node.name == "ILike"

    def function(text: str, pattern: str) -> bool:
        if fold:
            text, pattern = text.lower(), pattern.lower()
        return _like_pattern(pattern, escape).fullmatch(text) is not None

    return function


@lru_cache(maxsize=256)
def _like_pattern(pattern: str, escape: str) -> re.Pattern[str]:
    parts, rest = [], iter(pattern)
    for character in rest:
        if character == escape:
            following = next(rest, None)
            if following is None or following not in ("_", "%", escape):
                raise failure(f"the LIKE pattern {pattern!r} escapes nothing")
            parts.append(re.escape(following))
        else:
            parts.append({"_": ".", "%": ".*"}.get(character) or re.escape(character))
    return re.compile("".join(parts), re.DOTALL)


@strict("StringSplit")
def _split(node: SparkFunction) -> Callable[[str, str, int], list[str]]:
    pattern = node.arguments[1]
    text = pattern.value if isinstance(pattern, Constant) else None
    if not isinstance(text, str) or not text:
        raise Refused(f"{node.text} by what is no literal, or empty")
    split = split_at(text)
    return lambda whole, _, limit: split(whole, limit)


@strict("SplitPart")
def _split_part(node: SparkFunction) -> Callable[[str, str, int], str]:
    _of_strings(node, 0, 1)

    def function(text: str, delimiter: str, number: int) -> str:
        if number == 0:
            raise failure("split_part counts from 1")
        parts = text.split(delimiter) if delimiter else [text]
        index = number - 1 if number > 0 else len(parts) + number
        return parts[index] if 0 <= index < len(parts) else ""

    return function

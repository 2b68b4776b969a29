"""SQL text → tokens that carry exact offsets and know their brackets.

In: a statement. Out: ``Tokens``, two views of it. ``raw`` are sqlglot's Spark tokens, for the expression parser. ``items`` are ours, for everything
else: multi-word keywords (``ORDER BY``) are split into words, multi-character operators (``??``, ``||``, ``-}``) into characters, so that non-SQL
grammars can read them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import sqlglot.parser
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokens import Token as RawToken
from sqlglot.tokens import TokenType

from rewrites.dialect.clause import Name
from sparkcep.errors import CepInternalError, CepSyntaxError, Span

Kind = Literal["word", "quoted", "string", "number", "mark"]

CACHED_STATEMENTS = 16
"""The number of statements whose tokens are cached: a rewrite requests the same text once per clause and part."""

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_STRINGS = {TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.NATIONAL_STRING}
_COMMENT = re.compile(
    r"""[rR]'[^']*'|[rR]"[^"]*"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|/\*.*?\*/|--(?:\\\n|[^\r\n])*""", re.DOTALL
)
"""Comments to the end of a line, and what is none though it may have dashes."""
_PIECE = re.compile(r"\w+|[^\w\s]")


def require_plain_sqlglot(parser_file: str | None) -> None:
    """Refuse ``sqlglot[c]``, whose compiled classes cannot be subclassed."""
    if parser_file is not None and not parser_file.endswith((".py", ".pyc")):
        raise CepInternalError(
            "the compiled sqlglot (sqlglot[c]) is installed; its parser cannot be extended",
            code="SQLGLOT",
            hint="install plain sqlglot: pip uninstall -y sqlglotc sqlglotrs && pip install --force-reinstall sqlglot",
        )


require_plain_sqlglot(sqlglot.parser.__file__)


class SparkTokenizer(Spark.Tokenizer):
    """Spark's tokens without sqlglot's extras: no commands swallowed whole, no Jinja."""

    COMMANDS: set[TokenType] = set()
    KEYWORDS = {word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if not set("{}") & set(word)}


@dataclass(frozen=True, slots=True)
class Token:
    """One word, quoted identifier, string, number or punctuation character; ``text`` is the value without quotes."""

    kind: Kind
    text: str
    span: Span

    @property
    def key(self) -> str:
        """The comparison key of keywords and punctuation: the upper-case word, or the character; '' for everything else."""
        return self.text.upper() if self.kind in ("word", "mark") else ""

    @property
    def name(self) -> Name:
        """The token as an identifier."""
        return Name(self.text, self.span)

    @property
    def is_name(self) -> bool:
        """Whether the token can be an identifier."""
        return self.kind in ("word", "quoted")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenised statement. ``partner[i]`` is item i's matching bracket, ``outer[i]`` the enclosing one; -1: none."""

    sql: str
    raw: tuple[RawToken, ...]
    items: tuple[Token, ...]
    partner: tuple[int, ...]
    outer: tuple[int, ...]

    def inside(self, span: Span) -> tuple[Token, ...]:
        """The items whose text lies in ``span``."""
        return self.items[self.index(span.start) : self.index(span.end)]

    def index(self, offset: int) -> int:
        """The position of the first item that starts at or after ``offset``."""
        return bisect_left(self.items, offset, key=lambda token: token.span.start)

    def raw_inside(self, span: Span) -> list[RawToken]:
        """sqlglot's tokens in ``span``."""
        low = bisect_left(self.raw, span.start, key=lambda token: token.start)
        high = bisect_left(self.raw, span.end, key=lambda token: token.start)
        return list(self.raw[low:high])


@lru_cache(maxsize=CACHED_STATEMENTS)
def tokenize(sql: str) -> Tokens:
    """The tokens of ``sql``; CepSyntaxError for an unterminated string, comment or identifier."""
    try:
        tokens = SparkTokenizer().tokenize(_COMMENT.sub(_on_one_line, sql) if "\\\n" in sql else sql)
        raw = tuple(token for token in tokens if token.token_type is not TokenType.HINT)
    except TokenError as error:
        raise CepSyntaxError(
            f"the statement cannot be read: {_reason(error)}", code="TOKEN", sql=sql, span=_place(error, sql)
        ) from error
    items = tuple(_items(sql, raw))
    return Tokens(sql, raw, items, *_brackets(items))


def _on_one_line(found: re.Match[str]) -> str:
    """A comment whose line ends in a backslash goes on in the next one, for Spark."""
    text = found.group()
    return text.replace("\\\n", "  ") if text.startswith("--") else text


def split_commas(tokens: tuple[Token, ...]) -> list[tuple[Token, ...]]:
    """``a, f(b, c)`` → ``a`` and ``f(b, c)``: the runs between top-level commas."""
    parts: list[tuple[Token, ...]] = []
    start = 0
    for i, depth in depths(tokens):
        if depth == 0 and tokens[i].key == ",":
            parts.append(tokens[start:i])
            start = i + 1
    return [*parts, tokens[start:]]


def depths(tokens: tuple[Token, ...]) -> Iterator[tuple[int, int]]:
    """Positions with their bracket depth; a bracket itself has the depth outside of it."""
    depth = 0
    for i, token in enumerate(tokens):
        if token.kind == "mark" and token.text in _CLOSING.values():
            depth -= 1
        yield i, depth
        if token.kind == "mark" and token.text in _CLOSING:
            depth += 1


def cover(tokens: tuple[Token, ...]) -> Span:
    """The span from the first token to the last."""
    return tokens[0].span.to(tokens[-1].span)


def _items(sql: str, raw: tuple[RawToken, ...]) -> Iterator[Token]:
    end = 0
    for token in raw:
        if token.start < end:
            continue  # ``1L`` is three tokens at the same position: number, ``::``, BIGINT
        end = token.end + 1
        yield from _split(sql, token)


def _split(sql: str, token: RawToken) -> Iterator[Token]:
    span = Span(token.start, token.end + 1)
    if token.token_type is TokenType.IDENTIFIER:
        yield Token("quoted", token.text, span)
    elif token.token_type in _STRINGS:
        yield Token("string", token.text, span)
    elif token.token_type is TokenType.NUMBER:
        yield Token("number", sql[span.start : span.end], span)
    else:
        for piece in _PIECE.finditer(sql, span.start, span.end):
            text = piece.group()
            kind: Kind = "word" if text[0].isalnum() or text[0] == "_" else "mark"
            yield Token(kind, text, Span(piece.start(), piece.end()))


def _brackets(items: tuple[Token, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    partner, outer, stack = [-1] * len(items), [-1] * len(items), list[int]()
    for i, token in enumerate(items):
        if token.kind == "mark" and token.text in _CLOSING.values():
            _close(items, stack, partner, i)
        outer[i] = stack[-1] if stack else -1
        if token.kind == "mark" and token.text in _CLOSING:
            stack.append(i)
    return tuple(partner), tuple(outer)


def _close(items: tuple[Token, ...], stack: list[int], partner: list[int], i: int) -> None:
    """Match a closing bracket; unclosed opening brackets in between are dropped."""
    if items[i].text not in (_CLOSING[items[opening].text] for opening in stack):
        return
    while _CLOSING[items[opening := stack.pop()].text] != items[i].text:
        pass
    partner[i], partner[opening] = opening, i


def _reason(error: TokenError) -> str:
    cause = str(error.__cause__)
    if cause.startswith("Numeric string"):
        return "the number in quotes has characters that are not its digits"
    missing = re.match(r"Missing (\S+) from", cause)
    return f"the {missing.group(1) if missing else '/*'} that opens here is never closed"


def _place(error: TokenError, sql: str) -> Span:
    cause = re.search(r"from \d+:(\d+)", str(error.__cause__))
    start = min(int(cause.group(1)) if cause else max(sql.rfind("/*"), 0), len(sql))
    return Span(start, min(start + 1, len(sql)))

"""Split the body of a clause at its top-level keywords.

In: the tokens between the parentheses. Out: sections in the order written, each with its keyword's span and tokens. Words are keywords only outside
brackets, and not after ``.`` or ``AS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from rewrites.dialect.tokens import Token, cover, depths, tokenize
from sparkcep.errors import CepSyntaxError, Span


@dataclass(frozen=True, slots=True)
class Header:
    """The words that begin a section, and its rank: sections appear in order of rank."""

    name: str
    words: tuple[str, ...]
    rank: int
    behind: tuple[str, ...] = ()
    """If not empty, the next word must be one of these for the header to count."""
    unless: tuple[str, ...] = ()
    """Next words after which it is not a header (``WITHIN GROUP``)."""
    form: str = ""
    """How the section is written, for errors in it that say nothing better."""


@dataclass(frozen=True, slots=True)
class Section:
    """``PARTITION BY a, b``: the header's name, the span of its words, the tokens after them."""

    name: str
    rank: int
    keyword: Span
    tokens: tuple[Token, ...]

    @property
    def span(self) -> Span:
        """The keyword and its content."""
        return self.keyword.to(self.tokens[-1].span) if self.tokens else self.keyword

    @property
    def place(self) -> Span:
        """The content; if it is empty, the end of the keyword."""
        return cover(self.tokens) if self.tokens else Span(self.keyword.end, self.keyword.end + 1)


@dataclass(frozen=True, slots=True)
class Grammar:
    """A clause's headers, in the order that errors tell users to write them in."""

    clause: str
    headers: tuple[Header, ...]
    lead: str = ""
    """How what stands before the first header is written."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Words that begin sections of other clauses, and what this one has instead."""

    @property
    def order(self) -> str:
        """The order of the sections, for hints."""
        return ", ".join(dict.fromkeys(header.name for header in self.headers))


def cut(sql: str, body: Span, grammar: Grammar, *, first: str | None = None) -> dict[str, Section]:
    """The sections of ``body`` by name. ``first`` names a leading section without a keyword (MATCH PATTERN's pattern).

    Raises CepSyntaxError for text before the first section, repeated sections, and sections out of order.
    """
    tokens = tokenize(sql).inside(body)
    starts = _starts(tokens, grammar)
    sections: list[Section] = []
    lead = tokens[: starts[0][0]] if starts else tokens
    if first is not None:
        sections.append(Section(first, -1, Span(body.start, body.start), lead))
    elif lead:
        raise _unknown(sql, lead[0], grammar)
    return in_order(sql, [*sections, *sections_at(tokens, starts)], grammar)


def sections_at(tokens: tuple[Token, ...], starts: list[tuple[int, Header]]) -> Iterator[Section]:
    """The sections whose headers begin at ``starts``, each up to the next one."""
    ends = [*(start for start, _ in starts[1:]), len(tokens)]
    for (start, header), end in zip(starts, ends, strict=False):
        behind = start + len(header.words)
        keyword = tokens[start].span.to(tokens[behind - 1].span)
        yield Section(header.name, header.rank, keyword, tokens[behind:end])


def in_order(sql: str, sections: Iterable[Section], grammar: Grammar) -> dict[str, Section]:
    """``sections`` by name. Raises CepSyntaxError for repeated ones and those out of order."""
    found: dict[str, Section] = {}
    highest: Section | None = None
    for section in sections:
        if section.name in found:
            raise CepSyntaxError(
                f"{section.name} is given twice",
                code="DUPLICATE_CLAUSE",
                sql=sql,
                span=section.keyword,
                hint=_once(section, grammar),
            )
        if highest and section.rank < highest.rank:
            raise CepSyntaxError(
                f"{section.name} must come before {highest.name}",
                code="CLAUSE_ORDER",
                sql=sql,
                span=section.keyword,
                hint=f"the order is {grammar.order}",
            )
        found[section.name] = section
        highest = section if highest is None or section.rank >= highest.rank else highest
    return found


def guess(word: str, grammar: Grammar) -> str | None:
    """A hint for a word that may be meant as a header, of another clause too: ``SUBST`` → did you mean SUBSET?"""
    if (instead := grammar.elsewhere.get(word.upper())) is not None:
        return instead
    if word.upper() in (" ".join(header.words) for header in grammar.headers):
        return None
    headers = {header.words[0]: " ".join(header.words) for header in reversed(grammar.headers)}
    near = get_close_matches(word.upper(), headers, n=1, cutoff=0.7)
    return f"did you mean {headers[near[0]]}?" if near else None


def guessed(error: CepSyntaxError, sql: str, body: Span, grammar: Grammar) -> CepSyntaxError:
    """``error`` with a hint, where it has none: the header that its word may be misspelt for, or how its section is written."""
    if error.hint or error.span is None:
        return error
    code = error.code.removeprefix(error.kind).removeprefix("_")
    hint = guess(sql[error.span.start : error.span.end], grammar) or _form(error.span, sql, body, grammar)
    return CepSyntaxError(error.message, code=code, sql=sql, span=error.span, hint=hint)


def _form(place: Span, sql: str, body: Span, grammar: Grammar) -> str | None:
    """``write ORDER BY expression [ASC | DESC], …`` for a place behind ORDER BY."""
    tokens = tokenize(sql).inside(body)
    before = [header for start, header in _starts(tokens, grammar) if tokens[start].span.start <= place.start]
    form = before[-1].form if before else grammar.lead
    return f"write {form}" if form else None


def _starts(tokens: tuple[Token, ...], grammar: Grammar) -> list[tuple[int, Header]]:
    starts: list[tuple[int, Header]] = []
    taken = 0
    for i, depth in depths(tokens):
        if depth or i < taken or tokens[i].kind != "word":
            continue
        header = _header(tokens, i, grammar)
        before = tokens[i - 1].key if i else ""
        if header and before != "." and (before != "AS" or header.behind == ("(",)):
            starts.append((i, header))
            taken = i + len(header.words)
    return starts


def _header(tokens: tuple[Token, ...], i: int, grammar: Grammar) -> Header | None:
    for header in grammar.headers:
        end = i + len(header.words)
        if tuple(token.key for token in tokens[i:end]) != header.words:
            continue
        behind = tokens[end].key if end < len(tokens) else ""
        if behind not in header.unless and (not header.behind or behind in header.behind):
            return header
    return None


def _once(section: Section, grammar: Grammar) -> str:
    form = next(header.form for header in grammar.headers if header.name == section.name)
    return f"write it once: {form}" if form.endswith("…") else "write it once"


def _unknown(sql: str, token: Token, grammar: Grammar) -> CepSyntaxError:
    return CepSyntaxError(
        f"unexpected {sql[token.span.start : token.span.end]!r} at the start of {grammar.clause}",
        code="CLAUSE",
        sql=sql,
        span=token.span,
        hint=guess(token.text, grammar) or f"expected one of {grammar.order}",
    )

"""A token cursor: the basis of the hand-written grammars (patterns, clauses)."""

from __future__ import annotations

from typing import NoReturn

from rewrites.dialect.tokens import Token, tokenize
from sparkcep.errors import CepSyntaxError, Span


class Cursor:
    """A position in the tokens of ``span``. Never moves back."""

    def __init__(self, sql: str, span: Span) -> None:
        self.sql = sql
        self.span = span
        self._tokens = tokenize(sql).inside(span)
        self._next = 0

    @classmethod
    def over(cls, sql: str, tokens: tuple[Token, ...], place: Span) -> Cursor:
        """A cursor over ``tokens``; errors about a missing token point at ``place``."""
        cursor = cls(sql, Span(place.start, place.start))
        cursor.span, cursor._tokens = place, tokens
        return cursor

    def peek(self, ahead: int = 0) -> Token | None:
        """The next token (or the one ``ahead`` of it), None after the last."""
        index = self._next + ahead
        return self._tokens[index] if index < len(self._tokens) else None

    def key(self, ahead: int = 0) -> str:
        """The next token's keyword or punctuation, '' for any other token or at the end."""
        token = self.peek(ahead)
        return token.key if token else ""

    def at(self, *keys: str) -> bool:
        """Whether these keywords or characters come next."""
        return all(self.key(i) == key for i, key in enumerate(keys))

    def take(self) -> Token:
        """Consume and return the next token."""
        token = self.peek()
        if token is None:
            self.fail("something is missing here")
        self._next += 1
        return token

    def accept(self, *keys: str) -> Span | None:
        """Consume these keywords or characters if they come next, and return their span."""
        if not keys or not self.at(*keys):
            return None
        first = self.take()
        for _ in keys[1:]:
            self.take()
        return first.span.to(self._tokens[self._next - 1].span)

    def expect(self, *keys: str, hint: str | None = None) -> Span:
        """Consume these keywords or characters, which must come next."""
        if found := self.accept(*keys):
            return found
        while self.at(keys[0]):
            self.take()
            keys = keys[1:]
        self.fail(f"expected {' '.join(keys)}", hint=hint)
        return None

    def name(self, what: str) -> Token:
        """The identifier that must come next."""
        token = self.peek()
        if token is None or not token.is_name:
            quoted = token is not None and token.kind == "string"
            self.fail(
                f"expected {what}",
                hint=f"a quoted name stands in backticks: `{token.text}`" if token and quoted else None,
            )
        return self.take()

    def adjacent(self) -> bool:
        """Whether the next token follows the last one without a gap."""
        token = self.peek()
        return token is not None and self._next > 0 and self._tokens[self._next - 1].span.end == token.span.start

    def end(self) -> int:
        """The end of the last consumed token."""
        return self._tokens[self._next - 1].span.end if self._next else self.span.start

    def rest(self) -> tuple[Token, ...]:
        """Consume and return all remaining tokens."""
        tokens, self._next = self._tokens[self._next :], len(self._tokens)
        return tokens

    def fail(self, message: str, *, span: Span | None = None, hint: str | None = None, code: str = "") -> NoReturn:
        """Raise a CepSyntaxError at ``span`` or the next token, saying what was found there."""
        token = self.peek()
        if span is None:
            message += (
                f", found {self.sql[token.span.start : token.span.end]!r}" if token else ", but the text ends here"
            )
            end = self.span.end if self._tokens else self.span.start
            span = token.span if token else Span(end, end + 1)
        raise CepSyntaxError(message, code=code, sql=self.sql, span=span, hint=hint)

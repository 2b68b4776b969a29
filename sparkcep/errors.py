"""The error hierarchy: what users see when a statement cannot be answered.

In: a stable code, a message, and, if the statement is at fault, the SQL text with a span and a hint. Out: exceptions whose text underlines the span
with carets. Nothing here knows Spark or sqlglot.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range ``[start, end)`` of character offsets in the statement's SQL text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of ``other``."""
        return Span(self.start, other.end)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text that the statement only names: ``title`` says which text, ``pattern rising``."""

    title: str
    sql: str
    span: Span


class CepError(Exception):
    """The base of every error that sparkcep raises deliberately.

    ``code`` is stable (``CEP_SYNTAX``, or ``CEP_UNSUPPORTED_KLEENE``); ``sql`` and ``span`` locate the fault;
    ``hint`` says what to write instead. ``inside``: where the fault is in texts that the place in ``sql`` stands for, outermost first.
    """

    kind = "CEP_ERROR"

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        sql: str | None = None,
        span: Span | None = None,
        hint: str | None = None,
        inside: tuple[Place, ...] = (),
    ) -> None:
        self.message = message
        self.code = f"{self.kind}_{code}" if code else self.kind
        self.sql = sql
        self.span = span
        self.hint = hint
        self.inside = inside
        super().__init__(self.render())

    def in_sql(self, sql: str) -> CepError:
        """The same error with the statement's text attached (kept if it has one already)."""
        if self.sql is not None:
            return self
        return self.at(sql, self.span)

    def at(self, sql: str, span: Span | None, inside: tuple[Place, ...] = ()) -> CepError:
        """The same error at another place."""
        code = self.code[len(self.kind) + 1 :]
        return type(self)(self.message, code=code, sql=sql, span=span, hint=self.hint, inside=inside)

    def render(self) -> str:
        """``[CODE] message``, the line of SQL with carets under the span, and the hint."""
        parts = [f"[{self.code}] {self.message}"]
        if self.sql is not None and self.span is not None:
            parts.append(_underline(self.sql, self.span))
        parts += [_underline(place.sql, place.span, f"in {place.title}, ") for place in self.inside]
        if self.hint:
            parts.append(f"Hint: {self.hint}")
        return "\n".join(parts)


class CepSyntaxError(CepError):
    """The text of a clause violates its grammar."""

    kind = "CEP_SYNTAX"


class CepAnalysisError(CepError):
    """The clause parses, but a name is unknown, a type does not fit, or a rule of the standard is violated."""

    kind = "CEP_ANALYSIS"


class CepUnsupportedError(CepError):
    """The clause is meaningful, but no engine supports it (yet); the message names the feature."""

    kind = "CEP_UNSUPPORTED"


class CepDataError(CepError):
    """A value in the data leaves the answer undefined (a NULL event time, an overflow)."""

    kind = "CEP_DATA"


class CepLimitError(CepError):
    """A documented limit was reached; the message says which one, and what to change."""

    kind = "CEP_LIMIT"


class CepNotice(CepError):
    """Not an error: a valid clause that hardly means what its author intended. Logged, never raised."""

    kind = "CEP_NOTICE"


class CepInternalError(CepError):
    """A violated invariant: a bug in sparkcep."""

    kind = "CEP_INTERNAL"


def _underline(sql: str, span: Span, where: str = "") -> str:
    start = min(span.start, len(sql))
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    line_end = len(sql) if line_end < 0 else line_end
    line_number = sql.count("\n", 0, start) + 1
    width = max(1, min(span.end, line_end) - start)
    prefix = f"{where}line {line_number}: "
    margin = "".join("\t" if c == "\t" else " " for c in sql[line_start:start])
    return f"{prefix}{sql[line_start:line_end]}\n{' ' * len(prefix)}{margin}{'^' * width}"

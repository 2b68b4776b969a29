"""The error hierarchy: what users see when a statement cannot be answered.

In: a stable code, a message, and, if the statement is at fault, the SQL text with a span and a hint. Out: exceptions whose text underlines the span
with carets. Nothing here knows Spark or sqlglot.
"""

from __future__ import annotations

from dataclasses import dataclass

MIN_WIDTH = 20
"""The least of a line of SQL that an error shows."""


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

    def render(self, width: int | None = None) -> str:
        """``[CODE] message``, the line of SQL with carets under the span, and the hint.

        ``width``: the most characters of a line of SQL; what is left out beside the span is marked by ``…``. None: no limit.
        """
        parts = [f"[{self.code}] {self.message}"]
        if self.sql is not None and self.span is not None:
            parts.append(_underline(self.sql, self.span, width=width))
        parts += [_underline(place.sql, place.span, f"in {place.title}, ", width) for place in self.inside]
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


def _underline(sql: str, span: Span, where: str = "", width: int | None = None) -> str:
    start = min(span.start, len(sql))
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    line_end = len(sql) if line_end < 0 else line_end
    line_number = sql.count("\n", 0, start) + 1
    prefix = f"{where}line {line_number}: "
    end = max(start + 1, min(span.end, line_end))
    line, start, end = sql[line_start:line_end], start - line_start, end - line_start
    if width is not None:
        line, start, end = _cut(line, start, end, max(width - len(prefix), MIN_WIDTH))
    margin = "".join("\t" if c == "\t" else " " for c in line[:start])
    return f"{prefix}{line}\n{' ' * len(prefix)}{margin}{'^' * (end - start)}"


def _cut(line: str, start: int, end: int, width: int) -> tuple[str, int, int]:
    """(at most ``width`` characters of ``line`` with as much of its part from ``start`` to ``end`` as fits, the place of that part)."""
    if len(line) <= width:
        return line, start, end
    low = max(0, min(start - (width - (end - start)) // 2, start - 2, len(line) - width))
    high = low + width
    left, right = "…" if low else "", "…" if high < len(line) else ""
    shown = f"{left}{line[low + len(left) : high - len(right)]}{right}"
    return shown, start - low, (min(end, high - 1) if right else end) - low

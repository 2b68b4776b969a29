"""What Spark complains of, in the terms of the clause: its text instead of columns of the rewriter's, and a hint where a name is of the clause.

In: a clause, and the work on it. Out: the same work; a CepAnalysisError with one of Spark's messages says more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from rewrites.bind.names import variable_names
from rewrites.dialect.clause import Clause
from rewrites.dialect.parser import UNITS
from sparkcep.errors import CepAnalysisError, Span

_OF_THE_REWRITER = re.compile(r'"[^"]*__cep_[^"]*"')
_NO_COLUMN = re.compile(r"\[UNRESOLVED_COLUMN.* name `([^`]+)` cannot be resolved")
_TIME_WITH_OTHERS = re.compile(r'\("INTERVAL[^"]*" and "(?:STRING|(?:TINY|SMALL|BIG)?INT)"\)')
_CALLS = ("CLASSIFIER", "MATCH_NUMBER", "MATCH_SEQUENCE_NUMBER")


@contextmanager
def in_terms_of(clause: Clause, sql: str) -> Iterator[None]:
    """Errors about ``clause``, a part of ``sql``, in its terms."""
    try:
        yield
    except CepAnalysisError as error:
        written = _written(error, sql)
        message = _OF_THE_REWRITER.sub(lambda _: f'"{written}"', error.message) if written else error.message
        hint = error.hint or _hint(message, variable_names(clause))
        if (message, hint) == (error.message, error.hint):
            raise
        code = error.code.removeprefix(f"{error.kind}_")
        raise CepAnalysisError(
            message, code=code, sql=error.sql, span=error.span, hint=hint, inside=error.inside
        ) from None


def _written(error: CepAnalysisError, sql: str) -> str | None:
    """What the user wrote at the place of the error."""
    span: Span | None = error.span
    return None if span is None or error.inside else (error.sql or sql)[span.start : span.end]


def _hint(message: str, variables: set[str]) -> str | None:
    found = _NO_COLUMN.search(message)
    if found is None:
        times = "a difference of times is an interval: compare it with one, as in < INTERVAL 5 MINUTES"
        return times if _TIME_WITH_OTHERS.search(message) else None
    name = found[1]
    if name.lower() in variables:
        return f"{name} is a variable of the pattern: write {name}.column, or of a loop FIRST({name}.column, 1)"
    if name.upper() in _CALLS:
        return f"write {name}()"
    return f"a unit comes first: DATEDIFF({name}, since, until)" if name.upper() in UNITS else None

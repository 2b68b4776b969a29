"""The boundary of the rewriter: only CepErrors leave it, whatever went wrong inside.

In: a part of the rewriter's work and the span of the statement that it concerns. Out: the same work; an unexpected exception becomes ``CEP_INTERNAL``
with that span. Spark's own exceptions, and InputError, pass unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from rewrites.bind.relation import InputError
from sparkcep.errors import CepError, CepInternalError, CepLimitError, Span

REPORT = "please report this statement: it is a fault in sparkcep, not in the SQL"


@contextmanager
def guarded(text: str, place: Span | None = None) -> Iterator[None]:
    """Attach the statement's text to every error; an unexpected one gets the span ``place`` (None: the whole statement), with its cause chained."""
    try:
        yield
    except CepInternalError as error:
        error.span = error.span or place
        raise error.in_sql(text) from error.__cause__
    except CepError as error:
        raise error.in_sql(text) from None
    except (InputError, PySparkException):
        raise
    except RecursionError:
        raise _too_deep(text, place) from None
    except Exception as error:
        raise internal(error, text, place) from error


def internal(error: Exception, text: str, place: Span | None) -> CepInternalError:
    """The CEP_INTERNAL that stands for ``error``."""
    said = f": {error}" if str(error) else ""
    return CepInternalError(f"{type(error).__name__}{said}", sql=text, span=place or _whole(text), hint=REPORT)


def _too_deep(text: str, place: Span | None) -> CepLimitError:
    return CepLimitError(
        "an expression of the clause nests deeper than Python's stack",
        code="NESTING",
        sql=text,
        span=place or _whole(text),
        hint="put brackets around parts of a long chain of operators, or compute parts of it in a subquery",
    )


def _whole(text: str) -> Span:
    """From the first character that is not blank to the end of the text."""
    return Span(len(text) - len(text.lstrip()), len(text))

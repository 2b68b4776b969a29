"""The seam around the rewriter: what leaves it is a CepError, whatever went wrong inside.

In: a piece of the rewriter's work and the place in the statement that it is about. Out: the same work; an exception that nobody foresaw comes
out as ``CEP_INTERNAL`` at that place. Spark's own exceptions, and InputError, pass as they are.
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
    """Every error with the statement's text; an unforeseen one at ``place`` (None: at the whole statement), its cause chained."""
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

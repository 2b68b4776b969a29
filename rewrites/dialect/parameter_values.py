"""The numbers of parameter markers (``:n``, ``?``) where a clause has to know them while it is read: in quantifiers and offsets of navigations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sparkcep.errors import Span

ValueOf = Callable[[Span, str], int]
"""Gives the number of the marker at a span; its errors say of what."""

_VALUE: ContextVar[ValueOf | None] = ContextVar("value", default=None)


@contextmanager
def parameter_values(value: ValueOf | None) -> Iterator[None]:
    """While a clause is read: what gives the numbers."""
    token = _VALUE.set(value)
    try:
        yield
    finally:
        _VALUE.reset(token)


def value_at(span: Span, what: str) -> int | None:
    """The number of the marker at ``span``, in ``what``; None where no numbers are known."""
    value = _VALUE.get()
    return None if value is None else value(span, what)

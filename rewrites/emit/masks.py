"""The mask columns: one bit for a partition's first row, one for each variable's condition."""

from __future__ import annotations

from collections.abc import Sequence

from rewrites.bind.within import NOT_POSITIVE, Window
from rewrites.sql import builder
from rewrites.sql.builder import quoted, string
from sparkcep.spec.row import MASK_BITS

ROW_NUMBER = builder.ROW_NUMBER
INT_BITS = 30
"""Masks of up to this many bits are INT: half the bytes of BIGINT to transfer to the worker."""


def mask_columns(conditions: Sequence[str | None], start: str = f"{quoted(ROW_NUMBER)} = 1") -> list[tuple[str, str]]:
    """(SQL, name) of the mask columns; bit 0 is ``start``, bit 1 + i is ``conditions[i]`` (None: always true)."""
    bits: list[str | None] = [start, *conditions]
    words = [bits[i : i + MASK_BITS] for i in range(0, len(bits), MASK_BITS)]
    data_type = "INT" if len(bits) <= INT_BITS else "BIGINT"
    return [(f"CAST({' + '.join(_bits(word))} AS {data_type})", f"__cep_mask{i}") for i, word in enumerate(words)]


def checked(mask: str, time: str, window: Window | None, *, keep_null_time: bool) -> str:
    """The mask; an error if the event's ``time`` is NULL or the window's length is not positive."""
    errors = []
    if keep_null_time:
        message = (
            f"[CEP_DATA_NULL_EVENT_TIME] {time} is NULL; filter such events, or set sparkcep.nullEventTime to drop"
        )
        errors.append(f"WHEN ({time}) IS NULL THEN RAISE_ERROR({string(message)})")
    if window is not None and window.events is None and window.amount is None:
        length = f"COALESCE({window.deadline} > {window.time}, FALSE)"
        errors.append(f"WHEN ({time}) IS NOT NULL AND NOT {length} THEN RAISE_ERROR({string(NOT_POSITIVE)})")
    return f"CASE {' '.join(errors)} ELSE {mask} END" if errors else mask


def _bits(word: Sequence[str | None]) -> list[str]:
    always = sum(1 << i for i, condition in enumerate(word) if condition is None)
    tested = [
        f"CASE WHEN {condition} THEN {1 << i}L ELSE 0L END" for i, condition in enumerate(word) if condition is not None
    ]
    return [*tested, f"{always}L"] if always or not tested else tested

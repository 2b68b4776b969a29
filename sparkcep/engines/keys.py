"""A partition's values, as errors and notices name it."""

from __future__ import annotations

import pyarrow as pa

LONGEST = 100
"""Characters of a key that are shown."""
OWN = "__cep"
"""Columns whose names begin with this are not the user's."""


def key_text(keys: pa.Table) -> str:
    """``name = value, …`` of a table's one row."""
    (row,) = keys.to_pylist()
    parts = (str(value) if name.startswith(OWN) else f"{name} = {value}" for name, value in row.items())
    text = ", ".join(parts)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"

"""Rows that differ from the row before them, as Spark compares them.

In: a table and names of columns. Out: a flag for each row. NULL is equal to NULL, NaN to NaN.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray


def changes(rows: pa.Table, names: list[str]) -> NDArray[np.bool_]:
    """Where a row differs from the one before it in any of the columns; the first row differs."""
    found = np.zeros(rows.num_rows, np.bool_)
    others = []
    for name in dict.fromkeys(names):
        column = rows.column(name)
        if plain(column):
            values = column.to_numpy()
            found[1:] |= values[1:] != values[:-1]
        else:
            others.append(name)
    if others and rows.num_rows:
        columns = (pl.col(name).ne_missing(pl.col(name).shift(1)) for name in others)
        found |= frame(rows, others).select(pl.any_horizontal(*columns).alias("new"))["new"].to_numpy()
    found[:1] = True
    return found


def frame(rows: pa.Table, names: list[str]) -> pl.DataFrame:
    """The columns ``names`` for Polars."""
    found = pl.from_arrow(rows.select(list(dict.fromkeys(names))))
    assert isinstance(found, pl.DataFrame)
    return found


def plain(column: pa.ChunkedArray) -> bool:
    """Whether numpy compares its values as Spark does."""
    return pa.types.is_integer(column.type) and not column.null_count

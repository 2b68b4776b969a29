"""What a bucket knows of a kept row beside its values: columns that the turns carry and no engine reads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CONTEXT = "__cep_context"
"""Where a kept row stands, in bits: BEHIND the search, so that only PREV looks at it; COVERED by a match that was found; FINAL in an earlier turn:
no row to come precedes it."""
BEHIND, COVERED, FINAL = 1, 2, 4
COPY = "__cep_copy"
"""A row's number among equal ones."""
STORED = "__cep_stored"
"""Where the state has the row (``segments``)."""
NOWHERE = -1
MARKS = (CONTEXT, COPY, STORED)


def marked(rows: pa.Table, place: int = NOWHERE) -> pa.Table:
    """``rows`` with the MARKS of new ones."""
    count, there = rows.num_rows, rows.column_names
    marks = {CONTEXT: np.zeros(count, np.int8), COPY: np.zeros(count, np.int32), STORED: np.full(count, place)}
    new = {name: pa.array(values) for name, values in marks.items() if name not in there}
    schema = pa.schema([*rows.schema, *(pa.field(name, values.type) for name, values in new.items())])
    return pa.Table.from_arrays([*rows.columns, *new.values()], schema=schema)


def are(bit: int, rows: pa.Table) -> NDArray[np.bool_]:
    """[rows]: whether they have the ``bit`` of CONTEXT."""
    context: NDArray[np.int8] = rows.column(CONTEXT).to_numpy()
    return context & bit != 0

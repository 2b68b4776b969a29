"""The variables of a bucket's state, as Spark declares and keeps them."""

from __future__ import annotations

from typing import Any, NamedTuple

STATE = "version int, clause string, text string, until long, timer long, rows binary, numbers binary, versions string, known binary"
SEGMENTED = "bucket string, token string, layout string"
ENTRY = "rows binary, marks binary"


class Variables(NamedTuple):
    """Of a bucket's state: one value, and for a large bucket a value and a map of segments (see ``state``)."""

    value: Any
    segmented: Any
    entries: Any


def variables(handle: Any) -> Variables:
    """The state's variables, by Spark's handle of the processor."""
    value, segmented = handle.getValueState("bucket", STATE), handle.getValueState("segmented", SEGMENTED)
    return Variables(value, segmented, handle.getMapState("segments", "number long", ENTRY))

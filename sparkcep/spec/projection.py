"""What an engine reads of whole rows, where no query of Spark's can say it: the pattern of a running stream may change, its plan may not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.row import RowPatternSpec


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an engine's input: its ``name``, its Spark ``type`` as JSON, and the ``tree`` of Spark's functions that computes it from a row."""

    name: str
    type: str
    tree: Any


@dataclass(frozen=True, slots=True)
class ProjectedSpec:
    """A version of a clause whose stream sends its rows whole.

    ``columns``: those of the engine's input that the rows have not got, masks included. ``sparse``: a row without a bit takes no part.
    ``deadline``: as in StreamSpec.
    """

    of: RowPatternSpec | EventPatternSpec | AggregateSpec
    columns: tuple[Column, ...]
    sparse: bool
    deadline: str | None = None

    @property
    def text(self) -> str:
        """The pattern as the user wrote it."""
        return self.of.text

"""COMPRESSED MATCHES: for each last event the part of the match buffer below it, as one row.

In: ``Parts``, of a search (``matches``) or made of matches (``enumerated``).

Out: tables of the spec's outputs. The buffer is a STRUCT of four arrays with one entry a node (and ``variables``, NULL,
whose type names the variables, an ARRAY for a closure):

* ``variable``: the number of the variable (in pattern order) whose event the node is; -1: the node is a union of two;
* ``event``: that event as a STRUCT (in a union: that of its first node); NULL: the closure took no event;
* ``previous``: the node before it, counted from 0 (-1: the match starts here); of a union: the first of its two nodes;
* ``other``: the union's second node (else -1).

The last node is the root: each walk from it along ``previous`` (at a union: along either) is a match, last event first.
Nodes come behind the nodes that they point to. See ``expansion`` for the way back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkcep.engines.event_pattern.output.output import Writer
from sparkcep.engines.event_pattern.output.parts import UNION, Parts
from sparkcep.pattern.event import elements
from sparkcep.spec.event import BufferStruct, EventPatternSpec, EventStruct


class PartWriter:
    """The output columns of one input table; ``components``: their variables."""

    def __init__(self, spec: EventPatternSpec, components: Sequence[str], table: pa.Table) -> None:
        self.outputs = spec.outputs
        self.writer = Writer(spec, table)
        positive = [element.variable for element in elements(spec.pattern, negated=False)]
        numbers = [positive.index(variable) for variable in components]
        self.numbers = np.array([*numbers, UNION], np.int8)
        kinds = {element.variable: element.kleene for element in elements(spec.pattern, negated=False)}
        self.variables = pa.struct(
            [pa.field(name, pa.list_(pa.int8()) if kleene else pa.int8()) for name, kleene in kinds.items()]
        )

    def write(self, part: Parts) -> pa.Table:
        """The rows of ``part``. PARTITION BY columns are those of the last event: it is in the same partition."""
        arrays = []
        for output in self.outputs:
            source = output.source
            if isinstance(source, BufferStruct):
                arrays.append(self._buffer(source, part))
            else:
                assert not isinstance(source, EventStruct)
                arrays.append(self.writer.take(source.column, part.last))
        return pa.Table.from_arrays(arrays, names=[output.name for output in self.outputs])

    def _buffer(self, source: BufferStruct, part: Parts) -> pa.StructArray:
        offsets = pa.array(np.concatenate([[0], np.cumsum(part.sizes)]).astype(np.int32))
        events = self._events(source, part.rows)
        children = [pa.array(self.numbers[part.components]), events, pa.array(part.previous), pa.array(part.others)]
        names = ["variable", "event", "previous", "other", "variables"]
        lists = [
            pa.ListArray.from_arrays(offsets, child, type=pa.list_(pa.field("element", child.type)))
            for child in children
        ]
        return pa.StructArray.from_arrays([*lists, pa.nulls(len(part), self.variables)], names=names)

    def _events(self, source: BufferStruct, rows: NDArray[np.int32]) -> pa.StructArray:
        """The events at ``rows``, NULL where there is none (-1)."""
        missing = rows < 0
        if not missing.any():
            return self.writer.struct(EventStruct("", source.fields), rows)
        events = self.writer.struct(EventStruct("", source.fields), np.where(missing, 0, rows))
        return pa.StructArray.from_arrays(events.flatten(), fields=list(events.type), mask=pa.array(missing))

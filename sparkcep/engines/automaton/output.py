"""Matches → tables of the spec's outputs: words become values again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkcep.engines.automaton.registers import Held
from sparkcep.engines.automaton.slow import Handles
from sparkcep.engines.automaton.structures import Found
from sparkcep.engines.row_match.values import RANKED
from sparkcep.engines.row_pattern.columns import Columns
from sparkcep.spec.automaton import AutomatonSpec, FinalState, RegisterValue
from sparkcep.spec.event import FirstEvent, LastEvent

_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)


def table(
    spec: AutomatonSpec,
    found: Found,
    held: dict[str, Held],
    columns: Columns,
    handles: Handles,
    strings: Mapping[str, pa.Array],
) -> pa.Table:
    """The outputs of some matches. ``strings``: by kind, the values by rank."""
    arrays = []
    for output in spec.outputs:
        match output.source:
            case FirstEvent(column=name):
                arrays.append(columns.take(name, found.start))
            case LastEvent(column=name):
                arrays.append(columns.take(name, found.end))
            case FinalState():
                arrays.append(state_names(spec.states).take(pa.array(found.state)))
            case RegisterValue(register=name):
                arrays.append(values(held[name], found.registers, handles, strings))
    return pa.table(arrays, names=[output.name for output in spec.outputs])


@lru_cache(maxsize=64)
def state_names(states: tuple[str, ...]) -> pa.Array:
    """The names by number; made once, not in each turn of a stream."""
    return pa.array(states, pa.string())


def values(held: Held, registers: NDArray[np.int64], handles: Handles, strings: Mapping[str, pa.Array]) -> pa.Array:
    """The values of one register in runs [n, words]."""
    words = np.ascontiguousarray(registers[:, held.word])
    missing = registers[:, held.flag] == 0 if held.flag >= 0 else np.zeros(len(words), np.bool_)
    if held.handle:
        known = handles.values
        found = [None if gone else known[word] for word, gone in zip(words.tolist(), missing.tolist(), strict=True)]
        return _of_python(found, held.data_type)
    if held.kind.name in RANKED:
        return strings[held.kind.name].take(pa.array(words, mask=missing)).cast(held.data_type)
    return _numbers(words, missing, held.data_type)


def _numbers(words: NDArray[np.int64], missing: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Words that are numbers as values of the type; numpy converts a few rows sooner than Arrow's functions have begun."""
    if pa.types.is_floating(kind):
        floats = np.where(words < 0, words ^ _SIGN, words).view(np.float64)
        return pa.array(floats.astype(kind.to_pandas_dtype(), copy=False), kind, mask=missing)
    if pa.types.is_boolean(kind):
        return pa.array(words != 0, mask=missing)
    if pa.types.is_decimal(kind):
        both = np.stack([words, words >> 63], axis=1)
        found = pa.Array.from_buffers(kind, len(words), [None, pa.py_buffer(both)])
        return pc.if_else(pa.array(~missing), found, pa.scalar(None, kind)) if missing.any() else found
    if pa.types.is_temporal(kind):
        return pa.array(words.astype(np.int32) if kind.bit_width == 32 else words, mask=missing).view(kind)
    return pa.array(words.astype(kind.to_pandas_dtype(), copy=False), kind, mask=missing)


def _of_python(found: list[object], kind: pa.DataType) -> pa.Array:
    """Values as the functions make them: dates and times are numbers."""
    if pa.types.is_temporal(kind):
        return pa.array(found, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    return pa.array(found, kind)

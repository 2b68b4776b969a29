"""Constants of conditions, and defaults of registers, as words."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from sparkcep.engines.row_match.values import Kind
from sparkcep.errors import CepInternalError
from sparkcep.spec.expression import Constant

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def word_of(constant: Constant) -> int:
    """The word of a constant that is neither NULL nor a string."""
    value: Any = constant.value
    if constant.type in ("float", "double"):
        return float_word(value)
    if constant.type.startswith("decimal"):
        scale = int(constant.type[:-1].split(",")[1])
        return int(Decimal(value).scaleb(scale))
    return int(value)


def float_word(value: float) -> int:
    """A float's key: as ``word_kernels.float_key``."""
    bits: int = struct.unpack("<q", struct.pack("<d", float("nan") if value != value else value + 0.0))[0]
    return bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF


def kind_of_constant(constant: Constant) -> Kind:
    """The kind of a constant's value."""
    if constant.value is None:
        return Kind("null")
    if constant.type in _BITS:
        return Kind("integer", _BITS[constant.type])
    if constant.type in ("float", "double"):
        return Kind("float", 32 if constant.type == "float" else 64)
    if constant.type.startswith("decimal"):
        return Kind("decimal", scale=int(constant.type[:-1].split(",")[1]))
    if constant.type in ("string", "boolean"):
        return Kind(constant.type)
    raise CepInternalError(f"a constant of the type {constant.type} in a condition")

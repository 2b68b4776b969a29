"""Constants of conditions, and defaults of registers, as words; decimals as unscaled integers."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from sparkcep.engines.arrow_types import arrow_type
from sparkcep.engines.row_match.values import Kind, kind_of
from sparkcep.errors import CepInternalError
from sparkcep.spec.expression import Constant


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
    return Kind("null") if constant.value is None else kind_of_type(constant.type)


def kind_of_type(type_text: str) -> Kind:
    """The kind of the values of a type in SQL."""
    data_type = arrow_type(type_text)
    if data_type is None:
        raise CepInternalError(f"a value of the type {type_text} in a condition")
    return kind_of(data_type)

"""Literals as Spark's parser reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyspark.sql.types import DataType
from sqlglot import exp

from rewrites.bind.literals import literal
from rewrites.bind.typed_refusals import refused
from rewrites.sql.instants import interval_micros, local_micros
from sparkcep.spec.expression import Constant
from sparkcep.spec.types import is_day_time

_SUFFIXED = re.compile(r"(-?)\s*([\d.]+(?:e[+-]?\d+)?)(?:l|s|y|d|bd)?", re.IGNORECASE)
_INSTANT = re.compile(r"(DATE|TIMESTAMP|TIMESTAMP_LTZ)\s*'[^'\\]*'", re.IGNORECASE)


def constant_of(node: exp.Expression, text: str, data_type: DataType, value: Callable[[str], Any]) -> Constant | None:
    """The literal that ``node`` is, of that text and type; None: it is none. ``value``: the one column of the one row of a query.

    Raises CepUnsupportedError, without a span, for a literal whose value is not certain."""
    type_text, number = data_type.simpleString(), _SUFFIXED.fullmatch(text)
    found = literal(text if number is None else number[1] + number[2], data_type)
    if found is not None:
        return found
    if isinstance(node, exp.Interval) and is_day_time(type_text):
        return Constant(int(value(f"SELECT {interval_micros(text)}")), type_text)
    if _INSTANT.fullmatch(text):
        reads = {"date": f"UNIX_DATE({text})", "timestamp_ntz": local_micros(text)}
        return Constant(int(value(f"SELECT {reads.get(type_text, f'UNIX_MICROS({text})')}")), type_text)
    if number is not None or isinstance(node, exp.Literal | exp.Interval):
        raise refused(f"the constant {text}")
    return None

"""The functions that ``typed_tree`` makes trees of: Spark's class for each, and what its parameters take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rewrites.bind.coercion import FLOATS, is_number
from sparkcep.spec.types import kind


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's class in Spark, and what its parameters take (``taken_as``); a last one with ``*`` repeats. ``defaults``: of the last
    ones. ``settings``: ``fails`` (in ANSI mode), ``zone`` (the session's), ``size`` (whether that of NULL is -1), or text."""

    name: str
    parameters: tuple[str, ...]
    settings: tuple[str, ...] = ()
    defaults: tuple[Any, ...] = ()


def _signatures(*rows: tuple[Any, ...]) -> dict[str, Signature]:
    """(the names of functions, what ``Signature`` has) → by name."""
    return {name: Signature(row[1], tuple(row[2].split()), *row[3:]) for row in rows for name in row[0].split()}


_FORMAT = "yyyy-MM-dd HH:mm:ss"
"""Of a timestamp it is not read."""

FUNCTIONS = _signatures(
    ("abs", "Abs", "number", ("fails",)),
    ("round", "Round", "number places", (), (0,)),
    ("bround", "BRound", "number places", (), (0,)),
    ("floor", "Floor", "decimal_or_double", ("fails",)),
    ("ceil ceiling", "Ceil", "decimal_or_double", ("fails",)),
    ("sqrt", "Sqrt", "double"),
    ("exp", "Exp", "double"),
    ("ln", "Log", "double"),
    ("log10", "Log10", "double"),
    ("log2", "Log2", "double"),
    ("log1p", "Log1p", "double"),
    ("pow power", "Pow", "double double"),
    ("expm1", "Expm1", "double"),
    ("cbrt", "Cbrt", "double"),
    ("hypot", "Hypot", "double double"),
    ("rint", "Rint", "double"),
    ("sin", "Sin", "double"),
    ("cos", "Cos", "double"),
    ("tan", "Tan", "double"),
    ("cot", "Cot", "double"),
    ("sec", "Sec", "double"),
    ("csc", "Csc", "double"),
    ("asin", "Asin", "double"),
    ("acos", "Acos", "double"),
    ("atan", "Atan", "double"),
    ("atan2", "Atan2", "double double"),
    ("sinh", "Sinh", "double"),
    ("cosh", "Cosh", "double"),
    ("tanh", "Tanh", "double"),
    ("radians", "ToRadians", "double"),
    ("degrees", "ToDegrees", "double"),
    ("factorial", "Factorial", "int"),
    ("sign signum", "Signum", "double"),
    ("isnan", "IsNaN", "fractional"),
    ("nanvl", "NaNvl", "same same"),
    ("coalesce nvl ifnull", "Coalesce", "same same*"),
    ("greatest", "Greatest", "same same*"),
    ("least", "Least", "same same*"),
    ("if", "If", "boolean same same"),
    ("isnull", "IsNull", "any"),
    ("isnotnull", "IsNotNull", "any"),
    ("lower lcase", "Lower", "string"),
    ("upper ucase", "Upper", "string"),
    ("length len char_length character_length", "Length", "string"),
    ("concat", "Concat", "string string*"),
    ("concat_ws", "ConcatWs", "string string*"),
    ("substring substr", "Substring", "string int int", (), ((1 << 31) - 1,)),
    ("left", "Left", "string int"),
    ("right", "Right", "string int"),
    ("trim", "StringTrim", "string"),
    ("ltrim", "StringTrimLeft", "string"),
    ("rtrim", "StringTrimRight", "string"),
    ("startswith", "StartsWith", "string string"),
    ("endswith", "EndsWith", "string string"),
    ("contains", "Contains", "string string"),
    ("instr", "StringInstr", "string string"),
    ("levenshtein", "Levenshtein", "string string"),
    ("replace", "StringReplace", "string string string", (), ("",)),
    ("reverse", "Reverse", "string"),
    ("repeat", "StringRepeat", "string int"),
    ("space", "StringSpace", "int"),
    ("translate", "StringTranslate", "string string string"),
    ("lpad", "StringLPad", "string int string", (), (" ",)),
    ("rpad", "StringRPad", "string int string", (), (" ",)),
    ("locate", "StringLocate", "string string int", (), (1,)),
    ("split_part", "SplitPart", "string string int"),
    ("split", "StringSplit", "string pattern int", (), (-1,)),
    ("rlike regexp regexp_like", "RLike", "string pattern"),
    ("regexp_extract", "RegExpExtract", "string pattern int", (), (1,)),
    ("regexp_extract_all", "RegExpExtractAll", "string pattern int", (), (1,)),
    ("regexp_instr", "RegExpInStr", "string pattern int", (), (0,)),
    ("regexp_replace", "RegExpReplace", "string pattern pattern places", (), (1,)),
    ("substring_index", "SubstringIndex", "string string int"),
    ("ascii", "Ascii", "string"),
    ("bit_length", "BitLength", "string"),
    ("octet_length", "OctetLength", "string"),
    ("raise_error", "RaiseError", "string"),
    ("datediff date_diff", "DateDiff", "date date"),
    ("date_add dateadd", "DateAdd", "date int"),
    ("date_sub", "DateSub", "date int"),
    ("add_months", "AddMonths", "date int"),
    ("year", "Year", "date"),
    ("quarter", "Quarter", "date"),
    ("month", "Month", "date"),
    ("weekofyear", "WeekOfYear", "date"),
    ("day dayofmonth", "DayOfMonth", "date"),
    ("dayofweek", "DayOfWeek", "date"),
    ("weekday", "WeekDay", "date"),
    ("dayofyear", "DayOfYear", "date"),
    ("last_day", "LastDay", "date"),
    ("hour", "Hour", "timestamp", ("zone",)),
    ("minute", "Minute", "timestamp", ("zone",)),
    ("second", "Second", "timestamp", ("zone",)),
    ("unix_micros", "UnixMicros", "timestamp"),
    ("unix_millis", "UnixMillis", "timestamp"),
    ("unix_seconds", "UnixSeconds", "timestamp"),
    ("unix_date", "UnixDate", "date"),
    ("unix_timestamp", "UnixTimestamp", "timestamp string", ("zone",), (_FORMAT,)),
    ("to_unix_timestamp", "ToUnixTimestamp", "timestamp string", ("zone",), (_FORMAT,)),
    ("timestamp_micros", "MicrosToTimestamp", "bigint"),
    ("timestamp_millis", "MillisToTimestamp", "bigint"),
    ("date_from_unix_date", "DateFromUnixDate", "int"),
    ("months_between", "MonthsBetween", "timestamp timestamp boolean", ("zone",), (True,)),
    ("make_date", "MakeDate", "int int int", ("fails",)),
    ("trunc", "TruncDate", "date unit"),
    ("date_trunc", "TruncTimestamp", "unit timestamp", ("zone",)),
    ("size cardinality", "Size", "array", ("size",)),
    ("array_join", "ArrayJoin", "strings string"),
    ("array_contains", "ArrayContains", "array element"),
    ("array_position", "ArrayPosition", "array element"),
    ("array_remove", "ArrayRemove", "array element"),
    ("array_distinct", "ArrayDistinct", "array"),
    ("array_max", "ArrayMax", "array"),
    ("array_min", "ArrayMin", "array"),
    ("sort_array", "SortArray", "array order", (), (True,)),
    ("slice", "Slice", "array int int"),
    ("element_at", "ElementAt", "array int", ("fails", "None")),
    ("try_element_at", "ElementAt", "array int", ("False", "None")),
    ("get", "GetArrayItem", "array int", ("False",)),
    ("array_repeat", "ArrayRepeat", "any int"),
    ("array_union", "ArrayUnion", "array first"),
    ("array_intersect", "ArrayIntersect", "array first"),
    ("array_except", "ArrayExcept", "array first"),
    ("arrays_overlap", "ArraysOverlap", "array first"),
)
"""Those that a tree can be made of, by the names that SQL has for them."""


CONSTANT = ("places", "order", "unit", "pattern")
"""What only constants are."""


def _never(own: str) -> bool:
    return False


_TAKEN: dict[str, Callable[[str], bool]] = {
    "any": lambda own: True,
    "number": is_number,
    "decimal_or_double": lambda own: kind(own) == "decimal" or own == "double",
    "fractional": FLOATS.__contains__,
    "places": "int".__eq__,
    "order": "boolean".__eq__,
    "unit": "string".__eq__,
    "pattern": "string".__eq__,
    "array": lambda own: kind(own) == "array",
    "strings": "array<string>".__eq__,
}
"""The types that a parameter takes as they are; others take their own."""
_CAST: dict[str, tuple[str, Callable[[str], bool]]] = {
    "decimal_or_double": ("double", "int".__eq__),
    "fractional": ("double", is_number),
    "double": ("double", is_number),
    "int": ("int", ("tinyint", "smallint").__contains__),
    "date": ("date", ("timestamp", "timestamp_ntz").__contains__),
}
"""What a parameter casts, and to which type."""


def taken_as(what: str, own: str, first: str) -> str | None:
    """The type as which a parameter takes an argument, whose own type is given; None: Spark refuses it, or it is not certain what Spark does.

    ``what``: a type, or ``fractional`` (FLOAT or DOUBLE), ``places``, ``order``, ``unit`` and ``pattern`` (constants), ``strings`` (their array),
    ``element`` (what the ``first`` argument has), ``first`` …; ``same``, what the result is, is not asked here."""
    like_first = first == {"element": f"array<{own}>", "first": own}.get(what)
    if own == what or like_first or _TAKEN.get(what, _never)(own):
        return own
    target, is_cast = _CAST.get(what, ("", _never))
    return target if is_cast(own) else None

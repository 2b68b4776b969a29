"""MatchSpec ↔ JSON.

A dataclass becomes ``{"is": "ClassName", field: value, …}`` without default values, a tuple a list. Spans (fields excluded from comparison) are not
encoded: they belong to one SQL text. Decoding accepts only the classes registered here.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, Field, fields, is_dataclass
from types import ModuleType
from typing import Any

from sparkcep.errors import CepInternalError
from sparkcep.pattern import event as event_pattern
from sparkcep.pattern import row as row_pattern
from sparkcep.spec import aggregate, analyze, automaton, event, expression, order, projection, row, stream

Spec = (
    row.RowPatternSpec
    | event.EventPatternSpec
    | aggregate.AggregateSpec
    | aggregate.AggregateFunctionSpec
    | automaton.AutomatonSpec
    | analyze.AnalyzeSpec
    | stream.StreamSpec
    | projection.ProjectedSpec
)

SPEC_VERSION = 1
"""Incremented when the meaning of a field changes; a stored view with another version is refused, never misread."""


def to_json(spec: Spec) -> str:
    """The spec as one line of JSON, deterministic for equal specs."""
    return json.dumps({"version": SPEC_VERSION, "spec": _encode(spec)}, separators=(",", ":"))


def from_json(text: str) -> Spec:
    """The spec that ``to_json`` wrote. Raises CepInternalError for another version or an unknown class."""
    document = json.loads(text)
    if document.get("version") != SPEC_VERSION:
        raise CepInternalError(
            f"a MatchSpec of version {document.get('version')} met a sparkcep that reads version {SPEC_VERSION}",
            hint="create the view again, or install the same sparkcep on driver and workers",
        )
    spec: Spec = _decode(document["spec"])
    return spec


_MODULES: tuple[tuple[str, ModuleType], ...] = (
    ("row_pattern", row_pattern),
    ("event_pattern", event_pattern),
    ("expression", expression),
    ("row", row),
    ("event", event),
    ("aggregate", aggregate),
    ("automaton", automaton),
    ("analyze", analyze),
    ("stream", stream),
    ("projection", projection),
    ("stream", order),
)
_REGISTRY = {
    f"{prefix}.{name}": cls
    for prefix, module in _MODULES
    for name, cls in vars(module).items()
    if isinstance(cls, type) and is_dataclass(cls) and cls.__module__ == module.__name__
}
_NAMES: dict[Any, str] = {cls: name for name, cls in _REGISTRY.items()}


def _encode(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if not is_dataclass(value):
        return value
    encoded: dict[str, Any] = {"is": _NAMES[type(value)]}
    for part in fields(value):
        item = getattr(value, part.name)
        if part.compare and not _is_default(part, item):
            encoded[part.name] = _encode(item)
    return encoded


def _is_default(part: Field[Any], value: Any) -> bool:
    return part.default is not MISSING and value == part.default and type(value) is type(part.default)


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    cls = _REGISTRY.get(value["is"])
    if cls is None:
        raise CepInternalError(f"a MatchSpec holds the unknown class {value['is']!r}")
    return cls(**{name: _decode(item) for name, item in value.items() if name != "is"})

"""Row patterns with match-dependent conditions, on a stream: as ``row_pattern.stream``, with this folder's search."""

from __future__ import annotations

from sparkcep.engines.row_match import engine
from sparkcep.engines.row_pattern.stream import decider, row_spec
from sparkcep.engines.turn import Decide
from sparkcep.spec.stream import StreamSpec


def compile(spec: StreamSpec, *, closing: bool = False) -> Decide:
    """As in ``row_pattern.stream``. Raises CepUnsupportedError, beside what the batch engine's ``compile`` raises."""
    return decider(spec, engine.compile(row_spec(spec)), closing=closing)

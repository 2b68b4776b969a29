"""MatchSpec: the only thing sent from the driver to the workers, as JSON inside the SQL text.

``RowPatternSpec`` describes a MATCH_RECOGNIZE clause, ``EventPatternSpec`` a MATCH PATTERN clause, ``AggregateSpec`` one of which only aggregates
are wanted, ``AutomatonSpec`` a MATCH AUTOMATON clause, ``AnalyzeSpec`` any of them, to be counted, and ``StreamSpec`` one over a stream. They name
columns of the engine's input table, never SQL: whatever Spark can compute is already a column.
"""

from sparkcep.spec.aggregate import AggregateSpec
from sparkcep.spec.analyze import AnalyzeSpec
from sparkcep.spec.automaton import AutomatonSpec
from sparkcep.spec.codec import SPEC_VERSION, from_json, to_json
from sparkcep.spec.event import EventPatternSpec
from sparkcep.spec.row import RowPatternSpec
from sparkcep.spec.stream import StreamSpec

MatchSpec = RowPatternSpec | EventPatternSpec | AggregateSpec | AutomatonSpec

__all__ = [
    "SPEC_VERSION",
    "AggregateSpec",
    "AnalyzeSpec",
    "AutomatonSpec",
    "EventPatternSpec",
    "MatchSpec",
    "RowPatternSpec",
    "StreamSpec",
    "from_json",
    "to_json",
]

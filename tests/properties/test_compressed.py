"""COMPRESSED MATCHES: one row per last event, and what its buffer expands to are the matches, under every strategy."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given

from sparkcep.engines.event_pattern import engine as event_engine
from sparkcep.engines.event_pattern.output.expansion import expand
from sparkcep.engines.nfa_b import engine as nfa_engine
from sparkcep.errors import CepError
from sparkcep.pattern.event import elements
from sparkcep.spec.event import BufferStruct, EventPatternSpec, LastEvent, Output
from tests.adapters import event_matches, event_pattern_spec, event_tables
from tests.corpus import EventCase
from tests.draws import draws
from tests.properties.strategies import event_cases


@pytest.mark.parametrize("strategy", ("any", "next", "partition_contiguity"))
@draws(60)
@given(case=event_cases(over_closures=True))
def test_expansion_equals_all_matches(strategy: str, case: EventCase) -> None:
    case = replace(case, strategy=strategy)
    try:
        every = event_matches(case)
    except CepError:
        assume(False)
    found: Counter[Any] = Counter()
    for end, matches in _compressed(case):
        assert matches
        found.update(matches)
        assert all(end in _events(match) for match in matches)
    assert found == Counter(every)


def _events(match: tuple[Any, ...]) -> list[str]:
    return [one for value in match for one in (value if isinstance(value, tuple) else (value,))]


def _compressed(case: EventCase) -> list[tuple[str, list[Any]]]:
    spec: EventPatternSpec = replace(
        event_pattern_spec(case),
        matches="compressed",
        outputs=(Output("end", LastEvent("id")), Output("buffer", BufferStruct((("id", "id"),)))),
    )
    runner: Any = event_engine if case.strategy == "any" else nfa_engine
    tables = list(event_tables(case))
    results = runner.compile(spec).run(pa.concat_tables(tables)) if tables else []
    rows = [row for table in results for row in table.to_pylist()]
    ends = [row["end"] for row in rows]
    assert len(ends) == len(set(ends))
    kleene = [element.kleene for element in elements(spec.pattern, negated=False)]
    return [(row["end"], [tuple(map(_ids, match)) for match in _expanded(row["buffer"], kleene)]) for row in rows]


def _expanded(buffer: dict[str, Any], kleene: list[bool]) -> list[tuple[Any, ...]]:
    return list(expand(buffer["variable"], buffer["event"], buffer["previous"], buffer["other"], kleene))


def _ids(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(item["id"] for item in value)
    return None if value is None else value["id"]

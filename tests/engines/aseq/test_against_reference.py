"""A-Seq = the reference = the lazy chain engine, on random patterns and streams."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import Any

from hypothesis import assume, event, given
from hypothesis import strategies as st

from sparkcep.engines.aseq.sequences import check, sequences
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.pattern.event import elements
from sparkcep.spec.aggregate import MatchAggregate
from tests.adapters import event_matches as chain_matches
from tests.corpus import EventCase
from tests.draws import draws
from tests.engines.aseq.cases import aggregate_spec, aggregates
from tests.properties.strategies import event_cases
from tests.reference.aggregates import aggregate
from tests.reference.branches import UndefinedError
from tests.reference.corpus import event_query
from tests.reference.event_sql import equivalence
from tests.reference.events import match_events
from tests.reference.text import event_pattern


def _counted(case: EventCase) -> EventCase:
    """The case without conditions over two variables, if A-Seq counts its pattern."""
    pattern = event_pattern(case.pattern)
    where = tuple(text for text in case.where if equivalence(text) or len(set(re.findall(r"\bv\d", text))) == 1)
    try:
        sequences(pattern)
    except (CepUnsupportedError, CepAnalysisError):
        assume(False)
    return replace(case, where=where)


def _expected(case: EventCase, wanted: list[tuple[str, str | None, str | None]]) -> list[tuple[Any, ...]]:
    """Aggregates of the matches of each partition, as the engine's partitions are: by PARTITION BY and ``[attr]``."""
    query = event_query(case)
    parts: dict[Any, list[Any]] = defaultdict(list)
    for match in sorted(match_events(query, case.events), key=repr):
        taken = next(at if isinstance(at, int) else at[0] for _, at in match if at not in (None, ()))
        parts[tuple(case.events[taken].get(name) for name in query.partition + query.equivalence)].append(match)
    return [tuple(aggregate(matches, case.events, one) for one in wanted) for matches in parts.values()]


@draws(200)
@given(event_cases(), st.booleans())
def test_aggregates_equal_the_references(case: EventCase, split: bool) -> None:
    case = _counted(case)
    variables = [element.variable for element in elements(event_pattern(case.pattern), negated=False)]
    wanted = [("count", None, None)]
    wanted += [(name, v, "x") for v in variables for name in ("count", "sum", "min", "max")]
    try:
        expected = _expected(case, wanted)
    except UndefinedError:
        assume(False)
    event(f"{min(len(expected), 3)} partitions, {len(sequences(event_pattern(case.pattern)))} sequences")
    sources = [MatchAggregate(*one) for one in wanted]  # type: ignore[arg-type]
    assert sorted(aggregates(case, sources, split=split), key=repr) == sorted(expected, key=repr)
    doubles = [MatchAggregate(*one, number="double") for one in wanted]  # type: ignore[arg-type]
    assert sorted(aggregates(case, doubles), key=repr) == sorted((_floats(line, wanted) for line in expected), key=repr)
    assert len(chain_matches(case)) == sum(line[0] for line in expected)


_NEIGHBOURS = (
    "{0}[i].x {1} {0}[i-1].x",
    "ABS({0}[i].x - {0}[i-1].x) {1} 1",
    "({0}[i].x {1} {0}[i-1].x + 1 OR {0}[i-1].x * {0}[i].x = 2)",
)


@draws(100)
@given(
    event_cases(over_closures=True),
    st.lists(st.sampled_from(_NEIGHBOURS), min_size=1, max_size=2),
    st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
)
def test_neighbours_of_closures(case: EventCase, forms: list[str], sign: str) -> None:
    """Every closure has conditions between neighbours; others over several events are left out."""
    plain = tuple(text for text in case.where if equivalence(text) or re.fullmatch(r"v\d\.x > \d", text))
    closures = [element.variable for element in elements(event_pattern(case.pattern), negated=False) if element.kleene]
    assume(closures)
    compared = tuple(form.format(name, sign) for name in closures for form in forms)
    case = _counted(replace(case, where=plain))
    case = replace(case, where=case.where + compared)
    wanted: list[tuple[str, str | None, str | None]] = [("count", None, None)]
    wanted += [(name, closures[0], "x") for name in ("count", "sum", "min")]
    sources = [MatchAggregate(*one) for one in wanted]  # type: ignore[arg-type]
    try:
        check(aggregate_spec(case, sources))
        expected = _expected(case, wanted)
    except (CepUnsupportedError, UndefinedError):
        assume(False)
    assert sorted(aggregates(case, sources), key=repr) == sorted(expected, key=repr)


def _floats(line: tuple[Any, ...], wanted: list[tuple[str, str | None, str | None]]) -> tuple[Any, ...]:
    named = zip(line, wanted, strict=True)
    return tuple(float(v) if one[0] in ("count", "sum") and v is not None else v for v, one in named)

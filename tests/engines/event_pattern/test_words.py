"""Conditions of Spark's functions between events in words of 128 bits: what they say is what Python says, which is asked where they say nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from sparkcep.engines.event_pattern.values import slow
from sparkcep.engines.event_pattern.values.predicates import condition as prepared
from sparkcep.engines.event_pattern.values.predicates import evaluate, fault_error
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.spec.event import Predicate
from sparkcep.spec.expression import ColumnOf, Constant, SparkFunction, terms
from tests.draws import draws
from tests.spark_trees import (
    COLUMNS,
    Place,
    Row,
    apply,
    arithmetic,
    by_python,
    cast,
    conditions,
    leaf,
    placed,
    rows,
    table,
)


def own(place: Place) -> Any:
    return ColumnOf(place.at.lower(), place.column)


def by_engine(condition: SparkFunction, some: list[Row]) -> list[bool | str]:
    """Of each row, all at once."""
    events = pa.table(table(some))
    payload = Payload(events, np.arange(events.num_rows))
    wanted = prepared(Predicate(placed(condition, own), "it"), payload)
    first = np.arange(0, events.num_rows, 2)
    outcome = evaluate(wanted, payload, {"a": first, "b": first + 1})
    faults = np.zeros(len(some), np.int64) if outcome.faults is None else outcome.faults
    return [
        fault_error(wanted, fault).code if fault else bool(holds)
        for holds, fault in zip(outcome.holds, faults, strict=True)
    ]


@given(conditions(3), st.lists(rows, min_size=1, max_size=6))
@draws(800)
def test_as_python(condition: SparkFunction, some: list[Row]) -> None:
    assume(terms(placed(condition, own)))
    found = by_engine(condition, some)
    expected = [by_python(condition, row) for row in some]
    errors = {one for one in expected if isinstance(one, str)}
    event(f"errors: {len(errors)}")
    for one, wanted in zip(found, expected, strict=True):
        assert one == wanted or (isinstance(wanted, str) and one in errors)  # the first of them is shown


def test_python_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quotient of decimals that has more digits than 64 bits."""

    def never(*_: Any) -> Any:
        raise AssertionError

    ratio = arithmetic("Divide", leaf("price", "B"), leaf("price", "A"), "ANSI")
    condition = apply("GreaterThan", "boolean", ratio, cast(Constant("1.05", "decimal(3,2)"), ratio.type))
    pairs = [("0.01", "99999999.99"), ("100.00", "105.00"), ("100.00", "105.01"), (None, "1.00")]
    some = [
        dict.fromkeys(COLUMNS, (None, None)) | {"price": tuple(value and Decimal(value) for value in pair)}
        for pair in pairs
    ]
    monkeypatch.setattr(slow.SlowFunction, "answers", never)
    assert by_engine(condition, some) == [True, False, True, False]

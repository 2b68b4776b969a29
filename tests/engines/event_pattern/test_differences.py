"""Sums and differences as range predicates: a search finds, and raises, the same as evaluation pair by pair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engines.event_pattern.budget import Counters
from sparkcep.engines.event_pattern.candidates import differences, ranges
from sparkcep.engines.event_pattern.engine import compile
from sparkcep.engines.event_pattern.negation import negation
from sparkcep.engines.event_pattern.planner.plan import predicate_class
from sparkcep.engines.event_pattern.search import chain
from sparkcep.engines.event_pattern.values import lowering
from sparkcep.errors import CepDataError
from sparkcep.pattern.event import And, Element, Not, Seq
from sparkcep.spec.expression import Call
from tests.engines.event_pattern.streams import Clause, answer, call, stream, where

A, B, C = (Element(name.lower(), (name,)) for name in "ABC")
PATTERNS = (Seq((A, B, C)), And((A, B, C)), Seq((A, Not(B), C)), And((Seq((A, B)), C)))


def apart(left: str, right: str) -> Call:
    return call("sub", left, right)


def two(one: str, other: str) -> list[Call]:
    """Conditions on two events; ``c`` is a column of constants, ``y`` of numbers."""
    distance, x = apart(f"{one}.x", f"{other}.x"), f"{other}.x"
    shift = call("add", x, f"{other}.y")
    return [
        *(call(sign, distance, f"{one}.c") for sign in ("lt", "le", "gt", "ge", "eq")),  # type: ignore[arg-type]
        *(call(sign, call("abs", distance), f"{other}.c") for sign in ("lt", "le", "gt", "ge")),  # type: ignore[arg-type]
        call("ge", f"{one}.y", call("abs", distance)),
        call("and", call("ge", distance, f"{one}.c"), call("le", f"{one}.y", distance)),
        call("and", call("ge", f"{one}.x", x), call("lt", distance, f"{one}.c")),
        call("le", f"{one}.x", shift),
        call("eq", f"{one}.x", shift),
        call("gt", apart(f"{one}.y", f"{one}.x"), shift),
        call("lt", call("abs", apart(f"{one}.x", f"{one}.y")), call("abs", apart(x, f"{other}.y"))),
        call("lt", call("mul", f"{one}.x", x), apart(f"{one}.y", x)),
    ]


def three(a: str, b: str, c: str) -> list[Call]:
    return [
        call("lt", call("add", f"{a}.x", f"{b}.x"), f"{c}.x"),
        call("le", call("abs", apart(f"{c}.x", call("add", f"{a}.y", f"{b}.x"))), f"{a}.c"),
        call("gt", call("mul", f"{a}.x", f"{b}.x"), apart(f"{c}.x", f"{c}.y")),
    ]


CONDITIONS = [
    *(condition for pair in (("b", "a"), ("a", "b"), ("c", "b"), ("a", "c")) for condition in two(*pair)),
    *(condition for names in ("abc", "cab", "bca") for condition in three(*names)),
]
NAN, INF = float("nan"), float("inf")
CASES = 70
KERNELS: dict[str, Any] = {"KERNEL_PAIRS": 0, "SORTED_AFTER": 0, "SELECTIVE": 2.0, "BLOCK": 2, "FANOUT": 2}
TYPES: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "bigint": (pa.int64(), list(range(-4, 5)), [2**63 - 1, -(2**63), 2**62, 2**61 - 3, 3 - 2**61, 2**61 - 3]),
    "int": (pa.int32(), list(range(-4, 5)), [2**31 - 1, -(2**31)]),
    "tinyint": (pa.int8(), list(range(-4, 5)), [127, -128, 64]),
    "double": (pa.float64(), [0.1, 0.2, 0.3, 0.1 + 0.2, 0.7, -0.0, 0.0, 1.1, -0.1], [NAN, INF, -INF, 1e300, 1e16, 5e-324]),
    "float": (pa.float32(), [0.1, 0.2, 0.3, 0.7, 0.0], [NAN]),
    "decimal": (pa.decimal128(9, 2), [Decimal(n) / 4 for n in range(-4, 5)], [Decimal("9999999.99")]),
    "wide decimal": (pa.decimal128(18, 4), [Decimal(n) / 4 for n in range(-4, 5)], [Decimal("99999999999999.9999")]),
    "interval": (pa.duration("us"), [timedelta(seconds=n) for n in range(-3, 4)], [timedelta(days=99_999)]),
}  # fmt: skip


def cases(name: str, count: int) -> Iterator[tuple[Clause, list[dict[str, Any]], dict[str, pa.DataType]]]:
    """Random clauses over streams of ``count`` events; in a third of them some values are extreme."""
    kind, usual, rare = TYPES[name]
    random = Random(name)
    fitting = [condition for condition in CONDITIONS if _fits(condition, kind)]
    for at in range(CASES):
        cells = [*usual * 4, None, *random.choices(rare, k=at % 3) * 6]
        words = [random.choice("abc") + str(place) for place in range(count)]
        columns = {column: random.choices(cells, k=count) for column in "xy"}
        constants = random.choices([[random.choice(usual)], [random.choice(usual), None], cells][at % 3], k=count)
        conditions = random.sample(fitting, random.choice([1, 1, 2]))
        clause = Clause(random.choice(PATTERNS), predicates=where(*conditions), within=2 * count)
        yield clause, stream(" ".join(words), **columns, c=constants), dict.fromkeys("xyc", kind)


def _fits(condition: Call, kind: pa.DataType) -> bool:
    """Products of intervals and, compared with a difference, of decimals are refused."""
    return "mul" not in str(condition) or not (pa.types.is_duration(kind) or pa.types.is_decimal(kind))


@pytest.mark.parametrize("name", TYPES)
def test_searching_finds_what_evaluating_finds(name: str) -> None:
    for at, (clause, rows, types) in enumerate(cases(name, 14)):
        with patch.object(differences, "moved", _nothing), patch.object(lowering, "column_span", _nothing):
            expected = _answer(clause, rows, types)
        with patch.multiple(ranges, **KERNELS) if at % 2 else nullcontext():
            assert _answer(clause, rows, types) == expected, clause.predicates


def _nothing(*_: Any) -> None:
    """Nothing is known of the values."""


def _answer(clause: Clause, rows: list[dict[str, Any]], types: dict[str, pa.DataType]) -> Any:
    try:
        return answer(clause, rows, types)
    except CepDataError as error:
        return error.code


def test_rounding_is_the_predicates_own() -> None:
    """Of doubles 0.4 - 0.1 > 0.3, but not 0.4 > 0.1 + 0.3."""
    assert 0.4 - 0.1 > 0.3 and not 0.4 > 0.1 + 0.3
    near = Clause(Seq((A, B)), predicates=where(call("gt", apart("b.x", "a.x"), "b.c")))
    rows = stream("a1 b1", x=[0.1, 0.4], c=[0.3, 0.3])
    assert answer(near, rows, {"x": pa.float64(), "c": pa.float64()}) == [{"a": "a1", "b": "b1"}]


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_a_distance_is_searched_not_scanned(kind: Any) -> None:
    """``ABS(b.x - a.x) <= 1`` over 20,000 events without a window: 10^8 pairs, of which few are looked at."""
    count = 20_000
    x = np.random.default_rng(5).permutation(count)
    mask = np.left_shift(1, np.arange(count) % 2 + 1)
    mask[0] |= 1
    near = call("le", call("abs", apart("b.x", "a.x")), "b.one")
    clause = Clause(Seq((A, B)), predicates=where(near))
    columns = {"rank": np.arange(1, count + 1), "time": np.arange(count), "id": np.arange(count)}
    table = pa.table({"mask0": mask, **columns, "x": x.astype(kind), "one": np.ones(count, dtype=kind)})
    counters = Counters()
    found = sum(part.num_rows for part in compile(clause.spec()).run(table, counters=counters))
    place = np.argsort(x)
    pairs = np.sort(np.stack([place[:-1], place[1:]]), axis=0)
    assert found == int(((pairs[0] % 2 == 0) & (pairs[1] % 2 == 1)).sum())
    assert counters.predicates < count * 2000
    assert predicate_class(clause.predicates[0]) == "range"


def test_classes() -> None:
    x, distance = "b.x", apart("b.x", "a.x")
    ranges_of = [
        call("lt", distance, "b.c"),
        call("eq", distance, "b.c"),
        call("le", call("abs", distance), "b.c"),
        call("and", call("ge", call("abs", distance), "b.c"), call("le", distance, "b.y")),
        call("gt", x, call("add", "a.x", "c.x")),
        call("lt", call("abs", apart(x, "b.y")), call("abs", apart("a.x", "a.y"))),
    ]
    general = [
        call("gt", call("abs", distance), "b.c"),
        call("lt", call("mul", "a.x", x), "b.c"),
        call("lt", call("mul", "a.x", x), "c.x"),
        call("ne", distance, "b.c"),
    ]
    classes = [predicate_class(predicate) for predicate in where(*ranges_of, *general)]
    assert classes == ["range"] * 6 + ["general"] * 4


def test_a_possible_overflow_is_evaluated() -> None:
    """Only a pair that WHERE admits otherwise raises; values whose subtraction would overflow are far from all others."""
    clause = Clause(Seq((A, B)), predicates=where(call("lt", apart("b.x", "a.x"), "b.c")))
    rows = stream("a1 b1", x=[-(2**62), 2**62], c=[5, 5])
    with pytest.raises(CepDataError, match="ARITHMETIC_OVERFLOW"):
        answer(clause, rows)
    assert answer(clause, stream("a1 b1", x=[2**62, 2**62], c=[5, 5])) == [{"a": "a1", "b": "b1"}]


def test_what_the_finder_decides_is_not_evaluated() -> None:
    from sparkcep.engines.event_pattern.values.predicates import conditions

    asked: list[str] = []

    def noted(predicates: Any, payload: Any) -> Any:
        predicates = list(predicates)
        asked.extend(predicate.text for predicate in predicates)
        return conditions(predicates, payload)

    wanted = [call("lt", apart("b.x", "a.x"), "b.c"), call("ge", call("abs", apart("b.x", "a.x")), "b.c")]
    clause = Clause(Seq((A, B)), predicates=where(*wanted))
    with patch.object(chain, "conditions", noted), patch.object(negation, "conditions", noted):
        answer(clause, stream("a1 b1", x=[1, 2], c=[5, 5]))
    assert set(asked) == {str(wanted[1])}

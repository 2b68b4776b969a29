"""In which order variables are bound: by measured cost, by frequency, as the pattern says."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from sparkcep.engines.event_pattern.engine import compile
from sparkcep.engines.event_pattern.matches import orders
from sparkcep.engines.event_pattern.search import order
from sparkcep.pattern.event import And, Element, Seq
from tests.engines.event_pattern.streams import Clause, call, where

A, B, C, D = (Element(name.lower(), (name,)) for name in "ABCD")


def test_the_planner_measures_what_frequencies_hide() -> None:
    """B is rarest, but hardly any C equals a D: their pair comes first."""
    count = 6000
    kinds = [2, 4, 8]
    masks = [kinds[i % 3] for i in range(count)]
    masks = [1 if mask == 2 and i % 2 else mask for i, mask in enumerate(masks)]
    rows = pa.table(
        {
            "mask0": [masks[0] | 1, *masks[1:]],
            "x": [i % 1499 for i in range(count)],
            **{name: range(count) for name in ("rank", "time", "id")},
        }
    )
    clause = Clause(And((B, C, D)), events=300, predicates=where(call("eq", "c.x", "d.x")))
    with patch.object(order, "MEASURING", 0):  # as if there were more to gain
        by_cost = orders(compile(clause.spec()).plan, rows)[0]
    by_frequency = orders(compile(replace(clause.spec(), engine="chain")).plan, rows)[0]
    assert by_frequency.variables[0] == "b"
    assert set(by_cost.variables[:2]) == {"c", "d"}
    assert by_cost.cost is not None and by_cost.counts["b"] == 1000
    assert orders(compile(replace(clause.spec(), engine="eager")).plan, rows)[0].variables == ("b", "c", "d")


def test_pairs_to_evaluate_are_part_of_the_cost() -> None:
    """One A to ten Bs and thirty Cs, related by conditions that cannot be searched. The order C, B, A creates the fewest partial matches, but
    evaluates all pairs of the frequent types."""
    random, count = np.random.default_rng(4), 60_000
    kind = random.integers(0, 41, count)
    masks = np.where(kind < 1, 2, np.where(kind < 11, 4, 8))
    masks[0] |= 1
    rows = pa.table(
        {"mask0": masks, "x": random.integers(0, 20_000, count), "near": [20] * count}
        | dict.fromkeys(("rank", "time", "id"), range(count))
    )
    near = []
    for left, right in ("a.x", "b.x"), ("b.x", "c.x"):
        twice = call("add", left, left)
        near += [call("lt", call("sub", *pair), f"{right[0]}.near") for pair in ((twice, right), (right, twice))]
    found = orders(compile(Clause(Seq((A, B, C)), events=5000, predicates=where(*near)).spec()).plan, rows)[0]
    assert found.variables == ("a", "b", "c")
    both = {(one.given, one.variable): one.satisfied for one in found.selectivities}
    assert both["a", "b"] == both["b", "a"] and both["b", "c"] == both["c", "b"]

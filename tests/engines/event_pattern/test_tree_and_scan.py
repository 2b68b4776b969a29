"""What the Tree NFA and the stacks are for: fewer partial matches where rates change, fewer instances in the stacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from sparkcep.engines.event_pattern.budget import Counters
from sparkcep.engines.event_pattern.engine import compile
from sparkcep.engines.event_pattern.events import load
from sparkcep.engines.event_pattern.search.scan import scanned
from sparkcep.engines.event_pattern.values.values import Payload
from sparkcep.pattern.event import And, Element, Seq
from sparkcep.spec.event import Engine
from tests.engines.event_pattern.streams import Clause, call, stream, table, where

A, B, C = (Element(name.lower(), (name,)) for name in "ABC")


def changing(block: int = 24_000) -> pa.Table:
    """A is rare in the first third, B in the second, C in the last."""
    random = np.random.default_rng(4)
    kinds = [random.choice(3, size=block, p=np.where(np.arange(3) == rare, 0.01, 0.495)) for rare in range(3)]
    kind = np.concatenate(kinds)
    mask = np.left_shift(1, kind + 1)
    mask[0] |= 1
    columns = {name: np.arange(1, len(kind) + 1) for name in ("rank", "time", "id")}
    return pa.table({"mask0": mask, **columns})


def counted(engine: Engine, rows: pa.Table) -> tuple[int, int]:
    clause = Clause(Seq((A, B, C)), events=30)
    counters = Counters()
    plan = compile(replace(clause.spec(), engine=engine))
    return sum(part.num_rows for part in plan.run(rows, counters=counters)), counters.partial_matches


def test_the_tree_follows_rates_that_change() -> None:
    rows = changing()
    found = {engine: counted(engine, rows) for engine in ("chain", "tree", "eager", "stack")}
    assert len({matches for matches, _ in found.values()}) == 1
    matches, tree = found["tree"]
    assert matches > 1000
    least = min(partial for name, (_, partial) in found.items() if name != "tree")
    assert (least - matches) > 2 * (tree - matches)


def active(clause: Clause, text: str, **columns: list[int]) -> dict[str, list[int]]:
    spec = clause.spec()
    rows = table(clause, stream(text, **columns))
    events = load(rows, spec.masks, spec.rank, spec.within)
    indexes = {name: at for at, name in enumerate(spec.variables)}
    found = scanned(compile(spec).plan.branches[0], indexes, events, Payload(rows, events.positions))
    return {name: np.flatnonzero(found.taken_by(at)).tolist() for name, at in indexes.items()}


def test_an_instance_needs_one_of_the_state_before() -> None:
    """SASE's Figure 3: c1, b2 and d3 come before anything that leads to them."""
    assert active(Clause(Seq((A, B, C))), "c b c a b c b c a") == {"a": [3, 8], "b": [4, 6], "c": [5, 7]}


def test_a_window_is_left_by_the_latest_start() -> None:
    """b@9 lies in no window of an a; c@6 does with b@3, which only a@0 leads to, 6 before it."""
    assert active(Clause(Seq((A, B, C)), within=6), "a@0 b@3 c@5 c@6 b@9") == {"a": [0], "b": [1], "c": [2]}


def test_stacks_are_partitioned_by_an_equality() -> None:
    clause = Clause(Seq((A, B, C)), predicates=where(call("eq", "a.x", "b.x"), call("eq", "b.x", "c.x")))
    assert active(clause, "a a b c c", x=[1, 2, 2, 1, 2]) == {"a": [0, 1], "b": [2], "c": [4]}


def test_a_partial_order_needs_an_instance_of_each_predecessor() -> None:
    clause = Clause(Seq((And((A, B)), C)))
    assert active(clause, "a c b c") == {"a": [0], "b": [2], "c": [3]}

"""When negated events are checked: the same matches either way, and the cheaper way if the engine chooses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sparkcep.engines.event_pattern.budget import Counters
from sparkcep.engines.event_pattern.engine import compile
from sparkcep.pattern.event import Element, Not, Seq
from sparkcep.spec.event import Engine, Negation
from tests.engines.event_pattern.streams import Clause, call, where

A, N, C, D = (Element(name.lower(), (name,)) for name in "ANCD")
CLAUSE = Clause(
    Seq((A, Not(N), C, D)), events=60, predicates=where(call("lt", "n.x", "a.x"), call("lt", "a.x", "d.limit"))
)


def counted(negation: Negation, engine: Engine, *, refuting: bool, selective: bool) -> tuple[int, Counters]:
    """A random sequence of A, N, C and D. ``refuting``: every n refutes; ``selective``: no d fits."""
    count = 2000
    random = np.random.default_rng(7)
    kind = random.integers(0, 4, count)
    mask = np.left_shift(1, kind + 1)
    mask[0] |= 1
    columns = {name: np.arange(1, count + 1) for name in ("rank", "time", "id", "deadline")}
    x = np.where(kind == 1, 0 if refuting else 200, 100)
    table = pa.table({"mask0": mask, **columns, "x": x, "limit": np.full(count, 0 if selective else 1000)})
    plan = compile(replace(CLAUSE.spec(), negation=negation, engine=engine))
    counters = Counters()
    return sum(part.num_rows for part in plan.run(table, counters=counters)), counters


@pytest.mark.parametrize("engine", ["chain", "tree", "eager", "stack"])
@pytest.mark.parametrize("refuting", [True, False])
def test_the_same_matches(engine: Engine, refuting: bool) -> None:
    found = {counted(mode, engine, refuting=refuting, selective=False)[0] for mode in ("auto", "post", "first")}
    assert len(found) == 1
    assert found.pop() > 1000


def test_first_chance_spares_what_refuted_partial_matches_lead_to() -> None:
    post, first, auto = (
        counted(mode, "eager", refuting=True, selective=False)[1] for mode in ("post", "first", "auto")
    )
    assert first.partial_matches * 3 < post.partial_matches
    assert auto.partial_matches == first.partial_matches


def test_post_processing_spares_looking_where_hardly_anything_is_refuted() -> None:
    post, first, auto = (
        counted(mode, "eager", refuting=False, selective=True)[1] for mode in ("post", "first", "auto")
    )
    assert post.predicates * 1.5 < first.predicates
    assert auto.predicates < first.predicates
    assert auto.tried == post.tried

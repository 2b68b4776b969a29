"""The memory of failures forgets, but never remembers what did not happen: small memories, and little room, give the oracle's answers."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.engines.row_match import search
from sparkcep.engines.row_match.liveness import keys
from sparkcep.engines.row_match.registers import lay_out
from sparkcep.engines.row_match.values import Pool
from sparkcep.engines.row_pattern.program import compile_pattern
from sparkcep.spec.row import Skip
from tests.draws import draws
from tests.engines.row_match import conditions as of
from tests.engines.row_match import test_against_oracle as oracle
from tests.engines.row_match.helpers import spec_of
from tests.engines.row_pattern.helpers import A, B, C, alt, make_spec, maybe, plus, rep, seq, star

branching = st.sampled_from([
    seq(plus(alt(A, B)), C), seq(star(seq(plus(A), maybe(B))), C), seq(plus(alt(A, seq(A, B), B)), C, C),
    plus(alt(seq(A, C), seq(B, C), A)), seq(rep(alt(A, B), 0, None, False), C, rep(B, 2)),
])  # fmt: skip
long_rows = st.lists(st.sampled_from(["ABC", "ABC", "AB", "AB", "ABC", "A", "BC"]), min_size=5, max_size=8)


@draws(250)
@given(branching, long_rows, oracle.defines, st.sampled_from([Skip(), Skip("next_row")]), st.sampled_from([4, 8, 32]))
def test_any_size(pattern: Any, rows: list[str], conditions: Any, skip: Skip, size: int) -> None:
    spec = make_spec(pattern, oracle.OUTPUTS, skip=skip, defines=conditions, rows_per_match="all_show_empty")
    with patch.multiple(search, LEAST_MEMORY=size, MEMORY_BYTES=1 << 10, FIRST_ROOM=size // 2, BATCH_NODES=size // 2):
        table = oracle._table(spec, [rows])
        assert oracle._actual(spec, table) == oracle._expected(spec, [rows], table.to_pylist())


def width(pattern: Any, *defines: Any) -> int:
    """How many registers tell searches apart, at most."""
    spec = spec_of(pattern, *defines)
    return keys(compile_pattern(spec), lay_out(spec.variables, defines), defines, Pool({}, {}, {})).width - 2


@pytest.mark.parametrize(
    ("defines", "registers"),
    [
        ([of.define("A", of.call("gt", of.current("p"), of.current("p", -1)))], 0),
        ([of.define("A", of.call("gt", of.current("p"), of.last("p", "A")))], 0),
        ([of.define("A", of.call("gt", of.current("p"), of.last("p", "A", n=1)))], 1),
        ([of.define("B", of.call("gt", of.current("p"), of.last("p", "A")))], 1),
        ([of.define("B", of.call("gt", of.total("count", None, "A"), of.last("p", "A")))], 2),
    ],
)
def test_only_what_is_read_later_counts(defines: list[Any], registers: int) -> None:
    assert width(seq(plus(A), B), *defines) == registers

"""Queries that users of MATCH_RECOGNIZE know, on data of our own: exact matches."""

from __future__ import annotations

from sparkcep.pattern.row import Permute
from sparkcep.spec.row import Skip
from tests.engines.row_match import conditions as of
from tests.engines.row_match.helpers import labels, spans
from tests.engines.row_pattern.helpers import A, B, C, D, alt, hidden, maybe, plus, seq, star


def test_v_shape() -> None:
    down = of.define("B", of.call("lt", of.current("p"), of.last("p", "A", "B", n=1)))
    up = of.define("C", of.call("gt", of.current("p"), of.last("p", "B", "C", n=1)))
    price = [9, 7, 5, 6, 8, 8, 3, 4, 2]
    assert spans(seq(A, plus(B), plus(C)), down, up, columns={"p": price}) == [(0, 4), (5, 7)]
    assert labels(seq(A, plus(B), plus(C)), down, up, columns={"p": price}) == ["ABBCC", "ABC"]
    # two partitions: no match crosses the border
    assert spans(seq(A, plus(B), plus(C)), down, up, columns={"p": price}, parts=[3, 6]) == [(5, 7)]


def test_recovery_above_the_start() -> None:
    """The price falls, then rises until it is above where it fell from (Trino's and Snowflake's first example)."""
    down = of.define("B", of.call("lt", of.current("p"), of.current("p", -1)))
    top = of.define("D", of.call("gt", of.current("p"), of.last("p", "A")))
    price = [10, 8, 9, 7, 9, 11, 5, 6]
    assert labels(seq(A, plus(B), star(C), D), down, top, columns={"p": price}) == ["ABCCCD"]


def test_rising_run_by_logical_offset() -> None:
    before = of.last("p", "A", n=1)
    rising = of.define("A", of.call("or", of.call("is_null", before), of.call("gt", of.current("p"), before)))
    assert spans(plus(A), rising, columns={"p": [1, 2, 5, 5, 6, 3]}) == [(0, 2), (3, 4), (5, 5)]


def test_above_running_average() -> None:
    above = of.define("A", of.call("ge", of.current("p"), of.average("p", "A")))
    assert spans(plus(A), above, columns={"p": [4, 4, 6, 4, 3, 9]}) == [(0, 2), (3, 3), (4, 5)]


def test_bin_packing() -> None:
    """First-fit: rows that do not fit are left out, and go to a later bin."""
    fits = of.define("A", of.call("le", of.total("sum", "w", "A"), of.current("limit")))
    weight = [12, 9, 7, 3, 2, 11]
    found = labels(plus(alt(A, hidden(B))), fits, columns={"w": weight, "limit": [20] * 6})
    assert found == ["AA"]  # 12, (9), 7, (3), (2) no: 12 + 7 = 19, then nothing else fits
    assert spans(plus(A), fits, columns={"w": weight, "limit": [20] * 6}) == [(0, 0), (1, 3), (4, 5)]


def test_merging_ranges() -> None:
    joined = of.define("A", of.call("le", of.current("s", 1), of.total("max", "e", "A")))
    start, end = [1, 2, 4, 9, 10, 20], [3, 8, 5, 11, 10, 21]
    assert spans(seq(star(A), B), joined, columns={"s": start, "e": end}) == [(0, 2), (3, 4), (5, 5)]


def test_head_and_shoulders() -> None:
    names = ("S", "U", "D", "V", "E", "W", "F")
    price = [1, 4, 2, 7, 3, 5, 1, 0]
    rise, fall = (
        of.call("gt", of.current("p"), of.current("p", -1)),
        of.call("lt", of.current("p"), of.current("p", -1)),
    )
    head = of.call("gt", of.last("p", "V"), of.last("p", "U"))
    right = of.call("lt", of.last("p", "W"), of.last("p", "V"))
    defines = [
        of.define("U", rise), of.define("D", fall), of.define("V", rise), of.define("E", of.call("and", fall, head)),
        of.define("W", rise), of.define("F", of.call("and", fall, right)),
    ]  # fmt: skip
    from sparkcep.pattern.row import Variable

    s, *rest = (Variable(name) for name in names)
    pattern = seq(s, *(plus(part) for part in rest))
    assert labels(pattern, *defines, columns={"p": price}, variables=names) == ["SUDVEWFF"]


def test_classifier_alternates() -> None:
    """A row may be B only right after an A."""
    after_a = of.define("B", of.call("eq", of.classifier(n=1), of.current("a")))
    assert labels(plus(alt(B, A)), after_a, columns={"a": ["A"] * 5}) == ["ABABA"]


def test_subset_and_permute() -> None:
    lower = of.define("C", of.call("lt", of.current("p"), of.total("min", "p", "A", "B")))
    assert labels(seq(Permute((A, B)), C), lower, columns={"p": [5, 6, 5, 4]}) == ["ABC"]
    assert spans(seq(Permute((A, B)), C), lower, columns={"p": [5, 6, 5, 4]}) == [(1, 3)]


def test_match_number_in_a_condition() -> None:
    """The n-th match is at least n rows long: a failure of match 1 is none of match 2."""
    enough = of.define("B", of.call("eq", of.total("count", None), of.NUMBER))
    assert spans(seq(star(A), B), enough, columns={"p": [0] * 7}) == [(0, 0), (1, 2), (3, 5)]


def test_skips() -> None:
    falls = of.define("B", of.call("lt", of.current("p"), of.last("p", "A", "B", n=1)))
    price, pattern = [5, 4, 3, 2], seq(A, plus(B))
    assert spans(pattern, falls, columns={"p": price}, skip=Skip("next_row")) == [(0, 3), (1, 3), (2, 3)]
    assert spans(pattern, falls, columns={"p": price}, skip=Skip("last", ("B",))) == [(0, 3)]
    assert spans(pattern, falls, columns={"p": price}, skip=Skip("first", ("B",))) == [(0, 3), (1, 3), (2, 3)]
    assert spans(pattern, falls, columns={"p": price}, initial=True, skip=Skip("next_row")) == [(0, 3)]


def test_empty_matches_and_unmatched_rows() -> None:
    never = of.define("A", of.call("gt", of.current("p"), of.current("p")))
    assert labels(maybe(A), never, columns={"p": [1, 2]}) == ["", ""]
    low = of.define("A", of.call("lt", of.total("count", None, "A"), of.current("p")))
    outputs = (of.output("id", "id"), of.output_label("label"))
    assert spans(seq(A, A), low, columns={"p": [1, 9, 9, 1]}, rows_per_match="all_with_unmatched", outputs=outputs) == [
        (0, None),
        (1, "A"),
        (2, "A"),
        (3, None),
    ]


def test_navigation_out_of_the_partition_is_null() -> None:
    outside = of.define("A", of.call("is_null", of.last("p", "A", n=1, physical=-3)))
    assert spans(plus(A), outside, columns={"p": [1, 2, 3, 4, 5]}, parts=[5]) == [(0, 3), (4, 4)]

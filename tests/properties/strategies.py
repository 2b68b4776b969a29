"""Hypothesis strategies for corpus cases: small alphabets, ties, several partitions, NULL keys and values, windows.

``row_cases()`` and ``event_cases()`` draw a ``RowCase`` / ``EventCase`` without an expectation; the reference gives
that. Strategies are made once and kept: Hypothesis looks through each new one before it draws, which takes longer than
an engine's answer.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from sparkcep.pattern import event, row
from tests.corpus import EventCase, RowCase

LETTERS = ("A", "B", "C")
SKIPS = ("past_last_row", "next_row", "first", "last")
MODES = ("one", "all_show_empty", "all_omit_empty", "all_with_unmatched")
VALUES = (None, None, None, None, 0, 1, 2, 3)
NULLABLE = st.sampled_from(VALUES)
LABELS = st.sampled_from(["", "A", "B", "C", "AB", "AC", "BC", "ABC", "AB", "ABC"]).map(frozenset)
PARTITIONS = st.lists(st.lists(LABELS, min_size=1, max_size=6).map(tuple), min_size=1, max_size=3).map(tuple)


@cache
def row_patterns(max_leaves: int = 6) -> st.SearchStrategy[row.RowPattern]:
    """Every kind of node; quantifiers up to 3, greedy and reluctant, nested too."""
    variables = st.sampled_from([row.Variable(letter) for letter in LETTERS])
    others = st.sampled_from([row.Empty(), row.PartitionStart(), row.PartitionEnd()])
    leaves = st.one_of(variables, variables, variables, others)
    return st.recursive(leaves, _row_groups, max_leaves=max_leaves)


def _row_groups(inner: st.SearchStrategy[row.RowPattern]) -> st.SearchStrategy[row.RowPattern]:
    pairs = st.lists(inner, min_size=2, max_size=3).map(tuple)
    bounds = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (1, 2), (0, 2), (2, None), (0, 0), (2, 3)])
    return st.one_of(
        pairs.map(row.Concat),
        pairs.map(row.Concat),
        pairs.map(row.Alternate),
        st.lists(inner, min_size=2, max_size=2).map(lambda items: row.Permute(tuple(items))),
        st.builds(lambda item, span, greedy: row.Quantified(item, *span, greedy), inner, bounds, st.booleans()),
        st.builds(lambda item, span, greedy: row.Quantified(item, *span, greedy), inner, bounds, st.booleans()),
        inner.map(row.Excluded),
    )


@st.composite
def row_cases(draw: st.DrawFn) -> RowCase:
    """A pattern over labelled rows with a skip mode, a row mode and measures."""
    pattern = draw(row_patterns())
    partitions = draw(PARTITIONS)
    count = sum(len(part) for part in partitions)
    names = row.variables(pattern)
    texts = draw(st.lists(measures(names), min_size=1, max_size=4))
    skip = draw(st.sampled_from(SKIPS if names else SKIPS[:2]))
    return RowCase(
        name="drawn",
        pattern=str(pattern),
        partitions=partitions,
        columns={"x": tuple(draw(st.lists(NULLABLE, min_size=count, max_size=count)))},
        subset={"U": names[:2]} if names else {},
        skip=(skip, draw(st.sampled_from([*names, "U"])) if skip in ("first", "last") else None),
        initial=draw(st.integers(0, 7)) == 7,
        rows_per_match=draw(st.sampled_from(MODES if not _excludes(pattern) else MODES[:3])),
        measures={f"m{index}": text for index, text in enumerate(texts)},
    )


def _excludes(pattern: row.RowPattern) -> bool:
    return any(isinstance(node, row.Excluded) for node in row.walk(pattern))


@cache
def measures(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Navigations, CLASSIFIER, MATCH_NUMBER and aggregates, running and final."""
    prefix = st.sampled_from(["", "", *(f"{name}." for name in names), *(["U."] if names else [])])
    when = st.sampled_from(["RUNNING", "FINAL"])
    offset = st.integers(0, 2)
    logical = st.builds("{}({}x, {})".format, st.sampled_from(["FIRST", "LAST"]), prefix, offset)
    physical = st.builds("{}({}, {})".format, st.sampled_from(["PREV", "NEXT"]), logical, offset)
    function = st.sampled_from(["COUNT", "SUM", "MIN", "MAX", "ARRAY_AGG"])
    total = st.builds("{}({}x)".format, function, prefix)
    rows = st.builds("COUNT({}*)".format, prefix)
    return st.one_of(
        st.builds("{} {}".format, when, st.one_of(logical, physical, total, rows)),
        st.just("MATCH_NUMBER()"),
        st.builds("{} {}(CLASSIFIER(), {})".format, when, st.sampled_from(["FIRST", "LAST"]), offset),
    )


def _conditions(pattern: event.EventPattern, over_closures: bool) -> st.SearchStrategy[list[str]]:
    plain = st.integers(0, 2).flatmap(lambda most: st.lists(conjuncts(pattern), max_size=most))
    closures = kleene_conjuncts(pattern) if over_closures else None
    if closures is None:
        return plain
    return st.tuples(st.lists(closures, min_size=1, max_size=2), plain).map(lambda parts: parts[0] + parts[1][:1])


def kleene_conjuncts(pattern: event.EventPattern) -> st.SearchStrategy[str] | None:
    """Conditions over one closure; also of its elements or of all of it against another variable."""
    every = event.elements(pattern)
    closures = [element.variable for element in every if element.kleene]
    if not closures:
        return None
    negated = {element.variable for element in event.elements(pattern, negated=True)}
    pairs = [
        (name, other.variable + "{}" if other.kleene else other.variable + ".x")
        for name in closures
        for other in every
        if other.variable != name and not {other.variable, name} <= negated
    ]
    return _over_closures(tuple(closures), tuple(pairs))


@cache
def _over_closures(closures: tuple[str, ...], pairs: tuple[tuple[str, str], ...]) -> st.SearchStrategy[str]:
    """``pairs``: a closure and a column of another variable, which may lack its subscript."""
    sign = st.sampled_from(["=", "<", "<=", ">", ">=", "!="])
    walking = st.sampled_from(["{}[i].x", "{}[i].x", "{}[i-1].x", "SUM({}[..i-1].x)", "COUNT({}[..i-1].x)"])
    whole = st.sampled_from(
        ["{}[1].x", "{}[LAST].x", "SUM({}.x)", "MIN({}.x)", "MAX({}.x)", "COUNT({}.x)", "COUNT({}.*)"]
    )
    side = st.one_of(walking, whole)
    named = st.sampled_from(closures)
    neighbours = st.builds(lambda name, symbol: f"{name}[i].x {symbol} {name}[i-1].x", named, sign)
    constant = st.builds(
        lambda name, one, symbol, number: f"{one.format(name)} {symbol} {number}", named, side, sign, st.integers(0, 4)
    )
    spans = st.builds(lambda name, one, symbol: f"{one.format(name)} {symbol} {name}[1].x", named, side, sign)
    found = [neighbours, constant, spans]
    if pairs:
        place = st.sampled_from(["[1].x", "[LAST].x"])
        across = st.builds(
            lambda pair, one, symbol, at: f"{one.format(pair[0])} {symbol} {pair[1].format(at)}",
            st.sampled_from(pairs),
            side,
            sign,
            place,
        )
        near = st.builds(
            lambda pair, one, form, symbol, at: form.format(one.format(pair[0]), pair[1].format(at), symbol),
            st.sampled_from(pairs),
            side,
            st.sampled_from(["ABS({0} - {1}) {2} 1", "{0} - {1} {2} 1", "{0} + 1 {2} {1} * 2"]),
            sign,
            place,
        )
        found += [across, across, across, near]
    return st.one_of([*found, *(_mixed(name) for name in closures)])


MIXED = ("({0} AND {1}) OR {2}", "NOT ({0} OR {1})", "NOT ({0} AND {1}) OR {2}", "({0} OR {1}) AND {2} OR {1}")
"""Conditions over one closure within one condition: they hold or not for an element together."""


@cache
def _mixed(closure: str) -> st.SearchStrategy[str]:
    name = st.just(closure)
    sign = st.sampled_from(["=", "<", ">", "!="])
    form = st.sampled_from(["{}[i].x {} {}[i-1].x", "{}[i].x {} {}[1].x", "SUM({}[..i-1].x) {} {}[i].x"])
    spans = st.builds(lambda form, name, symbol: form.format(name, symbol, name), form, name, sign)
    constant = st.builds("{}[i].x {} {}".format, name, sign, st.integers(0, 4))
    one = st.one_of(spans, constant)
    return st.builds(lambda form, *parts: form.format(*parts), st.sampled_from(MIXED), one, one, one)


@cache
def event_patterns(
    *, kleene: bool = True, negation: bool = True, groups: bool = False
) -> st.SearchStrategy[event.EventPattern]:
    """SEQ, AND, OR and NOT of elements; variables v0, v1, … from left to right."""
    bounds = [(1, 1)] * 3 + ([(1, None), (0, 1), (0, None), (2, 2), (1, 2)] if kleene else [])
    types = st.sampled_from([("A",), ("B",), ("C",), ("A",), ("B",), (), ("A", "B")])
    elements = st.builds(lambda kind, span: event.Element("v", kind, *span), types, st.sampled_from(bounds))
    single = types.map(lambda kind: event.Element("v", kind))
    pairs = st.lists(single, min_size=2, max_size=2).map(tuple)
    negated = st.one_of(single, pairs.map(event.Or))
    if groups:
        mixed = st.lists(elements, min_size=2, max_size=2).map(tuple)
        closed = st.one_of(single, types.map(lambda kind: event.Element("v", kind, 1, None)))
        fenced = st.tuples(single, st.one_of(single, mixed.map(event.Seq)).map(event.Not), closed)
        groups_of = (mixed.map(event.Seq), mixed.map(event.And), pairs.map(event.Or), fenced.map(event.Seq))
        negated = st.one_of(single, elements, *groups_of)

    def grow(inner: st.SearchStrategy[event.EventPattern]) -> st.SearchStrategy[event.EventPattern]:
        items = st.one_of(inner, inner, inner, negated.map(event.Not)) if negation else inner
        pair = st.tuples(inner, items)
        return st.one_of(
            st.tuples(inner, items, inner).map(event.Seq),
            st.one_of(pair, pair.map(lambda both: both[::-1])).map(event.Seq),
            pair.map(event.And),
            st.lists(inner, min_size=2, max_size=2).map(lambda parts: event.Or(tuple(parts))),
        )

    return st.recursive(elements, grow, max_leaves=4).map(_numbered)


def _numbered(pattern: event.EventPattern) -> event.EventPattern:
    names = iter(range(100))

    def rename(node: Any) -> Any:
        if isinstance(node, event.Element):
            return replace(node, variable=f"v{next(names)}")
        if isinstance(node, event.Not):
            return event.Not(rename(node.item))
        return type(node)(tuple(rename(item) for item in node.items))

    return rename(pattern)  # type: ignore[no-any-return]


@st.composite
def event_cases(
    draw: st.DrawFn,
    *,
    kleene: bool = True,
    negation: bool = True,
    groups: bool = False,
    over_closures: bool = False,
    strategy: str = "any",
) -> EventCase:
    """A pattern over a short stream with ties, partitions, a window and predicates.

    ``groups``: NOT of SEQ, AND and closures too. ``over_closures``: conditions over Kleene variables too.
    """
    pattern = draw(event_patterns(kleene=kleene, negation=negation, groups=groups))
    bounded = any(isinstance(node, event.Not) for node in event.walk(pattern)) and draw(st.integers(0, 9)) < 9
    return EventCase(
        name="drawn",
        pattern=str(pattern),
        events=tuple(draw(streams())),
        strategy=strategy,
        partition=draw(st.sampled_from([(), ("k",)])),
        where=tuple(draw(_conditions(pattern, over_closures))),
        **draw(windows(bounded=bounded)),
    )


@cache
def streams(min_size: int = 2, max_size: int = 8) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Events of types A-D at times 0-9 in any input order, attributes x and k with NULLs; each one drawn whole, as every draw takes its time."""
    values = product("AAABBBCCD", range(10), VALUES, (1, 1, 1, 1, 2, None))
    one = st.sampled_from([dict(zip(("type", "ts", "x", "k"), event, strict=True)) for event in values])
    named = st.lists(one, min_size=min_size, max_size=max_size)
    return named.map(lambda events: [{"id": f"e{index}"} | event for index, event in enumerate(events)])


@cache
def windows(*, bounded: bool) -> st.SearchStrategy[dict[str, Any]]:
    """A time window, a window of events, or where not ``bounded`` none."""
    time = st.integers(2, 11).map(lambda width: {"within": width})
    ranks = st.integers(2, 7).map(lambda count: {"within_events": count})
    return st.one_of(time, time, ranks) if bounded else st.one_of(time, ranks, st.just({}))


def conjuncts(pattern: event.EventPattern) -> st.SearchStrategy[str]:
    """``[x]``, conditions on one single event, on two, on three (at most one of them negated)."""
    single = [element.variable for element in event.elements(pattern) if not element.kleene]
    positive = [element.variable for element in event.elements(pattern, negated=False) if element.variable in single]
    return _over_singles(tuple(single), tuple(positive))


@cache
def _over_singles(single: tuple[str, ...], positive: tuple[str, ...]) -> st.SearchStrategy[str]:
    pairs = [(one, other) for one in single for other in positive if one != other]
    found: list[st.SearchStrategy[str]] = [st.just("[x]")]
    if single:
        found.append(st.builds("{}.x > {}".format, st.sampled_from(single), st.integers(0, 2)))
    sign = st.sampled_from(["=", "=", "<", "<=", "!="])
    if pairs:
        compared = st.builds(lambda pair, symbol: f"{pair[0]}.x {symbol} {pair[1]}.x", st.sampled_from(pairs), sign)
        nullable = st.sampled_from(pairs).map(lambda pair: f"{pair[0]}.x IS NULL OR {pair[0]}.x < {pair[1]}.x + 1")
        near = st.builds(
            lambda pair, form, symbol, number: form.format(*pair, symbol, number),
            st.sampled_from(pairs),
            st.sampled_from(NEAR),
            st.sampled_from(["<", "<=", ">", ">=", "="]),
            st.integers(0, 2),
        )
        found += [compared, compared, nullable, near, near]
    triples = [(one, other, third) for one, other in pairs for third in positive if third not in (one, other)]
    if triples:
        found.append(st.builds(_of_three, st.sampled_from(triples), st.sampled_from(THREE), sign, sign))
    return st.one_of(found)


NEAR = (
    "ABS({0}.x - {1}.x) {2} {3}",
    "{3} {2} ABS({1}.x - {0}.x)",
    "{0}.x - {1}.x {2} {3}",
    "{1}.x {2} 2 * {0}.x - {3}",
    "{0}.x - {1}.x >= {3} AND {0}.x - {1}.x <= 2",
)
"""How far two events are apart."""

THREE = (
    "{0}.x {3} {1}.x OR {1}.x {4} {2}.x",
    "NOT ({0}.x {3} {1}.x AND {1}.x {4} {2}.x)",
    "({0}.x {3} {1}.x AND {1}.x {4} {2}.x) OR {0}.x = 1",
    "NOT ({0}.x {3} {1}.x OR {1}.x {4} {2}.x AND {0}.x + 1 < {2}.x)",
    "{0}.x {3} {1}.x AND {2}.x - {1}.x < 2 OR {1}.x {4} {2}.x",
    "{0}.x + {1}.x {3} {2}.x + 1",
    "ABS({0}.x + {1}.x - {2}.x) {4} 1",
    "{0}.x * {1}.x {3} {2}.x + {1}.x",
    "NOT (NOT ({0}.x {3} {1}.x OR {0}.x IS NULL) OR NOT ({1}.x {4} {2}.x OR {2}.x IS NULL))",
)
"""Conditions over three events and two comparisons, without an AND between two of which one may be about a negated event and the other not."""


def _of_three(names: tuple[str, str, str], form: str, one: str, other: str) -> str:
    return form.format(*names, one, other)

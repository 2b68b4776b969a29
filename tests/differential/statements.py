"""Random statements over a view ``events`` with the columns o (the event's number), ts, type, k, x, y, f, s: each pattern clause, with conditions,
outputs and options that are drawn. Some are refused; many have no match in a small view.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

EVENTS = """SELECT o, CAST(o DIV 2 AS INT) AS ts, ELEMENT_AT(ARRAY('A', 'B', 'C', 'D'), CAST(PMOD(HASH(o), 4) AS INT) + 1) AS type,
  CAST(PMOD(HASH(o, 6), 3) AS INT) AS k, IF(o % 13 = 0, NULL, CAST(PMOD(HASH(o, 1), 9) AS INT)) AS x, CAST(PMOD(HASH(o, 2), 4) AS INT) AS y,
  CASE o % 11 WHEN 0 THEN DOUBLE('NaN') WHEN 1 THEN -0.0D ELSE PMOD(HASH(o, 3), 5) * 0.5D END AS f,
  IF(o % 9 = 0, NULL, CONCAT('s', PMOD(HASH(o, 4), 3))) AS s FROM range({0}, {1}, 1, 2) AS t(o)"""
"""Two events at a time, few values, some NULLs."""


@dataclass
class Pattern:
    """A pattern being drawn: its variables by kind."""

    random: Random
    single: list[str]
    closed: list[str]
    negated: list[str]

    def item(self, depth: int) -> str:
        """An element, or a nested pattern."""
        draw = self.random.random()
        if depth and draw < 0.12:
            return f"OR({self.item(0)}, {self.item(0)})"
        if depth and draw < 0.2:
            return f"AND({self.item(0)}, {self.item(0)})"
        name = "abcdefgh"[len(self.single) + len(self.closed)]
        kind = self.random.choice(["A", "B", "C", "ANY"])
        if draw < 0.35:
            self.closed.append(name)
            return f"{kind}{self.random.choice(['+', '{1,2}', '{2}'])} {name}"
        self.single.append(name)
        return f"{kind} {name}"

    def elements(self) -> list[str]:
        """What conditions name: an event, or each one of a closure."""
        return [*self.single, *(f"{name}[i]" for name in self.closed), *self.negated]

    def sequence(self) -> str:
        """Two or three items, perhaps with a negation between them, before, or behind."""
        items = [self.item(1) for _ in range(self.random.choice([2, 2, 3]))]
        if self.random.random() < 0.3:
            name = f"n{len(self.negated)}"
            self.negated.append(name)
            items.insert(self.random.randrange(len(items) + 1), f"NOT {self.random.choice('ABCD')} {name}")
        return f"SEQ({', '.join(items)})"


def own_condition(random: Random, name: str) -> str:
    """A condition on one event."""
    forms = [
        "{0}.x > {1}",
        "{0}.y IN (1, {1})",
        "{0}.x IS NULL",
        "{0}.x BETWEEN {0}.y AND {1}",
        "{0}.k = 1",
        "{0}.f >= 1",
    ]
    return random.choice(forms).format(name, random.randrange(8))


def _condition(random: Random, drawn: Pattern, depth: int = 1) -> str:
    if depth and random.random() < 0.25:
        sides = (_condition(random, drawn, 0) for _ in range(2))
        return random.choice(["({} AND {})", "({} OR {})", "NOT ({} OR {})"]).format(*sides)
    names = drawn.elements()
    a, b, c = (random.choice(names) for _ in range(3))
    plain = random.choice(drawn.single or names)
    forms = [
        f"{a}.{random.choice('xyf')} {random.choice(['<', '<=', '>', '=', '<>'])} {b}.{random.choice('xyf')}",
        f"{a}.{random.choice('xyk')} = {b}.{random.choice('xyk')}",
        own_condition(random, a),
        f"{a}.x + {plain}.y > {b}.x + {random.randrange(5)}",
        f"{a}.x - {b}.x >= {random.randrange(4)}",
        f"{a}.x BETWEEN {plain}.y AND {c}.x",
        f"{own_condition(random, a)} AND {a}.x < {b}.x",
    ]
    if drawn.closed:
        name = random.choice(drawn.closed)
        forms += [f"{name}[i].x >= {name}[i-1].x", f"SUM({name}.x) < 20", f"COUNT({name}.*) < 3", f"{name}[1].y > 0"]
        forms += [f"{name}[i].x BETWEEN {a}.y AND {name}[i-1].x + 2"]
    return random.choice(forms)


WITHINS = ("WITHIN 3", "WITHIN 5", "WITHIN 8", "WITHIN 6 EVENTS")
KEYS = ("", "k", "k, y")
MORE_KEYS = (*KEYS, "f", "x, type", "s", "s, f")
NAMED_KEYS = (*MORE_KEYS, "UPPER(type) AS u, x % 2 AS odd", "DATE'2024-01-01' + y AS d")
ORDERS = (
    "ts, o",
    "ts, o",
    "ts DESC, o",
    "x, o DESC",
    "x DESC NULLS LAST, o",
    "f, o",
    "f DESC, y, o DESC",
    "type, o",
    "ts, f NULLS LAST, o",
)
STRATEGIES = ("", "", "", "SKIP TILL NEXT MATCH", "STRICT CONTIGUITY", "PARTITION CONTIGUITY")


@dataclass(frozen=True)
class EventClause:
    """A drawn MATCH PATTERN: its parts as they are written."""

    pattern: str
    single: list[str]
    closed: list[str]
    key: str
    strategy: str
    where: list[str]
    within: str
    measures: str = ""

    def __str__(self) -> str:
        order = "ts, o" if self.strategy else "ts"  # the other strategies need an order without ties
        where = f"WHERE {' AND '.join(self.where)}" if self.where else ""
        tail = f"{self.strategy} {where} {self.within} {self.measures}"
        return f"MATCH PATTERN ({self.pattern} {_by(self.key)} ORDER BY {order} {tail})"


def event_clause(
    random: Random, withins: tuple[str, ...], keys: tuple[str, ...], strategies: tuple[str, ...], alone: bool = False
) -> EventClause:
    """``alone``: no condition compares events with one another."""
    drawn = Pattern(random, [], [], [])
    pattern = drawn.sequence()
    names = drawn.elements()
    draw = (lambda: own_condition(random, random.choice(names))) if alone else (lambda: _condition(random, drawn))
    where = [draw() for _ in range(random.choice([0, 1, 1, 2]))]
    where += [random.choice(["[k]", "[y]"])] if random.random() < 0.15 else []
    key, strategy, within = random.choice(keys), random.choice(strategies), random.choice(withins)
    return EventClause(pattern, drawn.single, drawn.closed, key, strategy, where, within)


def events_statement(random: Random, withins: tuple[str, ...] = WITHINS, summed: float = 0.4) -> str:
    """A MATCH PATTERN over the view ``events``: its matches, or (``summed``: how often) aggregates over them."""
    aggregates = random.random() < summed
    drawn = event_clause(random, withins, NAMED_KEYS, STRATEGIES, alone=aggregates and random.random() < 0.6)
    key = re.sub(r".* AS ", "", drawn.key.partition(",")[0])
    outer = random.choice(["", "WHERE k = 1", "WHERE k IN (0, 2)"]) if key == "k" else ""
    if aggregates:
        calls = ["COUNT(*)", *(text.format(name) for name in drawn.single for text in _CALLS)]
        chosen = ", ".join(random.sample(calls, min(len(calls), random.choice([1, 2, 3]))))
        by = (f"{key}, ", f"GROUP BY {key}") if key else ("", "")
        return f"SELECT {by[0]}{chosen} FROM events {drawn} {outer} {by[1]}"
    columns = [*([key] if key else []), *(f"{name}.o AS {name}" for name in drawn.single)]
    columns += [f"TRANSFORM({name}, e -> e.o) AS {name}" for name in drawn.closed]
    return f"SELECT {', '.join(columns)} FROM events {drawn} {outer}"


def totals_statement(random: Random, withins: tuple[str, ...] = WITHINS[:3], keys: tuple[str, ...] = NAMED_KEYS) -> str:
    """A MATCH PATTERN over the view ``events`` with MEASURES: aggregates over its matches, the first of which is how many they are; at the end, or
    whenever one changes."""
    drawn = event_clause(random, withins, keys, ("",), alone=True)
    return f"SELECT * FROM events {replace(drawn, measures=_totals(random, drawn.single + drawn.closed))}"


def _totals(random: Random, names: list[str]) -> str:
    calls = [text.format(name) for name in names for text in _CALLS]
    measures = ["COUNT(*) AS n", *(f"{call} AS m{i}" for i, call in enumerate(random.sample(calls, 2)))]
    return f"MEASURES {', '.join(measures)} {random.choice(['', '', 'EMIT CHANGES'])}"


_CALLS = ("SUM({}.x)", "MIN({}.x)", "MAX({}.o)", "AVG({}.y)", "COUNT({}.x)")


@dataclass(frozen=True)
class SeveralClause:
    """A drawn MATCH PATTERNS: its parts as they are written. ``clauses``: what follows the patterns."""

    patterns: dict[str, str]
    clauses: str

    def __str__(self) -> str:
        patterns = ", ".join(f"{name} AS {pattern}" for name, pattern in self.patterns.items())
        return f"MATCH PATTERNS ({patterns} {self.clauses})"

    def alone(self, name: str) -> str:
        """One of the patterns."""
        return f"MATCH PATTERN ({self.patterns[name]} {self.clauses})"


def several_clause(random: Random, withins: tuple[str, ...], keys: tuple[str, ...]) -> SeveralClause:
    """Two or three sequences of the same variables, whose measures are of one that all have."""
    kinds = {
        name: f"{random.choice(['A', 'B', 'C', 'ANY'])}{random.choice(['', '', '', '+'])} {name}" for name in "abcd"
    }
    patterns = {}
    for number in range(random.choice([2, 2, 3])):
        items = [kinds[name] for name in random.sample("abc", random.choice([1, 2, 3]))]
        items.insert(random.randrange(len(items) + 1), kinds["d"])
        if random.random() < 0.3:
            items.insert(random.randrange(len(items) + 1), f"NOT {random.choice('ABCD')} n{number}")
        patterns[f"p{number}"] = f"SEQ({', '.join(items)})"
    where = [own_condition(random, "d" if "+" not in kinds["d"] else "d[i]")] if random.random() < 0.5 else []
    where += [random.choice(["[k]", "[y]"])] if random.random() < 0.3 else []
    of_all = f"WHERE {' AND '.join(where)}" if where else ""
    within = random.choice(withins)
    return SeveralClause(patterns, f"{_by(random.choice(keys))} ORDER BY ts {of_all} {within} {_totals(random, ['d'])}")


def several_statement(random: Random, withins: tuple[str, ...] = WITHINS, keys: tuple[str, ...] = NAMED_KEYS) -> str:
    """A MATCH PATTERNS over the view ``events``."""
    return f"SELECT * FROM events {several_clause(random, withins, keys)}"


def _by(key: str) -> str:
    return f"PARTITION BY {key}" if key else ""


@dataclass(frozen=True)
class RowClause:
    """A drawn MATCH_RECOGNIZE: its parts as they are written."""

    pattern: str
    defines: dict[str, str]
    measures: list[str]
    key: str
    mode: str
    skip: str
    within: str
    order: str = "ts, o"

    @property
    def text_of_measures(self) -> str:
        """MEASURES …"""
        return f"MEASURES {', '.join(f'{text} AS m{i}' for i, text in enumerate(self.measures))}"

    @property
    def text_of_defines(self) -> str:
        """DEFINE …"""
        if not self.defines:
            return ""
        return f"DEFINE {', '.join(f'{name} AS {text}' for name, text in self.defines.items())}"

    def __str__(self) -> str:
        return f"""MATCH_RECOGNIZE ({_by(self.key)} ORDER BY {self.order} {self.text_of_measures} {self.mode} {self.skip}
      PATTERN ({self.pattern}) {self.within} {self.text_of_defines})"""


def row_clause(random: Random, withins: tuple[str, ...], keys: tuple[str, ...]) -> RowClause:
    """Three measures; not each variable has a condition."""
    pattern = random.choice(_PATTERNS).format(*(name + random.choice(_QUANTIFIERS) for name in "abc"))
    used = [name for name in "abc" if name in pattern]
    defines = {name: _test(random, name, used) for name in used if random.random() < 0.8}
    mode = random.choice(_MODES[:4] if "{-" in pattern else _MODES)
    skip = random.choice(["", "", "AFTER MATCH SKIP TO NEXT ROW", f"AFTER MATCH SKIP TO LAST {used[-1]}"])
    measures = [text.format(a=random.choice(used)) for text in random.sample(_MEASURES, 3)]
    return RowClause(pattern, defines, measures, random.choice(keys), mode, skip, random.choice(withins))


def rows_statement(
    random: Random, withins: tuple[str, ...] = ("", "", "WITHIN 6"), keys: tuple[str, ...] = MORE_KEYS
) -> str:
    """A MATCH_RECOGNIZE over the view ``events``; in another order than that of time where nothing asks for this."""
    drawn = row_clause(random, withins, keys)
    ordered = drawn if drawn.within else replace(drawn, order=random.choice(ORDERS))
    return f"SELECT * FROM events {ordered} {random.choice(['', 'WHERE k = 1']) if drawn.key.startswith('k') else ''}"


@dataclass(frozen=True)
class WindowClause:
    """A drawn window with the pattern of a MATCH_RECOGNIZE: its parts as they are written. ``calls``: what is asked over it, beside the measures."""

    of: RowClause
    frame: str
    seek: str
    calls: tuple[str, ...] = ("COUNT(*)", "SUM(x)", "FIRST_VALUE(y)", "LAST_VALUE(x)", "NTH_VALUE(y, 2)")

    @property
    def columns(self) -> list[str]:
        """The measures and the calls of the select list."""
        return [f"{text} OVER w" for text in (*(f"m{i}" for i in range(len(self.of.measures))), *self.calls)]

    def __str__(self) -> str:
        of = self.of
        return f"""WINDOW w AS ({_by(of.key)} ORDER BY ts, o {of.text_of_measures} ROWS BETWEEN CURRENT ROW AND {self.frame} {of.skip} {self.seek}
      PATTERN ({of.pattern}) {of.within} {of.text_of_defines})"""


def window_clause(random: Random, withins: tuple[str, ...], keys: tuple[str, ...]) -> WindowClause:
    """Over frames of all lengths, one of them by the row's own y."""
    of = row_clause(random, withins, keys)
    allowed = [text for text in of.measures if text != "MATCH_NUMBER()"]
    frame = random.choice(["UNBOUNDED FOLLOWING", "UNBOUNDED FOLLOWING", "3 FOLLOWING", "y FOLLOWING", "CURRENT ROW"])
    return WindowClause(replace(of, measures=allowed), frame, random.choice(["", "INITIAL", "SEEK"]))


def windows_statement(random: Random) -> str:
    """A window with a pattern over the view ``events``."""
    drawn = window_clause(random, ("", "", "WITHIN 6"), MORE_KEYS)
    return f"SELECT o, {', '.join(drawn.columns)} FROM events {drawn}"


REGISTERS = "r INT, p INT DEFAULT 0, q STRING DEFAULT '', g DOUBLE"


@dataclass(frozen=True)
class AutomatonClause:
    """A drawn MATCH AUTOMATON: its parts as they are written."""

    arcs: list[str]
    key: str
    within: str

    def __str__(self) -> str:
        return f"""MATCH AUTOMATON ({_by(self.key)} ORDER BY ts, o REGISTERS ({REGISTERS}) START s FINAL f
      {" ".join(self.arcs)} {self.within})"""


def automaton_clause(random: Random, withins: tuple[str, ...], keys: tuple[str, ...]) -> AutomatonClause:
    """Two or three states before the final one, each of which has an arc to the next."""
    states = random.choice(["sm", "smn"])
    arcs = [_arc(random, source, target) for source, target in pairwise(f"{states}f")]
    arcs += [_arc(random, random.choice(states), random.choice(f"{states[1:]}f")) for _ in range(random.randrange(4))]
    return AutomatonClause(arcs, random.choice(keys), random.choice(withins))


def automaton_statement(
    random: Random, withins: tuple[str, ...] = WITHINS[:3], keys: tuple[str, ...] = MORE_KEYS
) -> str:
    """A MATCH AUTOMATON over the view ``events``."""
    drawn = automaton_clause(random, withins, keys)
    return f"SELECT * FROM events {drawn} {random.choice(['', 'WHERE k = 1']) if drawn.key.startswith('k') else ''}"


def _arc(random: Random, source: str, target: str) -> str:
    sets = ", ".join(random.choice(texts) for texts in random.sample(_SETS, random.randrange(3)))
    form = random.random()
    if form < 0.1 and (source, target) != ("m", "m"):
        return f"ARC {source} -> {target} ON EPSILON WHEN p < {random.randrange(1, 4)} SET p = p + 1"
    if form < 0.2 and source != "s":
        return f"ARC {source} -> {target} ON WINDOW END"
    tests = " AND ".join(random.sample(_ARC_TESTS, random.choice([1, 1, 2]))).format(n=random.randrange(6))
    return f"ARC {source} -> {target} WHEN {tests}{f' SET {sets}' if sets else ''}"


_ARC_TESTS = [
    "type = 'A'", "type <> 'B'", "x > r", "(x >= r OR r IS NULL)", "r + y < 1{n}", "x IS NOT NULL", "y < {n}", "p < {n}", "LENGTH(q) < 3", "f > g",
    "(x + p > {n} OR type = 'C')",
]  # fmt: skip
_SETS = (("r = x", "r = r + y"), ("p = p + 1",), ("q = CONCAT(q, type)", "q = type"), ("g = f",))


def _test(random: Random, name: str, used: list[str]) -> str:
    parts = random.sample(_TESTS, random.choice([1, 1, 2]))
    return random.choice([" AND ", " OR "]).join(
        part.format(a=name, b=random.choice(used), n=random.randrange(6)) for part in parts
    )


_PATTERNS = ("{} {} {}", "{} {}", "({} | {}) {}", "({} {})+ {}", "PERMUTE({}, {})", "{} {{- {} -}} {}")
_QUANTIFIERS = ("", "", "+", "*", "?", "{2}", "{1,3}", "+?", "*?")
_ALL = "ALL ROWS PER MATCH"
_MODES = ("", "", _ALL, f"{_ALL} OMIT EMPTY MATCHES", f"{_ALL} WITH UNMATCHED ROWS")
_TESTS = [
    "x > PREV(x)", "x < {b}.x", "{a}.x >= {b}.x", "type = 'A'", "type <> 'B'", "NEXT(y) = 1", "y < {n}", "SUM({a}.x) < 2{n}", "x - FIRST({a}.x) < {n}",
    "COUNT({b}.*) < {n}", "PREV(x, 2) <= x", "x IS NULL", "LAST({b}.y, 1) = y", "f > PREV(f)", "x BETWEEN PREV(y) AND {b}.x + {n}",
    "AVG({b}.x) > {n}", "x + PREV(x) > {n}", "CLASSIFIER() = '{a}'", "MAX({b}.x) > x",
    "COUNT(*) FILTER (WHERE {b}.y > 1) < {n}", "SUM({a}.x) FILTER (WHERE CLASSIFIER() = '{a}') < 2{n}", "MIN({b}.x) FILTER (WHERE y < 3) < x",
]  # fmt: skip
_MEASURES = [
    "FIRST({a}.o)", "LAST({a}.o)", "COUNT(*)", "SUM({a}.x)", "CLASSIFIER()", "MATCH_NUMBER()", "AVG({a}.y)", "PREV({a}.x)", "NEXT(LAST({a}.x))",
    "{a}.x + {a}.y", "MAX({a}.f)", "COUNT(DISTINCT {a}.x)",
    "COUNT(*) FILTER (WHERE {a}.x > 3)", "SUM({a}.x) FILTER (WHERE y < 2)", "COUNT({a}.*) FILTER (WHERE MATCH_NUMBER() > 1)",
    "MAX(o) FILTER (WHERE CLASSIFIER() = '{a}')", "AVG({a}.x) FILTER (WHERE {a}.y > 0 AND MATCH_SEQUENCE_NUMBER() < 4)",
]  # fmt: skip
STATEMENTS = (events_statement, totals_statement, several_statement, rows_statement, automaton_statement)

"""Random statements over a view ``events`` with the columns o (the event's number), ts, type, k, x, y, f: each pattern clause, with conditions,
outputs and options that are drawn. Some are refused; many have no match in a small view.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

EVENTS = """SELECT o, CAST(o DIV 2 AS INT) AS ts, ELEMENT_AT(ARRAY('A', 'B', 'C', 'D'), CAST(PMOD(HASH(o), 4) AS INT) + 1) AS type,
  CAST(PMOD(HASH(o, 6), 3) AS INT) AS k, IF(o % 13 = 0, NULL, CAST(PMOD(HASH(o, 1), 9) AS INT)) AS x, CAST(PMOD(HASH(o, 2), 4) AS INT) AS y,
  CASE o % 11 WHEN 0 THEN DOUBLE('NaN') WHEN 1 THEN -0.0D ELSE PMOD(HASH(o, 3), 5) * 0.5D END AS f FROM range({0}, {1}, 1, 2) AS t(o)"""
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

    def sequence(self) -> str:
        """Two or three items, perhaps with a negation between them, before, or behind."""
        items = [self.item(1) for _ in range(self.random.choice([2, 2, 3]))]
        if self.random.random() < 0.3:
            name = f"n{len(self.negated)}"
            self.negated.append(name)
            items.insert(self.random.randrange(len(items) + 1), f"NOT {self.random.choice('ABCD')} {name}")
        return f"SEQ({', '.join(items)})"


def _own(random: Random, name: str) -> str:
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
    names = [*drawn.single, *(f"{name}[i]" for name in drawn.closed), *drawn.negated]
    a, b, c = (random.choice(names) for _ in range(3))
    plain = random.choice(drawn.single or names)
    forms = [
        f"{a}.{random.choice('xyf')} {random.choice(['<', '<=', '>', '=', '<>'])} {b}.{random.choice('xyf')}",
        f"{a}.{random.choice('xyk')} = {b}.{random.choice('xyk')}",
        _own(random, a),
        f"{a}.x + {plain}.y > {b}.x + {random.randrange(5)}",
        f"{a}.x - {b}.x >= {random.randrange(4)}",
        f"{a}.x BETWEEN {plain}.y AND {c}.x",
        f"{_own(random, a)} AND {a}.x < {b}.x",
    ]
    if drawn.closed:
        name = random.choice(drawn.closed)
        forms += [f"{name}[i].x >= {name}[i-1].x", f"SUM({name}.x) < 20", f"COUNT({name}.*) < 3", f"{name}[1].y > 0"]
        forms += [f"{name}[i].x BETWEEN {a}.y AND {name}[i-1].x + 2"]
    return random.choice(forms)


WITHINS = ("WITHIN 3", "WITHIN 5", "WITHIN 8", "WITHIN 6 EVENTS")


def events_statement(random: Random, withins: tuple[str, ...] = WITHINS, summed: float = 0.4) -> str:
    """A MATCH PATTERN over the view ``events``: its matches, or (``summed``: how often) aggregates over them."""
    drawn = Pattern(random, [], [], [])
    pattern = drawn.sequence()
    aggregates = random.random() < summed
    by = random.choice(["", "", "PARTITION BY k", "PARTITION BY k, y"])
    names = drawn.single + drawn.closed + drawn.negated
    counts = aggregates and random.random() < 0.6
    draw = (lambda: _own(random, random.choice(names))) if counts else (lambda: _condition(random, drawn))
    parts = [draw() for _ in range(random.choice([0, 1, 1, 2]))]
    parts += ["[k]"] if random.random() < 0.15 else []
    where = f"WHERE {' AND '.join(parts)}" if parts else ""
    strategy = random.choice(["", "", "", "SKIP TILL NEXT MATCH", "STRICT CONTIGUITY", "PARTITION CONTIGUITY"])
    order = "ts, o" if strategy else "ts"  # the other strategies need an order without ties
    clause = f"events MATCH PATTERN ({pattern} {by} ORDER BY {order} {strategy} {where} {random.choice(withins)})"
    outer = random.choice(["", "WHERE k = 1", "WHERE k IN (0, 2)"]) if by else ""
    if aggregates:
        calls = ["COUNT(*)", *(text.format(name) for name in drawn.single for text in _CALLS)]
        chosen = ", ".join(random.sample(calls, min(len(calls), random.choice([1, 2, 3]))))
        return f"SELECT k, {chosen} FROM {clause} {outer} GROUP BY k" if by else f"SELECT {chosen} FROM {clause}"
    columns = [*(["k"] if by else []), *(f"{name}.o AS {name}" for name in drawn.single)]
    columns += [f"TRANSFORM({name}, e -> e.o) AS {name}" for name in drawn.closed]
    return f"SELECT {', '.join(columns)} FROM {clause} {outer}"


def totals_statement(
    random: Random, withins: tuple[str, ...] = WITHINS[:3], keys: tuple[str, ...] = ("", "k", "k, y")
) -> str:
    """A MATCH PATTERN over the view ``events`` with MEASURES: aggregates over its matches, the first of which is how many they are."""
    drawn = Pattern(random, [], [], [])
    pattern, key = drawn.sequence(), random.choice(keys)
    names = drawn.single + drawn.closed + drawn.negated
    parts = [_own(random, random.choice(names)) for _ in range(random.randrange(3))]
    parts += ["[y]"] if random.random() < 0.2 else []
    where = f"WHERE {' AND '.join(parts)}" if parts else ""
    calls = [text.format(name) for name in drawn.single + drawn.closed for text in _CALLS]
    measures = ["COUNT(*) AS n", *(f"{call} AS m{i}" for i, call in enumerate(random.sample(calls, 2)))]
    return f"""SELECT * FROM events MATCH PATTERN ({pattern} {f"PARTITION BY {key}" if key else ""} ORDER BY ts {where}
      {random.choice(withins)} MEASURES {", ".join(measures)})"""


_CALLS = ("SUM({}.x)", "MIN({}.x)", "MAX({}.o)", "AVG({}.y)", "COUNT({}.x)")


def rows_statement(
    random: Random, withins: tuple[str, ...] = ("", "", "WITHIN 6"), keys: tuple[str, ...] = ("", "k", "k, y")
) -> str:
    """A MATCH_RECOGNIZE over the view ``events``."""
    pattern = random.choice(_PATTERNS).format(*(name + random.choice(_QUANTIFIERS) for name in "abc"))
    used = [name for name in "abc" if name in pattern]
    defines = [f"{name} AS {_test(random, name, used)}" for name in used if random.random() < 0.8]
    define = f"DEFINE {', '.join(defines)}" if defines else ""
    key = random.choice(keys)
    by = f"PARTITION BY {key}" if key else ""
    mode = random.choice(_MODES[:4] if "{-" in pattern else _MODES)
    skip = random.choice(["", "", "AFTER MATCH SKIP TO NEXT ROW", f"AFTER MATCH SKIP TO LAST {used[-1]}"])
    chosen = [text.format(a=random.choice(used)) for text in random.sample(_MEASURES, 3)]
    measures = ", ".join(f"{text} AS m{i}" for i, text in enumerate(chosen))
    within, outer = random.choice(withins), random.choice(["", "WHERE k = 1"]) if by else ""
    return f"""SELECT * FROM events MATCH_RECOGNIZE ({by} ORDER BY ts, o MEASURES {measures} {mode} {skip}
      PATTERN ({pattern}) {within} {define}) {outer}"""


def automaton_statement(
    random: Random, withins: tuple[str, ...] = WITHINS[:3], keys: tuple[str, ...] = ("", "k", "k, y")
) -> str:
    """A MATCH AUTOMATON over the view ``events``."""
    states = random.choice(["sm", "smn"])
    arcs = [_arc(random, source, target) for source, target in pairwise(f"{states}f")]
    arcs += [_arc(random, random.choice(states), random.choice(f"{states[1:]}f")) for _ in range(random.randrange(4))]
    key = random.choice(keys)
    by, outer = f"PARTITION BY {key}" if key else "", random.choice(["", "WHERE k = 1"]) if key else ""
    registers = "REGISTERS (r INT, p INT DEFAULT 0, q STRING DEFAULT '', g DOUBLE)"
    return f"""SELECT * FROM events MATCH AUTOMATON ({by} ORDER BY ts, o {registers} START s FINAL f
      {" ".join(arcs)} {random.choice(withins)}) {outer}"""


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
]  # fmt: skip
_MEASURES = [
    "FIRST({a}.o)", "LAST({a}.o)", "COUNT(*)", "SUM({a}.x)", "CLASSIFIER()", "MATCH_NUMBER()", "AVG({a}.y)", "PREV({a}.x)", "NEXT(LAST({a}.x))",
    "{a}.x + {a}.y", "MAX({a}.f)", "COUNT(DISTINCT {a}.x)",
]  # fmt: skip
STATEMENTS = (events_statement, totals_statement, rows_statement, automaton_statement)

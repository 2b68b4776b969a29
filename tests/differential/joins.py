"""A condition over two events, asked in every way that sparkcep has, against Spark's own joins.

    python -m tests.differential.joins [--seed N] [--conditions N] [--zone NAME] [--no-ansi]

asks random conditions (``conditions``) and prints what differs, what is refused, and what fails where Spark does not.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkcep.errors import CepError
from tests.differential.conditions import NUMBERS, TYPES, expression, table

Pairs = list[tuple[int, int]]

EVENTS = 9

_ROWS = "SELECT oa, ob FROM events MATCH_RECOGNIZE (ORDER BY o MEASURES a.o AS oa, b.o AS ob AFTER MATCH SKIP TO NEXT ROW PATTERN ({}) DEFINE b AS {})"
_EVENTS = "SELECT a.o, b.o FROM events MATCH PATTERN (SEQ(ANY a, ANY b) ORDER BY o {} WHERE {} {})"


def _of_a(condition: str, *ways: str) -> str:
    """The condition with a's columns read in other ways, each in its turn."""
    turns = iter(range(len(condition)))
    return re.sub(r"\ba\.(c_\w+)", lambda found: ways[next(turns) % len(ways)].format(found[1]), condition)


def _automaton(condition: str) -> str:
    used = sorted(set(re.findall(r"\ba\.c_(\w+)", condition)))
    registers = ", ".join(["oa INT", "ob INT", *(f"r_{name} {TYPES[name]}" for name in used)])
    kept = ", ".join(["oa = o", *(f"r_{name} = c_{name}" for name in used)])
    test = re.sub(r"\bb\.", "", re.sub(r"\ba\.c_", "r_", condition))
    return f"""SELECT oa, ob FROM events MATCH AUTOMATON (ORDER BY o REGISTERS ({registers}) START s FINAL f
      ARC s -> p WHEN TRUE SET {kept} ARC p -> f WHEN {test} SET ob = o)"""


def _closure(condition: str) -> str:
    """One event of a closure, or two that both satisfy the condition."""
    each = re.sub(r"\bb\.", "b[i].", condition)
    return f"SELECT a.o, b[0].o, size(b) FROM events MATCH PATTERN (SEQ(ANY a, ANY{{1,2}} b) ORDER BY o WHERE {each} WITHIN 100)"


def _neighbours(condition: str) -> str:
    """The events of a closure, each against the one before it."""
    each = re.sub(r"\ba\.", "b[i-1].", re.sub(r"\bb\.", "b[i].", condition))
    return f"SELECT b[0].o, b[1].o FROM events MATCH PATTERN (SEQ(ANY+ b) ORDER BY o WHERE ({each}) AND COUNT(b.*) = 2 WITHIN 100)"


def _negated(condition: str) -> str:
    never = re.sub(r"\bb\.", "n.", condition)
    return f"SELECT a.o, b.o FROM events MATCH PATTERN (SEQ(ANY a, NOT ANY n, ANY b) ORDER BY o WHERE (({never}) IS TRUE) WITHIN 100)"


def _next(pairs: Pairs) -> Pairs:
    return sorted({a: (a, b) for a, b in sorted(pairs, reverse=True)}.values())


def _in_closures(pairs: Pairs) -> list[tuple[int, int, int]]:
    twos = [(a, b, 2) for a, b in pairs for other, c in pairs if a == other and c > b]
    return sorted([(a, b, 1) for a, b in pairs] + twos)


def _without(pairs: Pairs) -> Pairs:
    found = set(pairs)
    every = [(a, b) for a in range(EVENTS) for b in range(a + 1, EVENTS)]
    return [(a, b) for a, b in every if not any((a, n) in found for n in range(a + 1, b))]


def _adjacent(pairs: Pairs) -> Pairs:
    return [(a, b) for a, b in pairs if b == a + 1]


@dataclass(frozen=True)
class Form:
    """A way to ask: the statement for a condition, and its rows, given all pairs of events that satisfy it."""

    statement: Callable[[str], str]
    rows: Callable[[Pairs], object]


FORMS = {
    "rows": Form(lambda c: _ROWS.format("a b", c), _adjacent),
    "navigation": Form(
        lambda c: _ROWS.format("a b", _of_a(c, "PREV({})", "FIRST({})", "LAST({}, 1)", "PREV(b.{})")), _adjacent
    ),
    "aggregates": Form(
        lambda c: _ROWS.format("a x*? b", _of_a(c, "MAX(a.{})", "LAST(a.{})", "MIN(a.{})", "ANY_VALUE(a.{})")), _next
    ),
    "reluctant": Form(lambda c: _ROWS.format("a x*? b", c), _next),
    "any": Form(lambda c: _EVENTS.format("", c, "WITHIN 100"), list),
    "next": Form(lambda c: _EVENTS.format("SKIP TILL NEXT MATCH", c, "WITHIN 100"), _next),
    "contiguous": Form(lambda c: _EVENTS.format("STRICT CONTIGUITY", c, ""), _adjacent),
    "negated": Form(_negated, _without),
    "closure": Form(_closure, _in_closures),
    "neighbours": Form(_neighbours, list),
    "automaton": Form(_automaton, _adjacent),
    "count": Form(
        lambda c: _EVENTS.format("", c, "WITHIN 100").replace("a.o, b.o", "COUNT(*)"), lambda pairs: [(len(pairs),)]
    ),
}


def join(condition: str) -> str:
    """Spark's own."""
    return f"SELECT a.o, b.o FROM events a JOIN events b ON b.o > a.o AND ({condition})"


def measures(random: Random) -> Iterator[tuple[str, str, str]]:
    """Values of two events: what for, the statement, Spark's own."""
    value, number = expression(random, random.choice(list(TYPES)), 2), expression(random, random.choice(NUMBERS), 2)
    every, adjacent = (f"FROM events a JOIN events b ON b.o {test}" for test in ("> a.o", "= a.o + 1"))
    matches = "FROM events MATCH PATTERN (SEQ(ANY a, ANY b) ORDER BY o WITHIN 100)"
    function = random.choice(["SUM", "MIN", "MAX", "COUNT", "AVG"])
    yield "value of matches", f"SELECT a.o, b.o, {value} AS r {matches}", f"SELECT a.o, b.o, {value} AS r {every}"
    yield "aggregate of matches", f"SELECT {function}({number}) {matches}", f"SELECT {function}({number}) {every}"
    rows = _ROWS.format("a b", "TRUE").replace("oa, ob", "oa, ob, r").replace("b.o AS ob", f"b.o AS ob, {value} AS r")
    yield "measure of rows", rows, f"SELECT a.o, b.o, {value} AS r {adjacent}"


def rows(spark: SparkSession, sql: str) -> object:
    """The sorted rows, or the error's text."""
    try:
        return sorted((tuple(row) for row in spark.sql(sql).collect()), key=repr)
    except (PySparkException, CepError) as error:
        return str(error)


def _judged(wanted: object, got: object) -> str:
    """Equal, differs, fails (where Spark answers), or refused."""
    if repr(wanted) == repr(got):
        return "equal"
    if isinstance(got, str):
        return "fails too" if isinstance(wanted, str) else "refused" if "CEP_UNSUPPORTED" in got else "fails"
    return "differs" if not isinstance(wanted, str) else "answers where Spark fails"


def _questions(spark: SparkSession, random: Random, condition: str) -> Iterator[tuple[str, str, object]]:
    pairs = rows(spark, join(condition))
    for name, form in FORMS.items():
        yield name, form.statement(condition), pairs if isinstance(pairs, str) else form.rows(pairs)  # type: ignore[arg-type]
    for name, statement, own in measures(random):
        yield name, statement, rows(spark, own)


def main() -> None:
    """Print what differs; the exit code says whether anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--conditions", type=int, default=50)
    parser.add_argument("--zone", default="America/New_York")
    parser.add_argument("--no-ansi", action="store_true")
    options = parser.parse_args()
    import sparkcep

    settings = {"spark.sql.session.timeZone": options.zone, "spark.sql.ansi.enabled": str(not options.no_ansi).lower()}
    spark = sparkcep.session("against joins", "local[1]", **settings, **{"spark.sql.shuffle.partitions": "1"})
    spark.sparkContext.setLogLevel("OFF")
    random = Random(options.seed)
    spark.sql(table(random, EVENTS)).createOrReplaceTempView("events")
    spark.sql("CACHE TABLE events")
    counts: Counter[str] = Counter()
    for _ in range(options.conditions):
        condition = expression(random, "boolean", random.choice([1, 2, 2, 3]))
        if not all(re.search(rf"\b{name}\.c_", condition) for name in "ab"):
            continue
        for name, statement, wanted in _questions(spark, random, condition):
            got = rows(spark, statement)
            judged = _judged(wanted, got)
            counts[f"{name}: {judged}"] += 1
            if judged in ("differs", "fails"):
                print(
                    f"{name} {judged}: {statement}\n  Spark {str(wanted)[:300]}\n  here  {str(got)[-600:]}", flush=True
                )
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}")
    sys.exit(any("differs" in what for what in counts))


if __name__ == "__main__":
    main()

"""Random clauses of each kind, all the way from the text to the rows, against the slow matcher that is obviously right.

    python -m tests.differential.reference [--seed N] [--statements N]

prints what differs, and how often what was refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import sparkcep
from tests.differential.run import arguments, finish, rows
from tests.differential.statements import (
    REGISTERS,
    STRATEGIES,
    AutomatonClause,
    EventClause,
    RowClause,
    WindowClause,
    automaton_clause,
    event_clause,
    row_clause,
    window_clause,
)
from tests.reference.automaton import Automaton, EndlessError, arc, match_automaton, registers
from tests.reference.branches import UndefinedError
from tests.reference.event_sql import conditions, equivalence
from tests.reference.events import Query, match_events
from tests.reference.row_output import all_rows, one_row
from tests.reference.row_sql import condition, measure
from tests.reference.rows import Binding, Holds, Skip, SkipError, match_rows
from tests.reference.text import event_pattern, row_pattern
from tests.reference.windows import Window, measured, over, window_matches
from tests.spark_setup import SETTINGS

EVENTS = """SELECT o, CAST(o DIV 12 AS INT) AS part, CAST(o DIV 2 AS INT) AS ts, CAST(PMOD(HASH(o, 6), 2) AS INT) AS k,
  ELEMENT_AT(ARRAY('A', 'B', 'C', 'D'), CAST(PMOD(HASH(o), 4) AS INT) + 1) AS type, IF(o % 13 = 0, NULL, CAST(PMOD(HASH(o, 1), 9) AS INT)) AS x,
  CAST(PMOD(HASH(o, 2), 4) AS INT) AS y, PMOD(HASH(o, 3), 5) * 0.5D AS f FROM range(0, 96, 1, 2) AS t(o)"""
"""Twelve events a partition: the slow matcher tries every subset of those that a closure may take."""
KEYS = ("part", "part, k", "k, part, y")
NAMES = {
    "": "any",
    "SKIP TILL NEXT MATCH": "next",
    "STRICT CONTIGUITY": "strict_contiguity",
    "PARTITION CONTIGUITY": "partition_contiguity",
}
MODES = {
    "": "one",
    "ALL ROWS PER MATCH": "all_show_empty",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES": "all_omit_empty",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS": "all_with_unmatched",
}

Event = Mapping[str, Any]


def event_rows(drawn: EventClause, events: list[Event]) -> list[tuple[Any, ...]]:
    """The matches, by the numbers of their events, as the statement shows them."""
    pattern, strategy = event_pattern(drawn.pattern), NAMES[drawn.strategy]
    attributes = tuple(found for text in drawn.where if (found := equivalence(text)) is not None)
    where = [one for text in drawn.where if equivalence(text) is None for one in conditions(text, pattern)]
    width = int(re.findall(r"\d+", drawn.within)[0])
    within = (None, width) if "EVENTS" in drawn.within else (width, None)
    query = Query(
        pattern,
        strategy,  # type: ignore[arg-type]
        tuple(where),
        *within,
        tuple(drawn.key.split(", ")),
        attributes,
        ("ts", "o") if drawn.strategy else ("ts",),
    )
    found = []
    for match in match_events(query, events):
        taken = dict(match)
        line = [None if taken[name] is None else events[taken[name]]["o"] for name in drawn.single]  # type: ignore[index]
        line += [None if taken[name] is None else [events[at]["o"] for at in taken[name]] for name in drawn.closed]  # type: ignore[index, union-attr]
        found.append(tuple(line))
    return found


def _partitions(key: str, events: list[Event]) -> Iterable[list[Event]]:
    found: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        found.setdefault(tuple(event[name] for name in key.split(", ")), []).append(event)
    return found.values()


def automaton_rows(drawn: AutomatonClause, events: list[Event]) -> list[tuple[Any, ...]]:
    """The times of the first and the last event, and the registers."""
    automaton = Automaton("s", ("f",), tuple(map(arc, drawn.arcs)), registers(REGISTERS), int(drawn.within.split()[1]))
    return [
        (partition[first]["ts"], partition[last]["ts"], *values)
        for partition in _partitions(drawn.key, events)
        for first, last, _, values in match_automaton(automaton, partition)
    ]


def row_rows(drawn: RowClause, events: list[Event]) -> list[tuple[Any, ...]]:
    """The output rows; with ALL ROWS each begins with its event's number."""
    return [line for partition in _partitions(drawn.key, events) for line in _row_partition(drawn, partition)]


def _row_partition(drawn: RowClause, events: list[Event]) -> list[tuple[Any, ...]]:
    matches = match_rows(row_pattern(drawn.pattern), _holds(drawn, events), len(events), skip=_skip(drawn))
    mode = MODES[drawn.mode]
    measures = [measure(text, {}, mode != "one") for text in drawn.measures]
    if mode == "one":
        return one_row(matches, events, measures)
    return [(events[line[0]]["o"], *line[1:]) for line in all_rows(matches, events, measures, mode)]


def _holds(drawn: RowClause, events: Sequence[Event]) -> Holds:
    defined = {name: condition(text, name, {}, events) for name, text in drawn.defines.items()}
    width = int(drawn.within.split()[1]) if drawn.within else None

    def holds(variable: str, row: int, bindings: Binding) -> bool:
        near = width is None or events[row]["ts"] - events[bindings[0][0]]["ts"] < width
        return near and (variable not in defined or defined[variable](row, bindings))

    return holds


def _skip(drawn: RowClause) -> Skip:
    if "NEXT ROW" in drawn.skip:
        return Skip("next_row")
    return Skip("last", (drawn.skip[-1],)) if drawn.skip else Skip()


def window_rows(drawn: WindowClause, events: list[Event]) -> list[tuple[Any, ...]]:
    """Each event's number, the measures, the calls."""
    lines = []
    measures = [measure(text, {}, True) for text in drawn.of.measures]
    for partition in _partitions(drawn.of.key, events):
        following = [_following(drawn.frame, event) for event in partition]
        holds = partial(_holds, drawn.of)
        window = Window(row_pattern(drawn.of.pattern), holds, following, _skip(drawn.of), drawn.seek == "SEEK")
        for event, found in zip(partition, window_matches(window, partition), strict=True):
            values = [measured(found, one) for one in measures] + [over(found, text) for text in drawn.calls]
            lines.append((event["o"], *values))
    return lines


def _following(frame: str, event: Event) -> int:
    """How many rows the event's frame has behind it."""
    many = frame.split()[0]
    return {"UNBOUNDED": 1000, "CURRENT": 0}[many] if many.isupper() else event["y"] if many == "y" else int(many)


Clause = EventClause | RowClause | WindowClause | AutomatonClause


def shown(drawn: Clause) -> list[str]:
    """What a statement selects."""
    match drawn:
        case EventClause():
            return [f"{name}.o" for name in drawn.single] + [f"TRANSFORM({name}, e -> e.o)" for name in drawn.closed]
        case AutomatonClause():
            return ["match_start", "match_end", "r", "p", "q", "g"]
        case WindowClause():
            return ["o", *drawn.columns]
        case RowClause():
            return [*(["o"] if drawn.mode else []), "m0", "m1", "m2"]


def expected(drawn: Clause, events: list[Event]) -> list[tuple[Any, ...]]:
    """Its rows, by the slow matcher."""
    match drawn:
        case EventClause():
            return event_rows(drawn, events)
        case AutomatonClause():
            return automaton_rows(drawn, events)
        case WindowClause():
            return window_rows(drawn, events)
        case RowClause():
            return row_rows(drawn, events)


def compared(spark: SparkSession, drawn: Clause, events: list[Event]) -> str:
    """Whether the statement's rows are those of the slow matcher."""
    try:
        wanted: Any = sorted(expected(drawn, events), key=repr)
    except SkipError:
        wanted = "CEP_DATA_SKIP_TO"
    except EndlessError:
        wanted = "CEP_LIMIT_EPSILON"
    except (UndefinedError, ValueError) as error:
        return f"not of the slow matcher: {re.sub(r'[^a-zA-Z ].*', '', str(error))}"
    sql = f"SELECT {', '.join(shown(drawn))} FROM events {drawn}"
    got = rows(spark, sql)
    if got == wanted:
        return "the same rows" if wanted else "no rows"
    if isinstance(wanted, str) and str(got).startswith(wanted):
        return wanted
    if str(got).startswith(("CEP_SYNTAX", "CEP_ANALYSIS", "CEP_UNSUPPORTED")):
        return f"refused: {got}"
    print(f"DIFFERS: {sql}\n  slow  {str(wanted)[:600]}\n  spark {str(got)[:600]}", flush=True)
    return "differs"


def main() -> None:
    """Print what differs; the exit code says whether anything does."""
    options = arguments(__doc__, 300)
    spark = sparkcep.session("reference", "local[2]", **SETTINGS)
    random = Random(options.seed)
    events: list[Event] = [row.asDict() for row in spark.sql(EVENTS).collect()]
    spark.sql(EVENTS).createOrReplaceTempView("events")
    counts = Counter[str]()
    for _ in range(options.statements):
        drawn = random.choice(
            [
                event_clause(random, ("WITHIN 3", "WITHIN 5", "WITHIN 4 EVENTS"), KEYS, STRATEGIES),
                row_clause(random, ("", "", "WITHIN 4"), KEYS),
                window_clause(random, ("", "", "WITHIN 4"), KEYS),
                automaton_clause(random, ("WITHIN 2", "WITHIN 4"), KEYS),
            ]
        )
        counts[compared(spark, drawn, events)] += 1
    finish(counts)


if __name__ == "__main__":
    main()

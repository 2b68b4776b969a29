"""Random named patterns that change while a stream follows them, against each version over the rows of its time: the rows are the same.

    python -m tests.differential.changing [--seed N] [--statements N]

prints what differs, and how often what was refused. Some versions are recorded before the stream starts, others while it is stopped. The arcs of an
automaton have lifetimes in the statement that says what is right.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import CepError
from tests.differential.run import arguments, code, finish, settings
from tests.differential.statements import (
    STRATEGIES,
    AutomatonClause,
    EventClause,
    RowClause,
    automaton_clause,
    event_clause,
    own_condition,
    row_clause,
)
from tests.differential.streams import COUNT, OF_STREAMS, SPECULATIVE, WITHINS, File, arrival, emitted, told
from tests.spark_setup import SETTINGS

KEYS = ("k", "k, y")
KINDS = re.compile(r"\b(?:A|B|C|ANY)(?=[ +{])")
Clause = EventClause | RowClause | AutomatonClause


def first_version(random: Random) -> Clause:
    """A clause over a stream."""
    draw = random.randrange(3)
    if draw == 0:
        return event_clause(random, WITHINS, KEYS, STRATEGIES)
    return (row_clause if draw == 1 else automaton_clause)(random, WITHINS, KEYS)


def next_version(random: Random, drawn: Clause) -> Clause:
    """A clause with the same columns and the same order."""
    match drawn:
        case EventClause():
            pattern = KINDS.sub(lambda _: random.choice(["A", "B", "C", "ANY"]), drawn.pattern)
            where = [text for text in drawn.where if text.startswith("[")]
            where += [own_condition(random, random.choice(drawn.single))] if drawn.single else []
            return replace(drawn, pattern=pattern, where=where, within=random.choice(WITHINS))
        case RowClause():
            while True:
                other = row_clause(random, WITHINS, KEYS)
                same = [{name for name in "abc" if name in one.pattern} for one in (drawn, other)]
                if same[0] == same[1] and ("{-" not in other.pattern or "UNMATCHED" not in drawn.mode):
                    return replace(drawn, pattern=other.pattern, defines=other.defines, within=other.within)
        case AutomatonClause():
            return replace(drawn, arcs=automaton_clause(random, (drawn.within,), (drawn.key,)).arcs)


def said_at_once(versions: list[Clause], since: list[int], shown: str) -> str:
    """The query over all rows. ``since``: when each version but the first begins."""
    spans = list(zip([None, *since], [*since, None], strict=True))
    first = versions[0]
    if isinstance(first, AutomatonClause):
        arcs = [
            f"{arc} VALID FROM TIMESTAMP_SECONDS({low or 0}){f' TO TIMESTAMP_SECONDS({high})' if high else ''}"
            for version, (low, high) in zip(versions, spans, strict=True)
            for arc in version.arcs  # type: ignore[union-attr]
        ]
        return f"SELECT {shown} FROM still {replace(first, arcs=arcs)}"
    return " UNION ALL ".join(
        f"SELECT {shown} FROM (SELECT * FROM still WHERE ts >= TIMESTAMP_SECONDS({low or 0}) AND ts < TIMESTAMP_SECONDS({high or 10**6})) {version}"
        for version, (low, high) in zip(versions, spans, strict=True)
    )


def columns(drawn: Clause) -> str:
    """What a statement selects."""
    if not isinstance(drawn, EventClause):
        return "*"
    names = [f"{name}.o AS {name}" for name in drawn.single]
    return ", ".join(["k", *names, *(f"TRANSFORM({name}, e -> e.o) AS {name}" for name in drawn.closed)])


def kind_and_body(drawn: Clause) -> tuple[str, str]:
    """``MATCH PATTERN`` and what stands in its parentheses."""
    kind, _, body = str(drawn).partition(" (")
    return kind, body[:-1]


@dataclass(frozen=True)
class Drawn:
    """A pattern's versions; ``since``: when each but the first begins; the stream has ``files`` when it is stopped, and before its first start ``early``
    changes are made."""

    versions: list[Clause]
    since: list[int]
    files: int
    early: int
    mode: dict[str, str]

    def changes(self, name: str) -> list[str]:
        """What makes each version but the first of the pattern ``name``."""
        bodies = (kind_and_body(version)[1] for version in self.versions[1:])
        return [
            f"ALTER PATTERN {name} REPLACE AS ({body}) EFFECTIVE FROM TIMESTAMP_SECONDS({second})"
            for body, second in zip(bodies, self.since, strict=True)
        ]


def drawn_pattern(random: Random, files: list[File]) -> Drawn:
    """Two or three versions; those that are recorded while the stream is stopped are of times that have not come by then."""
    versions = [first_version(random)]
    versions += [next_version(random, versions[0]) for _ in range(random.choice([1, 1, 2]))]
    at = random.choice([0, 1, 2])
    passed = max((row[1] for file in files[:at] for row in file), default=0)
    since = sorted(random.sample(range(passed + 1, COUNT // 2 + 8), len(versions) - 1))
    early = random.randrange(len(versions)) if at else len(versions) - 1
    return Drawn(versions, since, at, early, random.choice([{}, {}, SPECULATIVE]))


def compared(spark: SparkSession, drawn: Drawn, files: list[File], folder: str, name: str) -> str:
    """Whether the stream ends with what the versions say."""
    shown = columns(drawn.versions[0])
    sql = said_at_once(drawn.versions, drawn.since, shown)
    try:
        wanted = Counter(text for row in spark.sql(sql).collect() if (text := told(row)) is not None)
    except PySparkException as error:
        return f"no answer at once: {code(error)}"

    changes = drawn.changes(name)

    def runs() -> Iterator[list[File]]:
        for change in changes[: drawn.early]:
            spark.sql(change)
        if drawn.files:
            yield files[: drawn.files]
        for change in changes[drawn.early :]:
            spark.sql(change)
        yield files[drawn.files :]

    kind, body = kind_and_body(drawn.versions[0])
    spark.sql(f"CREATE PATTERN {name} AS ({body})")
    with settings(spark, drawn.mode):
        of_streams = "" if shown == "*" else f"{', '.join(OF_STREAMS)}, "
        got = emitted(spark, f"SELECT {of_streams}{shown} FROM moving {kind} {name}", runs(), folder)
    if got == wanted:
        return "the same rows" if wanted else "no rows"
    print(f"DIFFERS: {sql}\n  {drawn}\n  at once {wanted - got}\n  stream  {got - wanted}", flush=True)
    return "differs"


def main() -> None:
    """Print what differs; the exit code says whether anything does."""
    options = arguments(__doc__, 60)
    counts = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        spark = sparkcep.session("changing", "local[2]", **SETTINGS, **{"spark.sql.warehouse.dir": f"{folder}/tables"})
        random = Random(options.seed)
        files = arrival(spark, random)
        for number in range(options.statements):
            drawn = drawn_pattern(random, files)
            try:
                counts[compared(spark, drawn, files, f"{folder}/{number}", f"p{number}")] += 1
            except CepError as error:
                counts[f"refused: {error.code}"] += 1
            except PySparkException as error:
                counts["fails"] += 1
                print(f"FAILS: {drawn}\n  {str(error)[:2000]}", flush=True)
        spark.stop()
    finish(counts)


if __name__ == "__main__":
    main()

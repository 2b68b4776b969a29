"""CREATE, DROP, ALTER, SHOW and DESCRIBE of named patterns → the SQL that Spark gets.

Each change is one INSERT (``rows``). Rewriting itself changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from pyspark.errors import PySparkException

from rewrites.bind.relation import Describe, spark_message
from rewrites.dialect.clause import ClauseKind, Name
from rewrites.dialect.pattern_statements import (
    AlterPattern,
    CreatePattern,
    DescribePattern,
    DropPattern,
    PatternStatement,
    ShowPatterns,
)
from rewrites.dialect.stored_bodies import check_body
from rewrites.dialect.tokens import tokenize
from rewrites.patterns.arcs import with_arcs, without_arc
from rewrites.patterns.expand import unknown
from rewrites.patterns.followers import bindings, followers, refusal
from rewrites.patterns.rows import insert_sql, nullable, rows_sql
from rewrites.patterns.versions import (
    DROP,
    ENDED,
    PatternStore,
    Version,
    in_effect,
    newest,
    planned,
)
from rewrites.sql.builder import quoted
from rewrites.sql.parameters import positional_name
from sparkcep.errors import CepAnalysisError, CepError, CepUnsupportedError, Span

NOTHING = "DROP TEMPORARY FUNCTION IF EXISTS `__sparkcep_nothing`"
"""A statement without effect and without columns, like the statements it replaces."""
_MADE_ELSEWHERE = "DECLARE EXIT HANDLER FOR LOCATION_ALREADY_EXISTS BEGIN END"
"""IF NOT EXISTS is not enough: where another session makes the table between two looks of Spark's, its files are an error."""


def statement_sql(sql: str, statement: PatternStatement, store: PatternStore, describe: Describe) -> str:
    """What Spark gets for ``statement``, which is the text ``sql``. Raises CepError with the place."""
    if isinstance(statement, CreatePattern):
        return _create(sql, statement, store, describe)
    if isinstance(statement, DropPattern):
        return _drop(statement, store)
    if isinstance(statement, AlterPattern):
        return _alter(sql, statement, store, describe)
    if isinstance(statement, ShowPatterns):
        return _show(statement, store)
    return _describe(statement, store)


def _create(sql: str, statement: CreatePattern, store: PatternStore, describe: Describe) -> str:
    body, clause = _checked(sql, statement.body, statement.name)
    versions, _ = store.versions(statement.name.value)
    current = newest(versions)
    if current is not None and statement.if_not_exists:
        return NOTHING
    if current is not None and not statement.replace:
        raise CepAnalysisError(
            f"the pattern {current.pattern} exists already in {store.table}",
            code="PATTERN_EXISTS",
            span=statement.name.span,
            hint="write CREATE OR REPLACE PATTERN, or ALTER PATTERN … REPLACE AS ( … ) EFFECTIVE FROM …",
        )
    row = (statement.name.value, "replace" if current else "create", clause, body, statement.comment)
    expected = None if statement.replace else _highest(versions)
    bound = bindings(store.following(statement.name.value), body, describe, statement.name.span) if current else ()
    insert = insert_sql(store, row, expected=expected, silently=statement.if_not_exists, bound=bound)
    return insert if store.exists else f"BEGIN\nBEGIN\n{_MADE_ELSEWHERE};\n{store.creation};\nEND;\n{insert};\nEND"


def _drop(statement: DropPattern, store: PatternStore) -> str:
    versions, _ = store.versions(statement.name.value)
    current = newest(versions)
    if current is not None:
        for one in followers(store.following(current.pattern)):
            if one.streams:
                raise refusal(one, "it cannot be dropped", statement.name.span)
        return insert_sql(store, (current.pattern, DROP, current.clause, None, current.comment))
    if statement.if_exists:
        return NOTHING
    raise unknown(statement.name, store)


def _alter(sql: str, statement: AlterPattern, store: PatternStore, describe: Describe) -> str:
    if statement.change == "drop_stream":
        return _drop_stream(sql, statement, store)
    effective = None if statement.effective is None else _timestamp(sql, statement.effective)
    versions, moment = _versions_at(statement, store, effective)
    base = in_effect(versions, moment)
    if base is None or newest(versions) is None:
        raise unknown(statement.name, store)
    body, clause = _altered(sql, statement, base, planned(versions, moment))
    if clause != base.clause:
        raise CepAnalysisError(
            f"the pattern {base.pattern} is a body of {base.clause}, the new one is of {clause}",
            code="PATTERN_CLAUSE",
            span=statement.argument,
            hint="CREATE OR REPLACE PATTERN makes it another kind of pattern",
        )
    row = (base.pattern, "alter", clause, body, base.comment)
    bound = bindings(store.following(base.pattern), body, describe, statement.argument)
    return insert_sql(store, row, effective, expected=_highest(versions), bound=bound)


def _drop_stream(sql: str, statement: AlterPattern, store: PatternStore) -> str:
    """A stream that has not told its end is taken for ended."""
    name = tokenize(sql[statement.argument.start : statement.argument.end]).items[0].text
    known = followers(store.following(statement.name.value))
    found = [(one, stream) for one in known for stream, own in one.streams.items() if own == name]
    if not found:
        names = sorted(own for one in known for own in one.streams.values())
        raise CepAnalysisError(
            f"no stream {name} follows the pattern {statement.name.value}",
            code="PATTERN_STREAM",
            span=statement.argument,
            hint=f"those that do: {', '.join(names) or 'none'}",
        )
    rows = [
        (
            one.binding.pattern,
            0,
            ENDED,
            one.binding.clause,
            json.dumps({"id": stream, "name": name}),
            one.binding.interface,
        )
        for one, stream in found
    ]
    return rows_sql(store.table, rows)


def _versions_at(
    statement: AlterPattern, store: PatternStore, effective: str | None
) -> tuple[tuple[Version, ...], int]:
    """The versions, and the moment of EFFECTIVE FROM. Raises CepAnalysisError at an expression that is no timestamp."""
    try:
        return store.versions(statement.name.value, effective)
    except CepAnalysisError as error:
        if error.code != "CEP_ANALYSIS_EFFECTIVE_FROM":
            raise
        error.span = statement.effective
        raise
    except PySparkException as error:
        if statement.effective is None:
            raise
        raise CepAnalysisError(
            f"EFFECTIVE FROM needs a timestamp: {spark_message(error)}",
            code="EFFECTIVE_FROM",
            span=statement.effective,
            hint="write EFFECTIVE FROM TIMESTAMP '2026-01-01 00:00:00'",
        ) from None


def _altered(sql: str, statement: AlterPattern, base: Version, later: Sequence[Version]) -> tuple[str, ClauseKind]:
    """The new body and its clause."""
    if statement.change == "replace":
        return _checked(sql, statement.argument, statement.name)
    if base.clause != "MATCH AUTOMATON":
        raise CepAnalysisError(
            f"the pattern {base.pattern} is a body of {base.clause}: it has no arcs",
            code="PATTERN_ARC",
            span=statement.name.span,
            hint=f"write ALTER PATTERN {base.pattern} REPLACE AS ( … )",
        )
    if later:
        raise CepUnsupportedError(
            f"a change of arcs before one that is planned for {later[0].effective_text}, which it would undo",
            code="PATTERN_PLANNED",
            span=statement.argument,
            hint="give it a later EFFECTIVE FROM, or say with REPLACE AS what holds from now on",
        )
    text = sql[statement.argument.start : statement.argument.end]
    try:
        body = with_arcs(base.body, text) if statement.change == "add_arc" else without_arc(base.body, text)
        return body, check_body(body)
    except CepError as error:
        raise error.at(sql, statement.argument) from None


def _checked(sql: str, span: Span, name: Name) -> tuple[str, ClauseKind]:
    """The body without the space around it, and its clause; an error in it is put at its place in the statement."""
    text = sql[span.start : span.end]
    body = text.strip()
    offset = span.start + len(text) - len(text.lstrip())
    try:
        return body, check_body(body)
    except CepError as error:
        at = error.span
        place = name.span if at is None else Span(at.start + offset, at.end + offset)
        raise error.at(sql, place) from None


def _highest(versions: Iterable[Version]) -> int:
    return max((version.version for version in versions), default=0)


def _show(statement: ShowPatterns, store: PatternStore) -> str:
    versions, moment = store.versions()
    names = sorted({version.pattern.lower() for version in versions})
    found = [in_effect((version for version in versions if version.pattern.lower() == name), moment) for name in names]
    wanted = _glob(statement.like or "*")
    rows = [
        (version.pattern, version.clause, version.effective_text or version.recorded_text, version.comment)
        for version in found
        if version is not None and wanted.fullmatch(version.pattern)
    ]
    return _rows("patterns", ("name", "clause", "since", "comment"), rows)


def _describe(statement: DescribePattern, store: PatternStore) -> str:
    versions, moment = store.versions(statement.name.value)
    current = in_effect(versions, moment)
    if current is None:
        raise unknown(statement.name, store)
    rows = [
        ("Name", current.pattern),
        ("Clause", current.clause),
        ("Body", current.body),
        ("Comment", current.comment),
        ("Since", current.effective_text or current.recorded_text),
        *((f"From {version.effective_text}", version.body) for version in planned(versions, moment)),
        *(
            ("Followed by", name)
            for one in followers(store.following(current.pattern))
            for name in sorted(one.streams.values())
        ),
    ]
    if statement.extended:
        ordered = sorted(versions, key=lambda version: version.place, reverse=True)
        rows += [("Table", store.table), *((f"Version {version.version}", _history(version)) for version in ordered)]
    return _rows("pattern", ("info_name", "info_value"), rows)


def _history(version: Version) -> str:
    effective = f", effective from {version.effective_text}" if version.effective_text else ""
    body = f": {version.body}" if version.body else ""
    return f"{version.change} by {version.recorded_by} at {version.recorded_text}{effective}{body}"


def _glob(like: str) -> re.Pattern[str]:
    """``up*|down*`` as SHOW TABLES LIKE has it."""
    parts = (".*".join(map(re.escape, part.strip().split("*"))) for part in like.split("|"))
    return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE)


def _rows(name: str, columns: tuple[str, ...], rows: Sequence[tuple[str | None, ...]]) -> str:
    """A query whose rows are these texts."""
    named = ", ".join(quoted(column) for column in columns)
    values = ", ".join(f"({', '.join(map(nullable, row))})" for row in rows or [(None,) * len(columns)])
    return f"SELECT * FROM VALUES {values} AS {quoted(name)}({named}){'' if rows else ' WHERE FALSE'}"


def _timestamp(sql: str, span: Span) -> str:
    """The time of EFFECTIVE FROM as SQL; positional parameters by their names."""
    marks = [token.span for token in tokenize(sql).inside(span) if token.key == "?"]
    parts, position = [], span.start
    for number, mark in enumerate(marks):
        parts += [sql[position : mark.start], f":{positional_name(number)}"]
        position = mark.end
    return f"CAST(({''.join([*parts, sql[position : span.end]])}\n) AS TIMESTAMP)"

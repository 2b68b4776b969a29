"""The rows that statements and streams add to the table of patterns, as INSERTs that Spark runs.

Each change is one INSERT, so the table's permissions and history apply. The state that a statement was based on is checked again inside the INSERT,
so that if two sessions create a name at the same time, the second one fails (always, if the table has transactions; otherwise unless both INSERTs
read before either has written: then one of the two wins, the same for all readers).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rewrites.bind.relation import Describe
from rewrites.dialect.clause import ClauseKind
from rewrites.patterns.bindings import Binding, rebound
from rewrites.patterns.followers import followers
from rewrites.patterns.versions import BOUND, COLUMNS, PatternStore, Version, in_effect, lasting
from rewrites.sql.builder import quoted, string
from sparkcep.errors import CepAnalysisError, CepError

_CHANGED = "[CEP_ANALYSIS_PATTERN_CHANGED] the pattern {} was changed by another session at this moment: run the statement again"


def insert_sql(
    store: PatternStore,
    row: tuple[str, str, ClauseKind, str | None, str | None],
    effective: str | None = None,
    *,
    expected: int | None = None,
    silently: bool = False,
    bound: Sequence[Binding] = (),
) -> str:
    """The INSERT of a row, and with it of the same version ``bound`` for streams.

    ``expected``: the highest version that the statement was decided on; where it is another now, that is an error (``silently``: no row).
    """
    pattern, change, clause, body, comment = row
    highest = "COALESCE(MAX(version), 0)"
    version = f"{highest} + 1"
    if expected is not None and not silently:
        version = (
            f"IF({highest} = {expected}, {version}, CAST(RAISE_ERROR({string(_CHANGED.format(pattern))}) AS BIGINT))"
        )
    values = [
        string(pattern),
        version,
        *map(nullable, (change, clause, body, comment)),
        effective or "CAST(NULL AS TIMESTAMP)",
    ]
    columns = ", ".join(quoted(name) for name, _, _ in COLUMNS)
    having = f"\nHAVING {highest} = {expected}" if silently else ""
    query = (
        f"SELECT {', '.join([*values, 'CURRENT_TIMESTAMP()', 'CURRENT_USER()'])}\n"
        f"FROM {store.table} WHERE LOWER(pattern) = {string(pattern.lower())}{having}"
    )
    if bound:
        told = [(change, body, comment), *((BOUND, one.body, one.interface) for one in bound)]
        structs = ", ".join(f"STRUCT({', '.join(map(nullable, row))})" for row in told)
        own = {"change": "one.col1", "body": "one.col2", "comment": "one.col3"}
        shown = ", ".join(own.get(name, quoted(name)) for name, _, _ in COLUMNS)
        query = f"SELECT {shown}\nFROM ({query}) AS told ({columns}) LATERAL VIEW EXPLODE(ARRAY({structs})) AS one"
    return f"INSERT INTO {store.table} ({columns})\n{query}"


def nullable(text: str | None) -> str:
    """SQL of a string, or of none."""
    return "CAST(NULL AS STRING)" if text is None else string(text)


def follow_sql(binding: Binding, store: PatternStore, describe: Describe) -> str | None:
    """The INSERT of the versions that a stream may meet, bound for it; None: the table has them. ``binding``: that of the version in effect."""
    versions, moment = store.versions(binding.pattern)
    current = in_effect(versions, moment)
    known = {one.binding.interface: one.numbers for one in followers(store.following(binding.pattern))}
    missing = [one for one in lasting(versions) if one.version not in known.get(binding.interface, frozenset())]
    rows = [_bound_row(one, binding if one == current else _rebound(binding, one, describe)) for one in missing]
    return rows_sql(store.table, rows) if rows else None


def _rebound(binding: Binding, version: Version, describe: Describe) -> Binding:
    """Another version for the same stream; an error in it names it."""
    try:
        return rebound(binding, version.body, describe)
    except CepError as error:
        raise CepAnalysisError(
            f"the stream cannot follow version {version.version} of the pattern {version.pattern}: {error.message}",
            code="PATTERN_STREAM",
            hint=error.hint or "CREATE OR REPLACE PATTERN makes a new beginning; SET sparkcep.stream.patterns = fixed",
        ) from None


def _bound_row(version: Version, binding: Binding) -> tuple[Any, ...]:
    return version.pattern, version.version, BOUND, version.clause, binding.body, binding.interface, version.effective


def rows_sql(table: str, rows: Iterable[tuple[Any, ...]]) -> str:
    """The INSERT of rows: pattern, version, change, clause, body, comment, and from when on in microseconds (or nothing)."""
    columns = ", ".join(quoted(name) for name, _, _ in COLUMNS)
    values = []
    for pattern, version, change, clause, body, comment, *rest in rows:
        effective = f"TIMESTAMP_MICROS({rest[0]})" if rest and rest[0] is not None else "CAST(NULL AS TIMESTAMP)"
        texts = ", ".join(map(string, (change, clause, body, comment)))
        values.append(
            f"({string(pattern)}, CAST({version} AS BIGINT), {texts}, {effective}, CURRENT_TIMESTAMP(), CURRENT_USER())"
        )
    return f"INSERT INTO {table} ({columns}) VALUES {', '.join(values)}"

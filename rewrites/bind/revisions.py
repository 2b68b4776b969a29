"""Revisions of the input: a stream whose rows are changes, as a change feed gives them.

In: a clause and its input. Out: the input without the feed's columns, which belong to no event; and the SQL of what a turn reads of them. What stands
of the changes is decided in the turns (``streaming.revisions``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql.types import IntegralType, StringType, StructField, StructType

from rewrites.bind.notices import Notice
from rewrites.bind.partitions import Key
from rewrites.bind.relation import Relation
from rewrites.dialect.clause import Clause
from rewrites.dialect.tokens import tokenize
from rewrites.sql.builder import quoted, string
from rewrites.sql.hashing import Value, hashed
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.spec.stream import CHANGE, CHANGES, EVENT, VERSION, Revisions

CHANGE_TYPE, COMMIT_VERSION = "_change_type", "_commit_version"
FEED = (CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp")
"""The columns of a change feed beside those of its table: Delta Lake's (readChangeFeed), and Spark's (CHANGES)."""


@dataclass(frozen=True, slots=True)
class Revised:
    """``columns``: (SQL, name) of what a turn reads of a change."""

    revisions: Revisions
    columns: tuple[tuple[str, str], ...]
    notice: Notice


def without_feed(clause: Clause, relation: Relation, sql: str) -> Relation:
    """``relation`` as the clause sees it: a stream of changes without the columns of FEED.

    Raises CepAnalysisError for an EVENT KEY that has no use, or of columns that are not there, and where the clause in ``sql`` names one of FEED.
    """
    change = _field(relation, CHANGE_TYPE)
    if not relation.streaming or change is None or not isinstance(change.dataType, StringType):
        if clause.event_key is not None:
            raise _no_use(clause, relation)
        return relation
    for token in tokenize(sql).inside(clause.site.body):
        if token.is_name and token.text.lower() in FEED:
            raise CepAnalysisError(
                f"{token.text} is the change feed's and belongs to no event",
                code="CHANGE_FEED",
                span=token.span,
                hint=f"give it another name in a subquery: SELECT *, {token.text} AS value FROM …",
            )
    kept = [field for field in relation.schema if field.name.lower() not in FEED]
    rest = replace(relation, schema=StructType(kept), feed=relation.schema)
    for name in clause.event_key.columns if clause.event_key else ():
        rest.require(name)
    return rest


def bind_revisions(clause: Clause, keys: tuple[Key, ...], relation: Relation) -> Revised | None:
    """What a turn reads of a change; None: the rows are events. Raises CepUnsupportedError for versions that are no integers."""
    if relation.feed is None:
        return None
    columns = [(_change(relation.feed), CHANGE)]
    key = clause.event_key
    if key is not None:
        fields = [relation.schema[relation.require(name)] for name in key.columns]
        columns.append(
            (hashed([*(Value(f"({one.text})", one.data_type) for one in keys), *map(_value, fields)]), EVENT)
        )
    version = _version(clause, relation.feed) if key is not None else None
    if version is not None:
        columns.append((version, VERSION))
    known = (
        f"the versions of an event by EVENT KEY{', the newest by _commit_version' if version else ''}"
        if key
        else "each by its whole row"
    )
    notice = Notice(
        f"{CHANGE_TYPE} of the input revises it: deletes and update_preimages take rows away, {known}",
        key.span if key else clause.site.keyword,
        f"SELECT * EXCEPT ({CHANGE_TYPE}) in a subquery makes each row an event",
    )
    return Revised(Revisions(key is not None, version is not None), tuple(columns), notice)


def identity(relation: Relation) -> str:
    """SQL of a hash of the whole row."""
    return hashed(map(_value, relation.schema))


def _value(field: StructField) -> Value:
    return Value(quoted(field.name), field.dataType, field.nullable)


def _field(relation: Relation, name: str) -> StructField | None:
    column = relation.column(name)
    return None if column is None else relation.schema[column]


def _no_use(clause: Clause, relation: Relation) -> CepAnalysisError:
    assert clause.event_key is not None
    if not relation.streaming:
        message = "EVENT KEY over a table: its rows are what stands"
        hint = "leave EVENT KEY out; of a table of changes, keep the newest of each key in a subquery"
    else:
        message = f"EVENT KEY needs a column {CHANGE_TYPE} (STRING) in the input: it says which rows are versions of one event"
        hint = f"{CHANGE_TYPE} is insert, update_preimage, update_postimage or delete; without one leave EVENT KEY out"
    return CepAnalysisError(message, code="EVENT_KEY", span=clause.event_key.span, hint=hint)


def _change(feed: StructType) -> str:
    name = quoted(next(field.name for field in feed if field.name.lower() == CHANGE_TYPE))
    known = " ".join(f"WHEN {string(text)} THEN {sign}" for text, sign in CHANGES.items())
    before, after = (
        string(text) for text in (f"[CEP_DATA_CHANGE_TYPE] {CHANGE_TYPE} is ", f"; it is one of {', '.join(CHANGES)}")
    )
    error = f"RAISE_ERROR(CONCAT({before}, COALESCE({name}, 'NULL'), {after}))"
    return f"CASE {name} {known} ELSE CAST({error} AS INT) END"


def _version(clause: Clause, feed: StructType) -> str | None:
    field = next((field for field in feed if field.name.lower() == COMMIT_VERSION), None)
    if field is None:
        return None
    if not isinstance(field.dataType, IntegralType):
        assert clause.event_key is not None
        raise CepUnsupportedError(
            f"versions that are ordered by a {COMMIT_VERSION} of type {field.dataType.simpleString()}",
            code="EVENT_KEY",
            span=clause.event_key.span,
            hint=f"make it a BIGINT in a subquery, for instance UNIX_MICROS(changed_at) AS {COMMIT_VERSION}",
        )
    return f"COALESCE(CAST({quoted(field.name)} AS BIGINT), {-(1 << 63) + 1})"

"""What every clause over a stream has: the columns of its turns, its spec, its call, and the two columns of its result.

``SELECT …, match_id, _change_type FROM cep_stream('<StreamSpec JSON>', 'SELECT columns, masks, time, identity, bucket FROM input')``: what batch
queries learn from windows (where a partition starts, an event's rank) a turn of the stream adds. The input travels as text, because a table function
that returns a stream takes no table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyspark.sql.types import BooleanType, DataType, StructType
from sqlglot import exp

from rewrites.bind.added_columns import MATCH_ID
from rewrites.bind.relation import Relation
from rewrites.bind.revisions import CHANGE_TYPE
from rewrites.bind.stream import IDENTITY, Streamed
from rewrites.bind.within import TIME
from rewrites.dialect.clause import ClauseKind
from rewrites.settings import Follows, StreamSettings
from rewrites.sql.builder import ALIAS, named, quoted, raw, string, text_of
from rewrites.sql.transport import carried_schema, decoded_columns, encoded
from sparkcep.spec import AggregateSpec, AutomatonSpec, EventPatternSpec, RowPatternSpec, to_json
from sparkcep.spec.order import OrderColumn
from sparkcep.spec.stream import BUCKET, DELETED, LATE, Followed, StreamSpec, identity

FUNCTION_NAME = "cep_stream"
_WHOLE = "__cep_whole"

Clause = RowPatternSpec | EventPatternSpec | AutomatonSpec | AggregateSpec


@dataclass(frozen=True, slots=True)
class Emitted:
    """``result``: what replaces the clause; ``spec``: how its turns run."""

    spec: StreamSpec
    result: exp.Select

    @property
    def query(self) -> str:
        """The result in parentheses."""
        return f"({text_of(self.result)})"


def added_below(
    streamed: Streamed, relation: Relation, settings: StreamSettings, *, timed: bool
) -> list[exp.Expression]:
    """Columns beside the input's own: the row's identity, the time if it is not there yet (``timed``), and the whole row where late ones are kept."""
    time = [] if timed else [named(streamed.time, TIME)]
    whole = [named(encoded("STRUCT(*)", late_row(relation)), _WHOLE)] if settings.late_rows == "keep" else []
    revised = [] if streamed.revised is None else [named(*column) for column in streamed.revised.columns]
    return [*time, named(streamed.identity, IDENTITY), *revised, *whole]


def with_turn_columns(
    rows: exp.Select,
    streamed: Streamed,
    keys: tuple[str, ...],
    settings: StreamSettings,
    together: tuple[str, ...] | None = None,
) -> exp.Select:
    """``rows`` with the columns that a turn sorts by, and the bucket: that of ``keys``, or of those of them whose rows are answered ``together``."""
    names = [*keys, *(column.column for _, column in streamed.order), TIME, IDENTITY]
    names += [] if streamed.revised is None else [name for _, name in streamed.revised.columns]
    names += [_WHOLE] if settings.late_rows == "keep" else []
    missing = [name for name in dict.fromkeys(names) if name not in rows.named_selects]
    hashed = ", ".join(map(quoted, keys if together is None else together))
    bucket = f"CAST(PMOD(XXHASH64({hashed}), {settings.buckets}) AS INT)" if hashed else "0"
    return rows.select(*(raw(quoted(name)) for name in missing), named(bucket, BUCKET))


def stream_spec(
    of: Clause,
    keys: tuple[str, ...],
    streamed: Streamed,
    relation: Relation,
    settings: StreamSettings,
    columns: Iterable[tuple[str, DataType]],
    deadline: str | None = None,
    event_time: str | None = None,
) -> StreamSpec:
    """How the turns of a clause run; ``columns``: of its result as the engine gives them, ``event_time`` the one of these that a watermark may
    follow; ``deadline``: that of its input."""
    columns = list(columns)
    followed = [(name, streamed.delay) for name, _ in columns if name == event_time and streamed.delay is not None]
    late = [(LATE, late_row(relation))] if settings.late_rows == "keep" else []
    signs = [(DELETED, BooleanType())] if settings.speculative else []
    return StreamSpec(
        of=of,
        keys=keys,
        order=(OrderColumn(TIME), *(column for _, column in streamed.order)),
        time=TIME,
        identity=IDENTITY,
        schema=carried_schema([*columns, *signs, *late]).json(),
        deadline=deadline,
        late_rows=settings.late_rows,
        row=_WHOLE if late else None,
        event_time=None if settings.speculative else next(iter(followed), None),
        sigma=settings.sigma if settings.speculative else 0,
        revisions=None if streamed.revised is None else streamed.revised.revisions,
        sequence=None if streamed.sequence is None else replace(streamed.sequence, keys=of.partition),
    )


def following(
    stream: StreamSpec,
    follows: Follows,
    kind: ClauseKind,
    lasting: Clause,
    query: str,
    buckets: int,
    registers: tuple[str, ...] = (),
) -> StreamSpec:
    """``stream``, which follows a pattern, a body of ``kind``. ``lasting``: what all versions of the clause have in common; ``query``: the rows that
    are sent."""
    common = to_json(replace(stream, of=lasting, schema="", deadline=None))
    interface = identity(f"{known_as(follows)} {kind}\n{common}\n{query}")
    return replace(stream, followed=Followed(follows.pattern, kind, follows.table, interface, buckets, registers))


def known_as(follows: Follows | None) -> str:
    """What tells a pattern that a clause follows from others, whatever its versions are; nothing if it follows none."""
    return "" if follows is None else f"{follows.table} {follows.pattern.lower()}"


def whole(streamed: Streamed) -> bool:
    """Whether events have versions (EVENT KEY) or numbers (SEQUENCE NUMBER). Then a turn needs all of them, also what could be in no match, in the
    bucket of their partition."""
    keyed = streamed.revised is not None and streamed.revised.revisions.keyed
    return keyed or streamed.sequence is not None


def late_row(relation: Relation) -> StructType:
    """The type of ``_late``."""
    return StructType((relation.feed or relation.schema).fields)


def stream_call(
    spec: StreamSpec,
    rows: str,
    columns: Iterable[tuple[str, DataType]],
    settings: StreamSettings,
    relation: Relation,
) -> exp.Expression:
    """``cep_stream('<StreamSpec JSON>', 'rows') AS `__cep```, or the view that stands for it, with its ``columns`` decoded."""
    texts = to_json(spec), rows
    called: exp.Expression = exp.Anonymous(this=FUNCTION_NAME, expressions=[exp.Literal.string(text) for text in texts])
    if settings.view is not None:
        called = exp.to_identifier(settings.view(*texts), quoted=True)
    table = exp.Table(this=called, alias=exp.TableAlias(this=exp.to_identifier(ALIAS, quoted=True)))
    beside = {DELETED: BooleanType(), LATE: late_row(relation)}
    return decoded_columns(table, [*columns, *((name, beside[name]) for name in columns_beside(spec))])


def columns_beside(spec: StreamSpec) -> tuple[str, ...]:
    """The columns of ``stream_call`` behind those of the clause."""
    return (*((DELETED,) if spec.sigma != 0 else ()), *((LATE,) if spec.row else ()))


def change_type(changed: str, settings: StreamSettings) -> exp.Expression:
    """``_change_type`` of a row; ``changed``: SQL of that of a row that is neither late nor taken back."""
    text = f"CASE WHEN {quoted(DELETED)} THEN 'delete' ELSE {changed} END" if settings.speculative else changed
    is_late = f"{quoted(LATE)} IS NOT NULL"
    return named(
        f"CASE WHEN {is_late} THEN 'late' ELSE {text} END" if settings.late_rows == "keep" else text, CHANGE_TYPE
    )


def known_by(streamed: Streamed, follows: Follows | None, lasting: Clause) -> str:
    """What tells a clause from others; ``lasting``: see ``following``."""
    return streamed.clause if follows is None else f"{known_as(follows)}{to_json(lasting)}"


def last_columns(
    clause: str, identities: list[str], settings: StreamSettings, changed: str = "'insert'"
) -> list[exp.Expression]:
    """``match_id``, ``_change_type`` (see there for ``changed``) and, where late rows are kept, ``_late``. ``clause``: what tells it from others;
    ``identities``: SQL of what identifies a match, as strings."""
    known = hashlib.sha256(clause.encode()).hexdigest()[:8]
    match_id = f"MD5(CONCAT_WS(';', {', '.join([string(known), *identities])}))"
    if settings.late_rows != "keep":
        return [named(match_id, MATCH_ID), change_type(changed, settings)]
    is_late = f"{quoted(LATE)} IS NOT NULL"
    return [
        named(f"CASE WHEN {is_late} THEN NULL ELSE {match_id} END", MATCH_ID),
        change_type(changed, settings),
        raw(quoted(LATE)),
    ]

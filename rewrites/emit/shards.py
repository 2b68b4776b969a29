"""Events → one copy per shard of the timeline that needs them (see ``rules.time_shards``).

``__cep_home`` is the shard in which an event lies, ``__cep_shard`` the one it was sent to. With S the length of shards and W the window, an event at
t lies in ``floor(t / S)``; the previous shard needs it if ``t mod S < W``, the next one (for negations that look back) if ``t mod S >= S - W``. With
BIGINT nothing here can overflow. DOUBLE sums round, so there the overlap is 2 W on both sides, and S is at least that.

``__cep_task`` distributes shards over tasks round-robin. Spark assigns a row to a task by the hash of its key, and the hashes of a few shard
numbers often collide; so the key is one of a few integers whose hashes do not. (A hash other than Spark's would only spread the shards less evenly.)
"""

from __future__ import annotations

from functools import cache
from itertools import count

from sqlglot import exp

from rewrites.rules.time_shards import Shards
from rewrites.sql.builder import named, quoted, select
from sparkcep.spec.row import MASK_BITS

HOME, SHARD, OWN, TASK = "__cep_home", "__cep_shard", "__cep_own", "__cep_task"
_STEP = "__cep_step"
_LENGTH = "__cep_length"

MOST_KEYS = 64
"""With more tasks than this, hashing the shard numbers is even enough."""


def sharded(events: exp.Select, time: str, masks: list[str], shards: Shards) -> exp.Select:
    """``events`` with their shards; ``time`` and ``masks`` name columns. Events that can only lead matches are not copied to other shards."""
    lengths = select([exp.Star(), named(shards.length, _LENGTH)], events)
    home = select([exp.Star(), named(_home(quoted(time), shards), HOME)], lengths)
    low, high = _range(quoted(time), shards)
    near = f"SEQUENCE({low}, {high})"
    if shards.leaders is not None:
        follows = " OR ".join(f"{_without_leaders(name, i, shards)} <> 0" for i, name in enumerate(masks))
        near = f"CASE WHEN {follows} THEN {near} ELSE ARRAY({quoted(HOME)}) END"
    sent = select([exp.Star(), named(f"EXPLODE({near})", SHARD)], home)
    return sent if shards.tasks is None else _spread(sent, shards.tasks, [exp.Star()])


def in_line(
    events: exp.Select, columns: list[exp.Expression], masks: list[str], time: str, shards: Shards
) -> exp.Select:
    """``columns`` and ``masks`` of ``events`` in tasks, in no order. Only what the engine reads is shuffled. ``time``: the column with the time."""
    lengths = select([exp.Star(), named(shards.length, _LENGTH)], events)
    home = select([exp.Star(), named(_home(quoted(time), shards), HOME)], lengths)
    sent = select([exp.Star(), named(f"EXPLODE({_steps(time, masks, shards)})", _STEP)], home)
    shard = f"{quoted(HOME)} - {quoted(_STEP)}"
    placed = select([exp.Star(), named(shard, SHARD)], sent)
    read = [own() if column.alias_or_name == OWN else column for column in columns]
    offers = [named(offered(name, i, shards), name) for i, name in enumerate(masks)]
    spread = _spread(placed, shards.tasks, [*read, *offers]) if shards.tasks is not None else placed
    names = [exp.column(column.alias_or_name, quoted=True) for column in (*read, *offers)]
    return select(names, spread)


def _steps(time: str, masks: list[str], shards: Shards) -> str:
    """How many shards back an event is sent: 0, also 1 where the shard before needs it, also -1 where the next one does; constants, which cost
    nothing to make. Shards are too long for both."""
    place, window = f"PMOD({quoted(time)}, {quoted(_LENGTH)})", f"({shards.window})"
    before = f"WHEN {place} < {window} THEN ARRAY(0, 1)"
    behind = f" WHEN {place} >= {quoted(_LENGTH)} - {window} THEN ARRAY(0, -1)" if shards.back else ""
    leads = ""
    if shards.leaders is not None:
        leads = f"WHEN {' AND '.join(f'{_without_leaders(name, i, shards)} = 0' for i, name in enumerate(masks))} THEN ARRAY(0) "
    return f"CASE {leads}{before}{behind} ELSE ARRAY(0) END"


def partitioning(shards: Shards) -> list[str]:
    """The columns that identify shards and assign them to tasks."""
    return [quoted(SHARD)] if shards.tasks is None else [quoted(TASK), quoted(SHARD)]


def _spread(events: exp.Select, tasks: int, columns: list[exp.Expression]) -> exp.Select:
    """``columns`` of ``events`` in ``tasks`` tasks, which Spark does not coalesce even if the rows are few."""
    key = f"PMOD({quoted(SHARD)}, {tasks})"
    if tasks <= MOST_KEYS:
        keys = ", ".join(str(value) for value in apart(tasks))
        key = f"ELEMENT_AT(ARRAY({keys}), CAST({key} AS INT) + 1)"
    spread = select([exp.Star()], select([*columns, named(key, TASK)], events))
    return spread.hint(f"REPARTITION({tasks}, {quoted(TASK)})", dialect="spark")


@cache
def apart(tasks: int) -> tuple[int, ...]:
    """The first ``tasks`` integers that Spark's hash partitioning sends to different tasks."""
    found: dict[int, int] = {}
    for value in count():
        if len(found) == tasks:
            return tuple(found[at] for at in range(tasks))
        found.setdefault(_hash(value) % tasks, value)
    raise AssertionError


def _hash(value: int) -> int:
    """Murmur3 of an INT with Spark's seed, signed, as in its hash partitioning."""
    mixed = _rotated(value * 0xCC9E2D51, 15) * 0x1B873593
    state = _rotated(42 ^ (mixed & _WORD), 13) * 5 + 0xE6546B64 & _WORD
    state ^= 4
    state = (state ^ state >> 16) * 0x85EBCA6B & _WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & _WORD
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


_WORD = (1 << 32) - 1


def _rotated(value: int, bits: int) -> int:
    value &= _WORD
    return (value << bits | value >> 32 - bits) & _WORD


def offered(mask: str, i: int, shards: Shards | None) -> str:
    """The i-th mask of an event in the shard it was sent to: outside its home shard it cannot lead a match."""
    if shards is None or shards.leaders is None or not _leader_bits(i, shards):
        return quoted(mask)
    return (
        f"CASE WHEN {quoted(SHARD)} = {quoted(HOME)} THEN {quoted(mask)} ELSE {_without_leaders(mask, i, shards)} END"
    )


def own() -> exp.Expression:
    """The flag that identifies the matches of a shard, if the masks do not."""
    return named(f"{quoted(SHARD)} = {quoted(HOME)}", OWN)


def _home(time: str, shards: Shards) -> str:
    length = quoted(_LENGTH)
    if not shards.whole:
        return f"FLOOR({time} / {length})"
    return f"{time} DIV {length} - CASE WHEN {time} < 0 AND PMOD({time}, {length}) > 0 THEN 1 ELSE 0 END"


def _range(time: str, shards: Shards) -> tuple[str, str]:
    """The first and the last shard that an event is sent to."""
    home, length, window = quoted(HOME), quoted(_LENGTH), f"({shards.window})"
    if not shards.whole:
        low = f"FLOOR(({time} - 2D * {window}) / {length})"
        return low, f"FLOOR(({time} + 2D * {window}) / {length})" if shards.back else home
    place = f"PMOD({time}, {length})"
    low = f"{home} - CASE WHEN {place} < {window} THEN 1 ELSE 0 END"
    high = f"{home} + CASE WHEN {place} >= {length} - {window} THEN 1 ELSE 0 END"
    return low, high if shards.back else home


def _without_leaders(mask: str, i: int, shards: Shards) -> str:
    """The mask with the leaders' bits cleared."""
    bits = _leader_bits(i, shards)
    return f"({quoted(mask)} & {~bits})" if bits else quoted(mask)


def _leader_bits(i: int, shards: Shards) -> int:
    """The bits of the i-th mask that belong to leaders; bit 0 of the first is the partition's start."""
    assert shards.leaders is not None
    at = [divmod(leader + 1, MASK_BITS) for leader in shards.leaders]
    return sum(1 << bit for mask, bit in at if mask == i)

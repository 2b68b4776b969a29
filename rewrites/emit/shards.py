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
_IS_HOME = f"`{SHARD}` = `{HOME}`"

MOST_KEYS = 64
"""With more tasks than this, hashing the shard numbers is even enough."""


def sharded(events: exp.Select, time: str, masks: list[str], shards: Shards) -> exp.Select:
    """``events``, a ``SELECT *``, with their shards; ``time`` and ``masks`` name columns. Events that can only lead matches are not copied to other
    shards."""
    home = _with_length(events, shards).select(named(_home(quoted(time), shards), HOME), copy=False)
    low, high = _range(quoted(time), shards)
    near = f"SEQUENCE({low}, {high})"
    if shards.leaders is not None:
        follows = " OR ".join(f"{_without_leaders(name, i, shards)} <> 0" for i, name in enumerate(masks))
        near = f"CASE WHEN {follows} THEN {near} ELSE ARRAY({quoted(HOME)}) END"
    sent = select([exp.Star(), named(f"EXPLODE({near})", SHARD)], home)
    if shards.tasks is None:
        return sent
    return _spread(select([exp.Star(), _task(quoted(SHARD), shards.tasks)], sent), shards.tasks)


def in_line(
    events: exp.Select, columns: list[exp.Expression], masks: list[str], time: str, shards: Shards
) -> exp.Select:
    """``columns`` and ``masks`` of ``events``, a ``SELECT *``, in tasks, in no order. Only what the engine reads is shuffled. ``time``: the column
    with the time. As few queries in each other as can be: Spark analyses one after the other."""
    assert shards.tasks is not None
    home = named(_home(quoted(time), shards), HOME)
    steps = named(f"EXPLODE({_steps(time, masks, shards)})", _STEP)
    sent = _with_length(events, shards).select(home, steps, copy=False)
    is_home = f"{quoted(_STEP)} = 0"
    read = [own(is_home) if column.alias_or_name == OWN else column for column in columns]
    read += [named(offered(name, i, shards, is_home), name) for i, name in enumerate(masks)]
    task = _task(f"{quoted(HOME)} - {quoted(_STEP)}", shards.tasks)
    names = [exp.column(column.alias_or_name, quoted=True) for column in read]
    return select(names, _spread(select([*read, task], sent), shards.tasks))


def _with_length(events: exp.Select, shards: Shards) -> exp.Select:
    """A ``SELECT *`` of the events, with the length of shards where that is measured."""
    if not shards.measured:
        return events
    return select([exp.Star()], events.select(named(shards.length, _LENGTH), copy=False))


def _steps(time: str, masks: list[str], shards: Shards) -> str:
    """How many shards back an event is sent: 0, also 1 where the shard before needs it, also -1 where the next one does; constants, which cost
    nothing to make. Shards are too long for both."""
    length, window = _length(shards), f"({shards.window})"
    place = f"PMOD({quoted(time)}, {length})"
    before = f"WHEN {place} < {window} THEN ARRAY(0, 1)"
    behind = f" WHEN {place} >= {length} - {window} THEN ARRAY(0, -1)" if shards.back else ""
    leads = ""
    if shards.leaders is not None:
        leads = f"WHEN {' AND '.join(f'{_without_leaders(name, i, shards)} = 0' for i, name in enumerate(masks))} THEN ARRAY(0) "
    return f"CASE {leads}{before}{behind} ELSE ARRAY(0) END"


def partitioning(shards: Shards) -> list[str]:
    """The columns that identify shards and assign them to tasks."""
    return [quoted(SHARD)] if shards.tasks is None else [quoted(TASK), quoted(SHARD)]


def _spread(placed: exp.Select, tasks: int) -> exp.Select:
    """The rows in ``tasks`` tasks, which Spark does not coalesce even if the rows are few."""
    return placed.hint(f"REPARTITION({tasks}, {quoted(TASK)})", dialect="spark")


def _task(shard: str, tasks: int) -> exp.Expression:
    """The column that tells a shard's task."""
    key = f"PMOD({shard}, {tasks})"
    if tasks <= MOST_KEYS:
        keys = ", ".join(str(value) for value in apart(tasks))
        key = f"ELEMENT_AT(ARRAY({keys}), CAST({key} AS INT) + 1)"
    return named(key, TASK)


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


def offered(mask: str, i: int, shards: Shards | None, is_home: str = _IS_HOME) -> str:
    """The i-th mask of an event in the shard it was sent to: outside its home shard it cannot lead a match."""
    if shards is None or shards.leaders is None or not _leader_bits(i, shards):
        return quoted(mask)
    return f"CASE WHEN {is_home} THEN {quoted(mask)} ELSE {_without_leaders(mask, i, shards)} END"


def own(is_home: str = _IS_HOME) -> exp.Expression:
    """The flag that identifies the matches of a shard, if the masks do not."""
    return named(is_home, OWN)


def _length(shards: Shards) -> str:
    return quoted(_LENGTH) if shards.measured else f"({shards.length})"


def _home(time: str, shards: Shards) -> str:
    length = _length(shards)
    if not shards.whole:
        return f"FLOOR({time} / {length})"
    return f"{time} DIV {length} - CASE WHEN {time} < 0 AND PMOD({time}, {length}) > 0 THEN 1 ELSE 0 END"


def _range(time: str, shards: Shards) -> tuple[str, str]:
    """The first and the last shard that an event is sent to."""
    home, length, window = quoted(HOME), _length(shards), f"({shards.window})"
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

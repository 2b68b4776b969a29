"""Events → events once for each shard of the time line that needs them (see ``rules.time_shards``).

``__cep_home`` is the shard in which an event lies, ``__cep_shard`` the one it was sent to. With S the shards' length and W the window, an
event at t lies in ``floor(t / S)``; the shard before it needs it if ``t mod S < W``, the one behind it (for negations that look back) if
``t mod S >= S - W``. On BIGINT nothing here can overflow. DOUBLE sums round: there both sides reach 2 W, and S is at least that.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.builder import named, quoted, select
from rewrites.rules.time_shards import Shards
from sparkcep.spec.row import MASK_BITS

HOME, SHARD, OWN = "__cep_home", "__cep_shard", "__cep_own"
_FROM = "__cep_from"


def sharded(events: exp.Select, time: str, masks: list[str], shards: Shards) -> exp.Select:
    """``events`` with their shards; ``time`` and ``masks`` name columns. Events that only lead matches stay at home."""
    home = select([exp.Star(), named(_home(quoted(time), shards), HOME)], events)
    low, high = _range(quoted(time), shards)
    near = f"SEQUENCE({low}, {high})"
    if shards.leaders is not None:
        follows = " OR ".join(f"{_without_leaders(name, i, shards)} <> 0" for i, name in enumerate(masks))
        near = f"CASE WHEN {follows} THEN {near} ELSE ARRAY({quoted(HOME)}) END"
    return select([exp.Star(), named(f"EXPLODE({near})", SHARD)], home)


def offered(mask: str, i: int, shards: Shards | None) -> str:
    """The i-th mask of an event in the shard it was sent to: away from home it leads no match."""
    if shards is None or shards.leaders is None or not _leader_bits(i, shards):
        return quoted(mask)
    return (
        f"CASE WHEN {quoted(SHARD)} = {quoted(HOME)} THEN {quoted(mask)} ELSE {_without_leaders(mask, i, shards)} END"
    )


def own() -> exp.Expression:
    """The flag by which the matches of a shard are told, where no bit tells them."""
    return named(f"{quoted(SHARD)} = {quoted(HOME)}", OWN)


def _home(time: str, shards: Shards) -> str:
    length = f"({shards.length})"
    if not shards.whole:
        return f"FLOOR({time} / {length})"
    return f"{time} DIV {length} - CASE WHEN {time} < 0 AND PMOD({time}, {length}) > 0 THEN 1 ELSE 0 END"


def _range(time: str, shards: Shards) -> tuple[str, str]:
    """The first and the last shard that an event is sent to."""
    home, length, window = quoted(HOME), f"({shards.length})", f"({shards.window})"
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

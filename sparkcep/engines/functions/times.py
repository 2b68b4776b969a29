"""Functions of dates (days since 1970-01-01), timestamps and intervals (microseconds), for the years 1 to 9999."""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from sparkcep.engines.functions.base import Refused, failure, simple, strict, towards_zero, type_of
from sparkcep.spec.expression import Constant, SparkFunction
from sparkcep.spec.types import kind

DAY = 86_400_000_000
"""Microseconds of a day."""

_EPOCH = date(1970, 1, 1).toordinal()
_START = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000}
WIDTHS = {**_UNITS, "DAY": DAY, "WEEK": 7 * DAY, "DAYOFYEAR": DAY}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?(?::?(\d\d))?|Z")
_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ].*)?)?)?", re.DOTALL)


def _date(days: int) -> date:
    if not 1 <= days + _EPOCH <= date.max.toordinal():
        raise failure("a date outside the years 1 to 9999", "DATE_RANGE")
    return date.fromordinal(days + _EPOCH)


def _days(value: date) -> int:
    return value.toordinal() - _EPOCH


@lru_cache(maxsize=16)
def _zone(name: str) -> tzinfo:
    """A time zone by Spark's name: a region, or an offset. Raises Refused for Java's own abbreviations."""
    name = name.removeprefix("Some(").removesuffix(")")
    offset = _OFFSET.fullmatch(name)
    try:
        if offset is None:
            return ZoneInfo(name)
        hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
        ahead = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(-ahead if offset[1] == "-" else ahead)
    except (KeyError, ValueError, OSError):
        raise Refused(f"the time zone {name}") from None


def _known(zone: str) -> str:
    """``zone``, which ``_zone`` knows."""
    _zone(zone)
    return zone


def _local(micros: int, zone: str) -> datetime:
    try:
        return (_START + timedelta(microseconds=micros)).astimezone(_zone(zone))
    except OverflowError:
        raise failure("a timestamp outside the years 1 to 9999", "DATE_RANGE") from None


def _micros(value: datetime) -> int:
    return (value - _START) // timedelta(microseconds=1)


def at_clock(micros: int, zone: str) -> int:
    """The instant at which the clocks of a time zone show a time; they skip it: as long after as they skip; twice: the earlier."""
    return _micros(_local(micros, "UTC").replace(tzinfo=_zone(zone)))


def day_of(micros: int, zone: str) -> int:
    """The date of a timestamp in a time zone."""
    return _days(_local(micros, zone).date())


def midnight(days: int, zone: str) -> int:
    """The timestamp of the start of a date in a time zone."""
    day = _date(days)
    return _micros(datetime(day.year, day.month, day.day, tzinfo=_zone(zone)))


def date_text(days: int) -> str:
    """A date as text."""
    return _date(days).isoformat()


def timestamp_text(micros: int, zone: str) -> str:
    """A timestamp as text, without trailing zeros in the fraction."""
    text = _local(micros, zone).replace(tzinfo=None).isoformat(" ")
    return text.rstrip("0") if "." in text else text


def parsed_date(text: str) -> int | None:
    """``2024``, ``2024-1``, ``2024-01-02`` (optionally followed by a time) as a date; None for anything else."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    try:
        return _days(date(int(found[1]), int(found[2] or 1), int(found[3] or 1)))
    except ValueError:
        return None


def _wrapped(days: int) -> int:
    """As Spark adds days, in 32 bits and without a check, also in ANSI mode."""
    return (days + (1 << 31)) % (1 << 32) - (1 << 31)


def _of_date(name: str, function: Callable[[date], int]) -> None:
    simple(name, lambda days: function(_date(days)))


_of_date("Year", lambda day: day.year)
_of_date("Month", lambda day: day.month)
_of_date("DayOfMonth", lambda day: day.day)
_of_date("Quarter", lambda day: (day.month + 2) // 3)
_of_date("DayOfWeek", lambda day: day.isoweekday() % 7 + 1)
_of_date("WeekDay", lambda day: day.weekday())
_of_date("DayOfYear", lambda day: day.timetuple().tm_yday)
_of_date("WeekOfYear", lambda day: day.isocalendar().week)
_of_date("LastDay", lambda day: _days(day.replace(day=calendar.monthrange(day.year, day.month)[1])))
simple("UnixDate", lambda days: days)
simple("DateFromUnixDate", lambda days: days)
simple("DateAdd", lambda days, more: _wrapped(days + more))
simple("DateSub", lambda days, less: _wrapped(days - less))
simple("DateDiff", lambda end, start: _wrapped(end - start))
simple("UnixMicros", lambda micros: micros)
simple("UnixMillis", lambda micros: micros // 1000)
simple("UnixSeconds", lambda micros: micros // 1_000_000)
simple("MicrosToTimestamp", lambda micros: micros)
simple("MillisToTimestamp", lambda millis: millis * 1000)


@strict("SubtractDates")
def _subtract_dates(node: SparkFunction) -> Callable[[int, int], int]:
    return lambda left, right: (left - right) * DAY


@strict("SubtractTimestamps")
def _subtract_timestamps(node: SparkFunction) -> Callable[[int, int], int]:
    legacy, zone = node.settings[0], _known(node.settings[1])
    if legacy.lower() == "true":
        raise Refused("a difference of timestamps as a calendar interval")
    if kind(type_of(node.arguments[0])) == "timestamp_ntz" or is_utc(zone):
        return lambda left, right: left - right
    return lambda left, right: clock(left, zone) - clock(right, zone)


def is_utc(zone: str) -> bool:
    """Whether clocks there never change."""
    return zone.removeprefix("Some(").removesuffix(")") in ("UTC", "Etc/UTC", "Z", "GMT")


def clock(micros: int, zone: str) -> int:
    """What the clocks of a time zone show, as if it were UTC: Spark subtracts timestamps by them."""
    return _micros(_local(micros, zone).replace(tzinfo=UTC))


def _months_later(day: date, months: int) -> date:
    """The same day of a later month, or its last."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise failure("a date outside the years 1 to 9999", "DATE_RANGE")
    return day.replace(year=year, month=month + 1, day=min(day.day, calendar.monthrange(year, month + 1)[1]))


@strict("AddMonths", "DateAddYMInterval")
def _add_months(node: SparkFunction) -> Callable[[int, int], int]:
    return lambda days, months: _days(_months_later(_date(days), months))


@strict("MonthsBetween")
def _months_and_days_between(node: SparkFunction) -> Callable[[int, int, bool], float]:
    """Whole months where both are the same day of a month, or the last one; else days are 31sts of a month."""
    zone = _known(node.settings[0])

    def function(end: int, start: int, rounds: bool) -> float:
        last, first = _local(end, zone).date(), _local(start, zone).date()
        months = (last.year - first.year) * 12 + last.month - first.month
        if last.day == first.day or (_is_last_of_month(last) and _is_last_of_month(first)):
            return float(months)
        seconds = [(micros - midnight(_days(day), zone)) // 1_000_000 for micros, day in ((end, last), (start, first))]
        found = months + ((last.day - first.day) * 86_400 + seconds[0] - seconds[1]) / (31 * 86_400)
        return math.floor(found * 1e8 + 0.5) / 1e8 if rounds else found

    return function


def _is_last_of_month(day: date) -> bool:
    return day.day == calendar.monthrange(day.year, day.month)[1]


@strict("MakeDate")
def _make_date(node: SparkFunction) -> Callable[[int, int, int], int | None]:
    fails = node.settings[0].lower() == "true"

    def function(year: int, month: int, day: int) -> int | None:
        try:
            return _days(date(year, month, day))
        except ValueError as error:
            if fails:
                raise failure(f"make_date: {error}", "DATE_RANGE") from None
            return None

    return function


_TRUNCATED: dict[str, Callable[[date], date]] = {
    "WEEK": lambda day: day - timedelta(days=day.weekday()),
    "QUARTER": lambda day: day.replace(month=day.month - (day.month - 1) % 3, day=1),
    **dict.fromkeys(("MON", "MONTH", "MM"), lambda day: day.replace(day=1)),
    **dict.fromkeys(("YEAR", "YYYY", "YY"), lambda day: day.replace(month=1, day=1)),
}


def _same(day: date) -> date:
    return day


def _format(node: SparkFunction, index: int) -> str:
    found = node.arguments[index]
    if not isinstance(found, Constant) or not isinstance(found.value, str):
        raise Refused(f"{node.text} to a unit that is no literal")
    return found.value.upper()


@strict("TruncDate")
def _trunc(node: SparkFunction) -> Callable[[int, str], int | None]:
    truncate = _TRUNCATED.get(_format(node, 1))
    return lambda days, _: None if truncate is None else _days(truncate(_date(days)))


@strict("TruncTimestamp")
def _trunc_timestamp(node: SparkFunction) -> Callable[[str, int], int | None]:
    unit, zone = _format(node, 0), _known(node.settings[0])
    if unit in _TRUNCATED or unit in ("DAY", "DD"):
        truncate = _TRUNCATED.get(unit, _same)
        return lambda _, micros: midnight(_days(truncate(_local(micros, zone).date())), zone)
    if unit not in _UNITS:
        return lambda _, micros: None
    if unit == "HOUR" and not is_utc(zone):
        return lambda _, micros: _micros(_local(micros, zone).replace(minute=0, second=0, microsecond=0))
    return lambda _, micros: micros - micros % _UNITS[unit]


@strict("Hour", "Minute", "Second")
def _clock(node: SparkFunction) -> Callable[[int], int]:
    zone, name = _known(node.settings[0]), node.name.lower()
    if kind(type_of(node.arguments[0])) not in ("timestamp", "timestamp_ntz"):
        raise Refused(f"{node.text} of {type_of(node.arguments[0])}")
    if kind(type_of(node.arguments[0])) == "timestamp_ntz":
        zone = "UTC"
    return lambda micros: int(getattr(_local(micros, zone), name))


@strict("UnixTimestamp", "ToUnixTimestamp")
def _unix_timestamp(node: SparkFunction) -> Callable[..., int]:
    source, zone = kind(type_of(node.arguments[0])), _known(node.settings[0])
    if source == "date":
        return lambda days, *_: midnight(days, zone) // 1_000_000
    if source != "timestamp":
        raise Refused(f"{node.text} of {source}")
    return lambda micros, *_: towards_zero(micros, 1_000_000)


@strict("TimestampAddInterval", "TimeAdd")
def _add_interval(node: SparkFunction) -> Callable[[int, int], int]:
    interval = type_of(node.arguments[1])
    if kind(interval) != "interval" or not {"day", "hour", "minute", "second"} & set(interval.split()):
        raise Refused(f"a timestamp and {interval}")
    zone = _clocks(node.arguments[0], node.settings[0])
    return lambda micros, more: _later(micros, more, zone)


@strict("TimestampAddYMInterval")
def _add_year_month(node: SparkFunction) -> Callable[[int, int], int]:
    zone = _clocks(node.arguments[0], node.settings[0])
    return lambda micros, months: _months_after(micros, months, zone)


@strict("TimestampAdd")
def _add_units(node: SparkFunction) -> Callable[[int, int], int]:
    unit, zone = node.settings[0].upper(), _clocks(node.arguments[1], node.settings[1])
    if unit in _MONTHS:
        return lambda count, micros: _months_after(micros, count * _MONTHS[unit], zone)
    if unit not in WIDTHS:
        raise Refused(f"timestampadd in {unit}")
    return lambda count, micros: _later(micros, count * WIDTHS[unit], zone)


def _clocks(argument: object, zone: str) -> str:
    """The time zone by whose clocks a timestamp is moved."""
    return "UTC" if kind(type_of(argument)) == "timestamp_ntz" else _known(zone)


def _later(micros: int, more: int, zone: str) -> int:
    """Whole days by the clocks of a time zone, and the rest by instants."""
    days, rest = divmod(abs(more), DAY)
    if is_utc(zone) or not days:
        return micros + more
    sign = -1 if more < 0 else 1
    moved = _local(micros, zone).replace(tzinfo=None) + timedelta(days=sign * days)
    return _micros(moved.replace(tzinfo=_zone(zone))) + sign * rest


def _months_after(micros: int, months: int, zone: str) -> int:
    local = _local(micros, zone).replace(tzinfo=None)
    return _micros(datetime.combine(_months_later(local.date(), months), local.time(), _zone(zone)))


@strict("TimestampDiff")
def _difference(node: SparkFunction) -> Callable[[int, int], int]:
    unit, zone = node.settings[0].upper(), _known(node.settings[1])
    if unit in _MONTHS:
        return lambda start, end: _months_between(clock(start, zone), clock(end, zone), _MONTHS[unit])
    if unit not in WIDTHS:
        raise Refused(f"timestampdiff in {unit}")
    width, by_clock = WIDTHS[unit], not is_utc(zone)

    def function(start: int, end: int) -> int:
        elapsed = clock(end, zone) - clock(start, zone) if by_clock else end - start
        return towards_zero(elapsed, width)

    return function


def _months_between(start: int, end: int, width: int) -> int:
    """The whole multiples of ``width`` months between two local times, towards zero."""
    if end < start:
        return -_months_between(end, start, width)
    first, last = _local(start, "UTC"), _local(end, "UTC")
    months = (last.year - first.year) * 12 + last.month - first.month
    short = (last.day, last.time()) < (first.day, first.time())
    return (months - short) // width


def internal(value: Any) -> Any:
    """An Arrow value in the representation that the functions expect."""
    if isinstance(value, datetime):
        return _micros(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, date):
        return _days(value)
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, list):
        return [internal(item) for item in value]
    if isinstance(value, dict):
        return tuple(internal(item) for item in value.values())
    return value

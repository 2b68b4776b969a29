"""Times as numbers, in SQL: microseconds."""

from __future__ import annotations

DAY = 86_400_000_000
MICROS = {"SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000, "DAY": DAY, "WEEK": 7 * DAY}
"""Microseconds."""


def local_micros(text: str) -> str:
    """The microseconds of a TIMESTAMP_NTZ since 1970. (UNIX_MICROS and TIMESTAMPDIFF read it by the clocks of the session's time zone, which skip
    some.)"""
    days, hours, minutes = f"UNIX_DATE(CAST({text} AS DATE)) * {DAY}L", f"HOUR({text})", f"MINUTE({text})"
    seconds = f"CAST(EXTRACT(SECOND FROM {text}) * 1000000 AS BIGINT)"
    return f"({days} + {hours} * {MICROS['HOUR']}L + {minutes} * {MICROS['MINUTE']}L + {seconds})"


def interval_micros(text: str) -> str:
    """The microseconds of a day-time interval. (Added to a TIMESTAMP, its days would be those of the zone's calendar, of 23 to 25 hours.)"""
    return f"CAST(CAST(CAST(({text}) AS INTERVAL SECOND) AS DECIMAL(20, 6)) * 1000000 AS BIGINT)"

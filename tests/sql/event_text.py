"""Corpus cases of event patterns as SQL: their events as a table, their clause, a measure."""

from __future__ import annotations

from tests.corpus import EventCase
from tests.sql.test_corpus import literal


def events_table(case: EventCase) -> str:
    """The events as a query in parentheses."""
    names = list(dict.fromkeys(name for event in case.events for name in event))
    types = {name: _type([event.get(name) for event in case.events]) for name in names}
    lines = [", ".join(f"CAST({literal(event.get(name))} AS {types[name]})" for name in names) for event in case.events]
    return f"(SELECT * FROM VALUES {', '.join(f'({line})' for line in lines)} AS t({', '.join(names)}))"


def clause(case: EventCase, tail: str = "") -> str:
    """``MATCH PATTERN (…)``, with ``tail`` behind WITHIN."""
    partition = f"PARTITION BY {', '.join(case.partition)}" if case.partition else ""
    where = f"WHERE {' AND '.join(case.where)}" if case.where else ""
    within = f"WITHIN {case.within}" if case.within is not None else ""
    within = f"WITHIN {case.within_events} EVENTS" if case.within_events else within
    return f"MATCH PATTERN ({case.pattern} {partition} ORDER BY {', '.join(case.order)} {where} {within} {tail})"


def _type(values: list[object]) -> str:
    known = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in known):
        return "STRING"
    return "DOUBLE" if any(isinstance(value, float) for value in known) else "INT"

"""Random expressions over two events, of every type, from templates: what Spark has functions for, at the edges of what types hold."""

from __future__ import annotations

import re
from random import Random

TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "int": "INT",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "float": "FLOAT",
    "decimal": "DECIMAL(10, 2)",
    "string": "STRING",
    "binary": "BINARY",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "ntz": "TIMESTAMP_NTZ",
    "interval": "INTERVAL DAY TO SECOND",
    "months": "INTERVAL YEAR TO MONTH",
    "array": "ARRAY<INT>",
    "struct": "STRUCT<a: INT, b: STRING>",
}
"""A column's name without its ``c_`` → its type."""

VALUES = {
    "boolean": "true; false",
    "tinyint": "1Y; -128Y; 127Y; 0Y",
    "int": "0; 1; -1; 2; 3; 7; 2147483647",
    "bigint": "0L; 1L; -5L; 3L; 9007199254740993L",
    "double": "0D; -0D; 1.5D; CAST('NaN' AS DOUBLE); -2.5D; 1e300D; CAST('Infinity' AS DOUBLE); 3D",
    "float": "0.1F; 1.5F; -2.5F; CAST('NaN' AS FLOAT); 16777217F",
    "decimal": "1.10BD; -2.25BD; 0.00BD; 3.00BD; 99999999.99BD",
    "string": "''; 'a'; 'B'; 'b'; 'é'; '10'; 'ab '; '𐀀'",
    "binary": "X''; X'00'; X'FF'; X'7F80'",
    "date": "DATE'2024-03-10'; DATE'2024-03-09'; DATE'1969-12-31'; DATE'2024-11-03'",
    "timestamp": "TIMESTAMP'2024-03-10 01:30:00'; TIMESTAMP'2024-03-10 03:30:00.000001'; TIMESTAMP'2024-11-03 01:30:00'; "
    "TIMESTAMP'1969-12-31 23:59:59.999999'",
    "ntz": "TIMESTAMP_NTZ'2024-03-10 02:30:00'; TIMESTAMP_NTZ'2024-03-10 03:30:00.000001'; TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'",
    "interval": "INTERVAL '1' DAY; INTERVAL '-3 04:05:06.789' DAY TO SECOND; INTERVAL '5' SECOND; INTERVAL '0' SECOND",
    "months": "INTERVAL '14' MONTH; INTERVAL '-1-2' YEAR TO MONTH; INTERVAL '0' MONTH",
    "array": "array(1, 2); array(1); array(1, NULL); CAST(array() AS ARRAY<INT>)",
    "struct": "named_struct('a', 1, 'b', 'x'); named_struct('a', 0, 'b', 'z'); named_struct('a', CAST(NULL AS INT), 'b', 'x')",
}

NUMBERS = ("tinyint", "int", "bigint", "double", "float", "decimal")

_ANY = """
CASE WHEN {boolean} THEN {self} ELSE {self} END; COALESCE({self}, {self}); IF({boolean}, {self}, {self}); NULLIF({self}, {self}); GREATEST({self}, {self});
LEAST({self}, {self}); NVL2({boolean}, {self}, {self})
"""
_NUMBER = """
({self} + {self}); ({self} - {self}); ({self} * {self}); ABS({self}); (-{self}); ({self} % {self}); CAST({number} AS {type}); TRY_CAST({number} AS {type});
TRY_CAST({string} AS {type})
"""
TEMPLATES = {
    "boolean": """
        {any} = {any}; {any} <> {any}; {any} < {any}; {any} <= {any}; {any} > {any}; {any} >= {any}; {any} <=> {any}; {any} IS DISTINCT FROM {any};
        {any} IS NOT DISTINCT FROM {any}; {number} < {number}; {number} >= {number}; {number} = {number}; {number} <=> {number}; {any} BETWEEN {any} AND {any};
        {any} NOT BETWEEN {any} AND {any}; {any} IN ({any}, {any}, {any}); {any} NOT IN ({any}, {any}); {any} IS NULL; {any} IS NOT NULL;
        ({boolean} AND {boolean}); ({boolean} OR {boolean}); NOT ({boolean}); {string} LIKE '%a%'; {string} LIKE ANY ('a%', {string});
        {string} NOT LIKE 'a!_' ESCAPE '!'; {string} ILIKE 'B%'; ({boolean}) IS TRUE; ({boolean}) IS NOT FALSE; ({boolean}) IS UNKNOWN; ISNAN({double});
        array_contains({array}, 1); contains({string}, {string}); startswith({string}, {string}); exists({array}, q -> q > {int});
        ({int}, {string}) IN (({int}, {string}), (1, 'a')); CASE {int} WHEN {int} THEN {boolean} WHEN 3 THEN {boolean} END;
        ({boolean} = {boolean} AND {boolean} OR {boolean}); ({int} + {int} * {int} > {int} - -{int}); (NOT {boolean} <=> {boolean})
    """,
    "int": """
        LENGTH({string}); YEAR({date}); DATEDIFF({date}, {date}); SIZE({array}); get({array}, 0); HOUR({timestamp}); EXTRACT(DAY FROM {date});
        POSITION({string} IN {string}); size(filter({array}, q -> q = {int})); CAST({boolean} AS INT); ({int} & {int}); ASCII({string}); PMOD({int}, 5);
        aggregate({array}, 0, (q, w) -> q + w); TRY_DIVIDE({int}, {int})::INT; MONTH({timestamp}); DAYOFWEEK({date})
    """,
    "bigint": """
        UNIX_MICROS({timestamp}); TIMESTAMPDIFF(SECOND, {timestamp}, {timestamp}); TIMESTAMPDIFF(MONTH, {timestamp}, {timestamp});
        UNIX_SECONDS({timestamp}); TRY_DIVIDE({bigint}, {bigint})::BIGINT
    """,
    "double": "({int} / NULLIF({int}, 0)); ({double} / NULLIF({number}, 0)); TRY_DIVIDE({double}, {double}); SQRT(ABS({double})); ROUND({double}, 1); POWER({double}, 2); LN({double})",
    "decimal": "ROUND({decimal}, 1); FLOOR({decimal})",
    "string": """
        ({string} || {string}); UPPER({string}); SUBSTR({string}, 1, 1); TRIM({string}); CONCAT_WS('-', {string}, {string}); SUBSTRING({string} FROM 1 FOR 2);
        TRIM(BOTH 'a' FROM {string}); LPAD({string}, 4, 'x'); REPLACE({string}, 'a', {string}); REVERSE({string}); SPLIT_PART({string}, 'b', 1);
        CAST({int} AS STRING); CAST({date} AS STRING); CAST({timestamp} AS STRING); CAST({decimal} AS STRING)
    """,
    "date": """
        DATE_ADD({date}, 1); DATEADD(DAY, 2, {date})::DATE; ({date} + INTERVAL 1 MONTH); CAST({timestamp} AS DATE); CAST({ntz} AS DATE); ({date} - 1);
        ({date} + INTERVAL 2 DAY)
    """,
    "timestamp": """
        ({timestamp} + {interval}); ({timestamp} - INTERVAL 1 DAY); CAST({date} AS TIMESTAMP); CAST({ntz} AS TIMESTAMP); ({timestamp} + INTERVAL 1 MONTH);
        ({timestamp} + INTERVAL 2 HOURS); DATE_TRUNC('HOUR', {timestamp}); ({date} + {interval}); TIMESTAMPADD(HOUR, 1, {timestamp})
    """,
    "ntz": "({ntz} + {interval}); ({ntz} - INTERVAL 1 DAY); CAST({timestamp} AS TIMESTAMP_NTZ); ({ntz} + INTERVAL 2 HOURS)",
    "interval": """
        ({timestamp} - {timestamp}); ({ntz} - {ntz}); ({date} - {date}); ({interval} + {interval}); ({interval} * 2); (-{interval}); ABS({interval});
        ({timestamp} - {date})
    """,
    "months": "({months} + {months}); ({months} * 2); ABS({months})",
    "array": "array({int}); array_distinct({array})",
    "struct": "named_struct('a', {int}, 'b', {string})",
    "binary": "({binary} || {binary}); CAST({string} AS BINARY)",
}


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


_PARSED = {
    kind: _split(TEMPLATES.get(kind, "")) + (2 * _split(_NUMBER) if kind in NUMBERS else []) + _split(_ANY)
    for kind in TYPES
}
_VALUES = {kind: _split(text) for kind, text in VALUES.items()}


def table(random: Random, rows: int) -> str:
    """A query of ``rows`` events: their number ``o``, their ``type`` (always a), a column of every type, a sixth of them NULL."""
    lines = []
    for number in range(rows):
        values = [f"CAST({random.choice([*_VALUES[kind], 'NULL'])} AS {TYPES[kind]})" for kind in TYPES]
        lines.append(f"({number}, 'a', {', '.join(values)})")
    names = ", ".join(["o", "type", *(f"c_{kind}" for kind in TYPES)])
    return f"SELECT * FROM VALUES {', '.join(lines)} AS t({names})"


def expression(random: Random, kind: str, depth: int) -> str:
    """An expression of a type over columns of the events a and b, nested up to ``depth`` times."""
    if depth <= 0 or random.random() < 0.12:
        constant = random.choice([*_VALUES[kind], f"CAST(NULL AS {TYPES[kind]})"])
        return constant if random.random() < 0.2 else f"{random.choice('ab')}.c_{kind}"
    template = random.choice(_PARSED[kind])
    one = random.choice(list(TYPES))

    def part(found: re.Match[str]) -> str:
        name = found[1]
        if name == "type":
            return TYPES[kind]
        chosen = {"self": kind, "any": one, "number": random.choice(NUMBERS)}.get(name, name)
        return expression(random, chosen, depth - 1)

    return re.sub(r"\{(\w+)\}", part, template)

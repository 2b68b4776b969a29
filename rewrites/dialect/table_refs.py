"""Where the table reference in front of a pattern clause begins.

Keywords are not reserved in Spark SQL: MATCH_RECOGNIZE is a clause only if a table reference precedes it.
"""

from __future__ import annotations

from rewrites.dialect.tokens import Tokens, tokenize
from sparkcep.errors import Span

_STARTS = {"FROM", "JOIN"}
_STOPS = {
    "SELECT",
    "WHERE",
    "GROUP",
    "ORDER",
    "BY",
    "HAVING",
    "QUALIFY",
    "LIMIT",
    "OFFSET",
    "WINDOW",
    "CLUSTER",
    "DISTRIBUTE",
    "SORT",
    "SET",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "MINUS",
    "SETMINUS",
    "INTO",
    "VALUES",
    "WHEN",
    "THEN",
    "RETURNING",
    "INSERT",
    "UPDATE",
    "DELETE",
    "ON",
}
_CONDITIONS = {
    "WHERE": "WHERE",
    "ON": "ON",
    "USING": "USING",
    "HAVING": "HAVING",
    "GROUP": "GROUP BY",
    "ORDER": "ORDER BY",
    "LIMIT": "LIMIT",
    "LATERAL": "LATERAL VIEW",
}
_OPERAND_EXPECTED = {
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
    "ILIKE",
    "RLIKE",
    "REGEXP",
    "BETWEEN",
    "IS",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "DIV",
    "DISTINCT",
    "ALL",
    "AS",
    "BY",
    "SELECT",
    "WHERE",
    "ON",
    "HAVING",
    "FROM",
    "JOIN",
    "USING",
    "LATERAL",
    "INTERVAL",
    "ESCAPE",
    "EXISTS",
    "ANY",
    "SOME",
    "TABLE",
}
"""Words that are followed by an operand, so that the next word is a function or column name."""


def table_start(tokens: Tokens, clause: int) -> int | None:
    """The item where the table reference before item ``clause`` begins; None if there is no such reference.

    ``FROM a, b AS x MATCH_RECOGNIZE (…)`` → the item ``b``. It is preceded by a comma, FROM, JOIN, MERGE's USING or a parenthesis around tables.
    """
    if not _ends_operand(tokens, clause - 1):
        return None
    start = clause
    for i in _backwards(tokens, clause):
        key = tokens.items[i].key
        if key == "," and not _between_rows(tokens, i):
            return start if in_from_list(tokens, i) and not _in_lateral_view(tokens, i) else None
        if _qualified(tokens, i) or _inline_table(tokens, i):
            pass
        elif (
            key in _STARTS
            or (key == "USING" and _of_merge(tokens, i))
            or (key == "LATERAL" and tokens.items[i + 1].key != "VIEW")
        ):
            return start
        elif key in _STOPS or key in ("USING", "LATERAL", ";") or (key == "TABLE" and tokens.items[i + 1].key != "("):
            return None
        start = i
    return start if _around_tables(tokens, tokens.outer[clause]) else None


def _around_tables(tokens: Tokens, opening: int) -> bool:
    """Whether the bracket at item ``opening`` stands where a table can: ``FROM (a JOIN b …)``, ``JOIN ((a))``."""
    if opening < 1 or tokens.items[opening].key != "(" or _qualified(tokens, opening - 1):
        return False
    before = tokens.items[opening - 1].key
    if before == "(":
        return _around_tables(tokens, opening - 1)
    return before in _STARTS | {"LATERAL"} or (before == "," and in_from_list(tokens, opening - 1))


def follows_condition(tokens: Tokens, clause: int) -> str | None:
    """The keyword (WHERE, ON, …) whose operand precedes item ``clause``, for the error message."""
    if not _ends_operand(tokens, clause - 1):
        return None
    for i in _backwards(tokens, clause):
        key = tokens.items[i].key
        if not _qualified(tokens, i) and key in _CONDITIONS:
            return _CONDITIONS[key]
        if key in {",", ";"} | _STARTS and not (key == "," and _in_lateral_view(tokens, i)):
            return None
    return None


def table_name(sql: str, rows: Span) -> str | None:
    """The name under which the rows of one table are known: ``db.t``, ``t AS x``, ``(…) x (a, b)``; None if they have none."""
    tokens = tokenize(sql)
    last = tokens.index(rows.end) - 1
    if tokens.items[last].key == ")":
        last = tokens.partner[last] - 1
    token = tokens.items[last] if last >= tokens.index(rows.start) else None
    return token.text if token is not None and token.is_name and token.key != "FROM" else None


def _backwards(tokens: Tokens, before: int) -> list[int]:
    """The items before ``before`` inside the same brackets, nearest first; a bracketed group is represented by its opening bracket.

    The FROM of ``t CHANGES FROM VERSION 1`` is left out: it begins no table reference.
    """
    found, i = [], before - 1
    while i >= 0 and i != tokens.outer[before]:
        if tokens.items[i].key in (")", "]", "}") and tokens.partner[i] >= 0:
            i = tokens.partner[i]
        if not _of_changes(tokens, i):
            found.append(i)
        i -= 1
    return found


def _of_changes(tokens: Tokens, i: int) -> bool:
    """Whether item ``i`` is the FROM of CHANGES FROM VERSION number, or of CHANGES FROM TIMESTAMP value."""
    if i < 1 or tokens.items[i].key != "FROM" or tokens.items[i - 1].key != "CHANGES":
        return False
    behind = tokens.items[i + 1 : i + 4]
    if len(behind) < 2 or behind[0].key not in ("VERSION", "TIMESTAMP"):
        return False
    call = behind[0].key == "TIMESTAMP" and len(behind) > 2 and behind[2].key == "("
    return behind[1].kind in ("number", "string") or (call and behind[1].is_name)


def _ends_operand(tokens: Tokens, i: int) -> bool:
    """Whether a table reference can end with item ``i``."""
    if i < 0:
        return False
    token = tokens.items[i]
    if token.kind == "mark":
        return token.text in (")", "}")  # ``${table}`` is substituted by Spark
    return token.key not in _OPERAND_EXPECTED or _qualified(tokens, i)


def _qualified(tokens: Tokens, i: int) -> bool:
    """Whether item ``i`` follows a dot, which makes any word a name."""
    return i > 0 and tokens.items[i - 1].key == "."


def in_from_list(tokens: Tokens, comma: int) -> bool:
    """Whether the comma separates tables: FROM or JOIN comes before anything that ends a FROM clause."""
    for i in _backwards(tokens, comma):
        key = tokens.items[i].key
        if _qualified(tokens, i) or _inline_table(tokens, i):
            continue
        if key in _STARTS:
            return True
        if key in _STOPS - {"ON"} or (key in (";", "WITH") and tokens.items[i + 1].key != "("):
            return False
    return False


def _inline_table(tokens: Tokens, i: int) -> bool:
    """Whether item ``i`` is the VALUES of a table reference: ``FROM VALUES (1), (2) AS v``."""
    before = tokens.items[i - 1].key if i > 0 else ""
    return tokens.items[i].key == "VALUES" and before in _STARTS | {",", "LATERAL", "USING"}


def _between_rows(tokens: Tokens, comma: int) -> bool:
    """Whether the comma separates rows of an inline table, each in parentheses."""
    i = comma
    while i > 0 and tokens.items[i].key == "," and tokens.items[i - 1].key == ")" and tokens.partner[i - 1] > 0:
        i = tokens.partner[i - 1] - 1
    return i != comma and _inline_table(tokens, i)


def _in_lateral_view(tokens: Tokens, comma: int) -> bool:
    """Whether the comma separates columns of a LATERAL VIEW, ``LATERAL VIEW posexplode(x) e AS p, y``, behind which come no more tables."""
    for i in _backwards(tokens, comma):
        if tokens.items[i].key in _STARTS:
            return False
        if tokens.items[i].key == "LATERAL" and tokens.items[i + 1].key == "VIEW":
            return True
    return False


def _of_merge(tokens: Tokens, using: int) -> bool:
    """Whether USING names MERGE's source and not a join's columns."""
    for i in _backwards(tokens, using):
        if tokens.items[i].key in _STARTS | {";"}:
            return False
        if tokens.items[i].key == "MERGE":
            return True
    return False

"""The sections of a query block, from FROM on, and the windows that it names.

In: a tokenised statement, and from where to where the block goes. Out: sections by name, each given once, not empty and in Spark's order. Words are
keywords only outside brackets, and not after ``.`` or ``AS``.
"""

from __future__ import annotations

from rewrites.dialect.clause import Name
from rewrites.dialect.items import list_items
from rewrites.dialect.sections import Grammar, Header, Section, guess, in_order, sections_at
from rewrites.dialect.tokens import Token, Tokens, cover
from rewrites.dialect.window_places import refuse
from sparkcep.errors import CepSyntaxError

_WINDOW_FORM = "WINDOW name AS ( … ), …"
_GRAMMAR = Grammar(
    "a query",
    (
        Header("FROM", ("FROM",), 0),
        Header("WHERE", ("WHERE",), 1),
        Header("GROUP BY", ("GROUP", "BY"), 2),
        Header("HAVING", ("HAVING",), 3),
        Header("QUALIFY", ("QUALIFY",), 4),
        Header("WINDOW", ("WINDOW",), 4, form=_WINDOW_FORM),
        Header("ORDER BY", ("ORDER", "BY"), 5),
        Header("CLUSTER BY", ("CLUSTER", "BY"), 6),
        Header("DISTRIBUTE BY", ("DISTRIBUTE", "BY"), 7),
        Header("SORT BY", ("SORT", "BY"), 8),
        Header("WINDOW", ("WINDOW",), 9, form=_WINDOW_FORM),
        Header("LIMIT", ("LIMIT",), 10),
        Header("OFFSET", ("OFFSET",), 11),
    ),
)
"""WINDOW has two places, of which a query uses one."""
_BEFORE_OPERAND = frozenset(["=", "<", ">", "+", "-", "*", "/", "AND", "OR", "NOT", "BY", ","])
"""What may stand before a column called limit or offset."""
_BEHIND_OPERANDS = "NOT AND OR IS IN LIKE ILIKE RLIKE BETWEEN THEN ELSE WHEN END DIV COLLATE ASC DESC NULLS"
_BEHIND_OPERAND = frozenset(_BEHIND_OPERANDS.split())
"""Words that stand behind such a column."""


def block_sections(tokens: Tokens, select: int, end: int) -> dict[str, Section]:
    """The sections of a block up to item ``end``; none without FROM. Raises CepSyntaxError for one that is empty, out of order or given twice."""
    found = in_order(tokens.sql, sections_at(tokens.items[:end], _starts(tokens, select, end)), _GRAMMAR)
    for section in found.values():
        if not section.tokens:
            message, hint = f"{section.name} is empty", "fill it in, or leave it out"
            raise CepSyntaxError(message, code="EMPTY", sql=tokens.sql, span=section.keyword, hint=hint)
    return found


def definitions(tokens: Tokens, section: Section | None) -> dict[int, Name]:
    """The windows that WINDOW names: opening parenthesis → name. Raises CepSyntaxError for anything else in it, and for a name given twice."""
    found: dict[int, Name] = {}
    for item in list_items(tokens.sql, section) if section else ():
        name = _defined(tokens, item)
        if name.value.lower() in (other.value.lower() for other in found.values()):
            message = f"the window {name.value} has the name of another window"
            hint = "give it another name"
            raise CepSyntaxError(message, code="DUPLICATE_NAME", sql=tokens.sql, span=name.span, hint=hint)
        found[tokens.index(item[2].span.start)] = name
    return found


def is_keyword(tokens: Tokens, i: int) -> bool:
    """Whether a keyword is one: no name, and no EXCEPT of ``* EXCEPT (…)``."""
    before = tokens.items[i - 1].key
    return before not in (".", "AS") and (before, tokens.items[i].key) != ("*", "EXCEPT")


def _starts(tokens: Tokens, select: int, end: int) -> list[tuple[int, Header]]:
    """Where the sections begin; what stands before FROM is the select list."""
    found: list[tuple[int, Header]] = []
    for i in range(select + 1, end):
        key = tokens.items[i].key
        if tokens.outer[i] != tokens.outer[select] or not is_keyword(tokens, i):
            continue
        if _begins(tokens, i, end) if found else key == "FROM" and tokens.items[i - 1].key != "DISTINCT":
            found.append((i, _header(key, found[-1][1].rank if found else 0)))
    return found


def _header(key: str, rank: int) -> Header:
    """The header that begins with a word; of two the first that may stand behind one of ``rank``."""
    own = [header for header in _GRAMMAR.headers if header.words[0] == key]
    return next((header for header in own if header.rank >= rank), own[-1])


def _begins(tokens: Tokens, i: int, end: int) -> bool:
    """Whether a section behind FROM begins at item ``i``."""
    key, *behind = (token.key for token in tokens.items[i : min(i + 4, end)])
    words = next((header.words for header in _GRAMMAR.headers[1:] if header.words[0] == key), ())
    if len(words) != 1:
        return words == (key, *behind[:1])
    if key == "WINDOW":
        return behind[1:] == ["AS", "("]
    if key in ("LIMIT", "OFFSET"):
        starts = behind and (tokens.items[i + 1].kind in ("number", "word") or behind[0] in ("?", ":", "("))
        return bool(starts) and tokens.items[i - 1].key not in _BEFORE_OPERAND and behind[0] not in _BEHIND_OPERAND
    return True


def _defined(tokens: Tokens, item: tuple[Token, ...]) -> Name:
    """The name in ``name AS ( … )``."""
    keys = [token.key for token in item[1:3]]
    if len(item) == 3 and keys[0] == "AS" and item[2].is_name:
        message = "a second name of a window beside a window with a pattern"
        refuse(tokens, cover(item), message, f"repeat what it stands for: {item[0].text} AS ( … )")
    if not item[0].is_name or keys != ["AS", "("]:
        raise _unexpected(tokens, item[0])
    close, last = tokens.partner[tokens.index(item[2].span.start)], tokens.index(item[-1].span.start)
    if 0 <= close < last:
        raise _unexpected(tokens, tokens.items[close + 1])
    return item[0].name


def _unexpected(tokens: Tokens, token: Token) -> CepSyntaxError:
    return CepSyntaxError(
        f"unexpected {tokens.sql[token.span.start : token.span.end]!r} in WINDOW",
        code="CLAUSE",
        sql=tokens.sql,
        span=token.span,
        hint=guess(token.text, _GRAMMAR) or f"write {_WINDOW_FORM}; joins and LATERAL VIEW belong to FROM",
    )

"""Query blocks with row patterns in windows: ``SELECT … OVER w … FROM … [WHERE …] WINDOW w AS (… PATTERN …) [ORDER BY …] …``.

In: any SQL text. Out: a ``WindowBlock`` for each block that has such a window, cut at its keywords, with the calls over the windows in it.
Nothing is resolved. Refused by name: blocks in which such a window cannot be evaluated before the rest (FROM first, pipes).
"""

from __future__ import annotations

from dataclasses import dataclass

from rewrites.dialect.block_sections import block_sections, definitions, is_keyword
from rewrites.dialect.clause import Name, Site
from rewrites.dialect.items import list_items
from rewrites.dialect.pipes import pipe_end
from rewrites.dialect.scopes import find_withs, visible
from rewrites.dialect.sections import Section
from rewrites.dialect.tokens import Token, Tokens, cover, split_commas
from rewrites.dialect.window_places import pattern_windows, refuse, select_of
from rewrites.dialect.windows import base_name, window_sections
from sparkcep.errors import CepSyntaxError, Span

_SET_OPERATIONS = {"UNION", "EXCEPT", "INTERSECT", "MINUS", "SETMINUS"}
_TAIL = {"ORDER BY", "CLUSTER BY", "DISTRIBUTE BY", "SORT BY", "LIMIT", "OFFSET"}
_FILTERS = ("WHERE", "HAVING", "QUALIFY")
_WHERE = "WHERE selects the rows that windows see, QUALIFY those of the result"
_NO_OPERANDS = "OVER NOT AND OR IS IN LIKE ILIKE RLIKE BETWEEN THEN ELSE CASE WHEN DIV INTERVAL DISTINCT FROM COLLATE"
_NO_OPERAND = frozenset(_NO_OPERANDS.split())
"""Words behind which a name is no alias."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window with a pattern: where it stands, and the parts of the window that it is built on. ``name``: None for ``OVER ( … )``."""

    site: Site
    name: Name | None
    base: dict[str, Section]


@dataclass(frozen=True, slots=True)
class Call:
    """``call OVER window``: a measure or a function; ``span`` covers all of it, ``call`` what stands before OVER."""

    span: Span
    call: Span
    window: int


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the select list: all of it, the expression, its alias."""

    span: Span
    expr: Span
    alias: Name | None
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class WindowBlock:
    """A block from SELECT to its last section (where it is no part of a set operation: ORDER BY and LIMIT, the sections of the ``tail``, too).

    ``lead``: what stands between SELECT and the first item (DISTINCT, hints); ``rows``: behind FROM; ``groups``: the items of GROUP BY; ``plain``:
    other windows' definitions; ``outer_calls``: those in QUALIFY and in the tail.
    """

    site: Site
    lead: Span
    items: tuple[Item, ...]
    rows: Span
    where: Span | None
    groups: tuple[Span, ...]
    having: Span | None
    qualify: Span | None
    plain: tuple[Span, ...]
    tail: tuple[Span, ...]
    outer_calls: tuple[Call, ...]
    windows: tuple[Window, ...]

    @property
    def span(self) -> Span:
        """What the rewrite replaces."""
        return self.site.span


def find_window_blocks(sql: str) -> tuple[WindowBlock, ...]:
    """All blocks of ``sql`` that have a window with a pattern. Raises CepSyntaxError for one whose sections cannot be told apart."""
    tokens, places = pattern_windows(sql)
    selects = dict.fromkeys(select_of(tokens, place) for place in places)
    return tuple(_Cut(tokens, select, places).block() for select in selects)


class _Cut:
    """Cuts one block. ``places``: the opening parentheses of all windows with patterns in the statement."""

    def __init__(self, tokens: Tokens, select: int, places: list[int]) -> None:
        self.tokens, self.items, self.select = tokens, tokens.items, select
        self.outer = tokens.outer[select]
        self.end = self._end()
        self.sections = block_sections(tokens, select, self.end)
        self.definitions = definitions(tokens, self.sections.get("WINDOW"))
        self.places = [place for place in places if select < place < self.end and select_of(tokens, place) == select]
        self.names = {name.value.lower(): place for place, name in self.definitions.items()}

    def block(self) -> WindowBlock:
        """The block. Raises CepUnsupportedError for one of another form."""
        self._check()
        calls = self._calls()
        head, rows = self._first_item(), self.sections["FROM"]
        items = tuple(
            self._item(part, calls) for part in split_commas(self.items[head : self.tokens.index(rows.keyword.start)])
        )
        tail = self._tail()
        where, having, qualify = (section.place if (section := self.sections.get(key)) else None for key in _FILTERS)
        outer_calls = tuple(
            call for call in calls for at in (qualify, *tail) if at and at.start <= call.span.start < at.end
        )
        known = [call for item in items for call in item.calls]
        stray = next((call for call in calls if call not in known and call not in outer_calls), None)
        if stray is not None:
            message = "OVER a window with a pattern outside of the select list, QUALIFY and ORDER BY"
            refuse(self.tokens, stray.span, message)
        last = self.items[self.end - 1].span
        span = self.items[self.select].span.to(last)
        lead = Span(self.items[self.select].span.end, self.items[head].span.start)
        windows = tuple(self._window(place) for place in self.places)
        by = self.sections.get("GROUP BY")
        groups = tuple(map(cover, list_items(self.tokens.sql, by))) if by else ()
        return WindowBlock(
            self._site(span, rows.place), lead, items, rows.place,
            where, groups, having, qualify, self._plain(), tail, outer_calls, windows,
        )  # fmt: skip

    def _end(self) -> int:
        """The item behind the block: a set operation, a pipe, the enclosing parenthesis, a semicolon."""
        items, i = self.items, self.select + 1
        close = self.tokens.partner[self.outer] if self.outer >= 0 else len(items)
        limit = close if close >= 0 else len(items)
        while i < limit:
            key = items[i].key
            ends = (
                key == ";"
                or (key in _SET_OPERATIONS and is_keyword(self.tokens, i))
                or pipe_end(self.tokens, i) is not None
            )
            if ends and self.tokens.outer[i] == self.outer:
                return i
            i += 1
        return limit

    def _check(self) -> None:
        if "FROM" not in self.sections or self._from_first():
            message = "a window with a pattern in a query that is not SELECT … FROM …"
            refuse(self.tokens, self.items[self.select].span, message)
        if "HAVING" in self.sections and "GROUP BY" not in self.sections:
            message = "HAVING without GROUP BY beside a window with a pattern"
            refuse(self.tokens, self.sections["HAVING"].keyword, message, _WHERE)

    def _from_first(self) -> bool:
        """``FROM t SELECT …``, or a pipe: a table reference stands before SELECT."""
        if self.select and self.items[self.select - 1].key in (">", "|"):
            return True
        i = self.select - 1
        while i > self.outer and self.items[i].key not in (*_SET_OPERATIONS, ";"):
            if self.tokens.outer[i] == self.outer and self.items[i].key == "FROM":
                return True
            i -= 1
        return False

    def _first_item(self) -> int:
        """The first item of the select list, behind DISTINCT or ALL."""
        i = self.select + 1
        return i + 1 if self.items[i].key in ("DISTINCT", "ALL") else i

    def _tail(self) -> tuple[Span, ...]:
        """ORDER BY, LIMIT and their kin, where they are the block's own; those of a set operation end the block."""
        found = [section for section in self.sections.values() if section.name in _TAIL]
        before = self.items[self.select - 1].key if self.select else ""
        before = self.items[self.select - 2].key if before in ("ALL", "DISTINCT") and self.select > 1 else before
        if not found or before not in _SET_OPERATIONS:
            return tuple(section.span for section in found)
        self.end = self.tokens.index(found[0].keyword.start)
        late = next((place for place in self.places if place > self.end and place in self.definitions), None)
        if late is not None:
            message = f"a window with a pattern behind {found[0].name} of a set operation"
            refuse(self.tokens, self.definitions[late].span, message, f"write WINDOW before {found[0].name}")
        return ()

    def _calls(self) -> list[Call]:
        """Every ``… OVER w`` of the block's own windows with patterns."""
        found = []
        for i in range(self.select + 1, self.end - 1):
            if self.items[i].key != "OVER" or not self._own(i):
                continue
            place = self._window_at(i + 1)
            if place is None:
                continue
            last = self.tokens.partner[i + 1] if self.items[i + 1].key == "(" else i + 1
            first = self._call_start(i)
            call = self.items[first].span.to(self.items[i - 1].span)
            found.append(Call(call.to(self.items[last].span), call, self.places.index(place)))
        return found

    def _own(self, i: int) -> bool:
        """Whether item ``i`` is of this block, not of a subquery in it."""
        outer = self.tokens.outer[i]
        while outer != self.outer:
            if outer < self.select or self.items[outer + 1].key in ("SELECT", "WITH"):
                return False
            outer = self.tokens.outer[outer]
        return True

    def _window_at(self, i: int) -> int | None:
        """The window with a pattern that ``OVER`` before item ``i`` names, or is."""
        if i in self.places:
            return i
        name = self.items[i]
        if name.key == "(" and self.tokens.partner[i] == i + 2:
            name = self.items[i + 1]
        place = self.names.get(name.text.lower()) if name.is_name else None
        return place if place in self.places else None

    def _call_start(self, over: int) -> int:
        """The first item of the call before OVER: ``f(…) [WITHIN GROUP (…)] [FILTER (…)] [IGNORE NULLS]``, or a measure's name."""
        i = over - 1
        if self.items[i].key == "NULLS" and self.items[i - 1].key in ("IGNORE", "RESPECT"):
            i -= 2
        while self.items[i].key == ")" and self.tokens.partner[i] > 0:
            i = self.tokens.partner[i] - 1
            if self.items[i].key == "FILTER":
                i -= 1
            elif self.items[i].key == "GROUP" and self.items[i - 1].key == "WITHIN":
                i -= 2
            else:
                break
        while self.items[i - 1].key == "." and self.items[i - 2].is_name:
            i -= 2
        return i

    def _item(self, part: tuple[Token, ...], calls: list[Call]) -> Item:
        if not part:
            raise CepSyntaxError(
                "the select list has an empty item",
                code="SELECT_LIST",
                sql=self.tokens.sql,
                span=self.items[self.select].span,
                hint="remove a comma",
            )
        span, expr, alias = cover(part), part, None
        if len(part) > 2 and part[-2].key == "AS" and part[-1].is_name:
            expr, alias = part[:-2], part[-1].name
        elif len(part) > 1 and _bare_alias(part):
            expr, alias = part[:-1], part[-1].name
        own = tuple(call for call in calls if span.start <= call.span.start < span.end)
        return Item(span, cover(expr), alias, own)

    def _window(self, place: int) -> Window:
        close = self.tokens.partner[place]
        if close < 0:
            raise CepSyntaxError(
                "the parenthesis of the window is not closed",
                code="UNBALANCED",
                sql=self.tokens.sql,
                span=self.items[place].span,
                hint="write OVER (… PATTERN (A B+))",
            )
        body = Span(self.items[place].span.end, self.items[close].span.start)
        name = self.definitions.get(place)
        keyword = name.span if name else self.items[place - 1].span
        site = self._site(self.items[place].span.to(self.items[close].span), self.items[place].span, keyword, body)
        return Window(
            site, name, self._base(base_name(self.tokens.sql, window_sections(self.tokens.sql, body)["BASE"]))
        )

    def _base(self, name: Name | None) -> dict[str, Section]:
        if name is None:
            return {}
        place = self.names.get(name.value.lower())
        if place is None:
            raise CepSyntaxError(
                f"there is no window {name.value}", code="UNKNOWN_WINDOW", sql=self.tokens.sql, span=name.span
            )
        if place in self.places:
            refuse(
                self.tokens,
                name.span,
                "a window built on a window with a pattern",
                "repeat its PARTITION BY and ORDER BY",
            )
        body = Span(self.items[place].span.end, self.items[self.tokens.partner[place]].span.start)
        sections = window_sections(self.tokens.sql, body)
        return self._base(base_name(self.tokens.sql, sections["BASE"])) | sections

    def _plain(self) -> tuple[Span, ...]:
        kept = [place for place in self.definitions if place not in self.places]
        return tuple(self.definitions[place].span.to(self.items[self.tokens.partner[place]].span) for place in kept)

    def _site(self, span: Span, rows: Span, keyword: Span | None = None, body: Span | None = None) -> Site:
        start = self.items[self.select].span
        scopes, recursive = visible(find_withs(self.tokens), start.start)
        return Site("WINDOW", span, rows, keyword or start, body or span, None, scopes, recursive)


def _bare_alias(part: tuple[Token, ...]) -> bool:
    """``a.x name``, ``val OVER w name``: a last word behind an operand."""
    last, before = part[-1], part[-2]
    if not last.is_name or last.key in ("END", "NULL", "TRUE", "FALSE"):
        return False
    if before.kind == "mark":
        return before.key in (")", "]")
    return before.key not in _NO_OPERAND

"""``PATTERN name [alias]`` inside an event pattern → the named pattern, its conditions added to WHERE (composition, as SASE has it).

Before: ``SEQ(PATTERN read r, Exit e) … WHERE e.tag = r_s.tag`` where ``read`` is ``SEQ(Shelf s, NOT Counter c) WHERE s.area = c.area``.
After: ``SEQ(SEQ(Shelf r_s, NOT Counter r_c), Exit e) … WHERE r_s.area = r_c.area AND e.tag = r_s.tag``.

The other clauses of the named pattern must be those around it or missing: dropping one would change what the pattern means.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from rewrites.dialect.clause import Equivalence, Site
from rewrites.dialect.event_pattern import parse_event_pattern
from rewrites.dialect.hints import parse_hints
from rewrites.dialect.match_pattern import GRAMMAR
from rewrites.dialect.pattern_names import Inclusion
from rewrites.dialect.sections import Section, cut
from rewrites.dialect.tokens import Token, depths, tokenize
from rewrites.dialect.where import STRATEGY_FUNCTIONS, Where, parse_where
from rewrites.patterns.texts import Expanded, Piece
from sparkcep.errors import CepUnsupportedError, Span
from sparkcep.pattern.event import Element, Loop, elements, every_element

_WHERE_RANK = next(header.rank for header in GRAMMAR.headers if header.name == "WHERE")
_OWN = "create a pattern of the sequence and its WHERE alone, and include that"

Edit = tuple[Span, tuple[Piece, ...]]


def included(text: Expanded, site: Site, found: Inclusion, body: Expanded) -> Expanded:
    """``text`` with the pattern of ``body`` in the place of ``found``, and its conditions in the WHERE of the clause at ``site``."""
    outer, inner = sections(text.text, site.body), sections(body.text, Span(0, len(body.text)))
    _check_sections(outer, inner, found)
    edits = list(_renamed(body, inner, found.alias.value if found.alias else ""))
    pattern = _edited(body, inner["PATTERN"].place, edits)
    where = inner.get("WHERE")
    conditions = () if where is None else _conditions(text, outer, body, where, found, edits)
    return text.edited([(found.span, pattern), *_with_conditions(text, site, outer, found, conditions)])


def sections(text: str, span: Span) -> dict[str, Section]:
    """The sections of a body of MATCH PATTERN."""
    _, body = parse_hints(text, span)
    return cut(text, body, GRAMMAR, first="PATTERN")


def _check_sections(outer: Mapping[str, Section], inner: Mapping[str, Section], found: Inclusion) -> None:
    for name, section in inner.items():
        same = name in outer and _words(outer[name]) == _words(section)
        if name not in ("PATTERN", "WHERE") and not same:
            raise CepUnsupportedError(
                f"the {name} of the pattern {found.name.value} is not the one around it",
                code="PATTERN_CLAUSES",
                span=found.span,
                hint=_OWN,
            )


def _words(section: Section) -> list[str]:
    return [token.key or f"{token.kind} {token.text}" for token in section.tokens]


def _renamed(body: Expanded, inner: Mapping[str, Section], alias: str) -> Iterator[Edit]:
    """Edits that give every variable of the included pattern its name: ``alias_variable`` where there is an alias."""
    names = {}
    tree = parse_event_pattern(body.text, inner["PATTERN"].place)
    for element in every_element(tree):
        new = f"{alias}_{element.variable}" if alias else element.variable
        names[element.variable.lower()] = new
        written = _variable(body.text, element)
        assert element.span is not None
        if written is None:
            end = Span(element.span.end, element.span.end)
            yield end, (body.glue(f" {new}", element.span),)
        elif alias:
            yield written.span, (body.glue(new, written.span),)
    if alias and (where := inner.get("WHERE")):
        loops = (element for element in every_element(tree) if isinstance(element, Loop))
        rounds = {loop.variable.lower(): {one.variable.lower() for one in elements(loop.body)} for loop in loops}
        for token in _references(where.tokens, names, rounds):
            yield token.span, (body.glue(names[token.text.lower()], token.span),)


def _variable(text: str, element: Element) -> Token | None:
    """The token that names the element's variable; None for a bare type, which is its own."""
    assert element.span is not None
    tokens = list(tokenize(text).inside(element.span))
    while tokens[-1].key in ("[", "]"):
        tokens.pop()
    return tokens[-1] if len(tokens) > 1 and tokens[-1].is_name else None


def _references(
    tokens: tuple[Token, ...], names: Container[str], rounds: Mapping[str, Container[str]]
) -> Iterator[Token]:
    """The tokens of a condition that mean variables: no field behind a dot but the events of a round (``rounds``: by the loop's variable), no
    function, no attribute of ``[attr]``."""
    meant: set[int] = set()
    for i, token in enumerate(tokens):
        before, behind = tokens[i - 1].key if i else "", tokens[i + 1].key if i + 1 < len(tokens) else ""
        attribute = before == "[" and behind in ("]", "=")
        if not token.is_name or token.text.lower() not in names or behind == "(" or attribute:
            continue
        if before == "." and tokens[i - 2].key != ".":  # ``a[..i-1]`` has two dots
            owner = _owner(tokens, i - 2)
            if owner not in meant or token.text.lower() not in rounds.get(tokens[owner].text.lower(), ()):
                continue
        meant.add(i)
        yield token


def _owner(tokens: tuple[Token, ...], at: int) -> int:
    """The place of the name that ends at ``at``, or whose index does: ``r`` in ``r`` and in ``r[i-1]``."""
    if tokens[at].key == "]":
        while at and tokens[at].key != "[":
            at -= 1
        at -= 1
    return at


def _conditions(
    text: Expanded, outer: Mapping[str, Section], body: Expanded, section: Section, found: Inclusion, edits: list[Edit]
) -> tuple[tuple[Piece, ...], ...]:
    """The conjuncts of the included WHERE, renamed."""
    where = parse_where(body.text, section)
    if where.strategy is not None:
        raise CepUnsupportedError(
            f"the pattern {found.name.value} names its selection strategy in WHERE",
            code="PATTERN_CLAUSES",
            span=found.span,
            hint="write its conditions after WHERE without the braces, and the strategy outside of it",
        )
    kept = [_edited(body, test.span, edits) for test in _equivalences(text, outer, where, found)]
    return (*kept, *(_bracketed(text, body, one.span, found, edits) for one in where.conjuncts))


def _bracketed(text: Expanded, body: Expanded, span: Span, found: Inclusion, edits: list[Edit]) -> tuple[Piece, ...]:
    """A conjunct that can stand beside an AND."""
    pieces = _edited(body, span, edits)
    if not _has_or(tokenize(body.text).inside(span)):
        return pieces
    return (text.glue("(", found.span), *pieces, text.glue(")", found.span))


def _has_or(tokens: tuple[Token, ...]) -> bool:
    return any(depth == 0 and tokens[i].key == "OR" for i, depth in depths(tokens))


def _equivalences(
    text: Expanded, outer: Mapping[str, Section], where: Where, found: Inclusion
) -> tuple[Equivalence, ...]:
    """Those to add: in a larger pattern ``[attr]`` would be about all its variables, so there it must be asked of them anyway."""
    if found.alone:
        return where.equivalences
    around = parse_where(text.text, outer["WHERE"]) if "WHERE" in outer else None
    asked = {test.attribute.value.lower() for test in around.equivalences if test.value is None} if around else set()
    for test in where.equivalences:
        if test.value is not None or test.attribute.value.lower() not in asked:
            raise CepUnsupportedError(
                f"the pattern {found.name.value} asks [{test.attribute.value}] of its variables; here it would be asked of all",
                code="PATTERN_EQUIVALENCE",
                span=found.span,
                hint=f"ask [{test.attribute.value}] in the WHERE around it too, or compare its variables one by one: a.x = b.x",
            )
    return ()


def _with_conditions(
    text: Expanded,
    site: Site,
    outer: Mapping[str, Section],
    found: Inclusion,
    conditions: tuple[tuple[Piece, ...], ...],
) -> Iterator[Edit]:
    """Edits that put ``conditions`` in front of the WHERE of the clause, or make one."""
    if not conditions:
        return
    if site.kind == "MATCH PATTERNS":
        raise CepUnsupportedError(
            f"the pattern {found.name.value} has conditions, and stands in one of several patterns",
            code="PATTERN_CLAUSES",
            span=found.span,
            hint="the WHERE of MATCH PATTERNS is one for all: create a pattern without WHERE",
        )
    joint = text.glue(" AND ", found.span)
    joined = [piece for one in conditions for piece in (*one, joint)]
    section = outer.get("WHERE")
    if section is None:
        behind = next((s.keyword.start for s in outer.values() if s.rank > _WHERE_RANK), site.body.end)
        yield Span(behind, behind), (text.glue("\nWHERE ", found.span), *joined[:-1], text.glue("\n", found.span))
        return
    tokens = section.tokens
    start, end = section.place.start, section.place.end
    if tokens[0].key in STRATEGY_FUNCTIONS:
        brace = next(token for token in tokens if token.key == "{")
        start, end = brace.span.end, tokens[-1].span.start
    wraps = _has_or(tokens) or tokens[0].key in STRATEGY_FUNCTIONS
    opening, closing = ("(", ")") if wraps else ("", "")
    yield Span(start, start), (text.glue(" ", found.span), *joined, text.glue(opening, found.span))
    if wraps:
        yield Span(end, end), (text.glue(closing, found.span),)


def _edited(body: Expanded, span: Span, edits: list[Edit]) -> tuple[Piece, ...]:
    """The pieces of ``span`` with the edits inside it."""
    inside = [(place, pieces) for place, pieces in edits if span.start <= place.start and place.end <= span.end]
    pieces: list[Piece] = []
    position = span.start
    for place, replacement in sorted(inside, key=lambda edit: edit[0].start):
        pieces += [*body.part(Span(position, place.start)), *replacement]
        position = place.end
    return (*pieces, *body.part(Span(position, span.end)))

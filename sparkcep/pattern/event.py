"""Event patterns (SASE section 2, SASE+ section 2, A-Seq section 2): the tree inside MATCH PATTERN ( … ).

``str(node)`` is the pattern as SQL; ``variables`` lists the variables left to right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sparkcep.errors import Span
from sparkcep.pattern.row import quantifier_text


def _span() -> Span | None:
    return field(default=None, compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Element:
    """``Type variable``: one event, or a Kleene closure of events.

    ``types`` are the admissible values of the EVENT TYPE column (empty: ANY, every event). ``low``/``high`` count the
    events of the closure (1, 1: a single event; ``high`` None: no bound).
    """

    variable: str
    types: tuple[str, ...]
    low: int = 1
    high: int | None = 1
    span: Span | None = _span()

    @property
    def kleene(self) -> bool:
        """Whether the variable's value is an array of events (``+ * {n,m}``); ``?`` is a single event or NULL."""
        return (self.low, self.high) not in ((1, 1), (0, 1))

    def __str__(self) -> str:
        if not self.types:
            type_text = "ANY"
        elif len(self.types) == 1:
            type_text = quoted_type(self.types[0])
        else:
            type_text = f"ANY({', '.join(quoted_type(name) for name in self.types)})"
        quantifier = "" if (self.low, self.high) == (1, 1) else quantifier_text(self.low, self.high)
        return f"{type_text}{quantifier} {self.variable}"


@dataclass(frozen=True, slots=True)
class Loop(Element):
    """``SEQ(B b, C c)+ rounds``: a closure of which each item is a match of ``body``, a round, in place of one event. No engine knows it: to engines
    the rounds are events of their own."""

    body: EventPattern = field(kw_only=True)

    def __str__(self) -> str:
        return f"{self.body}{quantifier_text(self.low, self.high)} {self.variable}"


@dataclass(frozen=True, slots=True)
class Seq:
    """The items in strictly increasing ORDER BY order; negated items may stand anywhere."""

    items: tuple[EventItem, ...]
    span: Span | None = _span()

    def __str__(self) -> str:
        return f"SEQ({', '.join(str(item) for item in self.items)})"


@dataclass(frozen=True, slots=True)
class And:
    """All items, in any order."""

    items: tuple[EventItem, ...]
    span: Span | None = _span()

    def __str__(self) -> str:
        return f"AND({', '.join(str(item) for item in self.items)})"


@dataclass(frozen=True, slots=True)
class Or:
    """The union of the items' matches."""

    items: tuple[EventItem, ...]
    span: Span | None = _span()

    def __str__(self) -> str:
        return f"OR({', '.join(str(item) for item in self.items)})"


@dataclass(frozen=True, slots=True)
class Not:
    """No match of the item in the interval its position names."""

    item: EventPattern
    span: Span | None = _span()

    def __str__(self) -> str:
        return f"NOT {self.item}"


EventPattern = Element | Seq | And | Or
EventItem = EventPattern | Not


def children(node: EventItem) -> tuple[EventItem, ...]:
    """The direct parts of ``node``, left to right."""
    if isinstance(node, Seq | And | Or):
        return node.items
    if isinstance(node, Not):
        return (node.item,)
    return ()


def walk(node: EventItem) -> Iterator[EventItem]:
    """``node`` and everything below it, parents first, left to right."""
    yield node
    for child in children(node):
        yield from walk(child)


def elements(node: EventItem, *, negated: bool | None = None) -> tuple[Element, ...]:
    """The elements left to right; ``negated`` True or False keeps those below, or not below, a NOT."""
    return tuple(element for element, below in _elements(node, False) if negated is None or below is negated)


def loops(node: EventItem) -> tuple[Loop, ...]:
    """The loops left to right; not those in the bodies of others."""
    return tuple(element for element in elements(node) if isinstance(element, Loop))


def in_order(tree: EventItem) -> tuple[EventItem, ...]:
    """What follows each other in a pattern; a SEQ in a SEQ is its items."""
    return tuple(each for item in tree.items for each in in_order(item)) if isinstance(tree, Seq) else (tree,)


def round_fields(loop: Loop) -> tuple[Element, ...]:
    """The variables that are the fields of a round."""
    return elements(loop.body, negated=False)


def every_element(node: EventItem) -> tuple[Element, ...]:
    """The elements left to right, those in the bodies of loops behind their loop."""
    found = elements(node)
    return tuple(each for one in found for each in (one, *(every_element(one.body) if isinstance(one, Loop) else ())))


def always_taken(node: EventItem, *, closures: bool = False) -> frozenset[str]:
    """The variables that take one event in every match; with ``closures`` also those that take one or more."""
    if isinstance(node, Element):
        return frozenset([node.variable] if node.low and (closures or not node.kleene) else [])
    if isinstance(node, And | Seq):
        return frozenset().union(*(always_taken(item, closures=closures) for item in node.items))
    return frozenset()


def looks_ahead(node: EventItem) -> bool:
    """Whether events behind a match may forbid it: in some reading a NOT is followed by no event. (``?`` and ``*`` may take none.
    True also where that is the case only if no event at all is taken, which is no match.)"""
    if isinstance(node, Seq):
        endings = (node.items[at:] for at in range(len(node.items)))
        return any(looks_ahead(item) and all(map(may_be_empty, rest)) for item, *rest in endings)
    return isinstance(node, Not) or any(map(looks_ahead, children(node)))


def may_be_empty(node: EventItem) -> bool:
    """Whether a match may have no event of ``node``."""
    if isinstance(node, Element):
        return node.low == 0
    if isinstance(node, Or):
        return any(map(may_be_empty, node.items))
    return isinstance(node, Not) or all(map(may_be_empty, children(node)))


def quoted_type(name: str) -> str:
    """An event type as an identifier, or as a quoted string where it is not one."""
    if name.isidentifier() and name.isascii():
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _elements(node: EventItem, below: bool) -> Iterator[tuple[Element, bool]]:
    if isinstance(node, Element):
        yield node, below
    for child in children(node):
        yield from _elements(child, below or isinstance(node, Not))

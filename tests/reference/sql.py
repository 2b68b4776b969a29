"""A tiny SQL expression language for the corpus' conditions and measures: text → tree, and its three-valued evaluation.

Literals, ``attr``, ``v.attr``, ``v[1].attr`` ``v[i]`` ``v[i-1]`` ``v[LAST]`` ``v[..i-1]``, comparison, ``+ - * %``,
AND, OR, NOT, IS [NOT] NULL, BETWEEN, IN, function calls. What a reference or a function means is up to the caller of ``evaluate``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_TOKEN = re.compile(r"\s*(<=|>=|!=|<>|\.\.|'[^']*'|\d+\.\d+|\d+|\w+|[-+*%=<>().,\[\]])")


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a string, or NULL (None)."""

    value: Any


@dataclass(frozen=True, slots=True)
class Ref:
    """``variable[index].attribute``; only the attribute must be there. ``[attr]`` is Ref(None, attr, "[]")."""

    variable: str | None
    attribute: str
    index: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function, its name in capitals."""

    name: str
    arguments: tuple[Node, ...]


Node = Literal | Ref | Call


@lru_cache(256)
def parse(text: str) -> Node:
    """The expression's tree. Raises ValueError."""
    tokens = _TOKEN.findall(text)
    parser = _Parser(tokens)
    node = parser.disjunction()
    if parser.at < len(tokens):
        raise ValueError(f"unexpected {tokens[parser.at]!r} in {text!r}")
    return node


def walk(node: Node) -> Iterator[Node]:
    """``node`` and everything below it."""
    yield node
    if isinstance(node, Call):
        for argument in node.arguments:
            yield from walk(argument)


def evaluate(node: Node, resolve: Callable[[Node], Any]) -> Any:
    """The value under SQL's three-valued logic; ``resolve`` answers references and all functions."""
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Ref) or not (node.name in _OPERATORS or node.name in _LOGIC):
        return resolve(node)
    if node.name == "BETWEEN":
        return evaluate(Call("AND", bounds(node)), resolve)
    values = [evaluate(argument, resolve) for argument in node.arguments]
    match node.name:
        case "AND":
            return False if False in values else None if None in values else True
        case "OR":
            return True if True in values else None if None in values else False
        case "NOT":
            return None if values[0] is None else not values[0]
        case "IS NULL":
            return values[0] is None
    return None if None in values else _OPERATORS[node.name](*values)


def bounds(node: Call) -> tuple[Node, Node]:
    """The two comparisons that BETWEEN stands for."""
    value, low, high = node.arguments
    return Call(">=", (value, low)), Call("<=", (value, high))


_OPERATORS: dict[str, Callable[..., Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": operator.mod,
    "ABS": abs,
    "LENGTH": len,
    "CONCAT": operator.add,
}
_LOGIC = ("AND", "OR", "NOT", "IS NULL", "BETWEEN")
_COMPARISONS = ("=", "!=", "<>", "<=", ">=", "<", ">")


class _Parser:
    """Recursive descent, loosest operator first."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def accept(self, *words: str) -> str | None:
        """Consumes the next token if it is one of ``words``; returns it in capitals."""
        token = self.tokens[self.at].upper() if self.at < len(self.tokens) else ""
        if token in words:
            self.at += 1
            return token
        return None

    def take(self) -> str:
        """Consumes any token."""
        self.at += 1
        return self.tokens[self.at - 1]

    def disjunction(self) -> Node:
        items = [self.conjunction()]
        while self.accept("OR"):
            items.append(self.conjunction())
        return items[0] if len(items) == 1 else Call("OR", tuple(items))

    def conjunction(self) -> Node:
        items = [self.negation()]
        while self.accept("AND"):
            items.append(self.negation())
        return items[0] if len(items) == 1 else Call("AND", tuple(items))

    def negation(self) -> Node:
        return Call("NOT", (self.negation(),)) if self.accept("NOT") else self.comparison()

    def comparison(self) -> Node:
        left = self.sum()
        if sign := self.accept(*_COMPARISONS):
            return Call(sign, (left, self.sum()))
        if self.accept("BETWEEN"):
            low, _, high = self.sum(), self.accept("AND"), self.sum()
            return Call("BETWEEN", (left, low, high))
        if self.accept("IN"):
            self.take()
            return Call("OR", tuple(Call("=", (left, item)) for item in self.arguments()))
        if self.accept("IS"):
            negated = self.accept("NOT")
            self.take()
            return Call("NOT", (Call("IS NULL", (left,)),)) if negated else Call("IS NULL", (left,))
        return left

    def sum(self) -> Node:
        left = self.product()
        while sign := self.accept("+", "-"):
            left = Call(sign, (left, self.product()))
        return left

    def product(self) -> Node:
        left = self.atom()
        while sign := self.accept("*", "%"):
            left = Call(sign, (left, self.atom()))
        return left

    def atom(self) -> Node:
        if self.accept("("):
            node = self.disjunction()
            self.take()
            return node
        if self.accept("["):
            attribute = self.take()
            self.take()
            return Ref(None, attribute, "[]")
        token = self.take()
        if token[0] == "'":
            return Literal(token[1:-1])
        if token[0].isdigit():
            return Literal(float(token) if "." in token else int(token))
        if token.upper() == "NULL":
            return Literal(None)
        return self.name(token)

    def name(self, token: str) -> Node:
        if token.upper() in ("RUNNING", "FINAL"):
            return Call(token.upper(), (self.atom(),))
        if self.accept("("):
            return self.filtered(Call(token.upper(), self.arguments()))
        index = None
        if self.accept("["):
            index = ""
            while not self.accept("]"):
                index += self.take()
        if self.accept("."):
            return Ref(token, self.take(), index)
        return Ref(None, token, index)

    def filtered(self, call: Call) -> Call:
        """``call FILTER (WHERE condition)``, if that follows: FILTER of both."""
        if not self.accept("FILTER"):
            return call
        _, _, condition, _ = self.take(), self.take(), self.disjunction(), self.take()
        return Call("FILTER", (call, condition))

    def arguments(self) -> tuple[Node, ...]:
        found: list[Node] = []
        if self.accept(")"):
            return ()
        while True:
            found.append(Ref(None, "*") if self.accept("*") else self.disjunction())
            if not self.accept(","):
                self.take()
                return tuple(found)

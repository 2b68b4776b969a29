"""SparkFunction trees for machines of words, which compute as Spark does wherever all values have room in a word.

In: a tree. Out: the same of ``Call`` and ``Word`` nodes over the tree's leaves, or None if a part needs Python. Where a value has no room (a sum that
overflows, a quotient by zero) a machine says nothing of the tree: then Python is to be asked, which knows what Spark does.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

from sparkcep.spec.expression import Call, Constant, SparkFunction
from sparkcep.spec.row import slow_functions
from sparkcep.spec.types import BITS, digits, is_day_time, kind
from sparkcep.spec.word_nodes import DIGITS, FLOATS, MAKERS, NoWords, Word, more_places

WIDE_DIGITS = 38
"""Of 128 bits."""

_EXACT = Context(prec=160)
_OTHERS = ("boolean", "date", "timestamp", "timestamp_ntz")
_TOTALS = ("sum", "avg", "count")


def in_words(tree: SparkFunction, most: int = DIGITS, *, checked: bool = False) -> Any | None:
    """The tree for a machine whose words hold so many digits; None: it computes it otherwise than Spark, or not at all.

    ``checked``: the machine tells values of columns that have no room."""
    try:
        return _node(tree, most) if _has_room(tree, most, checked) else None
    except NoWords:
        return None


def asked(condition: Any, most: int = DIGITS, *, checked: bool = False) -> tuple[str, ...]:
    """Spark's names of the functions in a condition that Python evaluates, each once; empty if there are none."""
    if isinstance(condition, Call):
        return tuple(dict.fromkeys(name for part in condition.arguments for name in asked(part, most, checked=checked)))
    if isinstance(condition, SparkFunction) and in_words(condition, most, checked=checked) is None:
        return slow_functions(condition)
    return ()


def _has_room(tree: SparkFunction, most: int, checked: bool) -> bool:
    """Whether columns have words, and quotients may have them. Sums are kept in two words."""
    if kind(tree.type) == "decimal":
        if tree.name in ("Divide", "mean", "Cast") and not _has_places(tree, most):
            return False
        if digits(tree.type)[0] > most and _is_read(tree) and not (checked and _function(tree) is None):
            return False
    return all(_has_room(one, most, checked) for one in tree.arguments if isinstance(one, SparkFunction))


def _is_read(tree: SparkFunction) -> bool:
    """Whether a value is one of a column, or the least or the greatest of them."""
    return tree.name == "Source" and not isinstance(tree.arguments[0], SparkFunction) and _function(tree) not in _TOTALS


def _function(source: SparkFunction) -> str | None:
    return getattr(source.arguments[0], "function", None)


def _has_places(tree: SparkFunction, most: int) -> bool:
    """Whether a cast to a decimal, or a quotient of decimals, has room for its places. Whether a dividend has, a machine of 128 bits sees at the
    values."""
    if tree.name == "Cast":
        return more_places(tree) <= most
    if most == WIDE_DIGITS:
        return more_places(tree) < WIDE_DIGITS
    return digits(tree.type)[1] <= most


def _node(node: Any, most: int) -> Any:
    if not _is_plain(node.type):
        raise NoWords(node.type)
    if isinstance(node, Constant):
        return _fitting(node, most)
    if node.name == "Source":
        leaf = node.arguments[0]
        if isinstance(leaf, SparkFunction):
            return _node(leaf, most)
        wide = kind(node.type) == "decimal" and digits(node.type)[0] > most and _is_read(node)
        return Word("room", (leaf,), node.type) if wide else leaf
    make = MAKERS.get(node.name)
    if make is None:
        raise NoWords(node.name)
    found = make(node, [_node(argument, most) for argument in node.arguments])
    return _fitting(found, most) if isinstance(found, Constant) else found


def _is_plain(type_text: str) -> bool:
    known = type_text in BITS or type_text in FLOATS or type_text in _OTHERS
    return known or kind(type_text) == "decimal" or is_day_time(type_text)


def _fitting(constant: Constant, most: int) -> Constant:
    """A constant that has a word."""
    if constant.value is not None and kind(constant.type) == "decimal":
        (word, places), scale = shortest(constant.value), digits(constant.type)[1]
        more = scale - places if most == WIDE_DIGITS else 0
        if places > scale or abs(word) * 10**more >= 10**most:
            raise NoWords("a constant without room")
    return constant


def shortest(number: Decimal | str) -> tuple[int, int]:
    """A number as an integer, and the decimal places that it needs."""
    value = Decimal(number).normalize(_EXACT)
    places = max(-int(value.as_tuple().exponent), 0)
    return int(value.scaleb(places, _EXACT)), places

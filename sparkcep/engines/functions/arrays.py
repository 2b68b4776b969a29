"""Functions of arrays and structs; higher-order functions apply their lambda to each element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sparkcep.engines.functions.base import Closure, Refused, element, failure, is_true, key_of, lazy, strict, type_of
from sparkcep.spec.expression import SparkFunction
from sparkcep.spec.types import kind


def _key(node: SparkFunction) -> Callable[[Any], Any]:
    """A function giving hashable keys of an array's elements, NULL included: equal where these are, in no order."""
    inner = type_of(node.arguments[0])
    if kind(inner) != "array":
        raise Refused(f"{node.text} of the type {inner}")
    key = key_of(element(inner))
    if kind(element(inner)) == "array":
        return lambda value: None if value is None else repr(key(value))
    return lambda value: None if value is None else key(value)


@lazy("Size")
def _size(node: SparkFunction, arguments: list[Closure]) -> Closure:
    (only,), legacy = arguments, is_true(node)
    if kind(type_of(node.arguments[0])) != "array":
        raise Refused(f"size of {type_of(node.arguments[0])}")

    def closure(frame: Any) -> int | None:
        value = only(frame)
        return len(value) if value is not None else -1 if legacy else None

    return closure


@strict("ElementAt", "GetArrayItem")
def _element(node: SparkFunction) -> Callable[[list[Any], int], Any]:
    if kind(type_of(node.arguments[0])) != "array" or node.settings[1:] not in ((), ("None",)):
        raise Refused(f"{node.text} of {type_of(node.arguments[0])}")
    fails, from_one = is_true(node), node.name == "ElementAt"

    def function(array: list[Any], index: int) -> Any:
        if from_one and index == 0:
            raise failure("element_at counts from 1")
        place = index - 1 if from_one and index > 0 else len(array) + index if from_one else index
        if 0 <= place < len(array):
            return array[place]
        if fails:
            raise failure(f"there is no element {index} in an array of {len(array)}")
        return None

    return function


@strict("ArrayContains")
def _contains(node: SparkFunction) -> Callable[[list[Any], Any], bool | None]:
    key = _key(node)

    def function(array: list[Any], wanted: Any) -> bool | None:
        keys = [key(item) for item in array]
        return True if key(wanted) in keys else None if None in keys else False

    return function


@strict("ArrayPosition")
def _position(node: SparkFunction) -> Callable[[list[Any], Any], int]:
    key = _key(node)
    return lambda array, wanted: next((i for i, item in enumerate(array, 1) if key(item) == key(wanted)), 0)


@strict("ArrayRemove")
def _remove(node: SparkFunction) -> Callable[[list[Any], Any], list[Any]]:
    key = _key(node)
    return lambda array, unwanted: [item for item in array if item is None or key(item) != key(unwanted)]


@lazy("ArrayJoin")
def _join(node: SparkFunction, arguments: list[Closure]) -> Closure:
    def closure(frame: Any) -> str | None:
        values = [argument(frame) for argument in arguments]
        if any(value is None for value in values):
            return None
        array, delimiter, *instead = values
        return str(delimiter).join(
            item if item is not None else instead[0] for item in array if item is not None or instead
        )

    return closure


def _in_order(key: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    found: dict[Any, Any] = {}
    for item in items:
        found.setdefault(key(item), item)
    return list(found.values())


@strict("ArrayDistinct")
def _array_distinct(node: SparkFunction) -> Callable[[list[Any]], list[Any]]:
    key = _key(node)
    return lambda array: _in_order(key, array)


@strict("ArrayUnion", "ArrayExcept", "ArrayIntersect")
def _sets(node: SparkFunction) -> Callable[[list[Any], list[Any]], list[Any]]:
    key, name = _key(node), node.name

    def function(left: list[Any], right: list[Any]) -> list[Any]:
        if name == "ArrayUnion":
            return _in_order(key, left + right)
        others = {key(item) for item in right}
        return _in_order(key, [item for item in left if (key(item) in others) == (name == "ArrayIntersect")])

    return function


@strict("ArraysOverlap")
def _overlap(node: SparkFunction) -> Callable[[list[Any], list[Any]], bool | None]:
    key = _key(node)

    def function(left: list[Any], right: list[Any]) -> bool | None:
        common = {key(item) for item in left} & {key(item) for item in right} - {None}
        if common - {None}:
            return True
        return None if left and right and (None in left or None in right) else False

    return function


@strict("ArrayMax", "ArrayMin")
def _extreme(node: SparkFunction) -> Callable[[list[Any]], Any]:
    key, best = key_of(element(type_of(node.arguments[0]))), max if node.name == "ArrayMax" else min
    return lambda array: best((item for item in array if item is not None), key=key, default=None)


@strict("SortArray")
def _sort(node: SparkFunction) -> Callable[[list[Any], bool], list[Any]]:
    key = key_of(element(type_of(node)))

    def function(array: list[Any], ascending: bool) -> list[Any]:
        held = sorted((item for item in array if item is not None), key=key, reverse=not ascending)
        nulls = [None] * (len(array) - len(held))
        return nulls + held if ascending else held + nulls

    return function


@strict("Slice")
def _slice(node: SparkFunction) -> Callable[[list[Any], int, int], list[Any]]:
    def function(array: list[Any], start: int, length: int) -> list[Any]:
        if start == 0 or length < 0:
            raise failure("slice counts from 1 and does not take a negative length")
        at = start - 1 if start > 0 else len(array) + start
        return array[at : at + length] if 0 <= at < len(array) else []

    return function


@strict("Flatten")
def _flatten(node: SparkFunction) -> Callable[[list[Any]], list[Any] | None]:
    return lambda array: None if None in array else [item for inner in array for item in inner]


@strict("Reverse")
def _reverse(node: SparkFunction) -> Callable[[Any], Any]:
    return lambda value: value[::-1]


@lazy("CreateArray")
def _create(node: SparkFunction, arguments: list[Closure]) -> Closure:
    return lambda frame: [argument(frame) for argument in arguments]


@lazy("ArrayRepeat")
def _repeat(node: SparkFunction, arguments: list[Closure]) -> Closure:
    value_of, times_of = arguments

    def closure(frame: Any) -> list[Any] | None:
        times = times_of(frame)
        return None if times is None else [value_of(frame)] * times

    return closure


@lazy("CreateNamedStruct")
def _struct(node: SparkFunction, arguments: list[Closure]) -> Closure:
    values = arguments[1::2]
    return lambda frame: tuple(value(frame) for value in values)


@strict("GetStructField")
def _field(node: SparkFunction) -> Callable[[tuple[Any, ...]], Any]:
    place = int(node.settings[0])
    return lambda struct: struct[place]


def _parameters(node: SparkFunction, index: int) -> list[str]:
    """The names of a lambda's parameters."""
    function = node.arguments[index]
    if not isinstance(function, SparkFunction) or function.name != "LambdaFunction":
        raise Refused(f"{node.text} without a lambda")
    return [parameter.settings[0] for parameter in function.arguments[1:]]


def _each(frame: Any, names: list[str], array: list[Any], body: Closure) -> Iterator[tuple[Any, Any]]:
    """(element, the lambda's value) for every element; a second parameter is the element's index."""
    for index, item in enumerate(array):
        frame.lambdas.update(zip(names, (item, index), strict=False))
        yield item, body(frame)


@lazy("ArrayTransform", "ArrayFilter", "ArrayExists", "ArrayForAll")
def _higher(node: SparkFunction, arguments: list[Closure]) -> Closure:
    (argument, body), names = arguments, _parameters(node, 1)
    answer = {"ArrayTransform": _values, "ArrayFilter": _kept, "ArrayExists": _exists, "ArrayForAll": _for_all}[
        node.name
    ]

    def closure(frame: Any) -> Any:
        array = argument(frame)
        return None if array is None else answer(_each(frame, names, array, body))

    return closure


def _values(pairs: Iterator[tuple[Any, Any]]) -> list[Any]:
    return [value for _, value in pairs]


def _kept(pairs: Iterator[tuple[Any, Any]]) -> list[Any]:
    return [item for item, value in pairs if value]


def _exists(pairs: Iterator[tuple[Any, Any]]) -> bool | None:
    unknown = False
    for _, value in pairs:
        if value:
            return True
        unknown |= value is None
    return None if unknown else False


def _for_all(pairs: Iterator[tuple[Any, Any]]) -> bool | None:
    unknown = False
    for _, value in pairs:
        if value is False:
            return False
        unknown |= value is None
    return None if unknown else True


@lazy("ArrayAggregate")
def _aggregate(node: SparkFunction, arguments: list[Closure]) -> Closure:
    argument, zero, merge, finish = arguments
    (total, item), (last,) = _parameters(node, 2), _parameters(node, 3)

    def closure(frame: Any) -> Any:
        array = argument(frame)
        if array is None:
            return None
        value = zero(frame)
        for each in array:
            frame.lambdas[total], frame.lambdas[item] = value, each
            value = merge(frame)
        frame.lambdas[last] = value
        return finish(frame)

    return closure

"""Every code of an error that the source can raise, read from the source itself.

A code is written where the error is made, or handed to a helper that makes it: then it is what the helper's callers write. Codes that are taken over from
another error are that error's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from sparkcep import errors
from tests.imports import MODULES

KINDS = {
    name: kind.kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.CepError)
}
"""The prefix of each class's codes."""

TABLES = {
    "rewrites.bind.row_pattern": ("_violations", "CEP_ANALYSIS"),
    "sparkcep.engines.event_pattern.values.predicates": ("FAULTS", "CEP_DATA"),
}
"""Modules that keep codes in tuples: the function or constant that has them."""


@cache
def codes() -> frozenset[str]:
    """With their prefix: ``CEP_SYNTAX_PLACE``. An error without a code of its own has that of its class."""
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in MODULES.items() if module != "sparkcep.errors"}
    found = {code for tree in trees.values() for code in (*_written(tree), *_in_texts(tree))}
    found |= {code for module, (name, kind) in TABLES.items() for code in _in_tuples(trees[module], name, kind)}
    helpers = [helper for tree in trees.values() for helper in _helpers(tree)]
    for name, kind, position in helpers:
        private = name.startswith("_")
        for tree in trees.values():
            if not private or any(isinstance(node, ast.FunctionDef) and node.name == name for node in ast.walk(tree)):
                found |= set(_handed(tree, name, kind, position))
    return frozenset(found)


def _kind(node: ast.AST) -> str | None:
    """The prefix of the error that a call makes."""
    return KINDS.get(node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def _in_texts(tree: ast.AST) -> Iterator[str]:
    """The codes of errors that Spark raises for us, with a text that begins ``[CEP_…]``."""
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    yield from (code for text in texts for code in re.findall(r"^\[(CEP_\w+)\]", text))


def _code(call: ast.Call) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == "code"), None)


def _written(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        kind = _kind(node)
        if kind is not None and isinstance(node, ast.Call):
            value = _code(node)
            yield from [kind] if value is None else _spelled(kind, value)
        if isinstance(node, ast.FunctionDef):
            yield from _defaults(node)


def _defaults(function: ast.FunctionDef) -> Iterator[str]:
    """The code of an error that a helper makes where no code is handed to it."""
    arguments = function.args
    given = [*zip(arguments.args[::-1], arguments.defaults[::-1], strict=False), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    default = next((value for argument, value in given if argument.arg == "code" and value is not None), None)
    kinds = {_kind(node) for node in ast.walk(function)} - {None}
    if default is not None:
        yield from (code for kind in kinds for code in _spelled(str(kind), default))


def _spelled(kind: str, value: ast.expr) -> Iterator[str]:
    """The codes that an expression of constants may be."""
    if isinstance(value, ast.IfExp):
        yield from (*_spelled(kind, value.body), *_spelled(kind, value.orelse))
    elif isinstance(value, ast.Constant):
        yield f"{kind}_{value.value}" if value.value else kind


def _helpers(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Functions that make an error with the code that is their argument: name, prefix, place of the argument (-1: by name only)."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        arguments = [argument.arg for argument in function.args.args if argument.arg != "self"]
        for node in ast.walk(function):
            kind = _kind(node)
            value = _code(node) if kind is not None and isinstance(node, ast.Call) else None
            named = [*arguments, *(argument.arg for argument in function.args.kwonlyargs)]
            if kind is not None and isinstance(value, ast.Name) and value.id in named:
                yield function.name, kind, arguments.index(value.id) if value.id in arguments else -1


def _handed(tree: ast.AST, name: str, kind: str, position: int) -> Iterator[str]:
    """What the calls of a helper hand to it; without a code it has its default, which is none."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and (getattr(called, "id", None) == name or getattr(called, "attr", None) == name):
            value = _code(node) or (node.args[position] if 0 <= position < len(node.args) else None)
            if value is not None:
                yield from _spelled(kind, value)


def _in_tuples(tree: ast.AST, name: str, kind: str) -> Iterator[str]:
    places = [node for node in ast.walk(tree) if name in (getattr(node, "name", None), *map(_target, getattr(node, "targets", ())))]
    for node in (inner for place in places for inner in ast.walk(place)):
        if isinstance(node, ast.Tuple):
            yield from (f"{kind}_{item.value}" for item in node.elts if isinstance(item, ast.Constant) and str(item.value).isupper())


def _target(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else None

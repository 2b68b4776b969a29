"""Every code of an error that the source can raise, read from the source itself.

A code is written where the error is made, or handed to a helper that makes it: then it is what the helper's callers write. Codes that are taken over from
another error are that error's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

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
    modules = {
        module: _read(ast.parse(path.read_text(encoding="utf-8")))
        for module, path in MODULES.items()
        if module != "sparkcep.errors"
    }
    found = {code for nodes in modules.values() for code in (*_written(nodes), *_in_texts(nodes))}
    found |= {code for module, (name, kind) in TABLES.items() for code in _in_tuples(modules[module], name, kind)}
    helpers = [(nodes, helper) for nodes in modules.values() for helper in _helpers(nodes)]
    for home, (name, kind, position) in helpers:
        callers = [home] if name.startswith("_") else modules.values()
        found |= {code for nodes in callers for code in _handed(nodes, name, kind, position)}
    return frozenset(found)


class Nodes(NamedTuple):
    """What a module has of the nodes that matter."""

    calls: list[ast.Call]
    functions: list[ast.FunctionDef]
    texts: list[str]
    assigned: list[ast.Assign]


def _read(tree: ast.AST) -> Nodes:
    nodes = list(ast.walk(tree))
    return Nodes(
        [node for node in nodes if isinstance(node, ast.Call)],
        [node for node in nodes if isinstance(node, ast.FunctionDef)],
        [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)],
        [node for node in nodes if isinstance(node, ast.Assign)],
    )


def _kind(node: ast.AST) -> str | None:
    """The prefix of the error that a call makes."""
    return KINDS.get(node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def _in_texts(nodes: Nodes) -> Iterator[str]:
    """The codes of errors that Spark raises for us, with a text that begins ``[CEP_…]``."""
    yield from (
        code for text in nodes.texts if text.startswith("[CEP_") for code in re.findall(r"^\[(CEP_\w+)\]", text)
    )


def _code(call: ast.Call) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == "code"), None)


def _written(nodes: Nodes) -> Iterator[str]:
    for call in nodes.calls:
        kind = _kind(call)
        if kind is not None:
            value = _code(call)
            yield from [kind] if value is None else _spelled(kind, value)
    for function in nodes.functions:
        yield from _defaults(function)


def _defaults(function: ast.FunctionDef) -> Iterator[str]:
    """The code of an error that a helper makes where no code is handed to it."""
    arguments = function.args
    given = [
        *zip(arguments.args[::-1], arguments.defaults[::-1], strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
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


def _helpers(nodes: Nodes) -> Iterator[tuple[str, str, int]]:
    """Functions that make an error with the code that is their argument: name, prefix, place of the argument (-1: by name only)."""
    for function in nodes.functions:
        arguments = [argument.arg for argument in function.args.args if argument.arg != "self"]
        if "code" not in [*arguments, *(argument.arg for argument in function.args.kwonlyargs)]:
            continue
        for node in ast.walk(function):
            kind = _kind(node)
            value = _code(node) if kind is not None and isinstance(node, ast.Call) else None
            if kind is not None and isinstance(value, ast.Name) and value.id == "code":
                yield function.name, kind, arguments.index("code") if "code" in arguments else -1


def _handed(nodes: Nodes, name: str, kind: str, position: int) -> Iterator[str]:
    """What the calls of a helper hand to it."""
    for call in nodes.calls:
        if name in (getattr(call.func, "id", None), getattr(call.func, "attr", None)):
            value = _code(call) or (call.args[position] if 0 <= position < len(call.args) else None)
            if value is not None:
                yield from _spelled(kind, value)


def _in_tuples(nodes: Nodes, name: str, kind: str) -> Iterator[str]:
    places: list[ast.AST] = [function for function in nodes.functions if function.name == name]
    places += [node for node in nodes.assigned if name in [getattr(target, "id", None) for target in node.targets]]
    for node in (inner for place in places for inner in ast.walk(place)):
        if isinstance(node, ast.Tuple):
            values = [item.value for item in node.elts if isinstance(item, ast.Constant)]
            yield from (f"{kind}_{value}" for value in values if str(value).isupper())

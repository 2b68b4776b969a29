"""Who imports whom, read from every file of the distribution. ``python -m tests.imports [FILE.svg]`` prints the picture of it, or draws it.

A node is a package, or a file next to packages. An arrow goes from the importing room to the imported one; the number on it
is how many imports it stands for. Imports inside functions count too.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("sparkcep", "rewrites", "sql_functions")
ROOMS_OF = ("sparkcep", "rewrites", "sparkcep.engines")
"""Packages whose rooms are drawn one by one; all others are one room."""


def modules() -> dict[str, Path]:
    """Every module of the distribution by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@cache
def imports(module: str) -> tuple[str, ...]:
    """The modules that a file imports, anywhere in it; ``from a import b`` is ``a.b`` where that is a module."""
    return tuple(_imports(module))


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            yield from (_module_of(f"{node.module}.{alias.name}", str(node.module)) for alias in node.names)


def _module_of(name: str, parent: str) -> str:
    return name if name in MODULES else parent


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The nodes of one circle, first and last the same; none where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def files() -> dict[str, set[str]]:
    """Each module and the modules of ours that it imports."""
    return {module: {name for name in imports(module) if name in MODULES and name != module} for module in MODULES}


def rooms(*, inside: str = "") -> Counter[tuple[str, str]]:
    """(importing room, imported room) → imports. ``inside``: the rooms of that package only, each file beside them one room."""
    arrows: Counter[tuple[str, str]] = Counter()
    for module, imported in files().items():
        for name in imported:
            if all(not inside or at.startswith(f"{inside}.") for at in (module, name)):
                arrows[_room(module, inside), _room(name, inside)] += 1
    return Counter({arrow: n for arrow, n in arrows.items() if arrow[0] != arrow[1]})


def _room(module: str, inside: str) -> str:
    parts = module.split(".")
    depth = inside.count(".") + 2 if inside else 1
    while not inside and ".".join(parts[:depth]) in ROOMS_OF and depth < len(parts):
        depth += 1
    return ".".join(parts[:depth])


def mermaid() -> list[str]:
    """The picture as a Mermaid flowchart."""
    return ["flowchart TD", *(f"  {a} -->|{n}| {b}" for (a, b), n in sorted(rooms().items()))]


def draw(path: str) -> None:
    """The picture as an SVG. Needs pygraphviz (the extra ``notebook``)."""
    import pygraphviz

    graph = pygraphviz.AGraph(directed=True, rankdir="TB", splines="ortho")
    graph.node_attr.update(shape="box", style="rounded", fontname="sans-serif", fontsize="11")
    graph.edge_attr.update(fontname="sans-serif", fontsize="8", color="#666666")
    for (importing, imported), number in sorted(rooms().items()):
        graph.add_edge(importing, imported, xlabel=str(number))
    graph.draw(path, prog="dot")


if __name__ == "__main__":
    draw(sys.argv[1]) if len(sys.argv) > 1 else print("\n".join(mermaid()))

"""The railroad diagrams of ``language.md``, from its own blocks of grammar: ``python docs/diagrams.py [--check]``.

In: the blocks that are fenced as ``grammar``. A line ``name :=`` begins a rule, ``--`` a comment. WORDS are keywords, ``words`` are explained
elsewhere, ``'x'`` is x itself. ``[ x ]`` may be left out, ``{ x | y }`` is one of them, ``x [, …]`` and ``x […]`` repeat what follows the keywords
before x.
Out: ``grammar/<rule>.svg`` for each rule, the same on every run. ``--check`` writes nothing and fails if a diagram is missing, stale or no rule's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from io import StringIO
from itertools import dropwhile, takewhile
from pathlib import Path

from railroad import (
    DEFAULT_STYLE,
    Choice,
    Diagram,
    DiagramItem,
    NonTerminal,
    OneOrMore,
    Optional,
    Sequence,
    Stack,
    Terminal,
)

HERE = Path(__file__).resolve().parent
PAGE = HERE / "language.md"
BLOCK = re.compile(r"^```grammar\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"'[^']*'|\[, …\]|\[…\]|->|[\w.]+|\S")
REPEAT = {"[, …]": ",", "[…]": None}
CLOSING = {"[": "]", "{": "}", "(": ")"}
STYLE = DEFAULT_STYLE + "svg.railroad-diagram{max-width:100%;height:auto}"


def main() -> None:
    wanted = {f"{name}.svg": svg(text) for name, text in rules(PAGE.read_text(encoding="utf-8"))}
    folder = HERE / "grammar"
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
    if "--check" in sys.argv:
        stale = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        sys.exit(f"not the grammar of {PAGE.name}: {', '.join(stale)}; python docs/diagrams.py" if stale else 0)
    folder.mkdir(exist_ok=True)
    for name in found.keys() - wanted.keys():
        (folder / name).unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


def rules(page: str) -> Iterator[tuple[str, str]]:
    """Each rule's name and text, without comments."""
    for block in BLOCK.finditer(page):
        text = re.sub(r"\s*-- .*", "", block[1])
        parts = re.split(r"^(\w+)\s*:=", text, flags=re.MULTILINE)
        yield from zip(parts[1::2], parts[2::2], strict=True)


def svg(text: str) -> str:
    """One row for each line whose brackets are closed."""
    out = StringIO()
    rows = [sequence(tokens) for tokens in lines(text)]
    Diagram(Stack(*rows) if len(rows) > 1 else rows[0]).writeStandalone(out.write, STYLE)
    return out.getvalue() + "\n"


def lines(text: str) -> Iterator[list[str]]:
    """The tokens of each line, together with the lines that its open brackets go on to; a line that begins with ``|`` belongs to the one before."""
    tokens: list[str] = []
    for line in re.sub(r"\n\s*\|", " |", text.strip()).splitlines():
        tokens += TOKEN.findall(line)
        if all(tokens.count(opening) == tokens.count(CLOSING[opening]) for opening in "[{"):
            yield tokens
            tokens = []


def sequence(tokens: list[str]) -> DiagramItem:
    """Alternatives, each a sequence of items."""
    options: list[list[DiagramItem]] = [[]]
    rest = list(tokens)
    while rest:
        token = rest.pop(0)
        if token == "|":
            options.append([])
        elif token in REPEAT:
            options[-1] = repeated(options[-1], REPEAT[token])
        elif token in "[{" or (token == "(" and ")" in rest):
            options[-1].append(in_brackets(token, sequence(bracketed(token, rest))))
        else:
            options[-1].append(leaf(token))
    items = [option[0] if len(option) == 1 else Sequence(*option) for option in options]
    return items[0] if len(items) == 1 else Choice(0, *items)


def in_brackets(opening: str, inside: DiagramItem) -> DiagramItem:
    if opening == "[":
        return Optional(inside)
    return inside if opening == "{" else Sequence("(", inside, ")")


def bracketed(opening: str, rest: list[str]) -> list[str]:
    """The tokens up to the bracket that closes; they are taken out of ``rest``."""
    depth, inside = 1, []
    while rest:
        token = rest.pop(0)
        depth += (token == opening) - (token == CLOSING[opening])
        if not depth:
            return inside
        inside.append(token)
    raise SystemExit(f"{opening} is not closed in the grammar: {' '.join(inside)}")


def repeated(items: list[DiagramItem], separator: str | None) -> list[DiagramItem]:
    """What follows the keywords at the beginning, once or more often."""
    keywords = list(takewhile(lambda item: isinstance(item, Terminal), items))
    again = list(dropwhile(lambda item: isinstance(item, Terminal), items)) or [keywords.pop()]
    return [*keywords, OneOrMore(Sequence(*again), Terminal(separator) if separator else None)]


def leaf(token: str) -> DiagramItem:
    if token.startswith("'") and len(token) > 1:
        return Terminal(token[1:-1])
    return NonTerminal(token.replace("_", " ")) if token[0].islower() else Terminal(token)


if __name__ == "__main__":
    main()

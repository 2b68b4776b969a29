"""Statements with pattern clauses, from the corpus, the documentation, the examples and the goldens; and what is left of them when they are mangled."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sparkcep.cli import split_statements
from sparkcep.errors import CepError
from tests.corpus import EventCase, RowCase, event_cases, row_cases
from tests.sql.event_text import clause
from tests.sql.test_corpus import SKIPS, labels

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```sql[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CLAUSE = re.compile(r"MATCH_RECOGNIZE|MATCH\s+PATTERNS?\b|aseq_", re.IGNORECASE)
_PIECE = re.compile(r"\s*(?:'[^']*'|`[^`]*`|\w+|[^\w\s])|\s+$")
_MODES = {
    "one": "",
    "all_show_empty": "ALL ROWS PER MATCH",
    "all_omit_empty": "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "all_with_unmatched": "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
}
ODD, OPERANDS = (
    part.splitlines()
    for part in (ROOT / "tests" / "properties" / "accidents.txt").read_text(encoding="utf-8").split("\n\n")
)
"""What is put in where nobody expects it; what is put in the place of an operand, ``a.x`` … for columns of the statement."""
KINDS = (r"\w+", r"\d+", r"[-+*/<>=%|]", r"[(\[{]", r"[)\]}]")


@cache
def statements() -> tuple[str, ...]:
    """Every statement that there is, each once."""
    found = [*map(_row, row_cases()), *map(_event, event_cases()), *_documented(), *_goldens(), *_examples()]
    return tuple(dict.fromkeys(text for text in found if _CLAUSE.search(text)))


def mangled(choose: random.Random) -> str:
    """A statement with one to three accidents: tokens left out, doubled, swapped, replaced, put in, the end cut off."""
    pieces = _pieces(choose.choice(statements()))
    for _ in range(choose.choice((1, 1, 1, 1, 2, 3))):
        if pieces:
            _accident(choose, pieces)
    return "".join(pieces)


def _accident(choose: random.Random, pieces: list[str]) -> None:
    at = choose.randrange(len(pieces))
    kind = choose.randrange(10)
    if kind == 0:
        del pieces[at : at + choose.choice((1, 1, 1, 2, 5))]
    elif kind == 1:
        pieces.insert(at, pieces[at])
    elif kind == 2:
        other = choose.randrange(len(pieces))
        pieces[at], pieces[other] = pieces[other], pieces[at]
    elif kind == 3:
        pieces[at] = choose.choice(_pieces(choose.choice(statements())) or [" "])
    elif kind == 4:
        pieces[at] = f" {choose.choice(ODD)}"
    elif kind == 5:
        pieces.insert(at, f" {choose.choice(ODD)}")
    elif kind == 6:
        del pieces[at:]
    elif kind == 7:
        _likewise(choose, pieces, at)
    else:
        _operand(choose, pieces, at)


def _likewise(choose: random.Random, pieces: list[str], at: int) -> None:
    """A word of the statement in the place of another, a number for a number, an operator for an operator."""
    kind = next((kind for kind in KINDS if re.fullmatch(kind, pieces[at].strip())), None)
    if kind is not None:
        pieces[at] = choose.choice([piece for piece in pieces if re.fullmatch(kind, piece.strip())])


def _operand(choose: random.Random, pieces: list[str], at: int) -> None:
    """An operand in the place of an operand: ``a``, ``a.x``, ``f(…)``, ``(…)``."""
    words = [i for i, piece in enumerate(pieces) if re.fullmatch(r"[a-z]\w*|\d+|'.*'", piece.strip())]
    at = choose.choice(words) if words else at
    end = at + 1
    while end + 1 < len(pieces) and pieces[end] == "." and choose.random() < 0.9:
        end += 2
    if end < len(pieces) and pieces[end].strip() == "(":
        end = _closing(pieces, end)
    known = re.findall(r"\w+\.\w+", "".join(pieces)) or ["x", "y"]
    text = re.sub(r"\b[ab]\.[xy]\b", lambda _: choose.choice(known), choose.choice(OPERANDS))
    if choose.random() < 0.3:
        text = f"{text} {choose.choice(('+', '<', '=', 'AND', '||', 'IN', '*', 'OR'))} {''.join(pieces[at:end])}"
    pieces[at:end] = [f" {text}"]


def _closing(pieces: list[str], opening: int) -> int:
    """The piece behind the parenthesis that closes the one at ``opening``."""
    depth = 0
    for i in range(opening, len(pieces)):
        depth += (pieces[i].strip() == "(") - (pieces[i].strip() == ")")
        if depth == 0:
            return i + 1
    return len(pieces)


def _pieces(text: str) -> list[str]:
    return _PIECE.findall(text)


def _row(case: RowCase) -> str:
    parts = [f"{name} AS {text}" for name, text in case.define.items()] + labels(case)
    measures = ", ".join(f"{text} AS {name}" for name, text in case.measures.items())
    subsets = ", ".join(f"{name} = ({', '.join(members)})" for name, members in case.subset.items())
    skip, variable = case.skip
    return f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY row {"MEASURES " + measures if measures else ""}
        {_MODES[case.rows_per_match]} AFTER MATCH SKIP {SKIPS[skip]} {variable or ""} {"INITIAL" if case.initial else ""}
        PATTERN ({case.pattern}) {"SUBSET " + subsets if subsets else ""} {"DEFINE " + ", ".join(parts) if parts else ""}) AS m"""


def _event(case: EventCase) -> str:
    return f"SELECT COUNT(*), SUM(1) FROM t {clause(case)} AS m"


def _documented() -> Iterator[str]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in _FENCE.findall(page.read_text(encoding="utf-8")):
            yield from _split(block)


def _examples() -> Iterator[str]:
    for path in sorted((ROOT / "sql_examples").glob("*.sql")):
        yield from _split(path.read_text(encoding="utf-8"))


def _goldens() -> Iterator[str]:
    for path in [*(ROOT / "tests" / "errors").glob("*.txt"), *(ROOT / "tests" / "sql" / "errors").glob("*.txt")]:
        for block in path.read_text(encoding="utf-8").split("\n" + "=" * 40 + "\n"):
            yield block.partition("\n=>\n")[0].strip("\n")


def _split(text: str) -> Iterator[str]:
    try:
        yield from split_statements(text)
    except CepError:
        yield text

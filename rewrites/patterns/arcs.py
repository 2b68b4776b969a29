"""ALTER PATTERN … ADD ARC and DROP ARC: the text of an automaton's body with arcs more or less.

In: a body of MATCH AUTOMATON. Out: its text; whether it is an automaton still, ``check_body`` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from rewrites.dialect.tokens import Token, depths, tokenize
from sparkcep.errors import CepAnalysisError, CepSyntaxError, Span

_HINT = "DROP ARC name, or DROP ARC state -> state where no other arc has these states"


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc of a body: where it stands, its states, and its name where it has one."""

    span: Span
    source: str
    target: str
    name: str | None


def arcs(body: str) -> tuple[Arc, ...]:
    """The arcs in the order written."""
    tokens = tokenize(body).items
    starts = [i for i, depth in depths(tokens) if depth == 0 and _begins(tokens, i)]
    within = [
        i for i, depth in depths(tokens) if depth == 0 and tokens[i].key == "WITHIN" and starts and i > starts[-1]
    ]
    ends = [*starts[1:], within[0] if within else len(tokens)]
    return tuple(_arc(tokens[start:end]) for start, end in zip(starts, ends, strict=False))


def with_arcs(body: str, added: str) -> str:
    """``body`` with ``added`` (``ARC a -> b …``) behind its last arc."""
    last = arcs(body)[-1].span.end
    return f"{body[:last]}\n{added}{body[last:]}"


def without_arc(body: str, wanted: str) -> str:
    """``body`` without the arc named ``wanted``, or from state to state. Raises CepAnalysisError, without a place, where it is not one arc."""
    words = tokenize(wanted).items
    found = [arc for arc in arcs(body) if _is(arc, words)]
    if len(found) != 1:
        count = "no arc" if not found else f"{len(found)} arcs"
        names = ", ".join(arc.name or f"{arc.source} -> {arc.target}" for arc in arcs(body))
        raise CepAnalysisError(f"the pattern has {count} {wanted}", code="PATTERN_ARC", hint=f"its arcs are {names}")
    span = found[0].span
    return body[: span.start].rstrip() + "\n" + body[span.end :].lstrip()


def _is(arc: Arc, words: tuple[Token, ...]) -> bool:
    if len(words) == 1:
        return arc.name is not None and arc.name.lower() == words[0].text.lower()
    if [word.key for word in words[1:3]] != ["-", ">"] or len(words) != 4:
        raise CepSyntaxError("this names no arc", code="PATTERN_ARC", hint=_HINT)
    return (arc.source.lower(), arc.target.lower()) == (words[0].text.lower(), words[3].text.lower())


def _begins(tokens: tuple[Token, ...], i: int) -> bool:
    return (
        tokens[i].key == "ARC" and [token.key for token in tokens[i + 2 : i + 4]] == ["-", ">"] and i + 4 < len(tokens)
    )


def _arc(tokens: tuple[Token, ...]) -> Arc:
    """``ARC a -> b [NAMED n] …``."""
    named = len(tokens) > 6 and tokens[5].key == "NAMED" and tokens[6].is_name
    span = tokens[0].span.to(tokens[-1].span)
    return Arc(span, tokens[1].text, tokens[4].text, tokens[6].text if named else None)

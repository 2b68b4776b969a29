"""ALTER PATTERN … ADD ARC and DROP ARC: the text of an automaton's body with arcs added or removed.

In: a body of MATCH AUTOMATON. Out: its text; ``check_body`` checks that it is still an automaton.
"""

from __future__ import annotations

from rewrites.dialect import parse_match_automaton
from rewrites.dialect.clause import Arc
from rewrites.dialect.stored_bodies import body_site
from rewrites.dialect.tokens import Token, tokenize
from sparkcep.errors import CepAnalysisError, CepSyntaxError

_HINT = "DROP ARC name, or DROP ARC state -> state where no other arc has these states"


def arcs(body: str) -> tuple[Arc, ...]:
    """The arcs in the order written."""
    return parse_match_automaton(body, body_site(body)).arcs


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
        names = ", ".join(_called(arc) for arc in arcs(body))
        raise CepAnalysisError(f"the pattern has {count} {wanted}", code="PATTERN_ARC", hint=f"its arcs are {names}")
    span = found[0].span
    return body[: span.start].rstrip() + "\n" + body[span.end :].lstrip()


def _called(arc: Arc) -> str:
    return arc.name.value if arc.name else f"{arc.source.value} -> {arc.target.value}"


def _is(arc: Arc, words: tuple[Token, ...]) -> bool:
    if len(words) == 1:
        return arc.name is not None and arc.name.value.lower() == words[0].text.lower()
    if [word.key for word in words[1:3]] != ["-", ">"] or len(words) != 4:
        raise CepSyntaxError("this names no arc", code="PATTERN_ARC", hint=_HINT)
    return (arc.source.value.lower(), arc.target.value.lower()) == (words[0].text.lower(), words[3].text.lower())

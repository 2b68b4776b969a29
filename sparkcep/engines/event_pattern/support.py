"""What the lazy Chain NFA engine runs: the one list of its limits.

In: the parts of an ``EventPatternSpec``. Out: nothing, or the error that names the unsupported feature. Imports
neither numpy nor Polars, so that a driver may ask before it ships a query.
"""

from __future__ import annotations

from sparkcep.engines.event_pattern.branches import Branch, branches
from sparkcep.errors import CepAnalysisError, CepUnsupportedError
from sparkcep.pattern.event import Element, EventPattern, Not, elements, walk
from sparkcep.spec.event import MatchOutput, Predicate, Strategy, WithinEvents, WithinTime
from sparkcep.spec.expression import variables

STRATEGY_NAMES = {
    "any": "SKIP TILL ANY MATCH",
    "next": "SKIP TILL NEXT MATCH",
    "partition_contiguity": "PARTITION CONTIGUITY",
    "strict_contiguity": "STRICT CONTIGUITY",
}
OUTPUT_NAMES = {
    "all": "ALL MATCHES",
    "non_overlapping": "NON OVERLAPPING MATCHES",
    "compressed": "COMPRESSED MATCHES",
}


def check(
    pattern: EventPattern,
    *,
    strategy: Strategy = "any",
    matches: MatchOutput = "all",
    within: WithinTime | WithinEvents | None = None,
    predicates: tuple[Predicate, ...] = (),
) -> None:
    """Return if ``engine.compile`` takes a clause with these parts.

    Raises CepUnsupportedError naming the feature that this engine lacks, CepAnalysisError where the clause itself is
    wrong (negation at an open end without WITHIN, a branch without a positive event), CepLimitError for too many
    branches.
    """
    _check_strategy(strategy, matches)
    for node in walk(pattern):
        if isinstance(node, Element):
            _check_element(node)
        if isinstance(node, Not):
            _check_negation(node)
    for branch in branches(pattern):
        _check_open_ends(branch, within)
    negated = {element.variable for element in elements(pattern, negated=True)}
    for predicate in predicates:
        _check_predicate(predicate, negated)


def _check_strategy(strategy: Strategy, matches: MatchOutput) -> None:
    if strategy != "any":
        name = STRATEGY_NAMES[strategy]
        raise CepUnsupportedError(f"{name} is not supported yet.", code=name.replace(" ", "_"))
    if matches != "all":
        name = OUTPUT_NAMES[matches]
        raise CepUnsupportedError(f"{name} is not supported yet.", code=name.replace(" ", "_"))


def _check_element(element: Element) -> None:
    if (element.low, element.high) == (1, 1):
        return
    feature, code = ("A Kleene closure", "KLEENE") if element.kleene else ("An optional event (?)", "OPTIONAL")
    raise CepUnsupportedError(
        f"{feature} is not supported yet under SKIP TILL ANY MATCH: {element}.", code=code, span=element.span
    )


def _check_negation(node: Not) -> None:
    if any(isinstance(below, Not) for below in walk(node.item)):
        raise CepUnsupportedError(f"NOT inside NOT is not supported: {node}.", code="NESTED_NOT", span=node.span)


def _check_open_ends(branch: Branch, within: WithinTime | WithinEvents | None) -> None:
    open_ends = [n.variable for part in branch.alternatives for n in part if not (n.before and n.after)]
    if open_ends and within is None:
        raise CepAnalysisError(
            f"NOT {open_ends[0]} stands first, last or in AND, where only WITHIN says how far it reaches.",
            code="NEGATION_WITHOUT_WITHIN",
            hint="Add WITHIN.",
        )


def _check_predicate(predicate: Predicate, negated: set[str]) -> None:
    below = [name for name in variables(predicate.condition) if name in negated]
    if len(below) > 1:
        raise CepUnsupportedError(
            f"A predicate over two negated variables ({', '.join(below)}) is not supported: {predicate.text}.",
            code="PREDICATE_OVER_NEGATIONS",
            hint="Negated events are independent of each other; compare each with positive events.",
        )

"""Names of stored patterns → their bodies, before anything else reads the statement.

``t MATCH PATTERN rising`` becomes ``t MATCH PATTERN ( <the body> )``; ``PATTERN shelf_read`` inside an event pattern becomes that pattern
(``inclusion``). Bodies may name patterns themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from rewrites.dialect.clause import ClauseKind, Name, Site
from rewrites.dialect.pattern_names import Inclusion, Use, inclusions, may_include, uses
from rewrites.dialect.sites import find_sites
from rewrites.dialect.stored_bodies import body_site
from rewrites.patterns.inclusion import included, sections
from rewrites.patterns.texts import Expanded, Origin
from rewrites.patterns.versions import PatternStore, Version, in_effect, planned
from sparkcep.errors import CepAnalysisError, CepError, CepLimitError, Span

MOST_NAMES = 100
"""The most names replaced in one statement: ten patterns that each name the next one twice would expand to a thousand."""

Find = Callable[[str], Version | None]


def expand(sql: str, store: PatternStore) -> Expanded:
    """``sql`` with every name of a stored pattern replaced. Raises CepError with both places."""
    text = Expanded.of(Origin(sql))
    if not any(True for _ in uses(sql)) and not may_include(sql):
        return text
    return _Expansion(store).statement(text)


class _Expansion:
    """The expansion of one statement: each pattern is looked up once, so that all uses see the same version."""

    def __init__(self, store: PatternStore) -> None:
        self._store = store
        self._found: dict[str, Version] = {}
        self._names = 0

    def statement(self, text: Expanded) -> Expanded:
        """All uses, then what is included in the clauses of the statement."""
        while use := next(uses(text.text), None):
            text = self._located(text, self._used, use)
        while found := next(((site, one) for site in _sites(text) for one in inclusions(text.text, site)), None):
            text = self._located(text, self._included, *found)
        return text

    def _located(self, text: Expanded, step: Callable[..., Expanded], *arguments: object) -> Expanded:
        try:
            return step(text, *arguments)
        except CepError as error:
            raise text.located(error) from None

    def _used(self, text: Expanded, use: Use) -> Expanded:
        body = self._body(text, use.name, use.kind)
        if use.kind == "MATCH PATTERN" and "ORDER BY" not in sections(body.text, Span(0, len(body.text))):
            raise CepAnalysisError(
                f"the pattern {use.name.value} has no ORDER BY: it can only stand inside another pattern",
                code="PATTERN_CLAUSES",
                span=use.name.span,
                hint=f"write MATCH PATTERN ( PATTERN {use.name.value} ORDER BY … )",
            )
        begin, end = text.glue("(\n", use.name.span), text.glue("\n)", use.name.span)
        return text.edited([(use.name.span, (begin, *body.pieces, end))])

    def _included(self, text: Expanded, site: Site, found: Inclusion) -> Expanded:
        body = self._body(text, found.name, "MATCH PATTERN", found.span)
        try:
            return included(text, site, found, body)
        except CepError as error:
            raise body.located(error) if error.sql == body.text else error from None

    def _body(self, text: Expanded, name: Name, kind: ClauseKind, place: Span | None = None) -> Expanded:
        """The body of a pattern, with the patterns inside it in their places."""
        version = self._version(name, kind)
        inside, at = text.place(place or name.span)
        origin = Origin(version.body, version.pattern, inside, at)
        if origin.names[-1] in origin.names[:-1]:
            raise CepAnalysisError(
                f"the pattern {version.pattern} contains itself: {' → '.join(origin.names)}",
                code="PATTERN_CYCLE",
                span=name.span,
                hint="name another pattern in it",
            )
        self._names += 1
        if self._names > MOST_NAMES:
            raise CepLimitError(
                f"the statement names patterns more than {MOST_NAMES} times, counting those inside patterns",
                code="NAMED_PATTERNS",
                span=name.span,
                hint="write some of their bodies in place of the names",
            )
        body = Expanded.of(origin)
        while one := next(inclusions(body.text, body_site(body.text)), None):
            body = self._located(body, self._included, body_site(body.text), one)
        return body

    def _version(self, name: Name, kind: ClauseKind) -> Version:
        key = name.value.lower()
        version = self._found.get(key) or in_effect(*self._store.versions(key))
        if version is None:
            raise unknown(name, self._store)
        if version.clause != kind:
            raise CepAnalysisError(
                f"the pattern {version.pattern} is a body of {version.clause}, not of {kind}",
                code="PATTERN_CLAUSE",
                span=name.span,
                hint=f"write {version.clause} {version.pattern} after a table",
            )
        self._found[key] = version
        return version


def unknown(name: Name, store: PatternStore) -> CepAnalysisError:
    """The error for an unknown pattern; similar names are suggested."""
    versions, moment = store.versions()
    own = [version for version in versions if version.pattern.lower() == name.value.lower()]
    if later := planned(own, moment):
        hint = f"it takes effect at {later[0].effective_text}"
    else:
        near = get_close_matches(name.value.lower(), _names(versions, moment), n=1)
        hint = f"did you mean {near[0]}?" if near else "SHOW PATTERNS lists those that there are"
    message = f"there is no pattern {name.value} in {store.table}"
    return CepAnalysisError(message, code="UNKNOWN_PATTERN", span=name.span, hint=hint)


def _names(versions: tuple[Version, ...], moment: int) -> list[str]:
    """The patterns that there are, in lower case."""
    names = {version.pattern.lower() for version in versions}
    return [name for name in names if in_effect((one for one in versions if one.pattern.lower() == name), moment)]


def _sites(text: Expanded) -> tuple[Site, ...]:
    try:
        return find_sites(text.text)
    except CepError as error:
        raise text.located(error) from None

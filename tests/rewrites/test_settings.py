"""Settings of MATCH PATTERN: read from the session, overridden by the hints of a clause, refused where they are not known."""

from __future__ import annotations

import pytest

from rewrites.dialect import find_sites, parse_clause
from rewrites.dialect.clause import MatchPatternClause
from rewrites.settings import Evaluation, evaluation, frequencies, hinted
from sparkcep.errors import CepAnalysisError, CepSyntaxError
from sparkcep.pattern.event import Element
from sparkcep.session.config import DISABLED_RULES, options


def clause(hints: str) -> tuple[MatchPatternClause, str]:
    text = f"SELECT /*+ REPARTITION(2) */ * FROM t MATCH PATTERN (\n /*+ {hints} */ SEQ(A a, B b) ORDER BY ts WITHIN 3)"
    (site,) = find_sites(text)
    found = parse_clause(text, site)
    assert isinstance(found, MatchPatternClause)
    return found, text


def test_a_session_sets_them() -> None:
    assert evaluation({}.get) == Evaluation()
    settings = {"sparkcep.engine": " Tree ", "sparkcep.sharding": "ALL", "sparkcep.shardLength": "INTERVAL 1 DAY"}
    found = evaluation({**settings, "sparkcep.maxPartialMatches": "1000"}.get)
    assert found == Evaluation("tree", "all", "INTERVAL 1 DAY", 1000)


def test_hints_override_the_session() -> None:
    found, text = clause("CEP_ENGINE(eager), cep_shard_length(INTERVAL '1)' DAY) CEP_SHARDING( off )")
    assert [text[hint.span.start : hint.span.end] for hint in found.hints] == [
        "CEP_ENGINE(eager)",
        "cep_shard_length(INTERVAL '1)' DAY)",
        "CEP_SHARDING( off )",
    ]
    base = Evaluation(engine="chain", max_partial_matches=5)
    assert hinted(base, found.hints) == Evaluation("eager", "off", "INTERVAL '1)' DAY", 5)


@pytest.mark.parametrize(
    ("hints", "message", "hint"),
    [
        ("CEP_ENGINE(lazy)", "CEP_ENGINE is lazy", "it is one of auto, chain, tree, eager, stack"),
        ("CEP_ENGIN(chain)", "there is no hint CEP_ENGIN", "did you mean CEP_ENGINE?"),
        ("CEP_SHARD_LENGTH()", "CEP_SHARD_LENGTH is empty", "it is auto, or a length as in WITHIN"),
        ("CEP_STATISTICS(A=often)", "CEP_STATISTICS is A=often", "A=0.01, B=0.5"),
        ("CEP_MAX_PARTIAL_MATCHES(0)", "CEP_MAX_PARTIAL_MATCHES is 0", "a whole number"),
    ],
)
def test_unknown_hints_and_values_are_refused(hints: str, message: str, hint: str) -> None:
    found, text = clause(hints)
    with pytest.raises(CepAnalysisError) as error:
        hinted(Evaluation(), found.hints)
    assert message in error.value.message
    assert hint in str(error.value.hint)
    assert error.value.span is not None
    assert text[error.value.span.start :].startswith("CEP_")


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(CepAnalysisError, match=r"sparkcep\.engine is fast"):
        evaluation({"sparkcep.engine": "fast"}.get)


@pytest.mark.parametrize("hints", ["CEP_ENGINE", "CEP_ENGINE(chain", "'x'", "CEP_ENGINE = chain"])
def test_what_is_no_hint_is_a_syntax_error(hints: str) -> None:
    with pytest.raises(CepSyntaxError, match="a hint is written NAME"):
        clause(hints)


def test_statistics_are_of_variables_or_of_their_types() -> None:
    given = evaluation({"sparkcep.statistics": "A=0.5, 'B-1'=0.25,x=3, C=1"}.get).statistics
    assert given == (("A", 0.5), ("B-1", 0.25), ("x", 3.0), ("C", 1.0))
    variables = [
        Element("a", ("A",)),
        Element("b", ("A", "B-1")),
        Element("x", ("A",)),
        Element("d", ("A", "D")),
        Element("e", ()),
    ]
    assert frequencies(variables, given) == (("a", 0.5), ("b", 0.75), ("x", 3.0))


def test_unknown_rule():
    """A misspelt rule is refused: it would silently stay switched on."""
    given = {DISABLED_RULES: "time_shards, aggregate_pushdwon"}
    with pytest.raises(CepAnalysisError, match="names aggregate_pushdwon, which is no rule"):
        options(given.get)
    assert options({DISABLED_RULES: "time_shards, prune_fields"}.get).disabled == {"time_shards", "prune_fields"}

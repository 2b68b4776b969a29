"""Settings of MATCH PATTERN: read from the session, overridden by the hints of a clause, refused where they are not known."""

from __future__ import annotations

import pytest

from rewrites.dialect import find_sites, parse_clause
from rewrites.dialect.clause import MatchPatternClause
from rewrites.settings import Evaluation, StreamSettings, check_hints, evaluation, frequencies, hinted, stream_hinted
from sparkcep.errors import CepAnalysisError, CepSyntaxError, CepUnsupportedError
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
    settings = {"sparkcep.engine": " Tree ", "sparkcep.sharding": "ALL", "sparkcep.shardLength": "1 day"}
    found = evaluation({**settings, "sparkcep.maxPartialMatches": "1000"}.get)
    assert found == Evaluation("tree", "all", "INTERVAL 1 day", 1000)
    assert evaluation({"sparkcep.shardLength": "INTERVAL 1 DAY"}.get) == Evaluation(shard_length="INTERVAL 1 DAY")


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


@pytest.mark.parametrize(
    ("text", "speculative", "sigma"),
    [
        ("MATCH PATTERN (/*+ CEP_STREAM(speculative) */ SEQ(A a, B b) ORDER BY ts)", True, None),
        (
            "MATCH PATTERN (/*+ CEP_ENGINE(tree), cep_stream(Speculative, 1 minute) */ A a ORDER BY ts)",
            True,
            60_000_000,
        ),
        ("MATCH PATTERN (/*+ CEP_STREAM(speculative, 0 seconds) */ A a ORDER BY ts)", False, 0),
        ("MATCH_RECOGNIZE (/*+ CEP_STREAM(speculative) */ ORDER BY ts PATTERN (a) DEFINE a AS x > 1)", True, None),
        ("MATCH AUTOMATON (/*+ CEP_STREAM(speculative) */ ORDER BY ts START s FINAL f ARC s -> f)", True, None),
        (
            "MATCH PATTERNS (/*+ CEP_STREAM(conservative) */ p AS SEQ(A a, B b) ORDER BY ts MEASURES COUNT(*) AS n)",
            False,
            None,
        ),
    ],
)
def test_every_clause_has_the_hint_of_streams(text: str, speculative: bool, sigma: int | None) -> None:
    (site,) = find_sites(sql := f"SELECT * FROM s {text}")
    found = stream_hinted(StreamSettings(speculative=not speculative, sigma=7), parse_clause(sql, site).hints)
    assert (found.speculative, found.sigma) == (speculative, sigma)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("MATCH PATTERN (/*+ CEP_STREAM(fast) */ A a ORDER BY ts)", "CEP_STREAM is fast", "conservative, speculative"),
        ("MATCH PATTERN (/*+ CEP_STREAM(speculative, soon) */ A a ORDER BY ts)", "CEP_STREAM is soon", "10 seconds"),
        ("MATCH PATTERN (/*+ CEP_STREAM(conservative, 1 second) */ A a ORDER BY ts)", "has a sigma", "speculative"),
        (
            "MATCH_RECOGNIZE (/*+ CEP_ENGINE(tree) */ ORDER BY ts PATTERN (a) DEFINE a AS x > 1)",
            "there is no hint CEP_ENGINE for MATCH_RECOGNIZE",
            "available: CEP_STREAM",
        ),
    ],
)
def test_wrong_hints_of_streams_are_refused(text: str, message: str, hint: str) -> None:
    (site,) = find_sites(sql := f"SELECT * FROM s {text}")
    with pytest.raises(CepAnalysisError) as error:
        found = parse_clause(sql, site).hints
        check_hints(found if "RECOGNIZE" in text else (), site.kind)
        stream_hinted(StreamSettings(), found)
    assert message in error.value.message
    assert hint in str(error.value.hint)
    assert error.value.span is not None


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


def test_an_engine_of_another_strategy_is_refused() -> None:
    found, _ = clause("CEP_ENGINE(backtrack)")
    assert hinted(Evaluation("tree"), found.hints, "next").engine == "backtrack"
    with pytest.raises(CepUnsupportedError, match="the engine backtrack with SKIP TILL ANY MATCH") as error:
        hinted(Evaluation(), found.hints)
    assert error.value.span == found.hints[0].span
    assert "auto, chain, tree" in str(error.value.hint)

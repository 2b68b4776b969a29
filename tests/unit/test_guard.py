"""The seam: an exception that nobody foresaw leaves the rewriter as CEP_INTERNAL, at its clause, with its cause."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from rewrites import InputError, Options, analyse
from sparkcep.errors import CepInternalError, CepLimitError
from sparkcep.session.statement import analysed, spark_sql
from tests.properties.fake_spark import FakeSpark

TWO = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a)) m,\n u MATCH_RECOGNIZE (ORDER BY ts PATTERN (b c))"


class Broken(FakeSpark):
    """Spark, with a fault in us where it is asked about the second input."""

    def __call__(self, query):
        if "FROM u" in query:
            raise ZeroDivisionError("by zero")
        return super().__call__(query)


@pytest.mark.parametrize("way", [analyse, spark_sql, analysed])
def test_unforeseen(way):
    with pytest.raises(CepInternalError) as caught:
        way(TWO, Broken(TWO), Options())
    assert str(caught.value).splitlines() == [
        "[CEP_INTERNAL] ZeroDivisionError: by zero",
        "line 2:  u MATCH_RECOGNIZE (ORDER BY ts PATTERN (b c))",
        "           ^^^^^^^^^^^^^^^",
        "Hint: please report this statement: it is a fault in sparkcep, not in the SQL",
    ]
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_broken_promise_of_ours_gets_a_place():
    def check(spec):
        raise CepInternalError("no such state", code="STATE")

    with pytest.raises(CepInternalError) as caught:
        analyse(TWO, FakeSpark(TWO), Options(check=check))
    assert caught.value.code == "CEP_INTERNAL_STATE"
    assert "^^^^^^^^^^^^^^^" in str(caught.value)


def test_sparks_own_exceptions_pass():
    class NoTable(FakeSpark):
        def __call__(self, query):
            raise AnalysisException("[TABLE_OR_VIEW_NOT_FOUND] no table t")

    with pytest.raises(InputError) as caught:
        analyse(TWO, NoTable(TWO))
    assert isinstance(caught.value.cause, AnalysisException)


def test_nesting():
    condition = "(" * 400 + "a.x > 1" + ")" * 400
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS {condition})"
    with pytest.raises(CepLimitError, match="nests deeper") as caught:
        analyse(text, FakeSpark(text))
    assert caught.value.code == "CEP_LIMIT_NESTING"


def test_a_long_chain_is_not_deep():
    condition = " OR ".join(f"(a.x = {i} AND a.y > {i})" for i in range(150))
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a) DEFINE a AS {condition})"
    assert analyse(text, FakeSpark(text)).clauses

"""Whatever a statement looks like, the rewriter returns, or says what is wrong and where: never another exception, never CEP_INTERNAL."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rewrites import Options
from sparkcep.errors import CepError, CepInternalError
from sparkcep.session.config import options
from sparkcep.session.statement import analysed, spark_sql
from tests.properties.fake_spark import FakeSpark
from tests.properties.statements import mangled, statements

MANGLED = 150
"""Statements a seed."""


def complaint(text: str, choose: random.Random) -> str:
    """What is wrong with the rewriter's answer; '' where nothing is."""
    spark = FakeSpark(text, choose.choice((0, 0, 3, 20)))
    try:
        analysed(text, spark, found := _options(choose))
        spark_sql(text, spark, found)
    except CepInternalError as error:
        return f"{error}\n{error.__cause__!r}"
    except CepError as error:
        span = error.span
        if error.sql is None or span is None or not 0 <= span.start < span.end or span.start > len(error.sql):
            return f"{error}\nat {span} of {len(error.sql or '')} characters"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _options(choose: random.Random) -> Options:
    """Those of a session, those of Spark Connect, and those of who wants to see more."""
    plain = options(lambda name: None)
    connect = replace(plain, function=lambda spec: "connect", aggregate_function=lambda *args: "connect")
    return choose.choice((plain, plain, connect, replace(plain, analyze=True, timeline=True)))


@pytest.mark.parametrize("refuses", [0, 1])
def test_every_statement(refuses: int) -> None:
    choose = random.Random(refuses)
    assert [found for text in statements() if (found := complaint(text, choose))] == []


@pytest.mark.parametrize("seed", range(8))
def test_mangled_statements(seed: int) -> None:
    choose = random.Random(seed)
    texts = [mangled(choose) for _ in range(MANGLED)]
    assert [f"{text}\n{found}" for text in texts if (found := complaint(text, choose))] == []

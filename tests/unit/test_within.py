"""The lengths of windows that are added to every time alike: only those are left to the engine."""

import pytest
from sqlglot import parse_one

from rewrites.bind.within import fixed_amount

AMOUNTS = {
    "500": 500,
    "(500)": 500,
    "500L": None,
    "5.5": None,
    "-3": None,
    "0": None,
    "'5'": None,
    "x": None,
    "500 + 1": None,
    "INTERVAL 90 MINUTES": 5_400_000_000,
    "INTERVAL '2' HOUR": 7_200_000_000,
    "INTERVAL '2 hours'": 7_200_000_000,
    "INTERVAL 23 HOURS": 82_800_000_000,
    "INTERVAL 24 HOURS": 86_400_000_000,
    "INTERVAL 2 WEEKS": 14 * 86_400_000_000,
    "INTERVAL 100000000 DAYS": None,
    "INTERVAL 1 MONTH": None,
    "INTERVAL 1 HOUR 30 MINUTES": None,
    "INTERVAL '1 hour 30 minutes'": None,
    "INTERVAL '1 02:00' DAY TO MINUTE": None,
    "INTERVAL 1.5 HOUR": None,
    "INTERVAL -2 HOURS": None,
    "INTERVAL (1 + 1) HOUR": None,
    "INTERVAL 500000000000000000000 SECONDS": None,
}


@pytest.mark.parametrize("text", AMOUNTS)
def test_fixed_amount(text: str) -> None:
    assert fixed_amount(parse_one(text, dialect="spark")) == AMOUNTS[text]

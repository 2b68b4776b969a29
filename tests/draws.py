"""How many examples hypothesis draws. Every run draws others, so all runs together see many; one alone can be made thorough.

``SPARKCEP_DRAWS``: so many times the number that a test names; half of it in a common run, 10 before a release.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SHARE = float(os.environ.get("SPARKCEP_DRAWS", "0.5"))


def draws(examples: int) -> settings:
    """Of a test that is to be tried with about so many examples; a machine may be slow, and examples may be refused."""
    return settings(
        max_examples=max(1, round(examples * SHARE)), deadline=None, suppress_health_check=list(HealthCheck)
    )

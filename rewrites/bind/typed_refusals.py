"""What no tree of Spark's functions is made of over Spark Connect."""

from __future__ import annotations

import re

from sparkcep.errors import CepUnsupportedError

_STAND_IN = re.compile(r"`__cep_\w+`")


def refused(what: str) -> CepUnsupportedError:
    """The error for what no tree is made of."""
    shown = _STAND_IN.sub("…", what)
    return CepUnsupportedError(
        f"{shown}, computed from several rows of the match over Spark Connect",
        code="MATCH_DEPENDENT_FUNCTION",
        hint="if it reads only one row, compute it in a subquery; a classic session has more functions",
    )

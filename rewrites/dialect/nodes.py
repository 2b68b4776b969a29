"""Syntax nodes of row and event patterns that plain SQL lacks: navigation, running and final, Kleene references.

Built by ``rewrites.dialect.parser``; sqlglot's own nodes would lose arguments (``LAST(A.x, 1)`` loses its 1).
"""

from __future__ import annotations

from sqlglot import exp


class Navigation(exp.Expression, exp.Condition):
    """``[RUNNING|FINAL] FIRST|LAST|PREV|NEXT (this [, offset])``.

    ``function`` is the upper-case name; ``running`` is None if neither is given; ``extra`` are any further arguments.
    """

    arg_types = {"function": True, "this": True, "offset": False, "running": False, "extra": False}

    @property
    def function(self) -> str:
        """FIRST, LAST, PREV or NEXT."""
        return str(self.args["function"])

    @property
    def running(self) -> bool | None:
        """True for RUNNING, False for FINAL, None if neither is given."""
        value = self.args.get("running")
        return None if value is None else bool(value)


class Classifier(exp.Expression, exp.Condition):
    """``[RUNNING|FINAL] CLASSIFIER([variable])``; ``this`` is the variable's identifier or None."""

    arg_types = {"this": False, "running": False}


class MatchNumber(exp.Expression, exp.Condition):
    """``MATCH_NUMBER()``."""

    arg_types: dict[str, bool] = {}


class MatchSequenceNumber(exp.Expression, exp.Condition):
    """``MATCH_SEQUENCE_NUMBER()`` (Snowflake): the row's number within its match."""

    arg_types: dict[str, bool] = {}


class Semantics(exp.Expression, exp.Condition):
    """``RUNNING call`` or ``FINAL call`` where the call is not a navigation (usually an aggregate)."""

    arg_types = {"this": True, "running": True}

    @property
    def running(self) -> bool:
        """True for RUNNING, False for FINAL."""
        return bool(self.args["running"])


class KleeneRef(exp.Expression, exp.Condition):
    """``b[i-1]``: an event of a Kleene closure.

    ``this`` is the variable's identifier; ``index`` is ``'i'``, ``'first'``, ``'last'`` or a 1-based number; ``offset``
    is what is added to ``i`` (-1 in ``b[i-1]``), 0 elsewhere.
    """

    arg_types = {"this": True, "index": True, "offset": False}

    @property
    def index_value(self) -> str | int:
        """``'i'``, ``'first'``, ``'last'`` or a number."""
        value = self.args["index"]
        return value if isinstance(value, int) else str(value)

    @property
    def offset(self) -> int:
        """What is added to ``i``."""
        return int(self.args.get("offset") or 0)


class KleenePrefix(exp.Expression, exp.Condition):
    """``b[..i-1]``: the events of the closure taken before the current one; used inside an aggregate."""

    arg_types = {"this": True}


ROW_PATTERN = (Navigation, Classifier, MatchNumber, MatchSequenceNumber)
"""What only measures and conditions of MATCH_RECOGNIZE have."""

"""Match-dependent parts of DEFINE conditions: what reads other rows of the match becomes data for the engine.

``up.price > LAST(down.price)`` → ``gt(price at the row under test, price at LAST down)``. The leaves are those of ``match_leaves``; expressions
without an engine operator take the slow path, see ``slow_conditions``.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rewrites.bind.match_leaves import MatchLeaves
from rewrites.bind.operand_builder import OperandBuilder
from rewrites.bind.operands import NotForTheEngine, Operand, reads_wide
from rewrites.bind.slow_conditions import slow_condition
from sparkcep.spec import row


@dataclass(frozen=True, slots=True)
class MatchConditionTranslator(MatchLeaves):
    """Translates conjuncts of one variable's condition."""

    def translate(self, node: exp.Expression) -> row.Condition:
        """The conjunct as data. Raises CepUnsupportedError at a part that neither the engine nor the slow path supports."""
        return self.emit(self.boolean(node))

    def boolean(self, node: exp.Expression) -> Operand:
        """A condition; parts without an engine operator take the slow path."""
        try:
            found = OperandBuilder.boolean(self, node)
            return slow_condition(node, self) if self.relation.expression is not None and reads_wide(found) else found
        except NotForTheEngine:
            return slow_condition(node, self)

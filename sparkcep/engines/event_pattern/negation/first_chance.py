"""First-Chance negation (paper, section 4.4.2): search for a negated event as soon as everything it depends on is bound.

In: partial matches at the state that binds the last variable a negation depends on. Out: those that it does not refute. Other negations are left to
Post-Processing (``negation.unrefuted``): at an open end, of groups, with several alternatives, or with predicates whose value may be an error; and in
``auto`` those for which an early check does not pay.

Whether it pays is measured on a sample of the first partial matches: First-Chance searches once per partial match and saves the work that refuted
ones would lead to; Post-Processing searches once per match that they lead to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sparkcep.engines.event_pattern.budget import Budget
from sparkcep.engines.event_pattern.negation.negation import Absence, Negations, refuted
from sparkcep.engines.event_pattern.search.chain import Rest
from sparkcep.engines.event_pattern.values.closures import Frame, gathered, length
from sparkcep.errors import CepLimitError
from sparkcep.spec.event import Negation

SAMPLE = 128
"""The sample of partial matches on which both strategies are measured."""

TRIAL = 1 << 15
"""The budget of pairs of a trial: what leads to more is worth refuting early."""


@dataclass(slots=True)
class FirstChance:
    """The negations of one branch in one run, and the decision for each: checked early (True) or at the end."""

    negations: Negations
    mode: Negation
    variables: frozenset[str]
    decided: dict[int, bool] = field(default_factory=dict)

    def early(self) -> list[tuple[int, Absence]]:
        """The negations that can be checked before the match is complete."""
        if self.mode == "post" or len(self.negations.alternatives) > 1:
            return []
        return [
            (at, absence)
            for at, absence in enumerate(self.negations.alternatives[0])
            if absence.size and absence.needs is not None and absence.needs < self.variables
        ]

    def unrefuted(self, frame: Frame, name: str, budget: Budget, rest: Rest) -> Frame:
        """The partial matches of ``frame`` that are not refuted; ``name`` was bound last, ``rest`` makes the matches that follow from them."""
        bound = {part for part in frame if not part.startswith("<")}
        for at, absence in self.early():
            assert absence.needs is not None
            if name not in absence.needs or not absence.needs <= bound or not length(frame):
                continue
            if at not in self.decided and bound == self.variables:
                continue
            if at not in self.decided:
                self.decided[at] = self.mode == "first" or self._pays(absence, frame, rest, budget.chunk)
            if self.decided[at]:
                frame = gathered(frame, ~refuted(self.negations, absence, frame, budget))
        return frame

    def left(self) -> Negations:
        """The negations still to be checked at the end. A match has passed every early check."""
        if not any(self.decided.values()):
            return self.negations
        (absences,) = self.negations.alternatives
        kept = tuple(absence for at, absence in enumerate(absences) if not self.decided.get(at))
        return replace(self.negations, alternatives=(kept,))

    def _pays(self, absence: Absence, frame: Frame, rest: Rest, chunk: int) -> bool:
        count = min(length(frame), SAMPLE)
        sample = gathered(frame, np.linspace(0, length(frame) - 1, count).astype(np.int64))
        looking, going = Budget(TRIAL, TRIAL, chunk), Budget(TRIAL, TRIAL, chunk)
        try:
            share = float(refuted(self.negations, absence, sample, looking).mean())
        except CepLimitError:
            return False
        try:
            matches = sum(length(part) for part, _ in rest(sample, going))
        except CepLimitError:
            return share > 0
        look = count + looking.limit - looking.left
        return share * (going.limit - going.left) > look * (1 - matches / count)

"""Codes of nodes: the variable a row is mapped to, and whether it is excluded from the output.

A code is 2 * variable + excluded; the last two codes stand for an empty match and for a row outside of all matches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Labels:
    """``variables``: names by number; ``names``: the same in Arrow (STRING)."""

    variables: tuple[str, ...]
    names: pa.Array

    @classmethod
    def of(cls, variables: tuple[str, ...]) -> Labels:
        """Labels of the primary variables."""
        return cls(variables, pa.array(variables, pa.string()))

    @property
    def codes(self) -> int:
        """How many codes there are."""
        return 2 * len(self.variables) + 2

    @property
    def empty(self) -> int:
        """The code of an empty match."""
        return self.codes - 2

    @property
    def unmatched(self) -> int:
        """The code of a row outside of all matches."""
        return self.codes - 1

    def members(self, variables: Iterable[str] | None) -> NDArray[np.bool_]:
        """[codes]: rows mapped to ``variables`` (None: to any variable)."""
        wanted = self.variables if variables is None else frozenset(variables)
        held = np.array([name in wanted for name in self.variables], dtype=np.bool_)
        return np.append(np.repeat(held, 2), [False, False])

    def visible(self, empty: bool) -> NDArray[np.bool_]:
        """[codes]: what ALL ROWS PER MATCH outputs: no excluded rows, and empty matches only if ``empty``."""
        return np.append(np.tile([True, False], len(self.variables)), [empty, True])

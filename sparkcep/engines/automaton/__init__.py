"""Augmented finite automata with registers: MATCH AUTOMATON. See ``engine``."""

from sparkcep.engines.automaton.engine import AutomatonEngine, compile

__all__ = ["AutomatonEngine", "compile"]

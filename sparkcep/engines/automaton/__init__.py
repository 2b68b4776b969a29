"""Augmented finite automata with registers: MATCH AUTOMATON. See ``engine``."""

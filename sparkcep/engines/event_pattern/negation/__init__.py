"""Negated items: which matches a negated event refutes, and the earliest state at which to check."""

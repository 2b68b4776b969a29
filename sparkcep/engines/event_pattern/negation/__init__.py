"""Negated items: which matches an event of a negated item rules out, and at which state that is asked first."""

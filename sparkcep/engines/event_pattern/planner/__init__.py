"""What is known of a clause before any data: its branches (DNF), the states of the automaton, and where each predicate is evaluated."""

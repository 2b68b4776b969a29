"""What is known of a clause before any data: its branches (DNF), the states of the automaton, which predicate is asked where."""

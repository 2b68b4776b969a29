"""The searches, which bind one variable after another: lazy Chain and Tree NFA, active instance stacks, and the choice of the binding order."""

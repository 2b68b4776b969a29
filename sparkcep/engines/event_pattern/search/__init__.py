"""The searches, which bind one variable after another: lazy Chain and Tree NFA, active instance stacks, and the order of least cost."""

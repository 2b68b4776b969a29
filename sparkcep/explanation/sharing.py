"""MATCH PATTERNS in EXPLAIN PATTERN: which patterns are counted together, and what they share."""

from __future__ import annotations

from sparkcep.engines.aseq.sequences import sequences
from sparkcep.engines.aseq.sharing import plan_sharing
from sparkcep.spec import AggregateSpec


def sharing_lines(spec: AggregateSpec) -> list[str]:
    """The passes of the sharing plan, with their cost compared to one pass per pattern."""
    patterns = [(one.name, sequences(one.pattern)) for one in spec.patterns]
    plan = plan_sharing(patterns, windowed=spec.within is not None)
    lines = [f"in one pass: {', '.join(patterns[i][0] for i in group)}" for group in plan.passes]
    lines += [f"counted once: {shared}" for shared in plan.shared]
    return [*lines, f"expected {plan.cost:.0f} ns per event, one by one {plan.alone:.0f}"]

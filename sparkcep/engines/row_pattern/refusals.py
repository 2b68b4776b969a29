"""What a row pattern on a stream cannot have, by name. In: a RowPatternSpec. Out: nothing, or a CepUnsupportedError."""

from __future__ import annotations

from sparkcep.errors import CepUnsupportedError
from sparkcep.pattern.row import PartitionEnd, PartitionStart, walk
from sparkcep.spec.row import ColumnAt, Condition, RowPatternSpec, leaves


def check_stream(spec: RowPatternSpec) -> None:
    """Return if rows that have come can decide the clause's matches."""
    if spec.frame is not None:
        raise _refused("a window with a PATTERN", "MATCH_RECOGNIZE and MATCH PATTERN run over streams")
    if spec.initial:
        raise _refused("INITIAL", "a stream does not keep where a partition has begun: leave INITIAL out")
    for part in walk(spec.pattern):
        if isinstance(part, PartitionStart):
            raise _refused("the anchor ^", "a stream does not keep where a partition has begun: leave ^ out")
        if isinstance(part, PartitionEnd):
            raise _refused(
                "the anchor $", "a partition of a stream does not end: leave $ out, or end matches by WITHIN"
            )
    for define in spec.defines:
        _check(define.condition, f"in the condition of {define.variable}")
    for output in spec.outputs:
        _check(output.source, "in MEASURES")


def _check(source: Condition, where: str) -> None:
    for leaf in leaves(source):
        if isinstance(leaf, ColumnAt) and leaf.at.physical > 0:
            raise _refused(
                f"NEXT {where}", "give the row that it reads a variable of its own at the end of the PATTERN"
            )


def _refused(what: str, hint: str) -> CepUnsupportedError:
    return CepUnsupportedError(f"{what} over a streaming relation", code="STREAM", hint=hint)

"""Aggregates that Spark computes from arrays of rows: explode and regroup, once per variable that has any.

``SELECT `__cep_i`, any_value(…), stddev(`__cep_r`.`x`) FROM (SELECT *, monotonically_increasing_id() AS `__cep_i` FROM cep_match(…))
LATERAL VIEW OUTER posexplode(`__cep_m0`) … GROUP BY `__cep_i```: the matches are found once, and there is a single exchange.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.bind.aggregates import POSITION, ROW, Fold
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.sql.builder import named, over, quoted, raw, select, subquery, text_of
from sparkcep.spec.row import RowPatternSpec

_ID, _VIEW = "__cep_i", "__cep_z"
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def folded(matches: exp.Expression, bound: BoundRowPattern, spec: RowPatternSpec) -> exp.Expression:
    """``matches`` with the results of the folds as additional columns; unchanged if there are none."""
    if not bound.folds:
        return matches
    numbered = exp.select(exp.Star(), named(_numbers(bound, spec), _ID)).from_(matches)
    columns = [output.name for output in spec.outputs]
    for fold in bound.folds:
        if fold.calls:
            numbered = _grouped(numbered, fold, columns, outside=bound.rows_per_match == "all_with_unmatched")
        columns += fold.calls.values()
        if fold.apart:
            numbered = _over_windows(numbered, fold, columns)
        columns += fold.apart.values()
    return subquery(numbered)


def _numbers(bound: BoundRowPattern, spec: RowPatternSpec) -> str:
    """What tells rows apart. Spark plans no function in a LATERAL subquery that is not deterministic; a window costs one more exchange."""
    if not bound.lateral:
        return "monotonically_increasing_id()"
    keys = [quoted(name) for name in spec.partition]
    return f"struct({', '.join([*keys, over('ROW_NUMBER()', keys, [])])})"


def _grouped(rows: exp.Expression, fold: Fold, columns: list[str], *, outside: bool) -> exp.Select:
    """``outside``: rows may lie outside of all matches; then the array, and every aggregate over it, is NULL."""
    kept = [named(f"any_value({quoted(name)})", name) for name in columns]
    calls = [named(_unless_outside(text, fold) if outside else text, name) for text, name in fold.calls.items()]
    return select([raw(quoted(_ID)), *kept, *calls], _exploded(rows, fold)).group_by(raw(quoted(_ID)))


def _over_windows(rows: exp.Expression, fold: Fold, columns: list[str]) -> exp.Select:
    """Python aggregates, which Spark runs over a window beside whatever there is. Over no row they are NULL."""
    kept = [raw(quoted(name)) for name in (_ID, *columns)]
    window = f"OVER (PARTITION BY {quoted(_ID)} ORDER BY {quoted(POSITION)} {_WHOLE})"
    calls = [named(f"{text} {window}", name) for text, name in fold.apart.items()]
    windowed = select([*kept, raw(quoted(POSITION)), *calls], _exploded(rows, fold))
    there = f"{quoted(POSITION)} IS NOT NULL"
    results = [named(f"CASE WHEN {there} THEN {quoted(name)} END", name) for name in fold.apart.values()]
    return select([*kept, *results], windowed).where(raw(f"COALESCE({quoted(POSITION)}, 0) = 0"))


def _exploded(rows: exp.Expression, fold: Fold) -> str:
    """A row for each row of the array, with a row for an empty one."""
    view = f"LATERAL VIEW OUTER posexplode({fold.rows_text}) {quoted(_VIEW)} AS {quoted(POSITION)}, {quoted(ROW)}"
    return f"{text_of(subquery(rows))} {view}"


def _unless_outside(text: str, fold: Fold) -> str:
    return f"CASE WHEN any_value({quoted(fold.array)}) IS NOT NULL THEN {text} END"

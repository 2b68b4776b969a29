"""Aggregates that Spark computes from arrays of rows: explode and regroup, once per variable that has any.

``SELECT `__cep_i`, any_value(…), stddev(`__cep_r`.`c0`) FROM (SELECT *, monotonically_increasing_id() AS `__cep_i` FROM cep_match(…))
LATERAL VIEW OUTER posexplode(`__cep_m0`) … GROUP BY `__cep_i```: the matches are found once, and there is a single exchange.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.bind.aggregates import POSITION, ROW, Fold
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.sql.builder import named, quoted, raw, select, subquery, text_of
from sparkcep.spec.row import RowPatternSpec

_ID, _VIEW = "__cep_i", "__cep_z"


def folded(matches: exp.Expression, bound: BoundRowPattern, spec: RowPatternSpec) -> exp.Expression:
    """``matches`` with the results of the folds as additional columns; unchanged if there are none."""
    if not bound.folds:
        return matches
    numbered = exp.select(exp.Star(), named("monotonically_increasing_id()", _ID)).from_(matches)
    columns = [output.name for output in spec.outputs]
    for fold in bound.folds:
        numbered = _grouped(numbered, fold, columns, outside=bound.rows_per_match == "all_with_unmatched")
        columns += fold.calls.values()
    return subquery(numbered)


def _grouped(rows: exp.Expression, fold: Fold, columns: list[str], *, outside: bool) -> exp.Select:
    """``outside``: rows may lie outside of all matches; then the array, and every aggregate over it, is NULL."""
    kept = [named(f"any_value({quoted(name)})", name) for name in columns]
    calls = [named(_unless_outside(text, fold) if outside else text, name) for text, name in fold.calls.items()]
    view = f"LATERAL VIEW OUTER posexplode({fold.rows_text}) {quoted(_VIEW)} AS {quoted(POSITION)}, {quoted(ROW)}"
    exploded = f"{text_of(subquery(rows))} {view}"
    return select([raw(quoted(_ID)), *kept, *calls], exploded).group_by(raw(quoted(_ID)))


def _unless_outside(text: str, fold: Fold) -> str:
    return f"CASE WHEN any_value({quoted(fold.array)}) IS NOT NULL THEN {text} END"

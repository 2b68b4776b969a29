"""Aggregates in MEASURES that no engine implements (``stddev``, ``percentile``, ``max_by`` …): Spark computes them, from rows that the engine
returns.

``stddev(A.x)`` → an array of A's rows per output row of the engine, exploded and regrouped, with ``stddev(`__cep_r`.`x`)`` over it. In: an
aggregate's syntax tree. Out: its SQL over exploded rows, and the columns of a row that it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pyspark.sql.types import DataType, IntegerType, StringType, StructField, StructType
from sqlglot import exp

from rewrites.dialect import span_of
from rewrites.sql.builder import quoted, string
from rewrites.sql.source import Source
from sparkcep.spec.row import Moment

_NAMES = (
    "any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bool_and bool_or "
    "collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every first_value "
    "histogram_numeric hll_sketch_agg kurtosis last_value listagg max max_by mean median min min_by mode percentile "
    "percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 "
    "regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum try_avg "
    "try_sum var_pop var_samp variance "
)
SPARK_AGGREGATES = frozenset(_NAMES.split())
"""Spark's aggregate functions; FIRST and LAST are navigation inside a pattern clause."""

_MOMENTS: dict[type[exp.Expression], Moment] = {
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
}

_MARK = "aggregate"

POSITION, ROW, CLASSIFIER = "__cep_p", "__cep_r", "__cep_v"
"""An exploded row: its position in the match, its columns, and among these the name of its variable."""


def is_aggregate(node: exp.Expression) -> bool:
    """Whether ``node`` is an aggregate, possibly followed by FILTER, WITHIN GROUP or IGNORE NULLS."""
    if _MARK in node.meta:
        return True
    if isinstance(node.parent, exp.Dot) and node.arg_key == "expression":
        return False  # of ``system.builtin.sum(x)`` the whole is
    if isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        return is_aggregate(node.this)
    if isinstance(node, exp.Any):
        return not isinstance(node.parent, exp.Like | exp.ILike)
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in SPARK_AGGREGATES
    return isinstance(node, exp.AggFunc)


def mark(node: exp.Expression, *, beside_others: bool) -> None:
    """Note that Spark resolves the call to an aggregate. ``beside_others``: a query may have Spark's own aggregates beside it."""
    node.meta[_MARK] = beside_others


def is_marked(call: exp.Expression) -> bool:
    """Whether Spark was asked about the call, and said that it is an aggregate."""
    return _MARK in call.meta


def is_apart(node: exp.Expression) -> bool:
    """Whether no aggregate of Spark's may stand beside this one in a query (a Python one), nor a FILTER behind it."""
    return innermost_call(node).meta.get(_MARK) is False


def is_listed(node: exp.Expression, source: Source) -> bool:
    """Whether the aggregate is one of those known here by name."""
    return function_name(innermost_call(node), source) in SPARK_AGGREGATES


def innermost_call(node: exp.Expression) -> exp.Expression:
    """The function call without such suffixes."""
    while isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        node = node.this
    return node


def filter_of(node: exp.Expression) -> exp.Expression | None:
    """The condition of an aggregate's FILTER."""
    where = node.expression if isinstance(node, exp.Filter) else None
    return where.this if isinstance(where, exp.Where) else where


def is_bare_count(call: exp.Expression) -> bool:
    """``count()``, which is ``count(*)``, as in Trino."""
    return isinstance(call, exp.Count) and call.this is None


def function_name(node: exp.Expression, source: Source) -> str:
    """The aggregate's name as the user wrote it, in lower case."""
    return source.text(span_of(node)).split("(")[0].strip().strip("`").lower()


def moment_of(call: exp.Expression) -> Moment | None:
    """The variance or deviation that the call is, which engines keep as rows come; None: it is another function."""
    if isinstance(call, exp.Anonymous):
        return "stddev_samp" if call.name.lower() == "std" and len(call.expressions) == 1 else None
    return _MOMENTS.get(type(call))


@dataclass(slots=True)
class Fold:
    """The rows of one variable (None: of the whole match) and what Spark computes from them.

    ``fields``: input column → (field of the exploded row, type). ``calls``: SQL over an exploded row → name of the result; ``apart``: of those
    that may not stand beside others.
    ``array`` and ``names`` are the engine's outputs that hold the rows and, where ``classified``, their variables.
    """

    members: tuple[str, ...] | None
    running: bool
    fields: dict[str, tuple[str, DataType]] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    apart: dict[str, str] = field(default_factory=dict)
    classified: bool = False
    array: str = ""
    names: str = ""

    def field_of(self, column: str, data_type: DataType) -> str:
        """The exploded row's field for an input column, of the same name: a struct of them has it, too."""
        taken = {name.lower() for name, _ in self.fields.values()}
        free = column if column.lower() not in taken else f"__cep_c{len(self.fields)}"
        name, _ = self.fields.setdefault(column, (free, data_type))
        return f"{quoted(ROW)}.{quoted(name)}"

    def classifier(self) -> str:
        """The exploded row's variable."""
        self.classified = True
        return f"{quoted(ROW)}.{quoted(CLASSIFIER)}"

    @property
    def row_text(self) -> str:
        """The struct of a row's columns, over the input; never NULL, so that no row is skipped."""
        parts = [f"{string(name)}, {quoted(column)}" for column, (name, _) in self.fields.items()]
        return f"named_struct({', '.join(parts) or string('c0') + ', 1'})"

    @property
    def row_type(self) -> DataType:
        """The type of ``row_text``."""
        found = [StructField(name, data_type) for name, data_type in self.fields.values()]
        return StructType(found or [StructField("c0", IntegerType())])

    @property
    def rows_text(self) -> str:
        """The array to explode, over the engine's outputs."""
        if not self.classified:
            return quoted(self.array)
        parts = [f"{string(name)}, r.{quoted(name)}" for name, _ in self.fields.values()]
        struct = ", ".join([*parts, f"{string(CLASSIFIER)}, v"])
        return f"zip_with({quoted(self.array)}, {quoted(self.names)}, (r, v) -> named_struct({struct}))"


@dataclass(slots=True)
class Folds:
    """All folds of a clause's measures; numbers their results."""

    found: dict[tuple[tuple[str, ...] | None, bool], Fold] = field(default_factory=dict)

    def of(self, members: tuple[str, ...] | None, running: bool) -> Fold:
        """The fold over the rows of a variable."""
        return self.found.setdefault((members, running), Fold(members, running))

    def result(self, fold: Fold, text: str, *, apart: bool = False) -> str:
        """The column that holds the aggregate ``text`` over the rows of ``fold``."""
        count = sum(len(other.calls) + len(other.apart) for other in self.found.values())
        calls = fold.apart if apart else fold.calls
        return quoted(calls.setdefault(text, f"__cep_g{count}"))

    def __iter__(self) -> Iterator[Fold]:
        return iter(self.found.values())


_JOINING = ("listagg", "string_agg")
_PICKING = {"first_value": "min_by", "last_value": "max_by"}


def in_order(name: str, value: str, call: str, between: str, result: DataType, condition: str | None) -> str:
    """An aggregate whose result depends on the order of the rows, in that of the match: Spark aggregates many groups in parts, and joins these in any
    order. ``name``: of the function; ``value``: its argument, and ``call``: it with its arguments, as SQL over exploded rows; ``between``: what
    stands between the values where it joins them; ``result``: its type."""
    at = quoted(POSITION)
    if name in _PICKING:
        return over_exploded(f"{_PICKING[name]}({value}, {at})", condition, "")
    if name in _JOINING and not isinstance(result, StringType):
        return over_exploded(f"{call} WITHIN GROUP (ORDER BY {at})", condition, "")
    pairs = over_exploded(f"collect_list(named_struct('p', {at}, 'v', {value}))", condition, "")
    ordered = f"array_sort({pairs}, (`__cep_l`, `__cep_k`) -> `__cep_l`.p - `__cep_k`.p)"
    values = f"transform(filter({ordered}, `__cep_l` -> `__cep_l`.v IS NOT NULL), `__cep_l` -> `__cep_l`.v)"
    if name in _JOINING:  # WITHIN GROUP fails beside an aggregate with DISTINCT
        return f"CASE WHEN size({values}) > 0 THEN array_join({values}, COALESCE({between}, '')) END"
    return values


ORDERED = ("array_agg", "collect_list", *_JOINING, *_PICKING)
"""The aggregates of ``in_order``."""


def over_exploded(call: str, condition: str | None, behind: str) -> str:
    """An aggregate with a FILTER that drops the row that OUTER adds for an empty array; ``behind``: the suffix IGNORE NULLS, or nothing."""
    return filtered(call, [f"{quoted(POSITION)} IS NOT NULL", condition], behind)


def filtered(call: str, conditions: Iterable[str | None], behind: str) -> str:
    """An aggregate over the rows for which all conditions hold; ``behind`` as above."""
    test = " AND ".join(f"({one}\n)" for one in conditions if one is not None)
    return f"{call} FILTER (WHERE {test}){behind}" if test else f"{call}{behind}"


def suffixes(node: exp.Expression, source: Source) -> tuple[exp.Expression, exp.Expression | None, str]:
    """An aggregate without its FILTER and what is behind it, the condition of FILTER, and what is behind: IGNORE NULLS, or nothing."""
    behind = ""
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        behind = source.sql[span_of(node.this).end : span_of(node).end]
        node = node.this
    where = filter_of(node)
    return (node if where is None else node.this), where, behind

"""aggregate_pushdown: a query block that only aggregates the matches is answered by A-Seq, without a match.

``SELECT day, COUNT(*) FROM t MATCH PATTERN (… PARTITION BY day …) GROUP BY day`` → the clause becomes a query with one row per partition (its
keys and partial aggregates), ``COUNT(*)`` becomes a sum over it; all else in the block stays as written. Applies where the select list,
WHERE, GROUP BY, HAVING and ORDER BY use PARTITION BY columns, COUNT(*), COUNT/SUM/AVG/MIN/MAX(v.attr) of single events and
output names only, and no condition compares variables. Spark is asked whether the block as written means something, and whether the
new one has the same columns; with any doubt the answer comes from the matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType
from sqlglot import exp

from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.builder import quoted
from rewrites.clause import MatchPatternClause
from rewrites.dialect import Navigation, column_path, span_of
from rewrites.dialect.blocks import Block, find_block
from rewrites.emit.aggregates import AggregateCall, Partials, aggregate_query, aggregate_spec
from rewrites.rules.time_shards import Shards
from rewrites.source import Edit, Source
from sparkcep.errors import CepError, Span
from sparkcep.pattern.event import elements
from sparkcep.spec import AggregateSpec, EventPatternSpec, MatchSpec, to_json

NAME = "aggregate_pushdown"
_FUNCTIONS = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}
_REFUSED = (exp.Query, exp.Exists, exp.Window, exp.Filter, exp.Lambda, exp.UDTF, exp.Explode, exp.WithinGroup, exp.Star)
_UNITS = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_EVEN_UNITS = {"interval", "to", "l", "d", *_UNITS, *(f"{unit}s" for unit in _UNITS)}
"""Words of a WITHIN whose windows end in the order in which they begin (months do not: 31 January + 1 month)."""


@dataclass(frozen=True, slots=True)
class Pushdown:
    """The block's new parts: ``query`` in the clause's place, ``edits`` in the rest of the block."""

    spec: AggregateSpec
    query: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class EmittedClause:
    """A clause whose matches are emitted already: ``query`` gives them. ``shards``: how its time line was cut for that."""

    clause: MatchPatternClause
    bound: BoundEventPattern
    spec: EventPatternSpec
    query: str
    shards: Shards | None = None


@dataclass(frozen=True, slots=True)
class PushdownSession:
    """What the rule needs of ``Options``: ``check`` raises for what no engine runs, ``function`` names a spec's function."""

    check: Callable[[MatchSpec], None]
    function: Callable[[str], str] | None
    keep_null_time: bool


class _NotPushed(Exception):
    """The block or the pattern needs its matches; the message says why."""


def aggregate_pushdown(part: EmittedClause, source: Source, session: PushdownSession) -> Pushdown | str:
    """The block answered by A-Seq; or why the matches are needed (empty: the block does not aggregate)."""
    block = find_block(source.sql, part.clause.site)
    if block is None:
        return ""
    try:
        return _pushdown(block, part, source, session)
    except _NotPushed as reason:
        return str(reason)


def _pushdown(block: Block, part: EmittedClause, source: Source, session: PushdownSession) -> Pushdown:
    _check_clause(part, source)
    reader = _Reader(part, block, source)
    edits = list(reader.block_edits())
    if not edits:
        raise _NotPushed("")
    written = _described(block, source.with_edit(part.clause.site.span, part.query), part)
    edits += _names(block, edits, written)
    reader.require_scalar_functions(part.query)
    spec = aggregate_spec(part.bound, part.spec, reader.partials)
    try:
        session.check(spec)
    except CepError as error:
        raise _NotPushed(error.message) from None
    function = None if session.function is None else session.function(to_json(spec))
    shards = part.shards if part.shards is not None and part.shards.leaders is not None else None
    query = aggregate_query(part.bound, spec, function, keep_null_time=session.keep_null_time, shards=shards)
    edited = source.with_edit(part.clause.site.span, query)
    for span, text in edits:
        edited = edited.with_edit(span, text)
    if _columns(_described(block, edited, part)) != _columns(written):
        raise _NotPushed("Spark gives the aggregates other types there")
    return Pushdown(spec, query, tuple(edits))


def _check_clause(part: EmittedClause, source: Source) -> None:
    if part.spec.strategy != "any" or part.spec.matches != "all":
        raise _NotPushed("A-Seq counts ALL MATCHES under SKIP TILL ANY MATCH")
    compared = [predicate.text for predicate in part.spec.predicates]
    compared += [source.text(conjunct.span) for conjunct in part.bound.residual]
    if compared:
        raise _NotPushed(f"{compared[0]} compares events, and A-Seq keeps none")
    within = part.clause.within
    if within is not None and within.length is not None:
        words = set(re.findall("[a-z_]+", source.text(within.length.span).lower()))
        if not words <= _EVEN_UNITS:
            raise _NotPushed(
                "A-Seq slides windows of one length, in numbers or in weeks, days, hours, minutes and seconds"
            )


def _described(block: Block, source: Source, part: EmittedClause) -> StructType:
    try:
        return part.bound.relation.describe(source.text(block.span))
    except PySparkException:
        raise _NotPushed("Spark does not accept the block by itself") from None


def _columns(schema: StructType) -> list[tuple[str, str]]:
    return [(column.name, column.dataType.json()) for column in schema]


def _names(block: Block, edits: list[Edit], written: StructType) -> Iterator[Edit]:
    """Columns without an alias keep the names that Spark gave them."""
    for item, column in zip(block.items, written, strict=True):
        span = item.expr.span
        if item.alias is None and any(span.start <= place.start < span.end for place, _ in edits):
            yield Span(span.end, span.end), f" AS {quoted(column.name)}"


class _Reader:
    """Reads a block's expressions: edits for its aggregates, ``_NotPushed`` for whatever else needs the matches."""

    def __init__(self, part: EmittedClause, block: Block, source: Source) -> None:
        self.partials = Partials(part.bound.relation.schema)
        self._block = block
        self._alias = part.clause.site.alias
        self._keys = {key.name.lower() for key in part.bound.keys}
        self._variables = {
            e.variable.lower(): e.variable for e in elements(part.bound.pattern, negated=False) if not e.kleene
        }
        self._columns = part.bound.relation
        self._taken = {"match_start", "match_end", *(name.lower() for name in part.bound.variables)}
        self._functions: list[str] = []
        self._source = source

    def block_edits(self) -> Iterator[Edit]:
        """Edits for all aggregate calls of the block."""
        block = self._block
        aliases = {item.alias.value.lower() for item in block.items if item.alias is not None} - self._taken
        for item in block.items:
            yield from self._edits(item.expr.node, set())
        for where in [block.where] if block.where else []:
            yield from self._edits(where.node, set())
        behind = [*block.group_by, *([block.having] if block.having else []), *block.order_by]
        for expr in behind:
            yield from self._edits(expr.node, aliases)

    def _edits(self, node: exp.Expression, aliases: set[str]) -> Iterator[Edit]:
        if isinstance(node, _REFUSED):
            raise _NotPushed(f"{type(node).__name__} in the block")
        wide = isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast) and _is_wide(node)
        call = self._call(node.this.unnest(), wide=True) if wide else self._call(node)
        if call is not None:
            combined = self.partials.combined(call)
            if combined is None:
                raise _NotPushed(f"{call.text} is over a type that A-Seq does not aggregate")
            yield span_of(node), combined
            return
        if self._over_keys(node):
            return
        if isinstance(node, exp.AggFunc):
            raise _NotPushed(f"{node.sql('spark')} is no aggregate that A-Seq has")
        if isinstance(node, Navigation):
            raise _NotPushed(f"{node.args['function']} is no aggregate that A-Seq has")
        if column_path(node) is not None:
            self._require_key(node, aliases)
            return
        if isinstance(node, exp.Func) and not isinstance(node, exp.Connector) and not node.find(exp.AggFunc):
            self._functions.append(self._source.text(span_of(node)))
        for child in node.iter_expressions():
            yield from self._edits(child, aliases)

    def _call(self, node: exp.Expression, *, wide: bool = False) -> AggregateCall | None:
        """The aggregate over matches that ``node`` is, if it is one."""
        function = _FUNCTIONS.get(type(node))  # type: ignore[call-overload]
        if function is None or node.expressions or (wide and function not in ("count", "sum")):
            return None
        if function == "count" and (isinstance(node.this, exp.Star) or _is_one(node.this)):
            return AggregateCall("count", wide=wide)
        path = self._path(node.this) if isinstance(node.this, exp.Expression) else None
        if path is None or len(path) != 2 or path[0].lower() not in self._variables:
            return None
        column = self._columns.column(path[1])
        return AggregateCall(function, self._variables[path[0].lower()], column, wide) if column else None

    def _over_keys(self, node: exp.Expression) -> bool:
        """MIN, MAX and COUNT(DISTINCT …) of keys: repeating a key changes nothing, and every partition has a match."""
        inner = node.this
        if isinstance(node, exp.Count) and isinstance(inner, exp.Distinct):
            parts = inner.expressions
        elif isinstance(node, exp.Min | exp.Max) and not node.expressions and isinstance(inner, exp.Expression):
            parts = [inner]
        else:
            return False
        for part in parts:
            if part.find(exp.AggFunc, *_REFUSED) or list(self._edits(part, set())):
                raise _NotPushed("an aggregate inside an aggregate")
        return bool(parts)

    def _require_key(self, node: exp.Expression, aliases: set[str]) -> None:
        path = self._path(node) or ()
        first = path[0].lower() if path else ""
        if first in self._keys or (len(path) == 1 and first in aliases):
            return
        raise _NotPushed(f"{node.sql('spark')} is neither a PARTITION BY column nor inside COUNT, SUM, AVG, MIN or MAX")

    def _path(self, node: exp.Expression) -> tuple[str, ...] | None:
        """The names of a column reference behind the clause's alias."""
        names = column_path(node)
        if names is None:
            return None
        path = tuple(name.value for name in names)
        qualified = self._alias is not None and len(path) > 1 and path[0].lower() == self._alias.value.lower()
        return path[1:] if qualified else path

    def require_scalar_functions(self, query: str) -> None:
        """A function may be an aggregate (or a generator) that this rule does not know: Spark nests none of them in COUNT."""
        if not self._functions:
            return
        counts = ", ".join(f"COUNT({text}) AS `__cep_f{i}`" for i, text in enumerate(self._functions))
        alias = f" AS {quoted(self._alias.value)}" if self._alias else ""
        try:
            self._columns.describe(f"SELECT {counts} FROM {query}{alias}")
        except PySparkException:
            raise _NotPushed(f"{' or '.join(self._functions)} may be an aggregate") from None


def _is_one(node: exp.Expression | None) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.this == "1"


def _is_wide(node: exp.Cast) -> bool:
    to = node.args["to"]
    sizes = [str(size.this) for size in to.expressions]
    return to.is_type(exp.DataType.Type.DECIMAL) and [size.strip() for size in sizes] in (["38"], ["38", "0"])

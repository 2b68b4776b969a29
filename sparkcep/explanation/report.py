"""EXPLAIN PATTERN: a rewritten statement → lines of text.

For each clause: how it was interpreted, which part evaluates each condition, the automaton, the engine and why; then the SQL that Spark gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from rewrites import Rewritten, RewrittenClause
from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.loops import ROUND, UNTIL, key_column
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.dialect.clause import MatchPatternClause, MatchRecognizeClause
from rewrites.rules.keys_in_order import sorted_by_workers
from rewrites.rules.time_shards import Shards
from sparkcep.engines.choice import choose
from sparkcep.engines.event_pattern.planner.plan import predicate_class
from sparkcep.errors import Span
from sparkcep.explanation.automaton import edges, formulas, mermaid, text_lines
from sparkcep.explanation.sharing import sharing_lines
from sparkcep.explanation.stream import stream_lines
from sparkcep.pattern.event import elements, loops
from sparkcep.spec import AutomatonSpec, EventPatternSpec, RowPatternSpec
from sparkcep.spec.automaton import Arc, Register
from sparkcep.spec.event import STRATEGIES, Predicate, WithinEvents
from sparkcep.spec.expression import Constant
from sparkcep.spec.row import slow_functions
from sparkcep.spec.word_nodes import DIGITS
from sparkcep.spec.words import WIDE_DIGITS, asked

WIDTH = 12
"""The width of the first column."""

TIES = "rows that tie fall as the sort leaves them"

BINDING = "binding"
"""The label of the line with the order in which variables are bound."""

COUNTED = "rarest or cheapest first, counted in each task"

_EXPANDED = "== with the named patterns in their places =="
_ROWS = {
    "one": "ONE ROW PER MATCH",
    "all_show_empty": "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "all_omit_empty": "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "all_with_unmatched": "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
    "window": "one row for each row, with the match in its frame",
}


def explain_lines(rewritten: Rewritten) -> list[str]:
    """The report, line by line."""
    lines = [_EXPANDED, *rewritten.text.rstrip().lstrip(" ").splitlines()] if rewritten.expanded else []
    lines += [line for part in rewritten.clauses for line in _clause_lines(rewritten.text, part)]
    if rewritten.functions:
        lines.append(
            f"aseq_functions: {rewritten.functions} calls over lists, which Spark's own aggregates may stand beside"
        )
    elif not rewritten.clauses:
        lines.append("no pattern clause: Spark gets the statement unchanged")
    return [*lines, "== SQL that Spark gets ==", *rewritten.sql.strip().splitlines()]


def clause_title(text: str, part: RewrittenClause) -> str:
    """``MATCH PATTERN in line 2``, ``the rounds of g, MATCH PATTERN in line 2``."""
    site = part.clause.site
    return f"{f'the rounds of {part.loop}, ' if part.loop else ''}{site.kind} in line {text.count(chr(10), 0, site.keyword.start) + 1}"


def _clause_lines(text: str, part: RewrittenClause) -> Iterator[str]:
    yield f"== {clause_title(text, part)} =="
    if isinstance(part.bound, BoundRowPattern) and isinstance(part.clause, MatchRecognizeClause):
        assert isinstance(part.spec, RowPatternSpec)
        readings = (f"{one.text} as {one.meaning} ({one.engine})" for one in part.clause.readings)
        yield from _table("reads", list(dict.fromkeys(readings)))
        yield from _row_lines(part.bound, part.spec)
    elif isinstance(part.bound, BoundEventPattern):
        assert isinstance(part.spec, EventPatternSpec)
        assert isinstance(part.clause, MatchPatternClause)
        lines = _event_lines(text, part.bound, part.spec, part.shards, part.clause)
        yield from _without_rounds(text, part.clause, lines)
        yield from _table("measures", list(_measures(text, part.bound)))
    elif isinstance(part.bound, BoundAutomaton):
        assert isinstance(part.spec, AutomatonSpec)
        yield from _automaton_lines(part.bound, part.spec)
    several = None if isinstance(part.pushdown, str) or not part.pushdown.spec.patterns else part.pushdown.spec
    if several is not None:
        yield from _table("sharing", sharing_lines(several))
    choice = choose(part.spec if isinstance(part.pushdown, str) else part.pushdown.spec)
    yield from _table("engine", [f"{choice.engine}: {choice.reason}"])
    yield from _table("stream", list(stream_lines(part)))
    yield from _table("not aseq", [part.pushdown] if part.pushdown and isinstance(part.pushdown, str) else [])
    yield from _table("notice", [str(notice) for notice in part.notices])
    if several is None:
        yield from _table("formulas", formulas(part.spec))
        found = edges(part.spec)
        yield from _table("automaton", text_lines(found))
        yield from _table("Mermaid", mermaid(found))


def _without_rounds(text: str, clause: MatchPatternClause, lines: Iterable[str]) -> Iterator[str]:
    """The lines with the user's names of what the input with rounds has in columns of its own."""
    keys = [(key_column(i), _said(text, key.expr.span)) for i, key in enumerate(clause.partition_by)]
    said = keys[::-1]  # 10 before 1
    said += [(UNTIL, _said(text, clause.order_by[0].expr.span)), (ROUND, "round_")]
    for line in lines:
        yield reduce(lambda known, name: known.replace(*name), said, line)


def _measures(text: str, bound: BoundEventPattern) -> Iterator[str]:
    when = "each time it changes" if bound.emit_changes else "instead of the matches"
    for measure in bound.measures:
        yield f"{measure.name.value}: {_said(text, measure.expr.span)}, {when}"


def _order(bound: BoundRowPattern | BoundEventPattern | BoundAutomaton, ties: str) -> str:
    return f"{', '.join(map(''.join, bound.order))} ({ties})"


def _key_filters(bound: BoundRowPattern | BoundEventPattern | BoundAutomaton) -> list[str]:
    """The filters on partitions from the WHERE around the clause."""
    return [f"only where {text}: the others are not read" for text in bound.key_filters]


def _keys(bound: BoundRowPattern | BoundEventPattern | BoundAutomaton) -> list[str]:
    """Where the rows of partitions are brought in order."""
    if bound.together is None:
        return []
    if isinstance(bound, BoundEventPattern) and not sorted_by_workers(bound):
        return ["in order: workers see where a partition begins, no window numbers its rows"]
    return ["workers sort the rows and see where a partition begins; Spark neither sorts nor numbers them"]


def _row_lines(bound: BoundRowPattern, spec: RowPatternSpec) -> Iterator[str]:
    yield from _table("input", [bound.relation.told])
    yield from _table("partition", [", ".join(key.text for key in bound.keys) or "all rows in one task"])
    yield from _table("keys", _keys(bound))
    yield from _table("partitions", _key_filters(bound))
    yield from _table("order", [_order(bound, TIES) if bound.order else "no ORDER BY: the order of rows is undefined"])
    yield from _table("output", [f"{_ROWS[spec.rows_per_match]}{_frame(spec)}, AFTER MATCH SKIP {_skip(spec)}"])
    yield from _table("pattern", [str(spec.pattern)])
    yield from _table("conditions", list(_row_conditions(bound, spec)))
    measures = {name: source for source, name in bound.outputs.sources.items()}
    yield from _table("engine gives", [f"{name}: {source}" for name, source in measures.items()])
    yield from _table(
        "Spark folds", [f"{name} = {text}" for fold in bound.folds for text, name in (fold.calls | fold.apart).items()]
    )
    yield from _table("Spark gives", [f"{name} = {text}" for text, name in bound.measures])


def _row_conditions(bound: BoundRowPattern, spec: RowPatternSpec) -> Iterator[str]:
    defines = {define.variable: define for define in spec.defines}
    adjacent = {define.variable: define.text for define in spec.adjacent}
    for variable in bound.variables:
        condition = bound.conditions.get(variable)
        if condition is None:
            yield f"{variable}: every row"
            continue
        if condition.text is not None:
            yield f"{variable}: Spark, on each row: {condition.text}"
        yield from (f"{variable}: {_near(place, condition.near[-1])}: {place[2]}" for place in condition.near[:-1])
        if variable in adjacent:
            yield f"{variable}: workers, on each row and rows next to it: {adjacent[variable]}"
        if variable in defines:
            where = "slow path (Python), " if asked(defines[variable].condition, checked=True) else ""
            yield f"{variable}: engine, {where}on the match so far: {defines[variable].text}"
    yield from (f"{name} = {call} over the partition" for call, name in bound.neighbours.items())


def _near(place: tuple[int, int, str], far: tuple[int, int, str]) -> str:
    """Where a condition of a window would look past the frame."""
    first = f"in row {place[0] + 1} of a frame" + (" and later" if place[0] == far[0] else "")
    if far[1] == 0:
        return first
    return f"{first}, {place[1]} rows before its end" + (" or earlier" if place[1] == far[1] else "")


def _frame(spec: RowPatternSpec) -> str:
    if spec.frame is None:
        return ""
    end = "to the end of its partition" if spec.frame.following is None else "as many rows on as it says"
    return f": {end}, {'SEEK' if spec.frame.seek else 'INITIAL'}"


def _skip(spec: RowPatternSpec) -> str:
    forms = {"past_last_row": "PAST LAST ROW", "next_row": "TO NEXT ROW", "first": "TO FIRST", "last": "TO LAST"}
    return " ".join([forms[spec.skip.to], *[", ".join(spec.skip.variables)][: len(spec.skip.variables)]])


def _event_lines(
    text: str, bound: BoundEventPattern, spec: EventPatternSpec, shards: Shards | str, clause: MatchPatternClause
) -> Iterator[str]:
    several = clause.site.kind == "MATCH PATTERNS"
    tree = clause.patterns[0][1]
    pattern = bound.text if several else str(tree if loops(tree) else spec.pattern)
    yield from _table("input", [bound.relation.told])
    partition = [key.text for key in bound.keys] + [f"[{column}]" for column in bound.equivalences]
    partition += [f"{key.text} (inferred)" for key in bound.inferred]
    yield from _table("partition", [", ".join(partition)] if partition else [])
    yield from _table("keys", _keys(bound))
    yield from _table("partitions", _key_filters(bound))
    yield from _table("time line", _time_line(shards, bool(partition)))
    yield from _table("order", [_order(bound, "neither of rows that tie is first" if spec.strategy == "any" else TIES)])
    yield from _table("pattern", [f"{pattern}, {STRATEGIES[spec.strategy]}"])
    yield from _table("window", [_window(bound, spec)])
    tests = [f"{name}: Spark, on each event: {test or 'every event'}" for name, test in bound.tests.items()]
    tests += [
        f"{names}: Spark, on each event, by the least and greatest of the others: {text}"
        for text, names in _induced(bound)
    ]
    tests += [
        f"engine, as soon as its variables are bound ({_class(predicate, spec)}): {predicate.text}"
        for predicate in spec.predicates
    ]
    tests += [f"Spark, on the matches: {_said(text, one.span)}" for one in bound.residual]
    yield from _table("conditions", tests)
    yield from _table(BINDING, [_binding(spec)] if not several and spec.strategy == "any" else [])


def _induced(bound: BoundEventPattern) -> Iterator[tuple[str, str]]:
    """The conjuncts that bound events, and the variables of those."""
    for text in dict.fromkeys(one.text for one in bound.induced):
        yield text, ", ".join(dict.fromkeys(one.variable for one in bound.induced if one.text == text))


def _automaton_lines(bound: BoundAutomaton, spec: AutomatonSpec) -> Iterator[str]:
    yield from _table("input", [bound.relation.told])
    yield from _table("partition", [", ".join(key.text for key in bound.keys) or "all rows in one task"])
    yield from _table("keys", _keys(bound))
    yield from _table("partitions", _key_filters(bound))
    yield from _table("order", [_order(bound, TIES)])
    yield from _table("registers", [_register(register) for register in spec.registers])
    within = bound.window
    yield from _table(
        "window",
        [f"the last event before {within.deadline} of the first" if within else "none: runs end by their arcs only"],
    )
    yield from _table("conditions", [line for arc in spec.arcs for line in _arc_lines(arc, bound)])


def _register(register: Register) -> str:
    default = "" if register.default is None else f" DEFAULT {_constant(register.default)}"
    return f"{register.name} {register.type.upper()}{default or (' DEFAULT …' if register.column else '')}"


def _constant(default: Constant) -> str:
    return str(default) if default.type == "string" else str(default.value)


def _arc_lines(arc: Arc, bound: BoundAutomaton) -> Iterator[str]:
    name = arc.title
    if arc.bit is not None:
        yield f"{name}: Spark, on each event: {bound.tests[arc.bit]}"
    if arc.condition is not None:
        where = "slow path (Python), " if asked(arc.condition) else ""
        yield f"{name}: engine, {where}on the registers: {arc.condition}"
    for one in arc.sets:
        yield f"{name}: engine, {'slow path (Python), ' if slow_functions(one.value) else ''}SET {one.text}"
    if arc.ignorable:
        yield f"{name}: ignorable, costs nothing per run"


def _class(predicate: Predicate, spec: EventPatternSpec) -> str:
    skips = spec.strategy != "any"
    slow = asked(predicate.condition, DIGITS if skips else WIDE_DIGITS, checked=skips)
    return f"slow path (Python: {', '.join(slow)})" if slow else predicate_class(predicate)


def _binding(spec: EventPatternSpec) -> str:
    """The order in which variables are bound, as far as it is known before the run."""
    names = [element.variable for element in elements(spec.pattern, negated=False)]
    if spec.engine in ("eager", "stack"):
        return f"{', '.join(names if spec.engine == 'eager' else names[::-1])}: the order of the pattern"
    given = dict(spec.statistics)
    if given and spec.engine != "tree" and set(names) <= set(given):
        kleene = {element.variable for element in elements(spec.pattern) if element.kleene}
        order = sorted(names, key=lambda name: (name in kleene, given[name]))
        return f"{', '.join(order)}: rarest first, as given ({', '.join(f'{name} {given[name]:g}' for name in order)})"
    return f"{COUNTED}; SET sparkcep.statistics = 'A=0.01,B=0.5' to say it beforehand"


def _time_line(shards: Shards | str, partitioned: bool) -> list[str]:
    """How the events of a partition are distributed over tasks: rule time_shards."""
    if isinstance(shards, Shards):
        return [
            f"cut into shards of {shards.text} that overlap by WITHIN; a match belongs to the shard of its first event"
        ]
    return [f"in one task: {shards}"] if shards and not partitioned else []


def _said(text: str, span: Span) -> str:
    """What the user wrote there, in one line."""
    return " ".join(text[span.start : span.end].split())


def _window(bound: BoundEventPattern, spec: EventPatternSpec) -> str:
    if bound.window is None:
        return "none: every pair of events in a partition is within reach"
    if isinstance(spec.within, WithinEvents):
        return f"{spec.within.count} events"
    return f"the last event before {bound.window.deadline} of the first"


def _table(name: str, values: list[str]) -> Iterator[str]:
    for i, value in enumerate(values):
        for j, line in enumerate(value.strip().splitlines() or [""]):
            yield f"{name if i == j == 0 else '':<{WIDTH}}  {line}"

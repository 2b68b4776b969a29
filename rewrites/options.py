"""The inputs of a rewrite other than the text, and its outputs other than the SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rewrites.bind.automaton import BoundAutomaton
from rewrites.bind.event_pattern import BoundEventPattern
from rewrites.bind.notices import Notice
from rewrites.bind.row_pattern import BoundRowPattern
from rewrites.dialect.clause import Clause, Site
from rewrites.patterns.bindings import Binding
from rewrites.pushdown.aggregate_pushdown import Pushdown
from rewrites.rules.aseq_functions import FunctionName
from rewrites.rules.time_shards import Shards
from rewrites.settings import Evaluation, Follows, StreamSettings
from rewrites.sql.source import Edit
from sparkcep.errors import CepError
from sparkcep.spec import AnalyzeSpec, MatchSpec, StreamSpec, to_json


@dataclass(frozen=True, slots=True)
class Options:
    """What a session contributes to a rewrite.

    ``function`` names the table function that already knows a MatchSpec (Spark Connect); None: ``cep_match`` with the spec as argument.
    ``check`` raises for a MatchSpec that no engine can run. ``keep_null_time``: a NULL event time is an error (else such events are dropped).
    ``aggregate_function`` names a function for a call of ``aseq_count`` or its kin (Spark Connect); None: those that every session has.
    ``disabled``: names of disabled rules. ``explain_rows``: the number of input rows in which EXPLAIN PATTERN counts events.
    ``analyze``: each clause's counts are wanted too; ``timeline``: the events of its matches one by one. ``follows``: the clauses that are named
    patterns. ``lasting``: the statement creates a view, whose input may have grown when it is read.
    """

    function: Callable[[str], str] | None = None
    check: Callable[[MatchSpec | StreamSpec], None] | None = None
    keep_null_time: bool = True
    disabled: frozenset[str] = frozenset()
    evaluation: Evaluation = Evaluation()
    stream: StreamSettings = StreamSettings()
    explain_rows: int = 0
    analyze: bool = False
    timeline: bool = False
    aggregate_function: FunctionName | None = None
    follows: tuple[Follows, ...] = ()
    lasting: bool = False

    @property
    def numbers_tasks(self) -> bool:
        """Whether a statement may say in how many tasks its partitions are worked off."""
        return self.evaluation.repartition and not self.lasting

    def function_of(self, spec: MatchSpec | AnalyzeSpec) -> str | None:
        """The table function that knows ``spec``, where the session has one for each."""
        return None if self.function is None else self.function(to_json(spec))

    def checked_function_of(self, spec: MatchSpec, site: Site) -> str | None:
        """The same, for a spec that an engine can run. A refusal without a span is reported at the clause's keyword."""
        self.require_engine(spec, site)
        return self.function_of(spec)

    def require_engine(self, spec: MatchSpec | StreamSpec, site: Site) -> None:
        """Raise if no engine can run ``spec``; at the clause's keyword, unless the error has a place."""
        try:
            if self.check is not None:
                self.check(spec)
        except CepError as error:
            if error.span is None:
                error.span = site.keyword
            raise


@dataclass(frozen=True, slots=True)
class RewrittenClause:
    """One clause through the stages: parsed, bound, and rewritten.

    ``pushdown``: its block answered by A-Seq, or why not. ``shards``: how its timeline is cut, or why not.
    ``counts``: the query that counts what happens to its rows (empty unless asked for);
    ``timeline``: the query that lists the events of its matches (the same). ``stream``: how it runs over a stream, if its input is one;
    ``binding``: what such a stream follows; ``edits``: of what stands behind the clause. ``rounds``: the clauses that find the rounds of its loops,
    each with the loop (``loop``) that it is for.
    """

    clause: Clause
    bound: BoundRowPattern | BoundEventPattern | BoundAutomaton
    spec: MatchSpec
    query: str
    notices: tuple[Notice, ...] = ()
    pushdown: Pushdown | str = ""
    shards: Shards | str = ""
    evaluation: Evaluation = Evaluation()
    counts: str = ""
    timeline: str = ""
    stream: StreamSpec | None = None
    binding: Binding | None = None
    edits: tuple[Edit, ...] = ()
    rounds: tuple[RewrittenClause, ...] = ()
    loop: str = ""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A statement as Spark gets it, and its clauses in the order in which they were rewritten (inner ones first)."""

    text: str
    sql: str
    clauses: tuple[RewrittenClause, ...] = ()
    functions: int = 0
    """Calls of ``aseq_count`` and its kin that a rule rewrote."""
    expanded: bool = False
    """``text`` is not what the user wrote: stored patterns stand in the place of their names."""

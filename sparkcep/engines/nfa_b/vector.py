"""The value vector V of a run (SASE+, section 5.2.1): what later formulas need of the events taken so far.

In: the conjuncts of an automaton and the kinds of their columns. Out: a ``Program``: the slots of V, what an event does
to them, the conjuncts as operations of the stack machine in ``row_match.condition_kernels``, and for each state the
words of V that still matter, by which runs are merged (section 5.2.2). Aggregates are kept incrementally.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkcep.engines.nfa_b.codes import (
    COUNT,
    FLOAT_SUM,
    GREATEST,
    INT_SUM,
    LEAST,
    LISTED,
    SET,
    SLOT_WORDS,
    WIDE_SUM,
    WIDENED_SUM,
)
from sparkcep.engines.nfa_b.compilation import Automaton
from sparkcep.engines.nfa_b.conjuncts import Conjunct
from sparkcep.engines.nfa_b.slow import ROW, Atom, Held
from sparkcep.engines.nfa_b.spelling import spelled
from sparkcep.engines.row_match import codes as machine
from sparkcep.engines.row_match.values import Kind, Pool
from sparkcep.engines.row_match.writer import Writer
from sparkcep.errors import CepUnsupportedError
from sparkcep.spec.expression import (
    AggregateOf,
    Call,
    ColumnOf,
    ElementOf,
    Expression,
    SparkFunction,
    Term,
    looks_back,
    moves,
    terms,
)

EDGES = ("begin", "take", "proceed")
Key = tuple[str, str, str | None]
"""A slot: what it keeps (``first``, ``last``, ``list``, an aggregate), of which variable, of which column."""


@dataclass(frozen=True, slots=True)
class Program:
    """An automaton for the kernels.

    ``edges`` [3 n + 1]: the conjuncts of each edge; ``starts`` [conjuncts + 1] and ``operations`` [m, 6]: their
    operations, which need a stack of ``depth``. ``update_starts`` [2 n + 1] and ``updates`` [u, 6] (kind, word, column
    or -1, whether the slot is emptied first; of a list the address to call, of a wide sum the column of the high words, or -1; the decimal places
    that its words lack).
    ``masks`` [2 n, words]: what matters in state 2 k (waiting for component
    k) and 2 k + 1 (inside its closure). ``conjuncts``: for messages. ``slow``: what Python evaluates.
    """

    words: int
    edges: NDArray[np.int32]
    starts: NDArray[np.int32]
    operations: NDArray[np.int64]
    depth: int
    update_starts: NDArray[np.int32]
    updates: NDArray[np.int64]
    masks: NDArray[np.bool_]
    conjuncts: tuple[Conjunct, ...]
    slow: tuple[Atom, ...] = ()


def program(automaton: Automaton, kinds: Mapping[str, Kind], pool: Pool, wide: Mapping[str, int]) -> Program:
    """What the kernels run; the columns that they read are added to ``pool``. ``wide``: columns of decimals that may have no room in a word, or have
    it without so many decimal places.

    Raises CepUnsupportedError for operators and aggregates on kinds that they are not made for.
    """
    writer = _Writer(kinds, pool, wide)
    edges, starts, used, conjuncts = [0], [0], [], []
    for at, component in enumerate(automaton.components):
        for edge in EDGES:
            for conjunct in automaton.conjuncts(edge, at):  # type: ignore[arg-type]
                used.append((at * len(EDGES) + EDGES.index(edge), writer.conjunct(conjunct, edge, component.variable)))
                starts.append(len(writer.operations))
                conjuncts.append(conjunct)
            edges.append(len(conjuncts))
    update_starts, updates = _updates(automaton, writer)
    operations = np.zeros((len(writer.operations), 6), np.int64)
    for i, operation in enumerate(writer.operations):
        operations[i, : len(operation)] = operation
    words = len(writer.slots) * SLOT_WORDS
    return Program(
        words,
        np.array(edges, np.int32),
        np.array(starts, np.int32),
        operations,
        writer.leaves + 1,
        update_starts,
        updates,
        _masks(used, automaton, writer.slots),
        tuple(conjuncts),
        tuple(writer.slow),
    )


class _Writer(Writer):
    """The operations of all conjuncts, and the slots that they read."""

    CHECKED = True

    __slots__ = ("edge", "kinds", "pool", "read", "slots", "slow", "text", "variable", "wide")

    def __init__(self, kinds: Mapping[str, Kind], pool: Pool, wide: Mapping[str, int]) -> None:
        Writer.__init__(self)
        self.kinds, self.pool, self.wide = kinds, pool, wide
        self.slots: dict[Key, int] = {}
        self.read: list[int] = []
        self.slow: list[Atom] = []
        self.edge = self.variable = self.text = ""

    def conjunct(self, conjunct: Conjunct, edge: str, variable: str) -> list[int]:
        """Writes a conjunct of ``edge`` of the component ``variable``; the words of V that it reads."""
        self.edge, self.variable, self.text, self.read = edge, variable, conjunct.text, []
        if conjunct.each:
            self.leaves += 1
            self._apply(spelled(conjunct.condition, self.kinds), conjunct.each)
        else:
            self.condition(conjunct.condition)
        return self.read

    def _text(self) -> str:
        return self.text

    def _leaf(self, leaf: Term | SparkFunction) -> Kind:
        if isinstance(leaf, SparkFunction):
            folds = any(map(self._is_folded, terms(leaf)))
            return self._apply(leaf) if folds else self.attempt(leaf, lambda: self._apply(leaf))
        if not isinstance(leaf, AggregateOf):
            kind = self.kinds[leaf.column]
            if self._is_current(leaf):
                return self._write(kind, machine.COLUMN, machine.CURRENT, 0, 0, 0, self.pool.column(leaf.column))
            back = isinstance(leaf, ElementOf) and leaf.place in ("previous", "last")
            word = self._slot(("last" if back else "first", leaf.variable, leaf.column))
            return self._write(kind, machine.TOTAL, word, word + 2)
        if leaf.function == "avg":
            return self._average(leaf)
        word = self._slot((leaf.function, leaf.variable, leaf.column))
        if leaf.function == "count":
            return self._write(Kind("integer"), machine.TOTAL, word, -1)
        kind = self.kinds[leaf.column or ""]
        if leaf.function in ("min", "max") and kind.name != "opaque":
            return self._write(kind, machine.TOTAL, word, word + 2)
        if leaf.function == "sum" and kind.name == "float":
            return self._write(Kind("float"), machine.FLOAT_SUM, word)
        if leaf.function == "sum" and kind.name in ("integer", "decimal", "duration"):
            return self._write(Kind(kind.name, scale=kind.scale), machine.INT_SUM, word)
        raise self._refused(leaf)

    def _apply(self, tree: SparkFunction, each: str = "") -> Kind:
        """Python's answer; ``each``: the complete closure for whose every element it must be yes."""
        held = {term: self._held(term, each) for term in terms(tree)}
        listed = self._slot(("list", each, None)) if each else -1
        back = any(looks_back(term) and term.variable == each for term in held)
        self.slow.append(Atom(tree, held, listed, back))
        return self._write(Kind("boolean"), machine.APPLY, len(self.slow) - 1)

    def _held(self, term: Term, each: str) -> Held:
        """Where Python finds the value of a term."""
        if term.variable == each and moves(term):
            return Held("listed")
        if not isinstance(term, AggregateOf):
            if self._is_current(term):
                return Held("current")
            back = isinstance(term, ElementOf) and term.place in ("previous", "last")
            return Held("row", self._slot(("last" if back else "first", term.variable, ROW)))
        if self._is_folded(term):
            return Held("folded", self._slot(("list", term.variable, None)))
        count = self._slot(("count", term.variable, term.column)) if term.function in ("count", "avg") else -1
        if term.function == "count":
            return Held("count", count)
        kind = self.kinds[term.column or ""]
        numeric = ("integer", "float") if term.function == "avg" else ("integer", "float", "decimal", "duration")
        if term.function in ("avg", "sum") and kind.name not in numeric:
            raise self._refused(term)
        if kind.name in ("string", "binary", "opaque"):
            raise self._refused(term)
        return Held("total", self._slot((term.function, term.variable, term.column)), kind, count)

    def _is_folded(self, term: Term) -> bool:
        """Whether the least or greatest value may have no room in a word: then Python makes it of the events."""
        return (
            isinstance(term, AggregateOf) and term.function in ("min", "max") and self.wide.get(term.column or "") == 0
        )

    def _is_current(self, leaf: ColumnOf | ElementOf) -> bool:
        """Whether the event under test is what the term looks at."""
        if leaf.variable != self.variable or self.edge == "proceed":
            return False
        place = leaf.place if isinstance(leaf, ElementOf) else "each"
        return place == "each" or (place == "first" and self.edge == "begin")

    def _average(self, leaf: AggregateOf) -> Kind:
        """Spark's AVG is the sum as a DOUBLE by the number of values."""
        if self.kinds[leaf.column or ""].name not in ("integer", "float"):
            raise self._refused(leaf)
        self.leaves += 1
        self._write(Kind("float"), machine.FLOAT_SUM, self._slot(("avg", leaf.variable, leaf.column)))
        count = self._slot(("count", leaf.variable, leaf.column))
        self._write(Kind("integer"), machine.TOTAL, count, count + 2)
        self._write(Kind("float"), machine.TO_FLOAT, 0, 0)
        return self._write(Kind("float"), machine.FLOAT_DIV, 64)

    def _slot(self, key: Key) -> int:
        word = self.slots.setdefault(key, len(self.slots) * SLOT_WORDS)
        self.read.append(word)
        return word

    def _refused(self, leaf: AggregateOf) -> CepUnsupportedError:
        kind = self.kinds[leaf.column or ""]
        return CepUnsupportedError(
            f"{leaf} over {kind.name} values in {self.text}",
            code="AGGREGATE",
            hint="cast the column to DOUBLE or to a shorter decimal",
        )


def _updates(automaton: Automaton, writer: _Writer) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """What an event does to V: on a begin edge slots are emptied, then filled."""
    rows: list[tuple[int, ...]] = []
    starts = [0]
    for component in automaton.components:
        own = [(key, word) for key, word in writer.slots.items() if key[1] == component.variable]
        for begins in (True, False):
            for (what, _, column), word in own:
                if begins or what != "first":
                    rows.append(_update(what, column, word, int(begins), writer))
            starts.append(len(rows))
    return np.array(starts, np.int32), np.array(rows, np.int64).reshape(-1, 6)


def _update(what: str, column: str | None, word: int, begins: int, writer: _Writer) -> tuple[int, ...]:
    """A row of ``Program.updates``."""
    if what == "sum" and column is not None and column in writer.wide:
        less = writer.wide[column]
        if less:
            return WIDE_SUM, word, writer.pool.column(column), begins, -1, less
        halves = writer.pool.half(column, "low"), writer.pool.half(column, "high")
        return WIDE_SUM, word, halves[0], begins, halves[1], 0
    number = -1 if column is None else writer.pool.column(column)
    return _kind_of_update(what, column, writer.kinds), word, number, begins, 0, 0


def _kind_of_update(what: str, column: str | None, kinds: Mapping[str, Kind]) -> int:
    if what in ("first", "last"):
        return SET
    if what in ("count", "list"):
        return COUNT if what == "count" else LISTED
    if what in ("min", "max"):
        return LEAST if what == "min" else GREATEST
    floating = kinds[column or ""].name == "float"
    if what == "avg":
        return FLOAT_SUM if floating else WIDENED_SUM
    return FLOAT_SUM if floating else INT_SUM


def _masks(used: list[tuple[int, list[int]]], automaton: Automaton, slots: Mapping[Key, int]) -> NDArray[np.bool_]:
    """Words that were filled before the state and that an edge ahead of it still reads.

    A run that waits for component k may have come from a full closure k - 1, whose proceed formula is tested together
    with k's begin: it is ahead of the waiting state.
    """
    places = {component.variable: at for at, component in enumerate(automaton.components)}
    filled = {word: 2 * places[variable] + 1 for (_, variable, _), word in slots.items()}
    masks = np.zeros((2 * len(places), len(slots) * SLOT_WORDS), np.bool_)
    for state in range(len(masks)):
        ahead = 3 * (state // 2) + (1 if state % 2 else -1)
        for edge, read in used:
            for word in read if edge >= ahead else ():
                masks[state, word : word + SLOT_WORDS] |= filled[word] <= state
    return masks


def conjunct_columns(automaton: Automaton) -> tuple[str, ...]:
    """The input columns that the formulas read."""
    found = dict.fromkeys(
        term.column for edge in automaton.edges for c in edge.conjuncts for term in terms(c.condition) if term.column
    )
    return tuple(found)


def read_directly(automaton: Automaton) -> frozenset[str]:
    """The input columns whose values the formulas read outside Spark's functions, of which Python can be asked."""
    conditions = (c.condition for edge in automaton.edges for c in edge.conjuncts if not c.each)
    return frozenset(term.column for one in conditions for term in _direct(one) if term.column)


def _direct(node: Expression) -> Iterator[Term]:
    if isinstance(node, Call):
        for argument in node.arguments:
            yield from _direct(argument)
    elif not isinstance(node, SparkFunction) and not (isinstance(node, AggregateOf) and node.function == "count"):
        yield node

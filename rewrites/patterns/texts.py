"""A statement in which names are replaced by stored bodies, and the origin of each of its characters.

In: edits. Out: text, and for an error in it the place in the statement with, inside it, the place in the stored body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from sparkcep.errors import CepError, Place, Span


@dataclass(frozen=True, slots=True)
class Origin:
    """A text that pieces come from: the statement, or the body of the pattern ``name``, which stands for ``place`` in ``inside``."""

    text: str
    name: str = ""
    inside: Origin | None = None
    place: Span = Span(0, 0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names from the statement down to this text, in lower case."""
        return () if self.inside is None else (*self.inside.names, self.name.lower())


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that was copied from ``span`` of its origin, or that replaces it."""

    text: str
    origin: Origin
    span: Span

    @property
    def copied(self) -> bool:
        """Whether each character has a place of its own."""
        return self.span.end - self.span.start == len(self.text)

    def part(self, start: int, end: int) -> Piece:
        """The piece's characters from ``start`` to ``end``."""
        span = Span(self.span.start + start, self.span.start + end) if self.copied else self.span
        return Piece(self.text[start:end], self.origin, span)


@dataclass(frozen=True)
class Expanded:
    """A sequence of pieces."""

    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, origin: Origin) -> Expanded:
        """A text as it stands."""
        return cls((Piece(origin.text, origin, Span(0, len(origin.text))),))

    @cached_property
    def text(self) -> str:
        """All of it."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def statement(self) -> str:
        """The text at the bottom of it."""
        return _outermost(self.pieces[0].origin).text

    @property
    def changed(self) -> bool:
        """Whether a name was replaced."""
        return len(self.pieces) > 1

    def part(self, span: Span) -> tuple[Piece, ...]:
        """The pieces of ``span``."""
        if span.start == span.end:
            return ()
        return tuple(
            piece.part(max(span.start - start, 0), min(span.end, start + len(piece.text)) - start)
            for start, piece in self._placed()
            if start < span.end and span.start < start + len(piece.text)
        )

    def glue(self, text: str, span: Span) -> Piece:
        """``text``, which stands for what is at ``span``."""
        origin, place = self.place(span)
        return Piece(text, origin, Span(place.start, max(place.end, place.start)))

    def edited(self, edits: Iterable[tuple[Span, tuple[Piece, ...]]]) -> Expanded:
        """The text with pieces in place of spans, which do not overlap."""
        pieces: list[Piece] = []
        position = 0
        for span, replacement in sorted(edits, key=lambda edit: edit[0].start):
            pieces += [*self.part(Span(position, span.start)), *replacement]
            position = span.end
        return Expanded((*pieces, *self.part(Span(position, len(self.text)))))

    def place(self, span: Span) -> tuple[Origin, Span]:
        """Where ``span`` comes from. Where it covers several texts: from the one in which it begins."""
        begin, first = self._at(span.start)
        end, last = self._at(max(span.start, span.end - 1))
        start = _moved(first, span.start - begin).start
        if last.origin != first.origin:
            return first.origin, Span(start, max(start, first.span.end))
        return first.origin, Span(start, max(start, _moved(last, max(span.end - 1 - end, 0)).end))

    def name_at(self, body: Span) -> str | None:
        """The pattern whose stored body the ``body`` of a clause is; None: the user wrote it."""
        text = self.text[body.start : body.end]
        begin = body.start + len(text) - len(text.lstrip())
        origin, _ = self.place(Span(begin, begin + 1))
        return origin.name or None

    def located(self, error: CepError) -> CepError:
        """An error in this text as one in the statement, with the place in the stored body inside it."""
        if error.inside or error.sql not in (None, self.text):
            return error  # it has its place already
        if error.span is None:
            return error.at(self.statement, None)
        origin, span = self.place(error.span)
        inside: list[Place] = []
        while origin.inside is not None:
            inside.insert(0, Place(f"pattern {origin.name}", origin.text, span))
            origin, span = origin.inside, origin.place
        return error.at(origin.text, span, tuple(inside))

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Errors of what is done with this text, at their places in the statement."""
        try:
            yield
        except CepError as error:
            if not self.changed:
                raise
            raise self.located(error) from error.__cause__

    def _placed(self) -> Iterator[tuple[int, Piece]]:
        position = 0
        for piece in self.pieces:
            yield position, piece
            position += len(piece.text)

    def _at(self, offset: int) -> tuple[int, Piece]:
        """The piece that has the character at ``offset`` (behind the end: the last one), and where it begins."""
        found = (0, self.pieces[0])
        for start, piece in self._placed():
            if start <= offset and piece.text:
                found = (start, piece)
        return found


def _moved(piece: Piece, offset: int) -> Span:
    """The place of the piece's character ``offset``."""
    if not piece.copied:
        return piece.span
    return Span(piece.span.start + offset, piece.span.start + offset + 1)


def _outermost(origin: Origin) -> Origin:
    return origin if origin.inside is None else _outermost(origin.inside)

"""References to a row of the match where its columns' names mean something else: ``EXISTS (SELECT 1 FROM u WHERE u.ts > a.ts)``.

Without its variable ``ts`` would be u's there, and in ``exists(times, ts -> ts > a.ts)`` the function's. So the input has the column a second time,
under a name that nothing of the user's has.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewrites.bind.names import Reference, Variables, reference, variable_names
from rewrites.bind.outer_columns import read_by_engines
from rewrites.bind.relation import Relation
from rewrites.dialect.clause import Clause
from rewrites.sql.builder import quoted
from rewrites.sql.source import Edit, Source, lambda_names

_COLUMN = "__cep_y"


def with_inner_references(clause: Clause, rows: Relation, source: Source, known: str | None) -> tuple[Relation, Source]:
    """The input, ``known`` by a name, with the columns that are read of the match's rows there, and the text that reads them."""
    variables = Variables(tuple(variable_names(clause)))
    names: dict[str, str] = {}
    edits: list[Edit] = []
    for part in (part for root in read_by_engines(clause) for part in root.walk()):
        found = reference(part, variables)
        column = None if found is None else rows.column(found.column.value)
        if found is None or column is None or not _means_another(part, found, known):
            continue
        name = names.setdefault(column, f"{_COLUMN}{len(names)}")
        edits.append((found.column.span, quoted(name)))
    if not names:
        return rows, source
    columns = ", ".join(f"{quoted(column)} AS {quoted(name)}" for column, name in names.items())
    text = f"(SELECT *, {columns} FROM {rows.text}\n)" + (f" AS {quoted(known)}" if known else "")
    inner = {name: column for column, name in names.items()}
    return replace(rows, text=text, inner=inner, written=rows.text), replace(source, inner=tuple(edits))


def _means_another(part: exp.Expression, found: Reference, known: str | None) -> bool:
    """Whether the column's name may mean something else without its variable; ``t.x``, a field of it, is also a column of a table t."""
    name = found.column.value.lower()
    is_table = found.tail is not None and known is not None and name == known.lower()
    return is_table or part.find_ancestor(exp.Query) is not None or name in lambda_names(part)

"""``t.x`` where the table ``t`` has a column ``x``, and a STRUCT ``t`` with a field ``x``: Spark reads the column; inside of a clause, where no table
has a name, it would be the field. Refused.
"""

from __future__ import annotations

from pyspark.sql.types import StructType

from rewrites.dialect.tokens import tokenize
from sparkcep.errors import CepAnalysisError, Span


def refuse_two_readings(table: str | None, schema: StructType, sql: str, place: Span) -> None:
    """Raise CepAnalysisError at the first such name in ``place`` of ``sql``. ``table``: how the input is called."""
    names = {name.lower() for name in schema.names}
    structs = [one for one in schema if table and one.name.lower() == table.lower()]
    both = {
        name.lower()
        for one in structs
        if isinstance(one.dataType, StructType)
        for name in one.dataType.names
        if name.lower() in names
    }
    if not both or table is None:
        return
    tokens = tokenize(sql).inside(place)
    for before, first, dot, last in zip((None, *tokens), tokens, tokens[1:], tokens[2:], strict=False):
        own = first.is_name and first.text.lower() == table.lower() and (before is None or before.key != ".")
        if own and dot.key == "." and last.text.lower() in both:
            raise CepAnalysisError(
                f"{first.text}.{last.text} is a column of {table}, and a field of its column {first.text}",
                code="AMBIGUOUS_NAME",
                span=Span(first.span.start, last.span.end),
                hint=f"give the table another name: FROM {table} AS input",
            )

"""What stands in for Spark where the rewriter alone is looked at: it answers for the schema of any query, by guessing, and refuses some.

The answers are a function of the query's text, so a statement that fails fails again.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from rewrites.dialect.tokens import Token, split_commas, tokenize
from sparkcep.errors import CepSyntaxError
from sparkcep.spec.expression import Constant, SparkFunction

TYPES: tuple[DataType, ...] = (
    *(IntegerType(), LongType(), DoubleType(), StringType(), DecimalType(10, 2), DateType(), TimestampType()),
    *(IntegerType(), LongType(), DoubleType(), StringType()),
)
_LISTS = ("filter(", "transform(", "array(", "array_agg(")
_BOOLEAN = re.compile(r"[<>=]|\b(AND|OR|NOT|IN|LIKE|BETWEEN|EXISTS|TRUE|FALSE|IS)\b", re.IGNORECASE)
_QUALIFIED = re.compile(r"\.\s*`?([a-zA-Z]\w*)")
_USUAL = ("id", "ts", "row", "type", "event_type", "sym", "user", "price", "amount", "item", "x", "y", "v", "k")


@dataclass(frozen=True, slots=True)
class FakeResources:
    """As ``rewrites.bind.relation.Resources``."""

    cores: int = 4
    shuffle_partitions: int = 8
    size: int | None = 1 << 32
    cheap: bool = True


class FakeSpark:
    """A ``Describe`` for one statement: its input has the usual columns and those that the statement qualifies.

    One query in ``refuses`` is refused (0: none is).
    """

    def __init__(self, statement: str, refuses: int = 0) -> None:
        names = dict.fromkeys([*_USUAL, *(name.lower() for name in _QUALIFIED.findall(statement))])
        self.schema = StructType([StructField(name, _type(name)) for name in names])
        self.refuses = refuses

    def __call__(self, query: str) -> StructType:
        """The columns of a query: the input's for a star, else one for each item of its SELECT."""
        if self.refuses and "SELECT * FROM" not in query and zlib.crc32(query.encode()) % self.refuses == 0:
            raise AnalysisException("[FAKE] Cannot resolve something; line 1 pos 7;\n'Project")
        fields: list[StructField] = []
        for item in _items(query):
            text = query[item[0].span.start : item[-1].span.end] if item else "x"
            if text.endswith("*"):
                fields += self.schema.fields
            else:
                fields.append(StructField(item[-1].text if item else "x", self._type_of(text)))
        return StructType(fields)

    def expression(self, text: str, source: str) -> SparkFunction | Constant:
        """A condition over the stand-in's columns that the text names."""
        names = dict.fromkeys(re.findall(r"__cep_x\d+", text))
        leaves = tuple(SparkFunction("AttributeReference", "int", (), (name,), name) for name in names)
        return SparkFunction("EqualTo", "boolean", leaves, (), "=") if leaves else Constant(True, "boolean")

    def resources(self, query: str, columns: tuple[str, ...]) -> FakeResources:
        """Enough of everything."""
        return FakeResources()

    def scattered(self, query: str, columns: tuple[str, ...]) -> FakeResources:
        """So are all."""
        return FakeResources()

    def _type_of(self, text: str) -> DataType:
        if text.startswith(_LISTS):
            return ArrayType(StringType())
        if _BOOLEAN.search(text):
            return BooleanType()
        known = {field.name: field.dataType for field in self.schema}
        words = re.findall(r"\w+", text.lower())
        return next((known[word] for word in words if word in known), _type(text))


def _type(name: str) -> DataType:
    if name in ("ts", "id", "row"):
        return IntegerType()
    return StringType() if name.endswith("type") else TYPES[zlib.crc32(name.encode()) % len(TYPES)]


def _items(query: str) -> list[tuple[Token, ...]]:
    """The items of the outermost SELECT."""
    try:
        tokens = tokenize(query)
    except CepSyntaxError as error:
        raise AnalysisException(f"[PARSE_SYNTAX_ERROR] {error.message}") from None
    keys = [token.key for token in tokens.items]
    depth = tokens.outer
    start = next((i for i, key in enumerate(keys) if key == "SELECT" and depth[i] == -1), 0)
    end = next((i for i in range(start, len(keys)) if keys[i] == "FROM" and depth[i] == depth[start]), len(keys))
    return split_commas(tokens.items[start + 1 : end])

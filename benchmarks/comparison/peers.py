"""Who is compared: the packages of each peer, its program, the questions that it can be asked, and in which words.

A question is missing where the peer cannot say it; ``docs/comparison.md`` says why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import questions
from questions import Case
from row_pattern_flink import FLINK, PANDAS, environment

HERE = Path(__file__).resolve().parent
ALL = ("vee", "funnel", "sequence")


def unsaid(case: Case) -> str:
    """The peer's own file says it in Python."""
    return ""


@dataclass(frozen=True, slots=True)
class Peer:
    """``packages``: of its environment, the one that counts first; none: this environment."""

    name: str
    program: str
    packages: tuple[str, ...] = ()
    asked: tuple[str, ...] = ALL
    text: Callable[[Case], str] = unsaid

    def command(self) -> list[str]:
        """What starts it. Raises UnavailableError."""
        python = environment(self.name, *self.packages) if self.packages else Path(sys.executable)
        program, *arguments = self.program.split()
        return [str(python), str(HERE / program), *arguments]


PEERS = (
    Peer("sparkcep", "peer_spark.py sparkcep", text=questions.sparkcep),
    Peer("Spark SQL", "peer_spark.py", text=questions.plain),
    Peer("Flink SQL", "peer_flink.py", (FLINK,), text=questions.flink),
    Peer("DuckDB", "peer_duckdb.py", ("duckdb==2.0.0",), text=questions.duckdb),
    Peer("pandas", "peer_pandas.py", ("pandas==2.3.3", "pyarrow")),
    Peer(
        "pandas-match-recognize",
        "peer_pandas_match_recognize.py",
        (PANDAS, "pyarrow"),
        ("vee",),
        questions.pandas_match_recognize,
    ),
    Peer("Siddhi", "peer_siddhi.py", ("PySiddhi==5.1.0", "pyarrow"), ("funnel",), questions.siddhi),
    Peer("BoboCEP", "peer_bobocep.py", ("bobocep==1.2.2", "pyarrow"), ("funnel",)),
)

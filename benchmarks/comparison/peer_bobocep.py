"""BoboCEP, a CEP engine in Python: one engine for each key, whose runs are few. The rows are in memory before the clock starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
from bobocep.cep.engine.decider.decider import BoboDecider
from bobocep.cep.engine.receiver.receiver import BoboReceiver
from bobocep.cep.engine.receiver.validator import BoboValidatorAll
from bobocep.cep.gen.event_id import BoboGenEventIDUnique
from bobocep.cep.gen.timestamp import BoboGenTimestampEpoch
from bobocep.cep.phenom.pattern.builder import BoboPatternBuilder
from bobocep.cep.phenom.phenom import BoboPhenomenon
from serve import Answer, serve


def main() -> None:
    """Ask for as long as there is input."""
    serve(prepare)


def prepare(request: dict[str, Any]) -> Answer:
    """The funnel: ``followed_by`` takes the next event that fits, a run begins at each A, and is halted at the window's end."""
    table = pq.read_table(request["parquet"], columns=["key", "ts", "type"])
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    window, kinds = request["window"], "ABCDEFGHIJ"[: request["length"]]
    found = [0, 0]

    def ended(event: Any, history: Any) -> bool:
        return event.data[1] >= history.group(kinds[0])[0].data[1] + window

    class Count:
        """Told of every run that completes."""

        def on_decider_update(self, completed: list[Any], halted: list[Any], updated: list[Any], local: bool) -> None:
            for run in completed:
                found[0] += 1
                found[1] += run.history.group(kinds[-1])[0].data[1]

    def engine() -> tuple[BoboReceiver, BoboDecider]:
        builder = BoboPatternBuilder("funnel").haltcondition(ended)
        for kind in kinds:
            builder.followed_by(is_a(kind), group=kind)
        names = BoboGenEventIDUnique()
        decider = BoboDecider([BoboPhenomenon("funnel", [builder.generate()])], names, BoboGenEventIDUnique())
        receiver = BoboReceiver(BoboValidatorAll(), names, BoboGenTimestampEpoch())
        receiver.subscribe(decider)
        decider.subscribe(Count())
        return receiver, decider

    def answer() -> list[int]:
        found[:] = [0, 0]
        engines: dict[int, tuple[BoboReceiver, BoboDecider]] = {}
        for row in rows:
            receiver, decider = engines.get(row[0]) or engines.setdefault(row[0], engine())
            receiver.add_data(row)
            receiver.update()
            decider.update()
        return found

    return answer


def is_a(kind: str) -> Callable[[Any, Any], bool]:
    """Whether an event has this type."""
    return lambda event, history: event.data[2] == kind


if __name__ == "__main__":
    main()

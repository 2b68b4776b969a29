"""What tells the clause of a checkpoint from another."""

from __future__ import annotations

import uuid

from sparkcep.spec.stream import identity


def test_a_dataframe_has_another_name_in_every_run() -> None:
    for prefix in ("_pyspark_", "_pyspark_connect_temp_view_"):
        one, other = (f"SELECT * FROM {prefix}{uuid.uuid4().hex} WHERE x = 1" for _ in range(2))
        assert identity(one) == identity(other) != identity(f"{one} AND y")

"""A stream in a Python that lacks what Spark's streams import."""

from __future__ import annotations

import re
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from sparkcep.errors import CepUnsupportedError
from sparkcep.streaming.packages import require_packages


def test_what_is_there_is_enough() -> None:
    require_packages()


@pytest.mark.parametrize("package", ["pandas", "google.protobuf"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pyspark.sql.streaming.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # type: ignore[arg-type]  what an import takes for missing
    with pytest.raises(CepUnsupportedError, match=rf"(?is)STREAM_PACKAGES.*{package}.*pip install"):
        require_packages.__wrapped__()


def test_the_oldest_protobuf_that_is_asked_for_is_new_enough() -> None:
    from pyspark.sql.streaming.proto import StateMessage_pb2

    generated = re.search(r"Domain\.PUBLIC,\s*(\d+),\s*(\d+),\s*(\d+)", Path(StateMessage_pb2.__file__).read_text())
    asked = next(
        re.search(r"protobuf>=(\d+)\.(\d+)\.(\d+)", line)
        for line in requires("sparkcep") or ()
        if line.startswith("protobuf")
    )
    assert generated and asked
    assert tuple(map(int, generated.groups())) <= tuple(map(int, asked.groups()))

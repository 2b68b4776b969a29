"""What the UDTF leaves behind in a worker."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

import pytest

from sql_functions import match_function


def test_modules_are_kept_out_of_collections_once(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.unfreeze()
    match_function._settle()
    kept = gc.get_freeze_count()
    assert kept > 10_000
    gc.unfreeze()
    match_function._settle()
    assert gc.get_freeze_count() == 0  # nothing new was imported
    monkeypatch.setitem(sys.modules, "something_new", ModuleType("something_new"))
    match_function._settle()
    assert gc.get_freeze_count() > 10_000
    gc.unfreeze()

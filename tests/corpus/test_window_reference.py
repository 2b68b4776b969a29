"""The reference answers every case of windows as the corpus says."""

import pytest

from tests.corpus.windows import WindowCase, window_cases
from tests.reference.rows import SkipError
from tests.reference.window_corpus import window_found, window_output


@pytest.mark.parametrize("case", window_cases(), ids=str)
def test_window_case(case: WindowCase) -> None:
    if case.error:
        with pytest.raises(SkipError):
            window_found(case)
        return
    if case.found is not None:
        assert window_found(case) == case.found
    if case.output is not None:
        assert window_output(case) == case.output


def test_names_are_unique() -> None:
    names = [str(case) for case in window_cases()]
    assert len(names) == len(set(names)) >= 40

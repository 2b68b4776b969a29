"""``sparkcep.session`` is called by users and imported from by us: both work, in any order."""

from types import ModuleType

import sparkcep
import sparkcep.session.install


def test_session_is_a_function_and_a_module():
    assert isinstance(sparkcep.session, ModuleType)
    assert callable(sparkcep.session)
    assert callable(sparkcep.explain)

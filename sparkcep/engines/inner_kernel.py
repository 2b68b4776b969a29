"""Functions that only kernels call.

numba optimises every function on its own, compiles it to machine code, and then does both again for the copy in each function that calls it. These
are only copied: in every kernel, LLVM sees each once, with all that calls it there. They are compiled together with the first kernel that calls
them; a kernel from the cache needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba as nb
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder

LEAN: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Options of functions that allocate nothing. Without numba's reference counts (``_nrt``, as numba's own sorting does) calls between
kernels are four times as fast: each would count every array it is given up and down, atomically."""

COUNTED = LEAN | {"_nrt": True}
"""Options of those that make arrays."""


class _Codegen:
    """numba's, which has no machine code whose environment (for Python objects) could be set."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing."""


class _Copied(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code of a function and of those that it calls, for linking alone."""

    @property
    def codegen(self) -> Any:
        return _Codegen(self._codegen)

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """0: as if there were none."""
        self._ensure_finalized()
        return 0


class _Compiler(CompilerBase):  # type: ignore[misc]
    def __init__(self, typing: Any, target: Any, library: None, *others: Any) -> None:
        super().__init__(typing, target, _Copied(target.codegen(), "inner"), *others)

    def define_pipelines(self) -> list[Any]:
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def inner(signature: Any = None, *, allocates: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: a function that only kernels call, with numba's ``signature``, or for whatever types they call it with. ``allocates``: see
    ``kernel``."""

    def decorate(function: Callable[..., Any]) -> Any:
        wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        dispatcher = nb.njit(pipeline_class=_Compiler, **(COUNTED if allocates else LEAN), **wrappers, **options)(
            function
        )
        compile_for = dispatcher.compile
        dispatcher.compile = lambda kinds: compile_for(signature or kinds)
        return dispatcher

    return decorate

"""Entry points of numba kernels that are compiled, or loaded from numba's cache, on the first call.

numba compiles a function with signatures at definition, for all of them: without a cache this takes seconds each, whether a query needs them or not.
Without signatures it would recompile for every variety of array it meets (read-only or not).
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numba as nb
from numba.core.registry import cpu_target

from sparkcep.engines.inner_kernel import COUNTED, LEAN
from sparkcep.engines.kernel_cache import sources


class Kernel:
    """A function with signatures, each compiled on the first call that fits it."""

    def __init__(self, function: Callable[..., Any], signatures: tuple[Any, ...], *, allocates: bool = False) -> None:
        options = COUNTED if allocates else LEAN
        self._dispatcher = nb.njit(cache=True, no_cfunc_wrapper=True, **options)(function)
        self._dispatcher._cache._cache_file._source_stamp = sources(function.__code__.co_filename)
        self._waiting = list(signatures)
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __call__(self, *arguments: Any) -> Any:
        """Raises TypeError if no signature fits."""
        if self._dispatcher.overloads:
            try:
                return self._dispatcher(*arguments)
            except TypeError:  # no compiled signature fits
                if not self._waiting:
                    raise
        self._compile_for(arguments)
        return self._dispatcher(*arguments)

    @property
    def waits(self) -> bool:
        """Whether a signature is not compiled yet."""
        return bool(self._waiting)

    def compile(self) -> None:
        """All signatures, now."""
        for signature in list(self._waiting):
            self._compile(signature)

    def _compile_for(self, arguments: tuple[Any, ...]) -> None:
        kinds = [nb.typeof(argument) for argument in arguments]
        fitting = [signature for signature in self._waiting if _fits(kinds, signature)]
        if not fitting:
            raise TypeError(f"{self.__name__} takes no {kinds}")
        self._compile(fitting[0])

    def _compile(self, signature: Any) -> None:
        self._dispatcher.disable_compile(False)
        collects = gc.isenabled()
        gc.disable()  # 7 to 10 % of the time: it looks through numba's many objects again and again
        try:
            self._dispatcher.compile(signature)
        finally:
            self._dispatcher.disable_compile()
            if collects:
                gc.enable()
        self._waiting.remove(signature)


def kernel(*signatures: Any, allocates: bool = False) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorator: a kernel with numba's ``signatures``. ``allocates``: it makes arrays, which numba counts references for."""
    return lambda function: Kernel(function, signatures, allocates=allocates)


def _fits(kinds: list[Any], signature: Any) -> bool:
    context = cpu_target.typing_context
    context.refresh()
    return all(
        context.can_convert(kind, wanted) is not None for kind, wanted in zip(kinds, signature.args, strict=True)
    )

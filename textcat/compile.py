"""Compile kernels with numba on first use, without the GIL, and cache them on disk.

numba takes longer to import than a cached run takes: it is imported with the first call of a kernel.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

KernelParameters = ParamSpec("KernelParameters")
KernelResult = TypeVar("KernelResult")

logger = logging.getLogger(__name__)


class LazyKernel(Generic[KernelParameters, KernelResult]):
    """A kernel that is compiled, or read from disk, on its first call; kernels can call it and take it as argument."""

    __wrapped__: Callable[KernelParameters, KernelResult]
    __qualname__: str

    def __init__(self, function: Callable[KernelParameters, KernelResult]) -> None:
        update_wrapper(self, function)

    @cached_property
    def dispatcher(self) -> Any:
        """The dispatcher of numba."""
        return _make_dispatcher(self.__wrapped__)

    @property
    def _numba_type_(self) -> Any:
        """The type that numba gives this kernel in other kernels."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: KernelParameters.args, **named: KernelParameters.kwargs) -> KernelResult:
        """Run the compiled kernel."""
        result: KernelResult = self.dispatcher(*arguments, **named)
        return result

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the dispatcher, such as py_func."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        """Pickle by name, like a function."""
        return self.__qualname__


def _make_dispatcher(function: Callable[..., Any]) -> Any:
    import numba  # noqa: PLC0415
    from numba.core.caching import FunctionCache  # noqa: PLC0415

    class KernelCache(FunctionCache):
        """A cache of kernels on disk that recompiles kernels it cannot read.

        Kernels of another version of textcat may name modules that do not exist any more, and a crash may leave
        half a file.
        """

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """Return the kernel for a signature or None; start a new index if it cannot be read."""
            try:
                return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            except Exception as error:
                logger.info("recompiling a cached kernel: %s", error)
                self.flush()  # type: ignore[no-untyped-call]
                return None

    kernel: Any = numba.njit(nogil=True, fastmath={"contract"}, error_model="numpy")(function)
    try:
        kernel._cache = KernelCache(kernel.py_func)  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        # Neither the module's folder nor the user's cache folder is writable.
        logger.info("compiling %s for this process only: %s", function.__name__, error)
    return kernel


def compile_kernel(
    function: Callable[KernelParameters, KernelResult],
) -> LazyKernel[KernelParameters, KernelResult]:
    """Return a function that compiles the kernel on its first call.

    Rounding may change only by contracting a product and a sum: lanes are independent, so loops over lanes
    vectorize without reordering sums. Division follows IEEE, without a check for zero.
    """
    return LazyKernel(function)

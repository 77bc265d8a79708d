"""Compile kernels with numba on first use, without the GIL, and cache them on disk."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

KernelParameters = ParamSpec("KernelParameters")
KernelResult = TypeVar("KernelResult")

logger = logging.getLogger(__name__)


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


def compile_kernel(
    function: Callable[KernelParameters, KernelResult],
) -> Callable[KernelParameters, KernelResult]:
    """Return a function that compiles the kernel on its first call.

    Rounding may change only by contracting a product and a sum: lanes are independent, so loops over lanes
    vectorize without reordering sums. Division follows IEEE, without a check for zero.
    """
    kernel: Any = numba.njit(nogil=True, fastmath={"contract"}, error_model="numpy")(function)
    try:
        kernel._cache = KernelCache(kernel.py_func)  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        # Neither the module's folder nor the user's cache folder is writable.
        logger.info("compiling %s for this process only: %s", function.__name__, error)
    return cast(Callable[KernelParameters, KernelResult], kernel)

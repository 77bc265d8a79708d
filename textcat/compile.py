"""The one place where numba compiles: cached on disk, free of the GIL, nothing compiled at import."""

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
    """Kernels on disk, of which one that cannot be read is as one that is not there.

    What another version of textcat left may name modules that are gone; a machine that went down may leave half a
    file. Neither may keep anyone from training.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for a signature, or None; an index that cannot be read is begun anew."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as error:
            logger.info("a compiled kernel is made anew: %s", error)
            self.flush()  # type: ignore[no-untyped-call]
            return None


def compile_kernel(
    function: Callable[KernelParameters, KernelResult],
) -> Callable[KernelParameters, KernelResult]:
    """Compile a kernel on its first call.

    Only the contraction of a product and a sum is allowed to change rounding: lanes are independent, so the
    loop over lanes vectorizes without reordering any sum. Division follows IEEE (no zero check in the
    loop).
    """
    kernel: Any = numba.njit(nogil=True, fastmath={"contract"}, error_model="numpy")(function)
    try:
        kernel._cache = KernelCache(kernel.py_func)  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        # Neither beside the module nor in the user's folder can anything be written.
        logger.info("%s is compiled for this process alone: %s", function.__name__, error)
    return cast(Callable[KernelParameters, KernelResult], kernel)

"""The one place where numba compiles: cached on disk, free of the GIL, nothing compiled at import."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a kernel on its first call.

    Only the contraction of a product and a sum is allowed to change rounding: lanes are independent, so the
    loop over lanes vectorizes without reordering any sum. Division follows IEEE (no zero check in the
    loop).
    """
    compiler = numba.njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
    return cast(Callable[Parameters, Result], compiler(function))

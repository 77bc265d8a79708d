"""How the kernels of the lanes are compiled: without the GIL and cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile on first use, keep the machine code on disk, release the GIL while running."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))

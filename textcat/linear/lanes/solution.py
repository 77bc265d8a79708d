"""What the lanes return: coefficients and, by category, the certificate of how near the optimum they are."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LaneSolution:
    """Coefficients (features x categories) and float64 certificates by category.

    objective - optimum <= gap, because `dual_objective` is the value of a feasible dual point.
    `passes` counts passes over the whole matrix; `reason` is "converged" or "max_passes".
    """

    coef: NDArray[np.float64]
    objective: NDArray[np.float64]
    dual_objective: NDArray[np.float64]
    gap: NDArray[np.float64]
    passes: NDArray[np.float64]
    seconds: float
    reason: NDArray[np.str_]


def finished(solution: LaneSolution, started: float) -> LaneSolution:
    """The same with the seconds since `started` (of `time.perf_counter`)."""
    return replace(solution, seconds=time.perf_counter() - started)

"""Stopping rules: when each category of a block stops, and why, for all paper algorithms."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel
from textcat.linear.certificate import Certificate, OptimalityMeasures
from textcat.linear.problem import Floats


def sum_changes(before: Floats, now: Floats) -> tuple[Floats, Floats]:
    """Return the sums over rows of the absolute changes and of the absolute new scores."""
    if now.shape[1] == 1 or not (before.flags.c_contiguous and now.flags.c_contiguous):
        # numpy adds numbers that lie next to each other in another order than row after row.
        return np.abs(now - before).sum(axis=0), np.abs(now).sum(axis=0)
    change, size = np.zeros((2, now.shape[1]))
    add_changes(before, now, change, size)
    return change, size


@compile_kernel
def add_changes(before: Floats, now: Floats, change: Floats, size: Floats) -> None:
    """Add each row's absolute changes and absolute new scores to the sums, as numpy does for several columns."""
    for i in range(now.shape[0]):
        for k in range(now.shape[1]):
            change[k] += abs(now[i, k] - before[i, k])
            size[k] += abs(now[i, k])


@dataclass
class BlockResult:
    """Weights (features x categories of a block), certificates, and dual variables if the algorithm has any."""

    weights: Floats
    certificates: list[Certificate]
    dual: Floats | None = None


class Progress:
    """Counts passes and retires categories whose stopping rule holds; solvers freeze retired lanes."""

    def __init__(self, stop: str, tol: float, max_passes: int, width: int) -> None:
        self.stop, self.tol, self.max_passes = stop, tol, max_passes
        self.passes = 0
        self.running: NDArray[np.bool_] = np.ones(width, dtype=bool)
        self._done = np.full(width, max_passes)
        self._reasons = ["passes"] * width
        self._scores: Floats | None = None
        self._start = np.ones(width)
        self._next_check = 1

    def begin(self, scores: Floats, measured: Callable[[], OptimalityMeasures]) -> None:
        """Record the scores or the violation at the start."""
        if self.stop == "scores":
            self._scores = scores.copy()
        elif self.stop == "optimality":
            self._start = measured().violation

    def end_pass(
        self, scores: Callable[[], Floats], measured: Callable[[], OptimalityMeasures], settled: bool = True
    ) -> None:
        """Count a pass and retire categories; `settled` is False while the problem itself still changes."""
        self.passes += 1
        if self.stop == "scores":
            now = scores()
            if self._scores is not None and settled:
                change, size = sum_changes(self._scores, now)
                self._retire(change <= self.tol * (1 + size), "scores")
            self._scores = now
        elif self.stop == "optimality" and settled and self.passes >= self._next_check:
            self._next_check = self.passes + max(1, self.passes // 4)
            self._retire(measured().is_within(self.tol, self._start), "optimality")
        if self.passes >= self.max_passes:
            self.running[:] = False

    def _retire(self, done: NDArray[np.bool_], reason: str) -> None:
        for k in np.flatnonzero(done & self.running):
            self.running[k] = False
            self._done[k] = self.passes
            self._reasons[k] = reason

    def certificates(self, final: OptimalityMeasures, began: float) -> list[Certificate]:
        """Return one certificate per category; a block's seconds are divided in proportion to passes."""
        spent = time.perf_counter() - began
        share = self._done / max(int(self._done.sum()), 1)
        return [
            Certificate(
                float(final.objective[k]),
                float(final.violation[k]),
                float(final.gap[k]) if np.isfinite(final.gap[k]) else None,
                int(self._done[k]),
                float(spent * share[k]),
                self._reasons[k],
            )
            for k in range(len(self._reasons))
        ]

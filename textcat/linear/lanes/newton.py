"""Newton steps for a quadratic dual with bounds, by a Cholesky factor that outlives changes of the free variables.

Problem:  Q step = gradient over the free variables, those that would leave their bounds being held there
A variable that has left the free ones since the factorization is held where it is, one that has come is bordered;
both cost a column of the inverse each, where factorizing anew would cost a third of their number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from textcat.compile import compiled

Values = NDArray[np.floating]
Numbers = NDArray[np.int64]

# Changes of the free variables that a factor outlives, and variables held in one step: a part of their number.
_OUTLIVED = 0.1
_HELD = 0.2
_FEW = 10
_MOST_CHANGES = 8
_MOST_DAMPINGS = 6


@compiled
def _among(Q: Any, free: Any, raised: float, block: Any) -> None:
    """The lower triangle of Q over the free variables, its diagonal raised by a factor."""
    for j in range(len(free)):
        row = Q[free[j]]
        for k in range(j + 1):
            block[j, k] = row[free[k]]
        block[j, j] *= raised


def _factor(Q: Values, free: Numbers) -> Values:
    """The Cholesky factor of Q over the free variables, damped so that no direction is lost in rounding."""
    block = np.empty((len(free), len(free)), Q.dtype)
    factorize: Any = get_lapack_funcs("potrf", (block,))
    damping = _damping(Q)
    for _ in range(_MOST_DAMPINGS):
        _among(Q, free, 1.0 + damping, block)
        factor, info = factorize(block.T, lower=0, overwrite_a=1, clean=0)
        if info == 0:
            return np.asarray(factor)
        damping *= 10.0
    raise LinAlgError("the Gram matrix of the free variables is not positive")


def _damping(Q: Values) -> float:
    return float(np.sqrt(np.finfo(Q.dtype).eps))


def _up_to_first_bound(step: Values, low: Values, high: Values) -> Values:
    """The longest part of the step that leaves no bound, of the variables that can move at all."""
    able = np.where(step > 0, high > 0, low < 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(step > 0, high / step, low / step)[able & (step != 0)]
    return np.asarray(np.where(able, min(1.0, float(room.min(initial=1.0))) * step, 0.0), step.dtype)


@dataclass
class Newton:
    """The factor at hand, of Q over `base`; the inverse is over `base` and the variables that have come after it."""

    base: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    come: Numbers = field(default_factory=lambda: np.empty(0, np.int64))

    def step(
        self, Q: Values, free: Numbers, gradient: Values, low: Values, high: Values
    ) -> tuple[Numbers, Values, Values]:
        """Variables, how far they go, and how far as a whole up to the first bound; `low` and `high` are what is
        left to the bounds, of all variables."""
        gone = self._follow(Q, free)
        moved = np.concatenate((self.base, self.come))
        low, high = low[moved], high[moved]
        low[gone] = high[gone] = 0.0
        start = self._solve(gradient[moved][:, None])[:, 0]
        return moved, self._bounded(start, low, high, gone), _up_to_first_bound(start, low, high)

    def _follow(self, Q: Values, free: Numbers) -> Numbers:
        """Border or replace the factor for these free variables; places of those of the base that are not free."""
        gone = np.flatnonzero(~np.isin(self.base, free, assume_unique=True))
        self.come = np.setdiff1d(free, self.base, assume_unique=True)
        if not len(self.base) or len(gone) + len(self.come) > _FEW + _OUTLIVED * len(free):
            self._factor = _factor(Q, free)
            self.base, self.come, gone = free, free[:0], gone[:0]
        if len(self.come):
            self._border = np.asfortranarray(Q[np.ix_(self.base, self.come)])
            self._bordered = self._base_solve(self._border)
            self._rest = Q[np.ix_(self.come, self.come)]
            self._rest[np.diag_indices(len(self.come))] *= 1.0 + _damping(Q)
            self._rest -= self._border.T @ self._bordered
        return gone

    def _base_solve(self, right: Values) -> Values:
        resolve: Any = get_lapack_funcs("potrs", (self._factor,))
        return np.asarray(resolve(self._factor, right, lower=0)[0])

    def _solve(self, right: Values) -> Values:
        """The inverse over `base` and `come` times columns."""
        size = len(self.base)
        first = self._base_solve(right[:size])
        if not len(self.come):
            return first
        second = np.linalg.solve(self._rest, right[size:] - self._border.T @ first)
        return np.concatenate((first - self._bordered @ second, second))

    def _bounded(self, start: Values, low: Values, high: Values, gone: Numbers) -> Values:
        """From the step without bounds to one within: those that leave are held, those that no longer press are
        let go, as long as something changes.
        """
        step, held, side = start, gone, np.zeros(len(gone), start.dtype)
        columns, most = self._columns(gone), _FEW + _HELD * len(start)
        for _ in range(_MOST_CHANGES):
            released = 0
            if len(held):
                ends = np.where(side > 0, high[held], low[held])
                try:
                    forces = np.linalg.solve(columns[held], ends - start[held])
                except LinAlgError:
                    break
                step = start + columns @ forces
                step[held] = ends
                stay = forces * side <= 0
                released = len(held) - int(stay.sum())
                held, side, columns = held[stay], side[stay], columns[:, stay]
            leaving = (step < low) | (step > high)
            leaving[held] = False
            out = np.flatnonzero(leaving)
            if not len(out) + released or len(held) + len(out) > most:
                break
            held, side = np.concatenate((held, out)), np.concatenate((side, np.sign(step[out])))
            columns = np.hstack((columns, self._columns(out)))
        return np.clip(step, low, high)

    def _columns(self, places: Numbers) -> Values:
        """Columns of the inverse."""
        size = len(self.base) + len(self.come)
        units = np.zeros((size, len(places)), self._factor.dtype, order="F")
        units[places, np.arange(len(places))] = 1.0
        return self._solve(units) if len(places) else units
